"""An audit of several criteria of the same answers: one each, the level shared, and how far they say the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from polyjudge.second.estimate.alike import alike
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.records import plain
from polyjudge.second.questions.audit.audit import Audit, Inside, audit
from polyjudge.second.questions.systems.leaderboard import Leaderboard, leaderboard
from polyjudge.second.report.result import Result
from polyjudge.second.report.sections import Finding

APART = 1.5
"""Criteria whose scales are more than this many times as wide as another's are not averaged: the wide ones decide."""
SAME = 0.9
"""Criteria whose correlation surely lies above this say the same thing."""


class Criteria(Result):
    """Audits of several criteria. Intervals of each hold at a level that all of them share.

    table : criterion, first (the systems that may be best, best first), agreement, low, high (reliability of the mean
        of the judges), verdict, language, judge, excess, excess_low, excess_high (the named cell that is furthest
        off), delta (how far a gap between two judges may change), severity (of its worst finding)
    same : criterion_a, criterion_b, correlation, low, high (of what they say of the answers, free of what single judges
        add to both), alike (surely above 0.9)
    mean : leaderboard of the plain mean over criteria, where their scales are about as wide and there are systems
    """

    table: pd.DataFrame
    same: pd.DataFrame
    mean: Leaderboard | None
    audits: Mapping[str, Audit | Inside]
    level: float
    """Of all criteria together."""
    seed: int

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of every criterion, most severe first, each with its criterion."""
        every = [
            Finding(f.code, {**f.values, "criterion": name}, f.severity, f.matter, f.arithmetic)
            for name, one in self.audits.items()
            for f in one.findings
        ]
        return tuple(sorted(every, key=lambda f: -f.weight))

    def to_dict(self) -> dict[str, Any]:
        return {
            "table": plain(self.table),
            "same": plain(self.same),
            "mean": plain(self.mean),
            "criteria": {name: one.to_dict() for name, one in self.audits.items()},
            "level": self.level,
            "seed": self.seed,
        }


def audit_criteria(
    panels: Mapping[str, Panel], *, level: float = 0.95, seed: int = 7, resamples: int = 1000, **options: Any
) -> Criteria:
    """Audit each criterion at a level that keeps all of them together at `level` (Bonferroni), and compare them."""
    if len(panels) < 2:
        raise UsageError("Several criteria are needed to compare them; audit one with polyjudge.audit.")
    share = 1 - (1 - level) / len(panels)
    audits = {
        name: audit(panel, level=share, seed=seed, resamples=resamples, **options) for name, panel in panels.items()
    }
    same = alike(panels, level, resamples, seed)
    same["alike"] = same["low"] > SAME
    return Criteria(
        table=pd.DataFrame([_row(name, one) for name, one in audits.items()]),
        same=same,
        mean=_mean(panels, level, resamples, seed),
        audits=audits,
        level=level,
        seed=seed,
    )


def _row(name: str, one: Audit | Inside) -> dict[str, Any]:
    seen, board = one.signal, None if one.systems is None else one.systems.leaderboard
    row: dict[str, Any] = {
        "criterion": name,
        "first": ", ".join(board.top_set()) if board is not None else "",
        "agreement": None if seen is None else seen.mean_panel,
        "low": None if seen is None else seen.mean_panel_low,
        "high": None if seen is None else seen.mean_panel_high,
        "verdict": "cannot tell" if seen is None else seen.verdict,
        "severity": max(one.findings, key=lambda f: f.weight).severity if one.findings else "info",
    }
    row |= dict.fromkeys(("language", "judge", "excess", "excess_low", "excess_high", "delta"))
    if isinstance(one, Audit):
        row["delta"] = one.certificate.delta
        if len(one.explanation.named_cells):
            first = one.explanation.named_cells.iloc[0]
            row |= {"language": first["language"], "judge": first["judge"], "excess": first["excess"]}
            row |= {"excess_low": first["low"], "excess_high": first["high"]}
    return row


def _mean(panels: Mapping[str, Panel], level: float, resamples: int, seed: int) -> Leaderboard | None:
    """Who wins by the plain mean over criteria, as people average them, over answers that have all of them."""
    first = next(iter(panels.values()))
    widths = [high - low for low, high in (p.range for p in panels.values())]
    if not first.systems or max(widths) > APART * min(widths):
        return None
    keys = ["task", "system", "language", "judge"]
    rows = pd.concat([p.to_long()[[*keys, "score"]].groupby(keys, sort=False).mean() for p in panels.values()])
    found = rows["score"].groupby(keys, sort=False).agg(["mean", "size"])
    whole = found.loc[found["size"] == len(panels), "mean"].unstack("judge")
    return leaderboard(_panel(whole, first), level=level, resamples=resamples, seed=seed)


def _panel(table: pd.DataFrame, like: Panel) -> Panel:
    """A table of scores, a row for each (task, system, language) and a column for each judge, as a panel."""
    axes = {"task": like.tasks, "system": like.systems, "language": like.languages}
    index = pd.MultiIndex.from_product(list(axes.values()), names=list(axes))
    values = table.reindex(index=index, columns=list(like.judges)).to_numpy()
    shape = (*(len(labels) for labels in axes.values()), len(like.judges))
    clusters = {"clusters": like.clusters, "cluster": like.cluster} if like.clusters else {}
    return Panel.from_array(
        values.reshape(shape), like.tasks, like.languages, like.judges, systems=like.systems, condition=like.condition,
        **clusters,
    )  # fmt: skip
