"""What is off: which judge scores higher or lower in some language than its gap to the other judges elsewhere says.

off(l, b) = judge b's gap to the mean of the other judges in language l, less the same gap in the other languages,
averaged (METHODS 18). Where several cells are named, each is shown by its excess over the additive fit of the others,
which the others do not dilute (METHODS 40). beta^, which calibrating subtracts, stands beside it. Then what can be said
of it: one or few cells, a split, many, judges that use the scale differently, a parser that fails, or how much is ruled
out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from polyjudge.answers.audit import off_words as words
from polyjudge.answers.audit.contrasts import COARSE, Cell, OffContrasts
from polyjudge.answers.audit.floor import find_floor
from polyjudge.answers.audit.scale_use import ScaleUse, compare_scale_use, scale_sentence, without_slopes
from polyjudge.answers.audit.undeclared import clusters
from polyjudge.base.errors import UsageError
from polyjudge.base.later import Later, framed
from polyjudge.base.text import count
from polyjudge.panel import Panel
from polyjudge.report.model import Finding
from polyjudge.stats.cells import Values
from polyjudge.stats.interval import FEWEST, Interval
from polyjudge.stats.resample import bootstrap, groups_of

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Kind = Literal[
    "calm", "calibrated", "named", "judge gaps", "language gaps", "two by two", "split", "many", "scale", "too few",
    "none",
]  # fmt: skip
QUIET = ("calm", "calibrated", "none", "too few")
"""Kinds in which nothing is off."""
COLUMNS = (
    "language", "judge", "off", "low", "high", "all_low", "all_high", "clear", "named",
    "excess", "excess_low", "excess_high", "beta", "radius", "read",
)  # fmt: skip


@dataclass(frozen=True)
class Off:
    """frame : language, judge, off, low, high (of one), all_low, all_high (of all together), clear, named, excess over
        the additive fit of the cells that are not named, with its interval, beta, radius (METHODS 4, noise sigma),
        read (which of "off" and "excess" says how far the cell is off: the excess where several are named)
    kind : what is said of it; sentences : the findings
    named, failing : language and judge of the cells that are named, and of those whose parser may fail
    limit : what is ruled out: no |off| (of the cells that are not named) is larger
    blind : what failures that were not drawn could change, in points
    slopes : judge, slope (1: reacts to differences between answers as the judges do on average), low, high, r
    floor : language, judge, rate of the lowest score or none, elsewhere
    shift : language, shift (median over judges of their shift against the other languages), low, high
    """

    kind: Kind
    frame: Later[pd.DataFrame] = Later()
    sentences: tuple[Finding, ...] = ()
    limit: float = math.nan
    blind: float = math.nan
    slopes: Later[pd.DataFrame | None] = Later(None)
    floor: Later[pd.DataFrame | None] = Later(None)
    shift: Later[pd.DataFrame | None] = Later(None)
    named: tuple[tuple[str, str], ...] = ()
    failing: tuple[tuple[str, str], ...] = ()
    values: Values | None = None
    matters: float = 0.0


@dataclass(frozen=True)
class _Verdict:
    """What is off, as numbers.

    tested : off of every cell; rest : excess of every cell, the named ones left out
    contrasts : those in which cells are named, of values without what slopes explain where slopes are said
    text : what is said of it; slope_text : what is said of slopes before it
    """

    kind: Kind
    tested: Interval
    rest: Interval
    contrasts: OffContrasts
    text: str
    named: tuple[Cell, ...] = ()
    slope_text: str = ""
    is_near_limit: bool = False

    @property
    def shown(self) -> Interval:
        """What the named cells are shown by."""
        return self.rest if len(self.named) > 1 or self.slope_text else self.tested


def off(panel: Panel, *, matters: float | None = None, level: float = 0.95) -> Off:
    """What is off in a panel, with simultaneous intervals, and what can be said of it.

    matters : differences up to this do not matter; 2% of the scale unless given
    level : of the intervals
    """
    least = panel.matters if matters is None else float(matters)
    if not (math.isfinite(least) and least >= 0):
        raise UsageError("matters is a number of points, 0 or more.")
    k, m = panel.shape[2:]
    note = clusters(panel)
    notes = () if note is None else (note,)
    if k < 2 or m < 2:
        return _one_judge_or_language(panel, notes, least)
    values = panel.values()
    contrasts = OffContrasts(panel, values, least, level)
    tested = contrasts.test(())
    use = cache(partial(compare_scale_use, panel, values, level))
    later: dict[str, Any] = {"slopes": lambda: use().frame, "shift": partial(_shift, panel, values, level)}
    later |= {"values": values, "matters": least, "blind": panel.factor * contrasts.blind.size}
    if values.units < FEWEST:
        frame = partial(_frame, contrasts, tested, tested, (), "off")
        return Off("too few", frame, (_too_few_finding(panel, values), *notes), **later)
    verdict = _decide(contrasts, tested, use)
    clear = tested.clear(least) & contrasts.distinct
    floor = find_floor(panel, level)
    findings = [
        *_verdict_findings(verdict, clear),
        *(floor.findings if floor else ()),
        *words.ceiling_findings(contrasts, clear),
        *words.untold_findings(contrasts, tested),
        *notes,
    ]
    read = "excess" if len(verdict.named) > 1 or (verdict.named and verdict.slope_text) else "off"
    named_mask = contrasts.marks(verdict.named)
    return Off(
        verdict.kind,
        partial(_frame, contrasts, tested, verdict.rest, verdict.named, read),
        tuple(findings),
        verdict.contrasts.stated_limit(verdict.rest, verdict.named),
        floor=floor.frame(panel) if floor else None,
        named=tuple(_labels(panel, np.argwhere(named_mask))),
        failing=tuple(_labels(panel, floor.cells)) if floor else (),
        **later,
    )


def _one_judge_or_language(panel: Panel, notes: tuple[Finding, ...], matters: float) -> Off:
    """There is nothing to compare: said where there are languages."""
    text = f"From one judge's scores an effect of {panel.noun} on it cannot be seen: add a second judge, or labels."
    alone = (Finding("info", "off.none", text, "Off"),) if len(panel.languages) > 1 else ()
    return Off("none", _empty, (*alone, *notes), matters=matters)


def _too_few_finding(panel: Panel, values: Values) -> Finding:
    what = "cluster" if panel.clustered else "task"
    text = f"{count(values.units, what)} cannot tell whether a judge is off: at least {FEWEST} are needed."
    return Finding("notice", "off.few", text, "Off", head="Too few tasks")


def _labels(panel: Panel, cells: Any) -> list[tuple[str, str]]:
    """Language and judge of cells."""
    return [(panel.languages[x], panel.judges[b]) for x, b in cells]


# --- what it is ---


def _decide(contrasts: OffContrasts, tested: Interval, use: Callable[[], ScaleUse]) -> _Verdict:
    """What is off. A slope comes before cells: cells are then named by what stands beyond slopes."""
    clear = tested.clear(contrasts.matters) & contrasts.distinct
    something_differs = bool(tested.clear().any())
    slopes_count = something_differs and (use().explains_most or use().matters(contrasts.matters))
    if contrasts.is_calibrated(tested):
        text = words.calibrated_text(contrasts.panel)
        return _Verdict("calibrated", tested, tested, contrasts, text)
    if not clear.any():
        slope_text = scale_sentence(contrasts.panel, use()) if slopes_count and use().explains_most else ""
        return _decide_calm(contrasts, tested, slope_text)
    if slopes_count:
        return _decide_beyond_slopes(contrasts, tested, clear, use())
    if contrasts.shape == (2, 2):
        text = words.two_by_two_text(contrasts, tested)
        return _Verdict("two by two", tested, tested, contrasts, text)
    named, rest = contrasts.name(tested)
    if named:
        return _named_verdict(contrasts, tested, rest, named)
    return _split_or_many(contrasts, tested, clear)


def _decide_calm(contrasts: OffContrasts, tested: Interval, slope_text: str) -> _Verdict:
    """Nothing is certainly off by what matters; cells that are off by about as much are said."""
    near = _near_limit(contrasts, tested)
    text = words.calm_text(contrasts, tested)
    if near:
        text = words.near_limit_text(contrasts, tested, near)
    return _Verdict("calm", tested, tested, contrasts, text, slope_text=slope_text, is_near_limit=bool(near))


def _near_limit(contrasts: OffContrasts, tested: Interval) -> list[Cell]:
    """Cells that are certainly off by more than half of what matters, and may be off by more than it."""
    half_width = tested.q * tested.se
    is_near = (np.abs(tested.estimate) - half_width > contrasts.matters / 2) & (tested.limit > contrasts.matters)
    is_near &= contrasts.distinct & np.isfinite(half_width) & (contrasts.matters > 0)
    return [(int(x), int(b)) for x, b in np.argwhere(is_near)]


def _decide_beyond_slopes(contrasts: OffContrasts, tested: Interval, clear: Mask, use: ScaleUse) -> _Verdict:
    """Judges use the scale differently: a cell is named only where it is off beyond what slopes explain."""
    slope_text = scale_sentence(contrasts.panel, use)
    beyond = contrasts.with_values(without_slopes(contrasts.values, use.slopes))
    tested_beyond = beyond.test(())
    is_left = bool((tested_beyond.clear(contrasts.matters) & contrasts.distinct).any())
    if is_left and contrasts.shape != (2, 2):
        named, rest = beyond.name(tested_beyond)
        if named:
            text = f"Beyond that: {words.named_text(beyond, rest, rest, named)}"
            kind = _named_kind(contrasts)
            return _Verdict(kind, tested, rest, beyond, text, named, slope_text)
    if use.explains_most or not is_left:
        return _Verdict("scale", tested, tested, contrasts, slope_text)
    return _split_or_many(contrasts, tested, clear)


def _named_kind(contrasts: OffContrasts) -> Kind:
    k, m = contrasts.shape
    if min(k, m) > 2:
        return "named"
    return "judge gaps" if k == 2 else "language gaps"


def _named_verdict(contrasts: OffContrasts, tested: Interval, rest: Interval, named: tuple[Cell, ...]) -> _Verdict:
    """Few cells: one is shown by its off, several by what the others do not predict."""
    shown = rest if len(named) > 1 else tested
    text = words.named_text(contrasts, shown, rest, named)
    return _Verdict(_named_kind(contrasts), tested, rest, contrasts, text, named)


def _split_or_many(contrasts: OffContrasts, tested: Interval, clear: Mask) -> _Verdict:
    split = contrasts.split()
    if split is not None:
        return _Verdict("split", tested, tested, contrasts, words.split_text(contrasts.panel, split))
    return _Verdict("many", tested, tested, contrasts, words.many_text(contrasts, tested, clear))


# --- what is said ---


def _verdict_findings(verdict: _Verdict, clear: Mask) -> list[Finding]:
    """What is off; slopes come before cells, and after a calm panel."""
    panel = verdict.contrasts.panel
    severity = _severity(verdict, clear)
    where = {}
    if verdict.kind == "named":
        language, judge = verdict.named[0]
        where = {"language": panel.languages[language], "judge": panel.judges[judge]}
    key = "off.near_limit" if verdict.is_near_limit else f"off.{verdict.kind.replace(' ', '_')}"
    main = Finding(severity, key, verdict.text, "Off", where, _head(verdict))
    if not verdict.slope_text:
        return [main]
    if verdict.kind == "calm":
        return [main, Finding("info", "off.scale", verdict.slope_text, "Off")]
    slopes = Finding(severity, "off.scale", verdict.slope_text, "Off", head="Judges use the scale differently")
    return [slopes, main]


def _severity(verdict: _Verdict, clear: Mask) -> Literal["info", "notice", "warning", "serious"]:
    """A large difference is serious; a blind spot alone is never more than information."""
    panel, tested = verdict.contrasts.panel, verdict.tested
    if verdict.kind == "calibrated" or verdict.is_near_limit:
        return "notice"
    if verdict.kind == "calm":
        return "notice" if verdict.contrasts.is_coarse(tested) else "info"
    certain_size = (np.abs(tested.estimate) - tested.q * tested.se)[clear].max(initial=0.0)
    return "serious" if certain_size > COARSE * panel.width else "warning"


def _head(verdict: _Verdict) -> str:
    """A few words for the card of a page."""
    if verdict.named:
        return words.named_head(verdict.contrasts, verdict.shown, verdict.named)
    if verdict.is_near_limit:
        return "About the limit"
    if verdict.kind == "calm":
        return "Too few tasks to tell" if verdict.contrasts.is_coarse(verdict.tested) else "Nothing is off"
    heads = {
        "calibrated": "Calibrated: 0 by construction",
        "two by two": "The gap between the judges differs",
        "split": "One group differs from the rest",
        "many": f"{verdict.contrasts.panel.noun.capitalize()} changes the judges",
        "scale": "Judges use the scale differently",
    }
    return heads.get(verdict.kind, "")


# --- frames ---


def _frame(
    contrasts: OffContrasts, tested: Interval, rest: Interval, named: tuple[Cell, ...], read: str
) -> pd.DataFrame:
    """One row for each language and judge."""
    panel = contrasts.panel
    cells = [(language, judge) for language in panel.languages for judge in panel.judges]
    columns = {
        "off": tested.estimate,
        "low": tested.low_one,
        "high": tested.high_one,
        "all_low": tested.low,
        "all_high": tested.high,
        "clear": tested.clear(contrasts.matters),
        "named": contrasts.marks(named),
        "excess": rest.estimate,
        "excess_low": rest.low,
        "excess_high": rest.high,
        "beta": np.where(np.isfinite(tested.estimate), contrasts.beta(), np.nan),
        "radius": np.full(contrasts.shape, contrasts.radius),
        "read": np.full(contrasts.shape, read, dtype=object),
    }
    labels = {"language": [x for x, _ in cells], "judge": [b for _, b in cells]}
    return framed({**labels, **{column: values.ravel() for column, values in columns.items()}})


def _empty() -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({c: pd.Series(dtype=bool if c in ("clear", "named") else object) for c in COLUMNS})


def _shift(panel: Panel, values: Values, level: float, draws: int = 400, seed: int = 0) -> pd.DataFrame | None:
    """How much harder or easier a language is for all: median over judges of their shift against the other languages.
    None where languages share no tasks: other tasks may be harder."""
    if values.seen is not None or not values.present.all() or values.units < FEWEST:
        return None
    k, m = values.present.shape
    group = groups_of(values.units, seed)
    flat = values.v.reshape(values.units, -1)
    size = np.bincount(group)
    sums = np.stack([np.bincount(group, flat[:, i]) for i in range(k * m)], axis=1)
    weight = bootstrap(len(size), draws, seed)
    drawn = ((weight @ sums) / (weight @ size)[:, None]).reshape(-1, k, m)
    means = np.concatenate([values.mean.reshape(1, k, m), drawn])
    shift = np.median((means - means.mean(1, keepdims=True)) * (k / (k - 1)), axis=2)
    low, high = np.quantile(shift[1:], [(1 - level) / 2, (1 + level) / 2], axis=0)
    return framed({"language": panel.languages, "shift": shift[0], "low": low, "high": high})
