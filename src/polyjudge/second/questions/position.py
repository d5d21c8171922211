"""Whether judges of pairs follow the position of an answer. See docs/methods.md, section 25."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from polyjudge.second.estimate.bands import uncertainty
from polyjudge.second.estimate.influence import Lean, balance, cluster_codes, judges_first, lean, spread, two_boards
from polyjudge.second.estimate.resample import check_level
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.labels import ALL
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.records import long_table
from polyjudge.second.panel.say import say
from polyjudge.second.panel.shown import Shown
from polyjudge.second.report.build import fields, table
from polyjudge.second.report.result import Result
from polyjudge.second.report.sections import Finding, Section, Severity

MATTERS = 0.05
"""A preference of so much, as a share of the verdicts, is worth a warning when it is sure."""
PLACE = "language | judge | preference/low/high:+percent | same winner = consistency/_low/_high:percent"
PLACED = (
    "system | as they are = mean/low/high:+ratio.2 | in balance = balanced/_low/_high:+ratio.2 | rank:rank "
    "| in balance = balanced_rank:rank | may be best = top_set:yes"
)


class Position(Result):
    """Preference for the answer shown first.

    cells : language and judge ("(all)" over all of them), preference (share of verdicts that the first place wins, ties
        half, less 1/2), low, high (pointwise), p (Holm over judges and cells), clear, consistency (share of pairs with
        the same winner in both orders), consistency_low, consistency_high, tasks; with two languages and judges also
        interaction, band_low, band_high (how far a cell's preference is from its judge's and its language's)
    systems : system, mean (margin as the verdicts are), low, high, balanced (as with both orders equally often),
        balanced_low, balanced_high, rank, balanced_rank, top_set (may be best with both orders in balance)
    """

    cells: pd.DataFrame
    systems: pd.DataFrame
    paired: bool
    """Both orders were asked of the same tasks. If not, the order must have been drawn by chance."""
    balanced: bool
    """Every pair stands in both orders equally often, so position moves no mean."""
    level: float

    @property
    def winner(self) -> tuple[str, str]:
        """First by the verdicts as they are, and with both orders in balance."""
        plain, balanced = (self.systems["system"].iloc[int(self.systems[c].argmax())] for c in ("mean", "balanced"))
        return plain, balanced

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Judges that surely follow the position, and a winner that depends on it."""
        sure = self.cells[self.cells["clear"]]
        if not len(sure):
            return ()
        judges = sure[sure["language"] == ALL]
        rows = judges if len(judges) else sure
        first = rows.iloc[int(rows["preference"].abs().argmax())]
        values: dict[str, Any] = {str(k): v for k, v in first.items()}
        values |= {"count": int(rows["judge"].nunique()), "judges": len(set(self.cells["judge"]) - {ALL})}
        values |= {"balanced": self.balanced, "paired": self.paired, "winner": self.winner[1]}
        values["turned"] = self.winner[0] != self.winner[1]
        large = abs(values["preference"]) >= MATTERS
        severity: Severity = "warning" if large or values["turned"] else "notice"
        return (Finding("position", values, severity),)

    def section(self) -> Section:
        """Who follows the order of showing, and who wins with both orders in balance."""
        shares = ("preference", "low", "high", "consistency", "consistency_low", "consistency_high")
        percent = self.cells.assign(**{name: 100 * self.cells[name] for name in shares})
        head = PLACE if self.cells["consistency"].notna().any() else PLACE.rpartition(" | ")[0]
        says = (
            *(self.findings or (say("position.none"),)),
            say("position.scope", **fields(self, "paired", "balanced")),
        )
        blocks = (
            table("position", say("position.cells", level=self.level), percent, head, most=60),
            table("position-systems", say("position.systems"), self.systems, PLACED, most=40),
        )
        return Section(name="position", title=say("position.title"), says=says, blocks=blocks, folded=False)


def position(panel: Panel, *, level: float = 0.95) -> Position | None:
    """The preference of judges for the first place; None where the order of showing is not known in both ways.

    By tasks that have a pair in both orders; where none has, by tasks with one order each, which is right if that was
    drawn by chance. Intervals over tasks (clusters).
    """
    check_level(level)
    shown = panel.shown
    if shown is None or not len(shown.unit):
        return None
    _, k, m = panel.shape
    cluster = cluster_codes(panel.cluster)
    known = lean(shown, panel.weights, cluster, k * m, m)
    if np.isnan(known.margin).all() or int(known.clusters.max()) < 2:
        return None
    cells = _cells(panel, known, level)
    if known.paired and min(k, m) > 1:
        cells = _interaction(panel, shown, cells, level)
    boards = balance(shown, known, panel.weights, cluster, m)
    systems = two_boards(shown.systems, "balanced", *boards, level)
    even = bool(np.allclose(systems["mean"], systems["balanced"], atol=1e-12))
    return Position(cells=cells, systems=systems, paired=known.paired, balanced=even, level=level)


def _cells(panel: Panel, known: Lean, level: float) -> pd.DataFrame:
    """Every cell, every judge over languages, and all together."""
    _, k, m = panel.shape
    index = np.arange(k * m).reshape(k, m)
    scopes = [np.ravel(index[r, c]) for r in (*range(k), slice(None)) for c in (*range(m), slice(None))]
    mix = np.zeros((len(scopes), k * m))  # equal shares of those cells of a scope that are known
    for row, cells in zip(mix, scopes, strict=True):
        there = cells[~np.isnan(known.margin[cells])]
        row[there] = 1 / max(len(there), 1)
    count = np.array([known.clusters[share > 0].max(initial=0) for share in mix])
    out: dict[str, Any] = {}
    for name, value, added, half in (
        ("preference", known.margin / 2, known.added / 2, 0.5),
        ("consistency", known.same, known.same_added, 0.5),
    ):
        mean = np.where(mix.sum(axis=1) > 0, mix @ np.nan_to_num(value), np.nan)
        if np.isnan(value).all():
            mean[:] = np.nan
        se = spread(np.nan_to_num(added) @ mix.T, count, half)
        wide = stdtrit(np.maximum(count - 1, 1), (1 + level) / 2) * se
        bound = (0.0, 1.0) if name == "consistency" else (-0.5, 0.5)
        ends = [np.clip(mean + side * wide, *bound) for side in (-1, 1)]
        prefix = "" if name == "preference" else f"{name}_"
        out |= {name: mean, f"{prefix}low": ends[0], f"{prefix}high": ends[1]}
        if name == "preference":
            out["p"] = 2 * stdtr(np.maximum(count - 1, 1), -np.abs(mean) / se)
    axes = {"language": (*panel.languages, ALL), "judge": (*panel.judges, ALL)}
    frame = long_table(axes, **out, tasks=count)
    return judges_first(frame[frame["preference"].notna()], level, cells=True)


def _interaction(panel: Panel, shown: Shown, cells: pd.DataFrame, level: float) -> pd.DataFrame:
    """The interaction of the preference, as of any score: a panel of each task's share for the first place."""
    n, k, m = panel.shape
    at = (shown.unit * k + shown.language) * m + shown.judge
    # Each order of a pair weighs the same, so that the quality of the two cancels.
    pair = np.minimum(shown.first, shown.second) * len(shown.systems) + np.maximum(shown.first, shown.second)
    both = pd.DataFrame({"at": at, "pair": pair, "margin": shown.margin}).groupby(["at", "pair"])["margin"]
    found = both.mean()[both.size() == 2].groupby("at").mean()
    values = np.full(n * k * m, np.nan)
    values[found.index.to_numpy()] = found.to_numpy() / 2
    try:
        of = Panel.from_array(
            values.reshape(n, k, m), panel.tasks, panel.languages, panel.judges, weights=panel.weights,
            clusters=panel.clusters, cluster=panel.cluster,
        )  # fmt: skip
        bands = uncertainty(of, level=level).to_frame()
    except PanelError:  # too few tasks have both orders in every cell
        return cells
    columns = ["language", "judge", "interaction", "band_low", "band_high"]
    return cells.merge(bands[columns], on=["language", "judge"], how="left")
