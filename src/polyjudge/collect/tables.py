"""The tables of a run: what came back, one row a call, and the files that other programs read (docs/collect.md).

The score of a pair is that of the chosen answer less that of the rejected one, of a comparison the percent for the
chosen answer over both orders, of a checklist the percent satisfied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from polyjudge.base.files import atomic_path
from polyjudge.base.text import redact
from polyjudge.collect.plan import Plan, hide_keys
from polyjudge.collect.prompts import Call

AT = ["task", "system", "version", "language", "wording", "judge", "replicate"]


def answers(plan: Plan, asked: Iterable[tuple[Call, str]], found: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """One row for each judge and call: where it stands, its score, its reason, and what became of it."""
    rows = []
    for judge in plan.judges:
        samples = found.get(judge.name, {})
        for call, _ in asked:
            sample, item = samples.get(call.id), call.item
            score = reason = why = None
            if sample is not None and sample.scores:
                verdict = sample.scores["verdict"]
                score, reason = float(verdict.value), hide_keys(verdict.explanation or "")[:1000]
                why = (verdict.metadata or {}).get("how", "")
                what = "scored" if score == score else "refused" if why == "refused" else "unreadable"
            elif sample is None or str(sample.error).startswith("CancelledError"):
                what = why = "not asked"
            else:
                what, why = "failed", f"failed: {' '.join(hide_keys(redact(str(sample.error or ''))).split())[:300]}"
            at = (item.task, item.system, item.version, call.language, call.wording, judge.name, call.replicate)
            rows.append((*at, call.part, score, reason, "" if what == "scored" else why, what, item))
    columns = [*AT, "part", "score", "reason", "missing", "what", "item"]
    return pd.DataFrame(rows, columns=columns).astype({"score": float})


def write(plan: Plan, folder: Path, frame: pd.DataFrame) -> None:
    """All tables of a run, each whole or not at all."""
    kind = plan.rubric.kind
    value = frame["score"].copy()
    if kind == "pair":
        value *= frame["part"].map({"chosen": 2.0, "rejected": -2.0})
    if kind == "compare":
        value = value.where(frame["part"] == "AB", 100 - value)
    groups = frame.assign(value=value).groupby(AT, sort=False)
    whole = groups["value"].count() == groups.size()
    scores = groups.agg(
        score=("value", "mean"), reason=("reason", "first"), missing=("missing", "max"), item=("item", "first")
    )
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
    """A table without the columns that the plan has no use for. Texts stay as they are: other programs read them."""
    unused = ["item", *(c for c in ("system", "version", "wording") if c in frame and not frame[c].any())]
    unused += ["replicate"] if plan.replicates == 1 else []
    unused += ["language"] if plan.wordings and "wording" in frame else []
    with atomic_path(path) as part:
        frame.drop(columns=unused, errors="ignore").to_csv(part, index=False, float_format="%.10g")
