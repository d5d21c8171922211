"""Which calibrator makes languages agree on the judges, on tasks it has not seen? (METHODS 7, the paper's Table 2)

Tasks are drawn with replacement; each method learns from those drawn and is measured on the others: the mean Kendall's
tau between languages, and, for methods that only subtract, how much nearer a judge comes to any truth (I7).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from polyjudge.answers.audit.advice import command
from polyjudge.answers.calibrate import closeness, gain_findings
from polyjudge.answers.margins import margins
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.numbers import ci
from polyjudge.base.options import ReadingOptions
from polyjudge.base.text import count, names
from polyjudge.calibrate.baselines import (
    COMPLETE,
    IDENTITY,
    SUBTRACT,
    Gain,
    held_out,
    method_names,
    part_of,
    unbiased_gain,
)
from polyjudge.calibrate.consensus import interaction_parts
from polyjudge.panel import Panel
from polyjudge.report.model import Chart, Finding, Report, Result, Section, Step, Table

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
FRONT = ("raw", "cbc", "cbc-weighted", "cbc-shrunken")
"""Methods that the first screen shows first."""


@dataclass(frozen=True, repr=False)
class Compare(Result):
    """Methods side by side on tasks held out.

    methods : method, tau, low, high (mean and percentiles over resamples), full_fit (learnt and measured on all tasks),
        identity (what of the row is true by arithmetic), gain, gain_low, gain_high (points squared, of one judge drawn
        at random, fitted on all tasks, without bias; of the oracle on left-out tasks; missing where a method does more
        than subtract)
    differences : method_a, method_b, difference of tau, low, high, over the same resamples
    """

    methods: pd.DataFrame
    differences: pd.DataFrame
    left_out: tuple[str, ...]
    """Languages and judges that had to be left out: they are not joined to the others by what was scored."""
    replicates: int
    skipped: int
    seed: int
    level: float
    findings: tuple[Finding, ...]
    panel_: Panel

    def report(self) -> Report:
        """The report."""
        p = self.panel_
        mean = p.values().mean
        closer = np.array(
            [closeness(Gain(*x), mean) for x in self.methods[["gain", "gain_low", "gain_high"]].to_numpy()]
        ).reshape(-1, 3)
        shown = self.methods.assign(
            **dict(zip(("closer", "closer_low", "closer_high"), p.factor * closer.T, strict=True))
        )
        shown.loc[shown["method"] == "raw", ["closer", "closer_low", "closer_high"]] = np.nan
        columns = {"method": "text", "tau": "number low high", "full_fit": "number",
                   "closer": "+points closer_low closer_high", "identity": "text"}  # fmt: skip
        titles = {"full_fit": "all tasks", "closer": f"distance falls by, {p.unit_name}", "identity": "by arithmetic"}
        title = "Agreement of languages on the order of the judges (tau), tasks held out"
        note = f"tau: the mean over {self.replicates:,} resamples; brackets hold {self.level:.0%} of them."
        table = Table("methods", title, shown, columns, titles, note)
        front = shown.assign(late=~shown["method"].isin(FRONT)).sort_values("late", kind="stable")
        del columns["identity"]
        board = Table("board", title, front, columns, titles, note)
        chart = Chart(
            "tau",
            "intervals",
            "Agreement of languages on the order of the judges, tasks held out",
            shown.rename(columns={"method": "label", "tau": "value"}),
            f"Mean tau between languages by method, with {self.level:.0%} of the resamples.",
            x="mean tau between languages",
        )
        pairs = Table(
            "differences",
            "Difference of tau between two methods, over the same resamples",
            self.differences,
            {"method_a": "text", "method_b": "text", "difference": "number low high"},
            {"method_a": "method", "method_b": "against"},
        )
        how = (
            f"{self.replicates:,} times, tasks are drawn with replacement to learn from; measured on the others.",
            "A method with tau 1 on all tasks has it by arithmetic. Agreement is consistency, not accuracy.",
        )
        shrink = ("--shrink",) if any(f.key == "gain-open" for f in self.findings) else ()
        after = (Step(command(p, "calibrate", *shrink, "-o", "calibrated.csv"), "calibrate the scores"),)
        sections = (
            Section("methods", "Methods", how, (table,), (chart,)),
            Section("differences", "Method against method", tables=(pairs,), open=False),
        )
        title, facts, about = "Methods on tasks held out", (*p.read_facts, *p.notes), {"seed": self.seed}
        return Report("compare", title, facts, self.findings, board, after, sections, about=about)


def compare(
    panel: Panel | Any,
    *,
    methods: tuple[str, ...] | None = None,
    replicates: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    **columns: Unpack[ReadingOptions],
) -> Compare:
    """Compare calibrators on tasks held out: which one makes the languages agree on the judges?

    The baselines of the paper's Table 2 beside consensus-based calibration. Nothing here needs human labels, and so
    nothing here says who is right.

    panel : file or table of scores
    methods : names of methods, such as raw,cbc,z-score; all of them unless said
    replicates : how often tasks are drawn
    level : confidence level of the intervals
    seed : number that fixes what is drawn at random

    Examples:
        polyjudge compare scores.csv
        polyjudge compare scores.csv --methods raw,cbc,judge-only-norm
    """
    from polyjudge.read import read_panel

    panel = margins(read_panel(panel, **columns))
    if replicates < 1 or seed < 0:
        raise UsageError("The number of replicates is at least 1, and a seed is not negative.")
    if not 0.5 <= level < 1:
        raise UsageError(f"The level of an interval is at least 0.5 and below 1, such as 0.95, not {level:g}.")
    panel, gone = _whole(panel)
    chosen, lacking = _choose_methods(panel, methods)
    found = held_out(panel, chosen, replicates, seed)
    values = panel.values().v
    gains = {x: _gain(x, values, found.gain[x], panel, level) for x in chosen if x in SUBTRACT}
    frame = _frame(chosen, found.tau, found.full_fit, gains, level)
    findings = [*_order(panel, frame, level), *_gain_of_cbc(panel, gains), *_left_out(gone, lacking, found.skipped)]
    return Compare(
        frame, _differences(found.tau, level), gone, replicates, found.skipped, seed, level, tuple(findings), panel
    )


def _choose_methods(panel: Panel, methods: tuple[str, ...] | None) -> tuple[list[str], list[str]]:
    """The methods that are compared, and those that need scores which are missing."""
    chosen = method_names(methods)
    if panel.complete and bool((panel.weight == 1).all()):
        return chosen, []
    lacking = [x for x in chosen if x in COMPLETE]
    if lacking and methods:
        raise PanelError(f"The method {names(lacking)} needs every score, and some are missing. Leave it out.")
    return [x for x in chosen if x not in lacking], lacking


def _gain_of_cbc(panel: Panel, gains: Mapping[str, Gain]) -> list[Finding]:
    """What consensus-based calibration gains, where it is compared."""
    if "cbc" not in gains:
        return []
    return gain_findings(gains["cbc"], closeness(gains["cbc"], panel.values().mean), panel)


def _left_out(gone: tuple[str, ...], lacking: list[str], n_skipped: int) -> list[Finding]:
    """Languages, judges, methods and resamples that were left out."""
    findings = []
    if gone:
        them = "it" if len(gone) == 1 else "them"
        text = f"Left out, because too little joins {them} to the others: {names(gone)}."
        findings.append(Finding("notice", "left-out", text, "Left out"))
    if lacking:
        text = f"Not compared, because some scores are missing: {names(lacking)}."
        findings.append(Finding("info", "need-complete", text))
    if n_skipped:
        text = f"{count(n_skipped, 'resample')} drew every task and could not be measured."
        findings.append(Finding("info", "skipped", text))
    return findings


def _whole(panel: Panel) -> tuple[Panel, tuple[str, ...]]:
    """The languages and judges of which every cell is known, and those that had to be left out."""
    gone: list[str] = []
    while True:
        _, _, k, m = panel.shape
        if min(k, m) < 2:
            few = panel.noun if k < 2 else "judge"
            more = f" Left out, because too little joins them: {names(gone)}." if gone else ""
            raise PanelError(
                f"Comparing methods needs two {panel.nouns} and two judges, and there is one {few}.{more} "
                f"Add scores of another {few}, or look at these: {command(panel, 'audit')}"
            )
        if panel.complete:
            return panel, tuple(gone)
        bad = ~interaction_parts(panel.values())[1]
        if not bad.any():
            return panel, tuple(gone)
        rows, columns = bad.mean(1), bad.mean(0)
        if bad.all():
            raise PanelError("No tasks join the languages and judges of this panel, so methods cannot be compared.")
        if rows.max() >= columns.max():
            x = panel.languages[int(rows.argmax())]
            panel = panel.select(languages=[y for y in panel.languages if y != x])
        else:
            x = panel.judges[int(columns.argmax())]
            panel = panel.select(judges=[y for y in panel.judges if y != x])
        gone.append(x)


def _gain(method: str, values: Array, held: Array, panel: Panel, level: float) -> Gain:
    """Of the fit on all tasks, without bias; of the oracle, which has none, on tasks left out."""
    if method == "oracle":
        low, high = np.percentile(held, [50 * (1 - level), 50 * (1 + level)])
        return Gain(float(held.mean()), float(low), float(high))
    part, keep = part_of(method, values)
    return unbiased_gain(part, 1e-9 * panel.width, keep, level)


def _frame(
    chosen: list[str], tau: dict[str, Array], full: dict[str, float], gains: dict[str, Gain], level: float
) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for x in chosen:
        low, high = np.percentile(tau[x], [50 * (1 - level), 50 * (1 + level)])
        gain = gains.get(x, Gain(np.nan, np.nan, np.nan))
        rows.append((x, tau[x].mean(), low, high, full[x], IDENTITY.get(x, ""), *gain))
    columns = ["method", "tau", "low", "high", "full_fit", "identity", "gain", "gain_low", "gain_high"]
    return pd.DataFrame(rows, columns=columns)


def _differences(tau: dict[str, Array], level: float) -> pd.DataFrame:
    import pandas as pd

    rows = []
    chosen = list(tau)
    for i, a in enumerate(chosen):
        for b in chosen[i + 1 :]:
            d = tau[a] - tau[b]
            rows.append((a, b, d.mean(), *np.percentile(d, [50 * (1 - level), 50 * (1 + level)])))
    return pd.DataFrame(rows, columns=["method_a", "method_b", "difference", "low", "high"])


def _order(panel: Panel, frame: pd.DataFrame, level: float) -> list[Finding]:
    """What calibrating does to the order of the judges on tasks held out."""
    rows = frame.set_index("method")
    if len(panel.judges) == 2:
        text = "With two judges tau can only be 1, -1 or a tie: look at the gain instead."
        return [Finding("info", "two-judges", text, "Order")]
    if not {"raw", "cbc"} <= set(rows.index):
        return []
    raw, cbc = rows.loc["raw"], rows.loc["cbc"]
    text = (
        f"On tasks held out, {panel.nouns} agree on the order of the judges with tau {ci(raw.tau, raw.low, raw.high)} "
        f"before calibrating and {ci(cbc.tau, cbc.low, cbc.high)} after (brackets: {level:.0%} of the resamples). That "
        "is consistency, not accuracy."
    )
    return [Finding("info", "order", text, "Order")]
