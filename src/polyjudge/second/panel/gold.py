"""Human labels set beside a panel: preferences, or scores on the panel's scale, for any part of its tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.columns import ANNOTATOR, USUAL, first_of
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.labels import clean, some
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.records import label_texts
from polyjudge.second.panel.say import Say, say

Kind = Literal["preference", "score"]
Contradictions = Literal["error", "mean", "drop"]
LABEL_COLUMNS = {"preference": ("preference", "pref", "choice"), "score": USUAL["score"]}
CUTS = "polyjudge-cuts"
"""Where a table of labels (`DataFrame.attrs`) keeps the strata its tasks were drawn from: by language, the panel means
that divide one stratum from the next."""
SIZES = "polyjudge-sizes"
"""The same for how many tasks each stratum had."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Ratings:
    """Labels one by one, before annotators are averaged; all (r,). `task` and `language` are places in the panel."""

    task: NDArray[np.int64]
    language: NDArray[np.int64]
    annotator: NDArray[np.int64]
    value: Array
    again: NDArray[np.bool_]
    """Whether it is an annotator's second look at the same item."""
    names: tuple[str, ...]
    """Of the annotators."""


@dataclass(frozen=True, eq=False)
class Gold:
    """Labels by task and language: `values` is (n, k), NaN where there is none.

    A preference is +1 (humans choose the side that a positive margin favours), -1 (the other side) or 0 (a tie). A
    score is on the panel's scale. `notes` says what was left out or merged; `unknown` counts the rows that name a
    task or language the panel does not have.
    """

    kind: Kind
    values: Array
    languages: tuple[str, ...]
    notes: tuple[Say, ...] = ()
    unknown: int = 0
    ratings: Ratings | None = None
    """Every annotator's labels, where the table says whose they are."""
    stratum: NDArray[np.int64] | None = None
    """(n, k) strata that labels were drawn from, -1 for a task without a panel mean; None for labels of any task."""

    @property
    def there(self) -> NDArray[np.bool_]:
        """(n, k): whether this task has a label in this language."""
        return ~np.isnan(self.values)

    @property
    def counts(self) -> pd.Series[int]:
        """Labels in each language."""
        index = pd.Index(self.languages, name="language")
        return pd.Series(self.there.sum(axis=0), index=index, name="labels")

    def keep(self, mask: NDArray[np.bool_], note: Say) -> Gold:
        """The labels under `mask` (n, k)."""
        notes = (*self.notes, note)
        return replace(self, values=np.where(mask, self.values, np.nan), notes=notes, ratings=None)


def align_gold(
    panel: Panel,
    table: Any,
    *,
    kind: Kind | None = None,
    scale: tuple[float, float] | None = None,
    contradictions: Contradictions = "error",
) -> Gold:
    """Set a table of labels (columns task, language, and preference or score) beside a panel.

    kind : which column holds the labels, when the table has both
    scale : (low, high) of the human scale; scores are then carried over to the panel's range in proportion
    contradictions : two different labels for one (task, language) are an error; "mean" averages them (for preferences
        the sign of the mean), "drop" leaves the pair unlabelled. Labels of several named annotators are averaged
    """
    if isinstance(table, Gold):
        if table.values.shape != panel.shape[:2] or table.languages != panel.languages:
            raise UsageError("These labels were set beside another panel. Pass the table of labels instead.")
        return table
    if contradictions not in ("error", "mean", "drop"):
        raise UsageError(f"contradictions must be 'error', 'mean' or 'drop', not {contradictions!r}.")
    attrs = getattr(table, "attrs", {})
    frame, kind = _columns(table, kind)
    notes: list[Say] = []
    frame, unknown = _known(panel, frame, notes)
    frame["label"] = _preference_values(frame, notes) if kind == "preference" else _score_values(panel, frame, scale)
    ratings = _ratings(frame)
    stratum = strata(panel, attrs.get(CUTS, {}))
    if stratum is not None and "stratum" in frame:
        stratum = _as_drawn(panel, stratum, frame, attrs.get(SIZES, {}), notes)
    if ratings is not None and len(ratings.names) > 1 and contradictions == "error":
        contradictions = "mean"
    frame = _merge(frame, kind, contradictions, [] if ratings is not None else notes)
    values = np.full(panel.shape[:2], np.nan)
    values[frame["t"].to_numpy(), frame["l"].to_numpy()] = frame["label"].to_numpy(float)
    if kind == "score" and scale is None:
        _check_scale(panel, values, notes)
    bare = [lang for lang, n in zip(panel.languages, (~np.isnan(values)).sum(axis=0), strict=True) if n == 0]
    if bare:
        notes.append(say("gold.bare", languages=bare))
    return Gold(kind, values, panel.languages, tuple(notes), unknown, ratings, stratum)


def strata(panel: Panel, cuts: Mapping[str, Any]) -> NDArray[np.int64] | None:
    """(n, k) stratum of every task by the panel's mean in a language, from the values that divide the strata."""
    if not cuts:
        return None
    mean = panel.scores.mean(axis=2)
    out = np.full(mean.shape, -1, np.int64)
    for i, language in enumerate(panel.languages):
        known = ~np.isnan(mean[:, i])
        out[known, i] = np.searchsorted(np.asarray(cuts.get(language, ()), float), mean[known, i], side="right")
    return out


def _as_drawn(
    panel: Panel, stratum: NDArray[np.int64], frame: pd.DataFrame, sizes: Mapping[str, Any], notes: list[Say]
) -> NDArray[np.int64]:
    """Strata (n, k) for labels that were drawn by other scores than the panel's: labelled items in those they were
    drawn from, the others so that each stratum has the share of tasks it had then."""
    mean, out, moved = panel.scores.mean(axis=2), stratum.copy(), 0
    drawn = np.full(out.shape, -1, np.int64)
    drawn[frame["t"], frame["l"]] = frame["stratum"]
    for i, language in enumerate(panel.languages):
        known, mine = stratum[:, i] >= 0, (drawn[:, i] >= 0) & (stratum[:, i] >= 0)
        off = int((stratum[mine, i] != drawn[mine, i]).sum())
        if off:
            moved += off
            out[mine, i] = drawn[mine, i]
            rest = np.flatnonzero(known & ~mine)
            size = np.asarray(sizes[language], float) * known.sum() / max(sum(sizes[language]), 1)
            ends = np.cumsum(np.maximum(size - np.bincount(drawn[mine, i], minlength=len(size)), 0.0))
            place = (np.arange(len(rest)) + 0.5) * ends[-1] / max(len(rest), 1)
            out[rest[np.argsort(mean[rest, i], kind="stable")], i] = np.searchsorted(ends, place)
    if moved:
        notes.append(say("gold.other-scores", count=moved, of=int(((drawn >= 0) & (stratum >= 0)).sum())))
    return out


def _ratings(frame: pd.DataFrame) -> Ratings | None:
    """The labels by annotator, where they are named."""
    frame = frame[frame["label"].notna()]
    if "annotator" not in frame or frame.empty:
        return None
    code, names = pd.factorize(frame["annotator"], sort=True)
    again = frame.groupby(["t", "l", "annotator"]).cumcount().to_numpy() > 0
    return Ratings(
        task=frame["t"].to_numpy(np.int64),
        language=frame["l"].to_numpy(np.int64),
        annotator=np.asarray(code, np.int64),
        value=frame["label"].to_numpy(float),
        again=again,
        names=tuple(map(str, names)),
    )


def by_answer(panel: Panel, table: Any) -> tuple[Panel, Any]:
    """Panel and labels by task and system, when both have systems: every answer of a system to a task is a unit then.

    Labels without a system column speak of the task, and are set beside the mean over systems.
    """
    if not panel.systems or isinstance(table, (Gold, str)) or hasattr(table, "__fspath__"):
        return panel, table
    table = _frame(table)
    system, task = (first_of(USUAL[role], table.columns) for role in ("system", "task"))
    if system is None or task is None:
        return panel, table
    units = panel.by_system()
    pairs = [*zip(*panel.answers(), strict=True)]
    names = dict(zip(pairs, units.tasks, strict=True))
    keys = zip(label_texts(table[task]), label_texts(table[system]), strict=True)
    return units, table.drop(columns=system).assign(**{str(task): [names.get(k, " / ".join(k)) for k in keys]})


def judge_as_gold(panel: Panel, judge: str) -> tuple[Panel, Gold]:
    """The panel of the other judges, and a trusted judge's scores as if they were human."""
    if judge not in panel.judges:
        raise PanelError(f"No judge {clean(judge)!r} in this panel; it has {some(panel.judges, 5)}.")
    others = [b for b in panel.judges if b != judge]
    if len(others) < 2:
        raise PanelError("A trusted judge needs at least two others beside it: with one there is no panel to check.")
    values = panel.scores[:, :, panel.judges.index(judge)].copy()
    note = say("gold.trusted", judge=judge)
    return panel.select(judges=others), Gold("score", values, panel.languages, (note,))


def stratified_sample(panel: Panel, gold: Gold, per_language: int, seed: int = 7) -> Gold:
    """At most `per_language` labels in each language, spread over the panel's strata in proportion to their size.

    Shares are rounded by largest remainder. Without strata the sample is simple. A stratum is the group of the task.
    """
    if per_language < 1:
        raise UsageError("A sample needs at least one label per language.")
    grouping = panel.grouping
    strata = np.zeros(len(panel.tasks), np.int64) if grouping is None or grouping.task is None else grouping.task
    mask = np.zeros(gold.values.shape, bool)
    for column in range(gold.values.shape[1]):
        there = np.flatnonzero(gold.there[:, column])
        if len(there) <= per_language:
            mask[there, column] = True
            continue
        rng = np.random.default_rng([seed, column])
        for stratum, size in enumerate(proportional(np.bincount(strata[there]), per_language)):
            mask[rng.choice(there[strata[there] == stratum], size, replace=False), column] = True
    by = None if grouping is None or grouping.task is None else grouping.name
    return gold.keep(mask, say("gold.sample", labels=per_language, group=by, seed=seed))


def proportional(sizes: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """`total` shared out in proportion to `sizes`, rounded by largest remainder.

    >>> proportional(np.array([805, 695]), 100)
    array([54, 46])
    """
    exact = total * sizes / sizes.sum()
    out: NDArray[np.int64] = np.floor(exact).astype(np.int64)
    most = np.argsort(-(exact - out), kind="stable")[: total - int(out.sum())]
    out[most] += 1
    return out


def _frame(table: Any) -> pd.DataFrame:
    if isinstance(table, pd.DataFrame):
        return table
    if not hasattr(table, "to_pandas") and not isinstance(table, Mapping | list):
        raise UsageError(f"Labels are a table with task, language, and preference or score, not {clean(table, 60)}.")
    return table.to_pandas() if hasattr(table, "to_pandas") else pd.DataFrame(table)


def _columns(table: Any, kind: Kind | None) -> tuple[pd.DataFrame, Kind]:
    if isinstance(table, str) or hasattr(table, "__fspath__"):
        raise UsageError(f"Labels are a table here: read {clean(table, 200)!r} first (read_gold).")
    table = _frame(table)
    found = {role: first_of(USUAL[role], table.columns) for role in ("task", "language")}
    lacking = [role for role, column in found.items() if column is None]
    labels = {k: c for k, names in LABEL_COLUMNS.items() if (c := first_of(names, table.columns)) is not None}
    if lacking or not labels:
        raise PanelError(
            f"Labels need the columns task, language, and preference or score; no column for "
            f"{' and '.join([*lacking, *([] if labels else ['preference or score'])])} was found among "
            f"{some(map(str, table.columns), 5)}."
        )
    if kind is None and len(labels) == 2:
        raise PanelError(
            "The labels have a preference and a score column. Say which to use: kind='preference' (--kind)."
        )
    chosen: Kind = kind or ("preference" if "preference" in labels else "score")
    if chosen not in labels:
        raise PanelError(f"The labels have no {chosen} column; the columns are {some(map(str, table.columns), 5)}.")
    if (annotator := first_of(ANNOTATOR, table.columns)) is not None:
        found["annotator"] = annotator
    texts = {role: label_texts(table[column]) for role, column in found.items()}
    frame = pd.DataFrame({**texts, "label": table[labels[chosen]].to_numpy()})
    if table.attrs.get(SIZES) and "stratum" in table:
        frame["stratum"] = table["stratum"].to_numpy(np.int64)
    if frame.empty:
        raise PanelError("The table of labels has no rows.")
    return frame, chosen


def _known(panel: Panel, frame: pd.DataFrame, notes: list[Say]) -> tuple[pd.DataFrame, int]:
    """Rows whose task and language the panel has, with their positions; the others counted and named."""
    for role, short, labels in (("task", "t", panel.tasks), ("language", "l", panel.languages)):
        frame[short] = pd.Index(labels).get_indexer(pd.Index(frame[role]))
        strange = frame.loc[frame[short] < 0, role]
        if len(strange) == len(frame):
            raise PanelError(
                f"No label belongs to this panel: its {role}s are {some(getattr(panel, f'{role}s'), 5)}, the "
                f"labels name {some(strange.unique(), 5)}. Both tables must use the same {role} names."
            )
        if len(strange):
            notes.append(say("gold.strange", count=len(strange), role=role, names=strange.unique().tolist()))
    known = (frame["t"] >= 0) & (frame["l"] >= 0)
    if not known.any():
        raise PanelError("No label names both a task and a language of this panel.")
    return frame[known].copy(), int((~known).sum())


def _numbers(frame: pd.DataFrame, what: str) -> pd.Series[float]:
    numbers = pd.to_numeric(frame["label"], errors="coerce").astype(float)
    wrong = frame[numbers.isna() & frame["label"].notna() & (frame["label"].astype(str).str.strip() != "")]
    wrong = wrong[wrong["label"].astype(str).str.lower() != "nan"]
    if len(wrong):
        row = wrong.iloc[0]
        raise PanelError(
            f"The {what} of task {clean(row['task'])!r} in {clean(row['language'])!r} is {clean(row['label'])!r}, "
            f"which is not a number ({len(wrong)} such rows)."
        )
    if np.isinf(numbers).any():
        raise PanelError(f"A {what} is infinite. Remove it or leave it empty.")
    return numbers


def _preference_values(frame: pd.DataFrame, notes: list[Say]) -> pd.Series[float]:
    numbers = _numbers(frame, "preference")
    strange = frame[numbers.notna() & ~numbers.isin((-1, 0, 1))]
    if len(strange):
        row = strange.iloc[0]
        raise PanelError(
            f"A preference is +1, -1 or 0 (tie); task {clean(row['task'])!r} in {clean(row['language'])!r} has "
            f"{clean(row['label'])!r} ({len(strange)} such rows). For human scores name the column 'score'."
        )
    seen = set(numbers.dropna().unique())
    if not seen - {0.0}:
        raise PanelError("Every preference is 0 (a tie) or empty: there is no human choice to agree with.")
    if seen == {0.0, 1.0}:
        notes.append(say("gold.no-minus"))
    if len(seen - {0.0}) == 1:
        notes.append(say("gold.one-side"))
    return numbers


def _score_values(panel: Panel, frame: pd.DataFrame, scale: tuple[float, float] | None) -> pd.Series[float]:
    numbers = _numbers(frame, "score")
    if scale is None:
        return numbers
    low, high = scale
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise UsageError(f"The scale of the labels must be two numbers, low < high, not {low:g}:{high:g}.")
    if numbers.min() < low or numbers.max() > high:
        raise PanelError(
            f"Labels run from {numbers.min():g} to {numbers.max():g}, outside the scale {low:g} to {high:g} that was "
            "given for them."
        )
    bottom, top = panel.range
    return bottom + (numbers - low) * (top - bottom) / (high - low)


def _check_scale(panel: Panel, values: Array, notes: list[Say]) -> None:
    """Human scores must be on the panel's scale; a different one is an error or, where it may be chance, a note."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    bottom, top = panel.range
    slack = 0.0 if panel.declared_range else 0.5 * (top - bottom)
    advice = "If the labels are on another scale, give it (scale=(1, 5), --label-scale 1:5) and they are carried over."
    if not panel.declared_range:
        advice += " If the panel's scale is wider than its scores, declare it (range=(0, 100), --range 0:100)."
    if low < bottom - slack or high > top + slack:
        raise PanelError(
            f"Labels run from {low:g} to {high:g}, the panel's scores from {bottom:g} to {top:g}: these are different "
            f"scales. {advice}"
        )
    if np.isfinite(values).sum() >= 5 and high - low < 0.1 * (top - bottom):
        ends = {"low": low, "high": high, "bottom": bottom, "top": top}
        notes.append(say("gold.narrow", **ends, declared=panel.declared_range is not None))


def _merge(frame: pd.DataFrame, kind: Kind, contradictions: Contradictions, notes: list[Say]) -> pd.DataFrame:
    """One label for each (task, language)."""
    empty = int(frame["label"].isna().sum())
    if empty:
        notes.append(say("gold.empty", count=empty))
        frame = frame[frame["label"].notna()]
    if frame.empty:
        raise PanelError("No row of this panel has a label.")
    grouped = frame.groupby(["t", "l"], sort=False)["label"]
    several = grouped.agg(["size", "nunique", "mean"]).reset_index()
    clash = several[several["nunique"] > 1]
    repeated = several[(several["size"] > 1) & (several["nunique"] == 1)]
    if len(repeated):
        notes.append(say("gold.repeated", count=len(repeated)))
    if len(clash):
        if contradictions == "error":
            t, l = clash.iloc[0][["t", "l"]].astype(int)  # noqa: E741
            rows = frame[(frame["t"] == t) & (frame["l"] == l)]
            raise PanelError(
                f"The labels contradict each other: task {clean(rows.iloc[0]['task'])!r} in "
                f"{clean(rows.iloc[0]['language'])!r} has {some((f'{x:g}' for x in rows['label'].unique()), 5)} "
                f"({len(clash)} such pairs of task and language). Resolve them, or say what to do with "
                f"contradictions: 'mean' (several annotators) or 'drop' (--contradictions)."
            )
        if contradictions == "drop":
            several = several[several["nunique"] == 1]
            notes.append(say("gold.contradictory", count=len(clash)))
        else:
            notes.append(say("gold.several", count=len(clash)))
    label = several["mean"]
    return several.assign(label=np.sign(label) if kind == "preference" else label)
