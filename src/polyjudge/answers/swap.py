"""May one judge take the place of another? (METHODS 21)

For every difference of two systems, every language and every pass rate: how it changes when NEW replaces OLD. The
intervals hold for all changes together: accepted when all of them lie within what is allowed and none is lacking,
refused when one lies beyond.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from polyjudge.answers.audit.advice import command
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.numbers import ci, points
from polyjudge.base.numbers import threshold as pass_mark
from polyjudge.base.text import name, names
from polyjudge.panel import Panel
from polyjudge.report.model import Chart, Finding, Report, Result, Section, Step, Table
from polyjudge.stats.cells import mean_seen, unit_means
from polyjudge.stats.interval import FEWEST, interval

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Names = list[tuple[str, str, str, str]]
Answer = Literal["accepted", "refused", "open"]


@dataclass(frozen=True, repr=False)
class Swap(Result):
    """What changes. changes : kind ("system difference", "language", "pass rate"), language, first, second, change,
    low, high (of all together), inside; pass and fail, and pass rates, in percentage points, so `matters` too
    shift : of the mean score, by itself: change, low, high"""

    old: str
    new: str
    answer: Answer
    changes: pd.DataFrame
    shift: tuple[float, float, float]
    matters: float
    tasks_to_settle: int | None
    level: float
    findings: tuple[Finding, ...]
    panel_: Panel

    @property
    def incomplete(self) -> bool:
        """The answer is not yes: the command ends with 1."""
        return self.answer != "accepted"

    def report(self) -> Report:
        """The report."""
        p = self.panel_
        compared = list(self.changes["language"][self.changes["kind"] == "language"])
        shown = self.changes.assign(what=[_where(p, x, compared) for x in self.changes.itertuples()])
        columns = {"what": "text", "change": "+points low high", "inside": "yes"}
        heads = {"what": "", "change": f"change, {p.unit_name}", "inside": f"within {self.matters:,.6g}"}
        title = f"What changes with {name(self.new)} in place of {name(self.old)}"
        table = Table("changes", title, shown, columns, heads)
        drawn = shown.rename(columns={"what": "label", "change": "value"}).head(60)
        said = f"Every change with its interval; up to {self.matters:,.6g} is accepted."
        more: dict[str, Any] = {"x": heads["change"], "options": {"zero": "no change"}}
        chart = Chart("changes", "intervals", "Changes, and what is accepted", drawn, said, **more)
        after = (Step(command(p, "audit"), "see how the judges differ"),) if self.incomplete else ()
        section = Section("changes", "What changes", tables=(table,), charts=(chart,))
        about, title = {"level": self.level, "matters": self.matters}, "One judge instead of another"
        return Report("swap", title, (p.facts, *p.notes), self.findings, None, after, (section,), about=about)


def swap(
    panel: Panel | Any,
    *,
    judges: str,
    matters: float | None = None,
    threshold: str | None = None,
    alone: bool = False,
    guard: bool = False,
    level: float = 0.95,
) -> Swap:
    """May one judge take the place of another?

    Yes, when no comparison of systems or languages moves by more than what matters, and no pass rate (of pass and fail,
    or with a threshold); no, when one clearly does. How far the mean score moves is said, and how much failures too
    rare for these tasks could do. Ends with 1 unless the answer is yes.

    panel : file or table of scores
    judges : OLD=NEW
    matters : largest change to accept, in points (pass or fail: percentage points); 2% of the scale unless said
    threshold : also compare pass rates: '4' passes above 4, '>=4' from 4 on
    alone : the judge is used by itself, not in the mean of the panel
    guard : allow for failures too rare to have shown on these tasks
    level : confidence level of the intervals

    Examples:
        polyjudge swap scores.csv --judges gpt-4o=gpt-5-mini
        polyjudge swap scores.csv --judges gpt-4o=gpt-5-mini --threshold 70 --alone
    """
    from polyjudge.read import read_panel

    panel = read_panel(panel)
    a, b = _two(panel, judges)
    old, new = panel.judges[a], panel.judges[b]
    if not 0.5 <= level < 1:
        raise UsageError(f"The level of an interval is at least 0.5 and below 1, such as 0.95, not {level:g}.")
    if not (allowed := panel.least(matters) * panel.factor) > 0:
        raise UsageError(f"What matters is the largest change to accept, in points above 0, not {allowed:g}.")
    if panel.units < FEWEST:
        raise PanelError(f"{panel.units} tasks are too few to compare two judges: {FEWEST} are needed.")
    share = 1.0 if alone else 1 / (len(panel.judges) - 1)
    labels, v, seen, mean = _changes(panel, a, b, share, threshold)
    known = np.asarray(np.isfinite(v).all(0))
    if not labels:
        mark = f"--threshold {panel.scale[0] + 0.7 * panel.width:.2g}"
        raise PanelError(
            f"Without systems and with one language a swap changes no comparison. Add a pass mark: {mark}."
        )
    if not known.any():
        raise PanelError(f"Too few tasks were scored by both judges to compare anything: {FEWEST} are the least.")
    rates = np.array([x[0] == "pass rate" for x in labels])[known]
    limit = np.where(rates, 100 * allowed / (panel.factor * panel.width), allowed)
    seen = seen[known]
    every = interval(v[:, known], level=level, df=np.maximum(seen - 1.0, 1.0))
    spot = 1 - (1 - level) ** (1 / seen)
    unseen = spot * share * np.where(rates, 100.0, panel.width * panel.factor)
    change, half = every.estimate, every.q * every.se + guard * unseen
    size = np.abs(change)
    inside, beyond, over = size + half < limit, size - half > limit, size > limit
    answer: Answer = "accepted" if inside.all() else "refused" if beyond.any() else "open"
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        need = half / np.abs(limit - size)  # its square: how many times the tasks bring the limit out of the interval
    if answer == "open":  # one change beyond what is accepted is enough, else all must be within it
        worst = np.where(over, -need, -np.inf) if over.any() else need
    else:
        worst = np.where(beyond, size, 0.0) if answer == "refused" else size + half
    top = int(np.round(worst, 9).argmax())
    settle = None
    if answer == "open" and need[top] <= 10:  # else it is so near the limit that no number of tasks is sure to do
        settle = int(np.ceil(float(f"{need[top] ** 2 * panel.weight.sum():.2g}")))
    whole = interval(mean, level=level, df=np.array([max(seen.max() - 1.0, 1.0)]))
    shift = float(whole.estimate[0]), float(whole.low[0]), float(whole.high[0])
    frame = _frame([x for x, k in zip(labels, known, strict=True) if k], change, half, inside)
    thin = _thin(panel, _frame([x for x, k in zip(labels, known, strict=True) if not k]))
    found = Swap(old, new, answer, frame, shift, allowed, settle, level, (), panel)
    said = [_answer(found, top, limit[top], thin), _blind(panel, float(spot.max()), unseen, rates, guard, alone)]
    if thin and answer != "accepted":
        said.append(Finding("warning", "thin", f"T{thin[1:]}.", "Lacking"))
    return replace(found, answer="open" if thin and answer == "accepted" else answer, findings=tuple(said))


def _two(panel: Panel, judges: str) -> tuple[int, int]:
    """Positions of OLD and NEW of OLD=NEW; a name may have an = itself."""
    parts = judges.split("=")
    for i in range(1, len(parts)):
        pair = "=".join(parts[:i]).strip(), "=".join(parts[i:]).strip()
        if pair[0] in panel.judges and pair[1] in panel.judges:
            if pair[0] == pair[1]:
                raise UsageError("A judge cannot replace itself. Name two judges: --judges OLD=NEW.")
            return panel.judges.index(pair[0]), panel.judges.index(pair[1])
    if len(parts) < 2:
        raise UsageError(f"Name both judges: --judges OLD=NEW, not {name(judges)!r}.")
    unknown = next((x.strip() for x in (parts[0], parts[-1]) if x.strip() not in panel.judges), judges)
    raise PanelError(f"There is no judge {name(unknown)!r} in this panel. It has: {names(panel.judges, 8)}.")


def _changes(panel: Panel, a: int, b: int, share: float, threshold: str | None) -> tuple[Names, Array, Any, Array]:
    """Labels of every change, its value in each unit, how many units saw it; and the change of the mean score."""
    y = panel.scores * panel.factor
    moved = share * (y[..., b] - y[..., a])  # rows, systems, languages
    n, s, k = moved.shape
    there = np.any(np.isfinite(y), axis=(0, 3)).T  # languages, systems: what nobody scored is not lacking
    v, seen = unit_means(moved.reshape(n, s * k), panel.unit)
    v, seen = v.reshape(-1, s, k).transpose(0, 2, 1), seen.reshape(s, k).T  # units, languages, systems
    i, j = np.triu_indices(s, 1)
    pairs = list(combinations(panel.systems, 2))
    named: Names = [("system difference", x, *z) for x in panel.languages for z in pairs]
    both = there[:, i] & there[:, j]
    parts = [(named, (v[..., i] - v[..., j]).reshape(len(v), -1), np.minimum(seen[:, i], seen[:, j]).ravel(), both)]
    own, times = unit_means(mean_seen(moved, 1), panel.unit)
    good = np.asarray(np.isfinite(own).all(0))  # languages with enough tasks are compared among themselves
    g = int(good.sum())
    mean = own[:, good].sum(1, keepdims=True) / max(g, 1)
    if k > 1:
        apart, least = (own - mean) * g / max(g - 1, 1), np.full(k, times[good].min(initial=times.max()))
        named = [("language", x, "", "") for x in panel.languages]
        parts.append((named, apart, least, ~good | (g > 1)))
    if threshold is None and panel.two_valued:
        threshold = f"{sum(panel.scale) / 2}"
    if threshold is not None:
        passed = 100 * share * panel.passes(*pass_mark(threshold, panel.scale)).scores
        rates, times = unit_means((passed[..., b] - passed[..., a]).transpose(0, 2, 1).reshape(n, -1), panel.unit)
        parts.append(([("pass rate", x, z, "") for x in panel.languages for z in panel.systems], rates, times, there))
    labels = [x for part in parts for x in part[0]]
    values, number = np.concatenate([x[1] for x in parts], axis=1), np.concatenate([x[2] for x in parts])
    order = np.argsort(-np.abs(values.mean(0)).round(9), kind="stable")  # largest first
    order = order[np.concatenate([x[3].ravel() for x in parts])[order]]
    return [labels[x] for x in order], values[:, order], number[order], mean


def _frame(labels: Names, change: Any = np.nan, half: Any = np.nan, inside: Any = False) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(labels, columns=["kind", "language", "first", "second"])
    return frame.assign(change=change, low=change - half, high=change + half, inside=inside)


def _where(panel: Panel, row: Any, compared: list[str]) -> str:
    """What a row is about, in a sentence; a language stands against the others that are compared."""
    place = f" in {name(row.language)}" if row.language else ""
    if row.kind == "system difference":
        return f"the difference of {name(row.first)} and {name(row.second)}{place}"
    if row.kind == "pass rate":
        return f"the pass rate{' of ' + name(row.first) if row.first else ''}{place}"
    others = [x for x in panel.languages if x != row.language and x in compared]
    every = 1 < len(others) == len(panel.languages) - 1
    return f"{name(row.language)} against {f'the other {panel.nouns}' if every else names(others)}"


def _thin(panel: Panel, rows: pd.DataFrame) -> str:
    """Which comparisons have too few tasks; of a language as a whole, not one by one."""
    gone = list(rows["language"][rows["kind"] == "language"])
    what = [f"{name(x)} with other {panel.nouns}" for x in gone]
    what += [_where(panel, x, gone) for x in rows.itertuples() if x.language not in gone]
    return f"too few tasks were scored by both judges to compare {names(what)}" if what else ""


def _answer(found: Swap, at: int, limit: float, thin: str) -> Finding:
    """Yes, no, or what would settle it; and the change that decides."""
    panel, rows, old, new = found.panel_, found.changes, name(found.old), name(found.new)
    top: Any = rows.loc[at]
    unit = "percentage points" if top.kind == "pass rate" else panel.unit_name
    went, size = _size(top.change, top.low, top.high, unit)
    moved = f"{_where(panel, top, list(rows['language'][rows['kind'] == 'language']))} {went} by {size}"
    if top.kind == "system difference":
        gains, other = (name(x) for x in (top.first, top.second)[:: -1 if top.change < 0 else 1])
        moved = f"{gains} gains {size} on {other}{f' in {name(top.language)}' if top.language else ''}"
    if found.answer == "refused":
        return Finding("serious", "swap-refused", f"No: with {new} in place of {old}, {moved}.", "Swap")
    if thin or found.answer == "open":
        n = found.tasks_to_settle
        more = f"About {n:,} tasks would settle it." if n else "It lies on the limit: more tasks may not help."
        text = f"{moved}, and up to {limit:,.6g} is accepted. {more}"
        if found.answer == "accepted":
            text = f"{thin}. The largest change elsewhere: {moved}."
        return Finding("warning", "swap-open", f"Cannot tell yet whether {new} may replace {old}: {text}", "Swap")
    kinds, most = set(rows["kind"]), f"by more than {found.matters:,.6g} {panel.unit_name}"
    sorts = [x for x, y in (("systems", "system difference"), (panel.nouns, "language")) if y in kinds]
    said = [f"no comparison of {' or '.join(sorts)} moves {most}"] if sorts else []
    if "pass rate" in kinds:
        mark = f"{100 * found.matters / panel.width:,.6g} percentage points"
        said.append(f"no pass rate {'' if sorts else 'moves '}by more than {mark}")
    text = f"{', and '.join(said)}. Most: {moved}. The mean score {' by '.join(_size(*found.shift, panel.unit_name))}"
    text = f"nothing moves {most}. Most: {moved}" if panel.two_valued else text
    return Finding("info", "swap-accepted", f"Yes: with {new} in place of {old} {text}.", "Swap")


def _size(change: float, low: float, high: float, unit: str) -> tuple[str, str]:
    """Whether it rises or falls, and by how much."""
    return ("falls", ci(-change, -high, -low, unit)) if change < 0 else ("rises", ci(change, low, high, unit))


def _blind(panel: Panel, spot: float, unseen: Array, rates: Any, guard: bool, alone: bool) -> Finding:
    """What failures too rare to have shown could do."""
    at = int(np.argmax(unseen))
    unit, kind = ("percentage points", "pass rate") if rates[at] else (panel.unit_name, "mean")
    text = (
        f"A failure on fewer than 1 in {max(1, round(1 / spot)):,} tasks may have gone unseen; it could move a {kind} "
        f"by up to {points(unseen[at], unseen[at])} {unit}"
        + (": the intervals allow for it." if guard else " (--guard allows for it).")
    )
    return Finding("info", "blind-spot", text + (" The judge is used alone." if alone else ""), "Rare")
