"""May one judge take the place of another? (METHODS 30)

For every difference of two systems, every language and every pass rate: how it changes when NEW replaces OLD. Yes where
all of them lie within what is accepted, failures that were not drawn included; no where one certainly does not; else it
cannot be told, and how many tasks would show that the two score alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from polyjudge.answers.audit.advice import command
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.numbers import ci, points
from polyjudge.base.numbers import threshold as pass_mark
from polyjudge.base.options import ColumnsLabelsItems
from polyjudge.base.text import name, names
from polyjudge.cbc import first_max
from polyjudge.panel import Panel
from polyjudge.report.model import Chart, Finding, Report, Result, Section, Step, Table
from polyjudge.stats.blind import BlindSpot, unseen_share
from polyjudge.stats.cells import mean_seen, unit_means
from polyjudge.stats.interval import FEWEST, Interval, interval
from polyjudge.stats.showing import Accepted, carrying_units, units_to_show, unseen_width

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Index = NDArray[np.int64]
Answer = Literal["accepted", "refused", "open"]


@dataclass(frozen=True, repr=False)
class Swap(Result):
    """What changes. changes : kind ("system difference", "language", "pass rate"), language, first, second, change,
    low, high (of all together), inside (failures that were not drawn included); pass and fail, and pass rates, in
    percentage points, so `matters` too
    shift : of the mean score, by itself: change, low, high
    tasks_to_settle : tasks that would show that the two score alike, where that cannot be told yet
    blind : what failures that were not drawn could change, in points"""

    old: str
    new: str
    answer: Answer
    changes: pd.DataFrame
    shift: tuple[float, float, float]
    matters: float
    tasks_to_settle: int | None
    blind: float
    level: float
    findings: tuple[Finding, ...]
    panel_: Panel

    @property
    def _has_rates_of_scores(self) -> bool:
        """Whether some changes are of pass rates and the others of scores."""
        kinds = set(self.changes["kind"])
        return "pass rate" in kinds and kinds != {"pass rate"} and self.panel_.unit_name == "points"

    @property
    def incomplete(self) -> bool:
        """The answer is not yes: the command ends with 1."""
        return self.answer != "accepted"

    def report(self) -> Report:
        """The report."""
        p = self.panel_
        compared = _compared_languages(self.changes)
        shown = self.changes.assign(what=[_describe(p, label, compared) for label in _labels_of(self.changes)])
        columns = {"what": "text", "change": "+points low high", "inside": "yes"}
        unit, accepted = p.unit_name, f"within {self.matters:,.6g}"
        if self._has_rates_of_scores:
            unit, accepted = f"{unit}; of pass rates, percentage points", "within what is accepted"
        heads = {"what": "", "change": f"change, {unit}", "inside": accepted}
        title = f"What changes with {name(self.new)} in place of {name(self.old)}"
        table = Table("changes", title, shown, columns, heads)
        drawn = shown.rename(columns={"what": "label", "change": "value"}).head(60)
        said = f"Every change with its interval, and whether it is {accepted}."
        more: dict[str, Any] = {"x": heads["change"], "options": {"zero": "no change"}}
        chart = Chart("changes", "intervals", "Changes, and what is accepted", drawn, said, **more)
        after = (Step(command(p, "audit"), "see how the judges differ"),) if self.incomplete else ()
        section = Section("changes", "What changes", tables=(table,), charts=(chart,))
        about, title = {"level": self.level, "matters": self.matters}, "One judge instead of another"
        return Report("swap", title, (*p.read_facts, *p.notes), self.findings, None, after, (section,), about=about)


def swap(
    panel: Panel | Any,
    *,
    judges: str,
    matters: float | None = None,
    threshold: str | None = None,
    alone: bool = False,
    level: float = 0.95,
    **columns: Unpack[ColumnsLabelsItems],
) -> Swap:
    """May one judge take the place of another?

    Yes, when no comparison of systems or languages moves by more than what matters, and no pass rate (of pass and fail,
    or with a threshold), even by failures too rare to have shown on these tasks; no, when one clearly does. How far the
    mean score moves is said. Ends with 1 unless the answer is yes.

    panel : file or table of scores
    judges : OLD=NEW
    matters : largest change to accept, in points (pass or fail: percentage points); 2% of the scale unless said
    threshold : also compare pass rates: '4' passes above 4, '>=4' from 4 on
    alone : the judge is used by itself, not in the mean of the panel
    level : confidence level of the intervals

    Examples:
        polyjudge swap scores.csv --judges gpt-4o=gpt-5-mini
        polyjudge swap scores.csv --judges gpt-4o=gpt-5-mini --threshold 70 --alone
    """
    from polyjudge.read import read_panel

    panel = read_panel(panel, **columns)
    old, new = _find_judges(panel, judges)
    if not 0.5 <= level < 1:
        raise UsageError(f"The level of an interval is at least 0.5 and below 1, such as 0.95, not {level:g}.")
    if not (allowed := panel.least(matters) * panel.factor) > 0:
        raise UsageError(f"What matters is the largest change to accept, in points above 0, not {allowed:g}.")
    if panel.units < FEWEST:
        raise PanelError(f"{panel.units} tasks are too few to compare two judges: {FEWEST} are needed.")
    weight = 1.0 if alone else 1 / (len(panel.judges) - 1)
    exchange = _Exchange(panel, old, new, weight, threshold)
    changes, mean_change = _measure_changes(exchange)
    if not changes.labels:
        mark = f"--threshold {panel.scale[0] + 0.7 * panel.width:.2g}"
        raise PanelError(
            f"Without systems and with one language a swap changes no comparison. Add a pass mark: {mark}."
        )
    known = changes.known_mask
    if not known.any():
        raise PanelError(f"Too few tasks were scored by both judges to compare anything: {FEWEST} are the least.")
    tested = _test_changes(exchange, changes.take(np.flatnonzero(known)), allowed, level)
    unknown = changes.take(np.flatnonzero(~known)).labels
    answer: Answer = "open" if unknown and tested.answer == "accepted" else tested.answer
    units = tested.changes.units_seen
    whole = interval(mean_change, level=level, df=np.array([max(units.max() - 1.0, 1.0)]))
    result = Swap(
        old=panel.judges[old],
        new=panel.judges[new],
        answer=answer,
        changes=_changes_frame(tested),
        shift=(float(whole.estimate[0]), float(whole.low[0]), float(whole.high[0])),
        matters=allowed,
        tasks_to_settle=tested.tasks_to_show if tested.answer == "open" else None,
        blind=tested.blind.size,
        level=level,
        findings=(),
        panel_=panel,
    )
    return replace(result, findings=_findings(result, tested, unknown, alone))


def _find_judges(panel: Panel, judges: str) -> tuple[int, int]:
    """Positions of OLD and NEW of OLD=NEW; a name may have an = itself."""
    parts = judges.split("=")
    for i in range(1, len(parts)):
        old, new = "=".join(parts[:i]).strip(), "=".join(parts[i:]).strip()
        if old in panel.judges and new in panel.judges:
            if old == new:
                raise UsageError("A judge cannot replace itself. Name two judges: --judges OLD=NEW.")
            return panel.judges.index(old), panel.judges.index(new)
    if len(parts) < 2:
        raise UsageError(f"Name both judges: --judges OLD=NEW, not {name(judges)!r}.")
    unknown = next((x.strip() for x in (parts[0], parts[-1]) if x.strip() not in panel.judges), judges)
    raise PanelError(f"There is no judge {name(unknown)!r} in this panel. It has: {names(panel.judges, 8)}.")


# --- numbers ---


@dataclass(frozen=True)
class Label:
    """What a change is of: two systems in a language, a language against the others, or a pass rate of a system."""

    kind: Literal["system difference", "language", "pass rate"]
    language: str
    first: str = ""
    second: str = ""


@dataclass(frozen=True)
class _Exchange:
    """One judge in place of another, with the weight that a judge has; a pass mark where rates are compared."""

    panel: Panel
    old: int
    new: int
    weight: float
    threshold: str | None

    @property
    def rooms(self) -> tuple[float, float]:
        """How far a failure of one unit moves a mean, and a pass rate, in what is printed."""
        panel = self.panel
        if panel.two_valued:  # what passes may fail, and what fails may pass
            return self.weight * panel.width * panel.factor, 100 * self.weight
        both = panel.scores[..., [self.old, self.new]]
        highest = float(np.nanmax(mean_seen(both, 0), initial=panel.scale[0]))
        return self.weight * (highest - panel.scale[0]) * panel.factor, 100 * self.weight


@dataclass(frozen=True)
class _Changes:
    """Changes (c,) by unit.

    labels : what each is of
    by_unit : (units, c) in points, pass rates in percentage points; NaN where too few units saw it
    units_seen : (c,) units that saw it
    """

    labels: list[Label]
    by_unit: Array
    units_seen: Index

    @property
    def known_mask(self) -> Mask:
        """Changes that enough units saw."""
        return np.asarray(np.isfinite(self.by_unit).all(0))

    @property
    def rate_mask(self) -> Mask:
        """Changes of pass rates."""
        return np.array([label.kind == "pass rate" for label in self.labels], dtype=bool)

    def take(self, at: NDArray[np.intp]) -> _Changes:
        """Some of the changes."""
        return _Changes([self.labels[i] for i in at], self.by_unit[:, at], self.units_seen[at])


@dataclass(frozen=True)
class _Tested:
    """What of the changes is within what is accepted.

    width : (c,) half-width, or what failures that were not drawn could do
    limit : (c,) largest change that is accepted
    decisive : the change that decides, or is largest
    blind : the largest of what failures that were not drawn could do, and whether that is of a pass rate
    """

    changes: _Changes
    interval: Interval
    width: Array
    limit: Array
    decisive: int
    answer: Answer
    tasks_to_show: int | None
    blind: BlindSpot
    is_blind_of_rate: bool

    @property
    def half_width(self) -> Array:
        """Of the intervals that hold for all together."""
        return self.interval.q * self.interval.se

    @property
    def inside_mask(self) -> Mask:
        """Changes that are certainly within what is accepted."""
        return np.abs(self.interval.estimate) + self.width < self.limit

    @property
    def is_open_by_blind_spot(self) -> bool:
        """Whether only failures that were not drawn keep the decisive change from being accepted."""
        size = np.abs(self.interval.estimate) + self.half_width
        return self.answer == "open" and bool(size[self.decisive] < self.limit[self.decisive])

    @property
    def nothing_differs(self) -> bool:
        """Whether not a single score changes a comparison."""
        return not np.abs(self.changes.by_unit).any()


def _measure_changes(exchange: _Exchange) -> tuple[_Changes, Array]:
    """Every change, the largest first; and the change of the mean score by unit."""
    panel = exchange.panel
    scores = panel.scores * panel.factor
    moved = exchange.weight * (scores[..., exchange.new] - scores[..., exchange.old])  # rows, systems, languages
    someone_scored = np.any(np.isfinite(scores), axis=(0, 3)).T  # languages, systems
    language_changes, mean_change = _language_changes(panel, moved)
    parts = [_system_changes(panel, moved, someone_scored), language_changes]
    if exchange.threshold is not None or panel.two_valued:
        parts.append(_rate_changes(exchange, someone_scored))
    changes = _Changes(
        [label for part in parts for label in part.labels],
        np.concatenate([part.by_unit for part in parts], axis=1),
        np.concatenate([part.units_seen for part in parts]),
    )
    size = np.abs(changes.by_unit.mean(0)).round(9)
    return changes.take(np.argsort(-size, kind="stable")), mean_change


def _system_changes(panel: Panel, moved: Array, someone_scored: Mask) -> _Changes:
    """Of every difference of two systems in each language; what nobody scored is not compared."""
    n, s, k = moved.shape
    by_unit, seen = unit_means(moved.reshape(n, s * k), panel.unit)
    by_unit, seen = by_unit.reshape(-1, s, k).transpose(0, 2, 1), seen.reshape(s, k).T  # units, languages, systems
    i, j = np.triu_indices(s, 1)
    pairs = list(combinations(panel.systems, 2))
    labels = [Label("system difference", language, *pair) for language in panel.languages for pair in pairs]
    differences = (by_unit[..., i] - by_unit[..., j]).reshape(len(by_unit), -1)
    changes = _Changes(labels, differences, np.minimum(seen[:, i], seen[:, j]).ravel())
    return changes.take(np.flatnonzero(someone_scored[:, i] & someone_scored[:, j]))


def _language_changes(panel: Panel, moved: Array) -> tuple[_Changes, Array]:
    """Of every language against the others that enough tasks saw; and the change of the mean over these."""
    by_unit, seen = unit_means(mean_seen(moved, 1), panel.unit)
    enough = np.asarray(np.isfinite(by_unit).all(0))
    n_enough, n_languages = int(enough.sum()), len(panel.languages)
    mean = by_unit[:, enough].sum(1, keepdims=True) / max(n_enough, 1)
    if n_languages < 2:
        return _Changes([], np.zeros((len(by_unit), 0)), np.zeros(0, dtype=np.int64)), mean
    against_others = (by_unit - mean) * n_enough / max(n_enough - 1, 1)
    fewest = np.full(n_languages, seen[enough].min(initial=seen.max()))
    changes = _Changes([Label("language", language) for language in panel.languages], against_others, fewest)
    return changes.take(np.flatnonzero(~enough | (n_enough > 1))), mean


def _rate_changes(exchange: _Exchange, someone_scored: Mask) -> _Changes:
    """Of every pass rate."""
    panel = exchange.panel
    threshold = exchange.threshold
    if threshold is None:
        threshold = f"{sum(panel.scale) / 2}"
    passed = 100 * exchange.weight * panel.passes(*pass_mark(threshold, panel.scale)).scores
    moved = passed[..., exchange.new] - passed[..., exchange.old]
    by_unit, seen = unit_means(moved.transpose(0, 2, 1).reshape(len(moved), -1), panel.unit)
    labels = [Label("pass rate", language, system) for language in panel.languages for system in panel.systems]
    return _Changes(labels, by_unit, seen).take(np.flatnonzero(someone_scored.ravel()))


def _test_changes(exchange: _Exchange, changes: _Changes, allowed: float, level: float) -> _Tested:
    """Yes where every change is within what is accepted, no where one certainly is not."""
    panel, is_rate, seen = exchange.panel, changes.rate_mask, changes.units_seen
    limit = np.where(is_rate, 100 * allowed / (panel.factor * panel.width), allowed)
    room_of_mean, room_of_rate = exchange.rooms
    room = np.where(is_rate, room_of_rate, room_of_mean)
    tested = interval(changes.by_unit, level=level, df=np.maximum(seen - 1.0, 1.0))
    shares = np.array([unseen_share(int(units), level) for units in seen])
    half_width = tested.q * tested.se
    width = unseen_width(half_width, shares * room, carrying_units(changes.by_unit))
    size = np.abs(tested.estimate)
    is_inside, is_beyond = size + width < limit, size - half_width > limit
    answer: Answer = "open"
    if is_inside.all():
        answer = "accepted"
    elif is_beyond.any():
        answer = "refused"
    if answer == "refused":
        urgency = np.where(is_beyond, size, 0.0)
    elif answer == "open":
        urgency = (size + width) / np.maximum(limit, 1e-300)  # what is accepted may be next to nothing
    else:
        urgency = size + width
    widest = int(np.argmax(shares * room))
    tasks = None
    if answer == "open":
        accepted = Accepted(limit, room, is_rate | panel.two_valued)
        units = units_to_show(changes.by_unit, tested, accepted, level)
        tasks = None if units is None else round_tasks(units * float(panel.weight.sum()) / panel.units)
    return _Tested(
        changes=changes,
        interval=tested,
        width=width,
        limit=limit,
        decisive=int(first_max(urgency, 1e-9 * float(urgency.max()))),
        answer=answer,
        tasks_to_show=tasks,
        blind=BlindSpot(float(shares[widest]), float((shares * room)[widest])),
        is_blind_of_rate=bool(is_rate[widest]),
    )


def round_tasks(number: float) -> int:
    """A number of tasks, up to two digits.

    >>> round_tasks(311.2), round_tasks(48)
    (320, 48)
    """
    step = 10 ** max(0, len(str(int(number))) - 2)
    return int(-(-number // step) * step)


# --- frames and names ---


def _changes_frame(tested: _Tested) -> pd.DataFrame:
    import pandas as pd

    labels = [(x.kind, x.language, x.first, x.second) for x in tested.changes.labels]
    frame = pd.DataFrame(labels, columns=["kind", "language", "first", "second"])
    limits = {"low": tested.interval.estimate - tested.half_width, "high": tested.interval.estimate + tested.half_width}
    return frame.assign(change=tested.interval.estimate, **limits, inside=tested.inside_mask)


def _labels_of(changes: pd.DataFrame) -> list[Label]:
    """What the rows of a frame of changes are of."""
    rows = changes[["kind", "language", "first", "second"]].itertuples(index=False)
    return [Label(*row) for row in rows]


def _compared_languages(changes: pd.DataFrame) -> list[str]:
    return list(changes["language"][changes["kind"] == "language"])


def _describe(panel: Panel, label: Label, compared: list[str]) -> str:
    """What a change is of, in a sentence; a language stands against the others that are compared."""
    place = f" in {name(label.language)}" if label.language else ""
    if label.kind == "system difference":
        return f"the difference of {name(label.first)} and {name(label.second)}{place}"
    if label.kind == "pass rate":
        of_system = f" of {name(label.first)}" if label.first else ""
        return f"the pass rate{of_system}{place}"
    others = [x for x in panel.languages if x != label.language and x in compared]
    if 1 < len(others) == len(panel.languages) - 1:
        return f"{name(label.language)} against the other {panel.nouns}"
    return f"{name(label.language)} against {names(others)}"


def _describe_unknown(panel: Panel, labels: list[Label]) -> str:
    """Which comparisons have too few tasks; of a language as a whole, not one by one. "" where none has."""
    languages = [label.language for label in labels if label.kind == "language"]
    what = [f"{name(x)} with other {panel.nouns}" for x in languages]
    what += [_describe(panel, label, languages) for label in labels if label.language not in languages]
    return f"too few tasks were scored by both judges to compare {names(what)}" if what else ""


# --- sentences ---


def _findings(result: Swap, tested: _Tested, unknown: list[Label], alone: bool) -> tuple[Finding, ...]:
    """The answer; what failures could do that were not drawn; and what could not be compared."""
    too_few = _describe_unknown(result.panel_, unknown)
    findings = [_answer_finding(result, tested, too_few)]
    if not _says_blind_spot(result, tested):
        findings.append(_blind_finding(result, tested))
    if alone:
        findings.append(Finding("info", "alone", "The judge is used alone, not in the mean of the panel.", "Rare"))
    if too_few and tested.answer != "accepted":
        findings.append(Finding("warning", "thin", f"T{too_few[1:]}.", "Lacking"))
    return tuple(findings)


def _answer_finding(result: Swap, tested: _Tested, too_few: str) -> Finding:
    """Yes, no, or what would settle it."""
    old, new = name(result.old), name(result.new)
    if result.answer == "accepted":
        return Finding("info", "swap-accepted", f"Yes: with {new} in place of {old} {_yes(result, tested)}.", "Swap")
    moved, accepted = _decisive_change(result, tested), f"{tested.limit[tested.decisive]:,.6g}"
    if result.answer == "refused":
        return Finding("serious", "swap-refused", f"No: with {new} in place of {old}, {moved}.", "Swap")
    begin = f"Cannot tell yet whether {new} may replace {old}"
    if tested.answer == "accepted":
        text = f"{begin}: {too_few}. The largest change elsewhere: {moved}."
    elif tested.nothing_differs:
        text = f"{begin}: {_nothing_differed(result, tested)} {_tasks_sentence(tested)}"
    elif tested.is_open_by_blind_spot:
        text = f"{begin}: {moved}, within the {accepted} that are accepted, but {_blind_clause(result, tested)}. "
        text += _tasks_sentence(tested)
    else:
        text = f"{begin}: {moved}, and up to {accepted} is accepted. {_tasks_sentence(tested)}"
    return Finding("warning", "swap-open", text, "Swap")


def _tasks_sentence(tested: _Tested) -> str:
    """How many tasks would show that the judges score alike."""
    if tested.tasks_to_show is None:
        return "No number of tasks would show that the two score alike so closely."
    return f"If the two score alike, about {tested.tasks_to_show:,} tasks would show it."


def _nothing_differed(result: Swap, tested: _Tested) -> str:
    """Equal scores on few tasks are no proof."""
    n = int(tested.changes.units_seen.min())
    unit = "clusters" if result.panel_.clustered else "tasks"
    share = points(100 * tested.blind.share, 10)
    return f"on {n:,} {unit} nothing differed, but failures of up to {share}% could have gone unseen."


def _yes(result: Swap, tested: _Tested) -> str:
    """What does not move, and what moves most."""
    panel, kinds = result.panel_, {label.kind for label in tested.changes.labels}
    most = f"by more than {result.matters:,.6g} {panel.unit_name}"
    moved = _decisive_change(result, tested)
    if panel.two_valued:
        return f"nothing moves {most}. Most: {moved}"
    sorts = []
    if "system difference" in kinds:
        sorts.append("systems")
    if "language" in kinds:
        sorts.append(panel.nouns)
    parts = [f"no comparison of {' or '.join(sorts)} moves {most}"] if sorts else []
    if "pass rate" in kinds:
        mark = f"{100 * result.matters / panel.width:,.6g} percentage points"
        moves = "" if sorts else "moves "
        parts.append(f"no pass rate {moves}by more than {mark}")
    shift = " by ".join(_size(*result.shift, panel.unit_name))
    return f"{', and '.join(parts)}. Most: {moved}. The mean score {shift}"


def _decisive_change(result: Swap, tested: _Tested) -> str:
    """The change that decides, with its interval."""
    panel, label = result.panel_, tested.changes.labels[tested.decisive]
    row = result.changes.iloc[tested.decisive]
    change, low, high = float(row["change"]), float(row["low"]), float(row["high"])
    unit = "percentage points" if label.kind == "pass rate" else panel.unit_name
    went, size = _size(change, low, high, unit)
    if label.kind != "system difference":
        return f"{_describe(panel, label, _compared_languages(result.changes))} {went} by {size}"
    gains, other = name(label.first), name(label.second)
    if change < 0:
        gains, other = other, gains
    place = f" in {name(label.language)}" if label.language else ""
    return f"{gains} gains {size} on {other}{place}"


def _size(change: float, low: float, high: float, unit: str) -> tuple[str, str]:
    """Whether it rises or falls, and by how much."""
    if change < 0:
        return "falls", ci(-change, -high, -low, unit)
    return "rises", ci(change, low, high, unit)


def _says_blind_spot(result: Swap, tested: _Tested) -> bool:
    """Whether the answer itself says what failures could do."""
    return result.answer == "open" and (tested.nothing_differs or tested.is_open_by_blind_spot)


def _blind_clause(result: Swap, tested: _Tested) -> str:
    """What failures too rare to have shown could do."""
    panel, size = result.panel_, tested.blind.size
    kind, unit = ("pass rate", "percentage points") if tested.is_blind_of_rate else ("mean", panel.unit_name)
    units = "clusters" if panel.clustered else "tasks"
    return (
        f"if {name(result.new)} fails on fewer than 1 in {tested.blind.one_in:,} {units}, these {units} may not show "
        f"it, and that could move a {kind} by up to {points(size, size)} {unit}"
    )


def _blind_finding(result: Swap, tested: _Tested) -> Finding:
    """The blind spot, where the answer does not say it."""
    clause = _blind_clause(result, tested)
    text = f"I{clause[1:]}"
    text += ", within what is accepted." if result.answer == "accepted" else "."
    return Finding("info", "blind-spot", text, "Rare")
