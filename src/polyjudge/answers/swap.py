"""May one judge take the place of another? (METHODS 21)

For every difference of two systems, every language and every pass rate: how it changes when NEW replaces OLD. The
intervals hold for all changes together: accepted when all of them lie within what is allowed, refused when one lies
beyond.
"""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, repr=False)
class Swap(Result):
    """What changes. changes : kind ("system difference", "language", "pass rate"), language, first, second, change,
    low, high (of all together), inside; pass and fail, and pass rates, in percentage points, so `matters` too"""

    old: str
    new: str
    answer: Literal["accepted", "refused", "open"]
    changes: pd.DataFrame
    matters: float
    tasks_to_settle: int | None
    level: float
    findings: tuple[Finding, ...]
    panel_: Panel

    def report(self) -> Report:
        """The report."""
        p = self.panel_
        where = [_where(p, x) for x in self.changes.itertuples()]
        shown = self.changes.assign(what=where)
        table = Table(
            "changes",
            f"What changes with {name(self.new)} in place of {name(self.old)}",
            shown,
            {"what": "text", "change": "+points low high", "inside": "yes"},
            {"what": "", "change": f"change, {p.unit_name}", "inside": f"within {self.matters:,.6g}"},
        )
        chart = Chart(
            "changes",
            "intervals",
            "Changes, and what is accepted",
            shown.rename(columns={"what": "label", "change": "value"}).head(60),
            f"Every change with its interval; up to {self.matters:,.6g} is accepted.",
            x=f"change, {p.unit_name}",
            options={"zero": "no change"},
        )
        after: tuple[Step, ...] = ()
        if self.answer != "accepted":
            after = (Step(command(p, "audit"), "see how the judges differ"),)
        section = Section("changes", "What changes", tables=(table,), charts=(chart,))
        about = {"level": self.level, "matters": self.matters}
        facts = (p.facts, *p.notes)
        title = "One judge instead of another"
        return Report("swap", title, facts, self.findings, None, after, (section,), about=about)


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

    Yes, when no difference between systems, no language and no pass rate moves by more than what matters; no, when
    something clearly does. What fails rarely may not have failed on these tasks: how much that could be is said.

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
    labels, v, seen = _changes(panel, a, b, share, threshold)
    known = np.asarray(np.isfinite(v).all(0))
    if not labels:
        low, high = panel.scale
        raise PanelError(
            "Without systems and with one language a swap changes no comparison. Add a pass mark: "
            f"--threshold {low + 0.7 * (high - low):.2g}."
        )
    if not known.any():
        raise PanelError(f"Nothing can be compared on {FEWEST} tasks that both judges scored.")
    rates = np.array([x[0] == "pass rate" for x in labels])[known]
    limit = np.where(rates, 100 * allowed / (panel.factor * panel.width), allowed)
    seen = seen[known]
    every = interval(v[:, known], level=level, df=np.maximum(seen - 1.0, 1.0))
    spot = 1 - (1 - level) ** (1 / seen)
    unseen = spot * share * np.where(rates, 100.0, panel.width * panel.factor)
    change, half = every.estimate, every.q * every.se + guard * unseen
    size = np.abs(change)
    inside, beyond, over = size + half < limit, size - half > limit, size > limit
    answer: Literal["accepted", "refused", "open"] = (
        "accepted" if inside.all() else "refused" if beyond.any() else "open"
    )
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        need = half / np.abs(limit - size)  # its square: how many times the tasks bring the limit out of the interval
    if answer == "open":  # one change beyond what is accepted is enough, else all must be within it
        worst = np.where(over, -need, -np.inf) if over.any() else need
    else:
        worst = np.where(beyond, size, 0.0) if answer == "refused" else size + half
    top = int(np.round(worst, 9).argmax())
    tasks = float(need[top]) ** 2 * panel.weight.sum()
    settle = int(np.ceil(float(f"{tasks:.2g}"))) if answer == "open" and tasks < 1e9 else None
    frame = _frame([x for x, k in zip(labels, known, strict=True) if k], change, half, inside)
    first = _answer(panel, (old, new), answer, frame, frame.loc[top], allowed, limit[top], settle)
    said = [first, _blind(panel, float(spot.max()), unseen, rates, guard, alone)]
    if not known.all():
        gone = names(
            [_where(panel, x) for x in _frame([x for x, k in zip(labels, known, strict=True) if not k]).itertuples()]
        )
        said.append(
            Finding("warning", "thin", f"Too few tasks were scored by both judges to compare {gone}.", "Lacking")
        )
    frame = frame.sort_values(
        "change", key=lambda x: x.abs().round(9), ascending=False, kind="stable", ignore_index=True
    )
    return Swap(old, new, answer, frame, allowed, settle, level, tuple(said), panel)


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


def _changes(panel: Panel, a: int, b: int, share: float, threshold: str | None) -> tuple[Names, Array, Any]:
    """Labels of every change, its value in each unit, and how many units saw it."""
    y = panel.scores * panel.factor
    moved = share * (y[..., b] - y[..., a])  # rows, systems, languages
    n, s, k = moved.shape
    v, seen = unit_means(moved.reshape(n, s * k), panel.unit)
    v, seen = v.reshape(-1, s, k).transpose(0, 2, 1), seen.reshape(s, k).T  # units, languages, systems
    i, j = np.triu_indices(s, 1)
    labels: Names = [
        ("system difference", x, panel.systems[p], panel.systems[q])
        for x in panel.languages
        for p, q in zip(i, j, strict=True)
    ]
    parts, counts = [(v[..., i] - v[..., j]).reshape(len(v), -1)], [np.minimum(seen[:, i], seen[:, j]).ravel()]
    if k > 1:
        own, times = unit_means(mean_seen(moved, 1), panel.unit)
        labels += [("language", x, "", "") for x in panel.languages]
        parts.append((own - own.mean(1, keepdims=True)) * k / (k - 1))
        counts.append(np.full(k, times.min()))
    if threshold is None and panel.two_valued and not labels:
        threshold = f"{sum(panel.scale) / 2}"
    if threshold is not None:
        passed = 100 * share * panel.passes(*pass_mark(threshold, panel.scale)).scores
        rates, times = unit_means((passed[..., b] - passed[..., a]).transpose(0, 2, 1).reshape(n, -1), panel.unit)
        labels += [("pass rate", x, z, "") for x in panel.languages for z in panel.systems]
        parts.append(rates)
        counts.append(times)
    values, number = np.concatenate(parts, axis=1), np.concatenate(counts)
    some = (number > 0) | (np.array([x[0] for x in labels]) == "language")
    return [x for x, keep in zip(labels, some, strict=True) if keep], values[:, some], number[some]


def _frame(labels: Names, change: Any = np.nan, half: Any = np.nan, inside: Any = False) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(labels, columns=["kind", "language", "first", "second"])
    return frame.assign(change=change, low=change - half, high=change + half, inside=inside)


def _where(panel: Panel, row: Any) -> str:
    """What a row is about, in a sentence."""
    place = f" in {name(row.language)}" if row.language else ""
    if row.kind == "system difference":
        return f"the difference of {name(row.first)} and {name(row.second)}{place}"
    if row.kind == "pass rate":
        return f"the pass rate{' of ' + name(row.first) if row.first else ''}{place}"
    others = [x for x in panel.languages if x != row.language]
    return f"{name(row.language)} against {f'the other {panel.nouns}' if len(others) > 1 else name(others[0])}"


def _answer(
    panel: Panel,
    judges: tuple[str, str],
    answer: str,
    rows: pd.DataFrame,
    top: Any,
    allowed: float,
    limit: float,
    settle: int | None,
) -> Finding:
    """Yes, no, or what would settle it; and the change that decides."""
    old, new = map(name, judges)
    unit = "percentage points" if top.kind == "pass rate" else panel.unit_name
    sign = -1 if top.change < 0 else 1
    low, high = sorted((sign * top.low, sign * top.high))
    size = ci(sign * top.change, low, high, unit)
    moved = f"{_where(panel, top)} {'falls' if sign < 0 else 'rises'} by {size}"
    if top.kind == "system difference":
        gains, other = (name(x) for x in (top.first, top.second)[::sign])
        moved = f"{gains} gains {size} on {other}{f' in {name(top.language)}' if top.language else ''}"
    if answer == "accepted":
        most = f"{allowed:,.6g} {panel.unit_name}"
        if (rows["kind"] == "pass rate").any() and not panel.two_valued:
            most += f", and no pass rate by more than {100 * allowed / panel.width:,.6g} percentage points"
        text = f"Yes: with {new} in place of {old} nothing moves by more than {most}. Most: {moved}."
        return Finding("info", "swap-accepted", text, "Swap")
    if answer == "refused":
        return Finding("serious", "swap-refused", f"No: with {new} in place of {old}, {moved}.", "Swap")
    text = f"Cannot tell yet whether {new} may replace {old}: {moved}, and up to {limit:,.6g} is accepted."
    text += f" About {settle:,} tasks would settle it." if settle else ""
    return Finding("warning", "swap-open", text, "Swap")


def _blind(panel: Panel, spot: float, unseen: Array, rates: Any, guard: bool, alone: bool) -> Finding:
    """What failures too rare to have shown could do."""
    at = int(np.argmax(unseen))
    unit = "percentage points" if rates[at] else panel.unit_name
    kind = "pass rate" if rates[at] else "mean"
    text = (
        f"A failure on fewer than 1 in {max(1, round(1 / spot)):,} tasks may have gone unseen; it could move a {kind} "
        f"by up to {points(unseen[at], unseen[at])} {unit}"
        + (": the intervals allow for it." if guard else " (--guard allows for it).")
    )
    return Finding("info", "blind-spot", text + (" The judge is used alone." if alone else ""), "Rare")
