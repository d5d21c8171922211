"""What came back of a run, as tables: one row a call, counts by judge and cell, and the files of the run folder."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from polyjudge.base.files import atomic_path
from polyjudge.base.text import count, names, redact
from polyjudge.collect.languages import tokens
from polyjudge.collect.plan import Plan, hide_keys
from polyjudge.collect.prompts import Call
from polyjudge.collect.run import Collection
from polyjudge.collect.task import STOPPED
from polyjudge.report.model import Finding

KINDS = ("calls", "scored", "refused", "unreadable", "failed", "not asked")
OUTPUT = 100  # output tokens guessed per call (the paper's took 94)
COLUMNS = ("judge", "model", "calls", "scored", "input_tokens", "output_tokens", "cost")
AT = ["task", "system", "version", "language", "wording", "judge", "replicate"]
Asked = Sequence[tuple[Call, str]]  # calls with their prompts


def count_calls(plan: Plan, kind: str, frame: pd.DataFrame, said: Sequence[Finding], folder: str = "") -> Collection:
    """What became of the calls, counted by judge and by cell, and what it took: tokens in and out, dollars."""
    language = frame["language"].where(frame["wording"] == "", frame["wording"])
    kinds = pd.get_dummies(frame["what"]).reindex(columns=list(KINDS[1:]), fill_value=0)
    cells = kinds.groupby([frame["judge"], language.rename("language")], sort=False).sum()
    cells.insert(0, "calls", cells.sum(axis=1))
    total = cells.groupby("judge")[["calls", "scored"]].sum()
    used = frame.groupby("judge")[["input_tokens", "output_tokens"]].sum()
    rows = []
    for judge in plan.judges:
        counts = [int(x) for x in (*total.loc[judge.name], *used.loc[judge.name])]
        rows.append((judge.name, judge.model, *counts, judge.dollars(*counts[2:])))
    board = pd.DataFrame(rows, columns=list(COLUMNS)).astype({"cost": float})
    if kind == "dry run":
        board, cells = board.drop(columns="scored"), cells[["calls"]]
    cost = None if board["cost"].isna().any() else float(board["cost"].sum())
    calls, scored = (int(x) for x in total.sum())
    by = "wording" if plan.wordings else "language"
    return Collection(plan.name, kind, calls, scored, cost, board, cells.reset_index(), tuple(said), folder, by)


def preview(plan: Plan, asked: Asked, said: list[Finding]) -> Collection:
    """What a plan would take: calls, tokens with the system message, dollars."""
    frame, estimates = answers(plan, asked, {}), []
    for judge in plan.judges:
        system = tokens(str(judge.settings.get("system_message", "")), "en", judge.model)
        estimates += [tokens(prompt, call.language, judge.model) + system + 8 for call, prompt in asked]
    frame["input_tokens"] = estimates
    frame["output_tokens"] = [min(OUTPUT, judge.max_tokens or OUTPUT) for judge in plan.judges for _ in asked]
    found = count_calls(plan, "dry run", frame, said)
    prompts: dict[str, str] = {}
    for call, prompt in asked:
        prompts.setdefault(call.wording or call.language, prompt)
    items = count(len({(c.item.task, c.item.system) for c, _ in asked if not c.item.version}), "item")
    judges, calls = count(len(plan.judges), "judge"), count(found.calls, "call")
    dollars = "" if found.cost is None else f", about ${found.cost:,.2f}"
    text = f"{items} x {count(len(prompts), found.by)} x {judges}: {calls}{dollars}. No judge was called."
    guess = "Tokens are estimated from the text, give or take a third; those of the output are a guess."
    if unpriced := [j.name for j in plan.judges if j.price is None]:
        guess += f" No total cost is shown for want of a price: {names(unpriced)}."
    findings = Finding("info", "plan", text), Finding("info", "estimate", guess), *said
    return replace(found, findings=findings, prompts=prompts)


# --- tables ---


def answers(plan: Plan, asked: Asked, found: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """One row for each judge and call: where it stands, its score, its reason, and what became of it."""
    rows = []
    for judge in plan.judges:
        samples = found.get(judge.name, {})
        for call, prompt in asked:
            sample, item = samples.get(call.id), call.item
            score = reason = why = None
            if sample is not None and sample.scores:
                verdict = sample.scores["verdict"]
                score, reason = float(verdict.value), hide_keys(verdict.explanation or "")[:1000]
                why = (verdict.metadata or {}).get("how", "")
                what = "scored" if score == score else "refused" if why == "refused" else "unreadable"
            elif sample is None or re.match(f"CancelledError|.*{STOPPED}", str(sample.error)):
                what = why = "not asked"
            else:
                what, why = "failed", f"failed: {' '.join(hide_keys(redact(str(sample.error or ''))).split())[:300]}"
            usages = list(sample.model_usage.values()) if sample is not None else []
            cached = sum((u.input_tokens_cache_read or 0) + (u.input_tokens_cache_write or 0) for u in usages)
            sent = cached + sum(u.input_tokens for u in usages)
            got = sum(u.output_tokens for u in usages)
            if sample is not None and sample.scores and not got:  # what a service does not count is put at its worst
                times = (verdict.metadata or {}).get("asked", 1)
                sent, got = (times * n for n in (judge.size(prompt), judge.max_tokens or 0))
            at = (item.task, item.system, item.version, call.language, call.wording, judge.name, call.replicate)
            rows.append((*at, call.part, score, reason, "" if what == "scored" else why, what, sent, got, item))
    columns = [*AT, "part", "score", "reason", "missing", "what", "input_tokens", "output_tokens", "item"]
    return pd.DataFrame(rows, columns=columns).astype({"score": float})


def write_tables(plan: Plan, folder: Path, frame: pd.DataFrame) -> None:
    """All tables of a run, each whole or not at all. The score of a pair is that of the chosen answer less that of the
    rejected, of a comparison the percent for the chosen one in both orders, of a checklist the percent satisfied."""
    kind = plan.rubric.kind
    value = frame["score"].copy()
    if kind == "pair":
        value *= frame["part"].map({"chosen": 2.0, "rejected": -2.0})
    if kind == "compare":
        value = value.where(frame["part"] == "AB", 100 - value)
    groups = frame.assign(value=value).groupby(AT, sort=False)
    whole = groups["value"].count() == groups.size()
    kept = {c: (c, "max" if c == "missing" else "first") for c in ("reason", "missing", "item")}
    scores = groups.agg(score=("value", "mean"), **kept)
    scores["score"] = scores["score"].where(whole)
    if kind == "pair":
        scores = scores.join(frame.set_index([*AT, "part"])["score"].unstack("part"))
    scores = scores.reset_index()
    if kind == "checklist":
        verdicts = _verdicts(frame)
        met = 100 * verdicts.groupby(AT, sort=False)["with_prerequisites"].agg(lambda x: float(x.mean(skipna=False)))
        scores = scores.drop(columns="reason").join(met, on=AT)
        _csv(plan, folder / "verdicts.csv", verdicts)
    if kind == "compare":
        other = {"AB": ("chosen", "rejected"), "BA": ("rejected", "chosen")}
        orders = frame[[*AT, "part", "reason", "item"]].assign(won=frame["score"] / 100)
        orders[["first", "second"]] = [other[part] for part in frame["part"]]
        _csv(plan, folder / "orders.csv", orders.drop(columns="part"))
    for column in plan.items.keep:
        scores[column] = [item.keep[column] for item in scores["item"]]
    probes = scores["version"] != ""
    if probes.any():
        _csv(plan, folder / "probes.csv", scores[probes].assign(share=[x.share for x in scores["item"][probes]]))
    _csv(plan, folder / "scores.csv", scores[~probes])
    items = {(item.task, item.system): item for item in frame["item"] if not item.version}.values()
    languages = frame["language"].unique()
    rows = [{"task": x.task, "system": x.system, "language": c, **x.fields[c]} for x in items for c in languages]
    _csv(plan, folder / "texts.csv", pd.DataFrame(rows))


def _verdicts(frame: pd.DataFrame) -> pd.DataFrame:
    """Each requirement with its verdict (1, 0 or nothing), and whether it counts with its prerequisites."""
    rows: list[tuple[Any, ...]] = []
    for at, group in frame.groupby(AT, sort=False):
        item = group["item"].iloc[0]
        lines = item.requirements[at[AT.index("language")]]
        needs = {r.id: r.needs for r in lines}
        got = dict(zip(group["part"], group["score"] / 100, strict=True))
        for r, why in zip(lines, group["reason"], strict=True):
            chain = [r.id]
            for id_ in chain:  # which grows
                chain += [x for x in needs[id_] if x not in chain]
            met = min((got[x] for x in chain), key=lambda x: (x != 0, x == x))  # one that is not met, else one unknown
            rows.append((*at, r.id, r.type, " ".join(r.needs), got[r.id], met, why, item))
    columns = [*AT, "requirement", "type", "prerequisites", "satisfied", "with_prerequisites", "reason", "item"]
    return pd.DataFrame(rows, columns=columns)


def _csv(plan: Plan, path: Path, frame: pd.DataFrame) -> None:
    """A table without unused columns, and without control characters, for one NUL makes a file no text to others."""
    unused = ["item", *(c for c in ("system", "version", "wording") if c in frame and not frame[c].any())]
    unused += ["replicate"] if plan.replicates == 1 else []
    unused += ["language"] if plan.wordings and "wording" in frame else []
    with atomic_path(path) as part:
        kept = frame.drop(columns=unused, errors="ignore").replace(r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f]", "", regex=True)
        kept.to_csv(part, index=False, float_format="%.10g")
