"""What came back of a run, as tables: one row a call, counts by judge and cell, and the files of the run folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from polyjudge.base.files import atomic_path
from polyjudge.base.text import count, names
from polyjudge.collect.journal import Answer, Journal
from polyjudge.collect.languages import tokens
from polyjudge.collect.parse import REFUSED, parse
from polyjudge.collect.plan import Judge, Plan, Rubric, hide_keys
from polyjudge.collect.prompts import Call
from polyjudge.collect.run import Collection
from polyjudge.collect.task import reason_of
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
    return Collection(
        name=plan.name,
        kind=kind,
        calls=calls,
        scored=scored,
        cost=cost,
        judges=board,
        cells=cells.reset_index(),
        findings=tuple(said),
        folder=folder,
        by="wording" if plan.wordings else "language",
        has_probes=bool(plan.probes),
        has_orders=plan.rubric.kind == "compare",
    )


def preview(plan: Plan, asked: Asked, said: list[Finding]) -> Collection:
    """What a plan would take: calls, tokens with the system message, dollars."""
    frame, estimates = answers(plan, asked, Journal()), []
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


def answers(plan: Plan, asked: Asked, journal: Journal) -> pd.DataFrame:
    """One row for each judge and call: where it stands, its score, its reason, and what became of it."""
    rows = []
    for judge in plan.judges:
        answered, failed = journal.answers.get(judge.name, {}), journal.failures.get(judge.name, {})
        for call, prompt in asked:
            item = call.item
            place = (item.task, item.system, item.version, call.language, call.wording, judge.name, call.replicate)
            if call.id in answered:
                outcome = _outcome(answered[call.id], plan.rubric, judge, prompt)
            elif call.id in failed:
                outcome = (None, None, f"failed: {failed[call.id]}", "failed", 0, 0)
            else:
                outcome = (None, None, "not asked", "not asked", 0, 0)
            rows.append((*place, call.part, *outcome, item))
    columns = [*AT, "part", "score", "reason", "missing", "what", "input_tokens", "output_tokens", "item"]
    return pd.DataFrame(rows, columns=columns).astype({"score": float})


def _outcome(answer: Answer, rubric: Rubric, judge: Judge, prompt: str) -> tuple[Any, ...]:
    """Score, reason, why there is no score, what became of the call, and its tokens."""
    parsed = parse(answer.text, rubric, answer.stop)
    reason = hide_keys(reason_of(answer.text))[:1000]
    sent, received = answer.input_tokens, answer.output_tokens
    if sent is None or received is None:  # what a service does not count is put at its worst
        sent, received = (answer.asked * n for n in (judge.size(prompt), judge.max_tokens or 0))
    if parsed.score is not None:
        return (parsed.score, reason, "", "scored", sent, received)
    what = "refused" if parsed.how == REFUSED else "unreadable"
    return (None, reason, parsed.how, what, sent, received)


def write_tables(plan: Plan, folder: Path, frame: pd.DataFrame) -> None:
    """All tables of a run, each whole or not at all."""
    scores = _scores(plan.rubric.kind, frame)
    if plan.rubric.kind == "checklist":
        verdicts = _verdicts(frame)
        met = 100 * verdicts.groupby(AT, sort=False)["with_prerequisites"].agg(lambda x: float(x.mean(skipna=False)))
        scores = scores.drop(columns="reason").join(met, on=AT)
        _csv(plan, folder / "verdicts.csv", verdicts)
    if plan.rubric.kind == "compare":
        _csv(plan, folder / "orders.csv", _orders(frame))
    for column in plan.items.keep:
        scores[column] = [item.keep[column] for item in scores["item"]]
    is_probe = scores["version"] != ""
    if is_probe.any():
        _csv(plan, folder / "probes.csv", scores[is_probe].assign(share=[x.share for x in scores["item"][is_probe]]))
    _csv(plan, folder / "scores.csv", scores[~is_probe])
    _csv(plan, folder / "texts.csv", _texts(frame))


def _scores(kind: str, frame: pd.DataFrame) -> pd.DataFrame:
    """One row for each judged item. The score of a pair is that of the chosen answer less that of the rejected, of a
    comparison the percent for the chosen one in both orders, of a checklist the percent satisfied."""
    value = frame["score"].copy()
    if kind == "pair":
        value *= frame["part"].map({"chosen": 2.0, "rejected": -2.0})
    if kind == "compare":
        value = value.where(frame["part"] == "AB", 100 - value)
    groups = frame.assign(value=value).groupby(AT, sort=False)
    has_all_parts = groups["value"].count() == groups.size()
    scores = groups.agg(
        score=("value", "mean"), reason=("reason", "first"), missing=("missing", "max"), item=("item", "first")
    )
    scores["score"] = scores["score"].where(has_all_parts)
    if kind == "pair":
        scores = scores.join(frame.set_index([*AT, "part"])["score"].unstack("part"))
    return scores.reset_index()


def _orders(frame: pd.DataFrame) -> pd.DataFrame:
    """Comparisons as they were shown, each order a verdict of its own: `polyjudge audit` reads them as pairs."""
    shown_as = {"AB": ("chosen", "rejected"), "BA": ("rejected", "chosen")}
    orders = frame[[*AT, "part", "reason", "item"]].copy()
    orders[["model_a", "model_b"]] = [shown_as[part] for part in frame["part"]]
    orders["winner"] = frame["score"].map({100.0: "model_a", 0.0: "model_b", 50.0: "tie"})
    return orders.drop(columns="part")


def _texts(frame: pd.DataFrame) -> pd.DataFrame:
    items = {(item.task, item.system): item for item in frame["item"] if not item.version}.values()
    languages = frame["language"].unique()
    rows = [{"task": x.task, "system": x.system, "language": c, **x.fields[c]} for x in items for c in languages]
    return pd.DataFrame(rows)


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
        kept = frame.drop(columns=unused, errors="ignore").replace(
            r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", "", regex=True
        )
        kept.to_csv(part, index=False, float_format="%.10g")
