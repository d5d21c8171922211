"""Can the judges be trusted, and what would people say? Judges beside labels of people (METHODS 13, 19, 22).

The answer: how often (or how closely) each judge agrees with people, the rate or mean that people would give all
answers, where both part, what correcting the panel would remove, how judges should be weighted, who may decide alone.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from polyjudge.answers.audit.gates import tipped_ties_finding
from polyjudge.answers.humans import words
from polyjudge.answers.humans.board import COLUMNS, PeopleBoard, board_frame, frame_of_one_language, people_board
from polyjudge.answers.humans.returned import Returned, join_labels
from polyjudge.answers.humans.votes import votes
from polyjudge.answers.humans.weights import weights_by_labels
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.numbers import threshold as parse_threshold
from polyjudge.base.options import ColumnsJudgesItems
from polyjudge.base.text import name
from polyjudge.calibrate.by_labels import LabelCalibrator
from polyjudge.calibrate.labelled import Array, Codes, Labelled, labelled, panel_mean
from polyjudge.panel import Panel, with_texts
from polyjudge.read import read_panel
from polyjudge.report.model import Finding, Report, Result
from polyjudge.stats import labels as st
from polyjudge.stats.annotators import language_means
from polyjudge.stats.cells import mean_seen
from polyjudge.stats.labels import NONE, Bools, Limits, Powered

if TYPE_CHECKING:
    import pandas as pd

NO_CUTS = (math.nan, math.nan)
DF_OF_ANNOTATORS = 30.0
"""Degrees of freedom of what annotators add: many, as their spread is averaged over all that is likely already."""
MEASURES = ("accuracy", "kappa", "sensitivity", "specificity", "r", "difference")
RULES = {
    **{x: (x, 1) for x in ("accuracy", "kappa", "sensitivity", "specificity", "r")},
    "false-pass": ("specificity", -1), "false-fail": ("sensitivity", -1),
}  # fmt: skip
"""What --require knows: the measure, and whether it is that or one less it."""


@dataclass(frozen=True, eq=False, repr=False)
class Humans(Result):
    """Judges beside people.

    board : language, system, people, low, high, rank_low, rank_high, labels, basis: what people would say of every
        system in every language; empty without systems
    frame : language, system, judge, panel (what the judge gives), people (what people would), difference, low, high;
        people_low, people_high (answers like these); labels, labels_low, labels_high (labels alone); labelled,
        answers; these_low, these_high (people's mean of exactly these answers)
    judges : language, judge, labelled, and with their limits accuracy, kappa, sensitivity, specificity, r, difference
    by_language : of verdicts: language, labelled, accuracy, false_pass, false_fail with their limits, both
        errors elsewhere, and which of them is certainly more frequent here (worse); worst first
    pairs : system, other, panel, people (differences), low, high, labels, labels_low, labels_high
    disagreements : kind, task, system, language, judge, score, people, gap, and texts where they are at hand
    annotators : language, annotator, labels, harsher, low, high; alpha : their agreement (Krippendorff), with limits
    weights : judge, weight; empty below 50 labelled answers
    alone : who decides, part, share of the answers, labelled, agreement, low, high, fails_below, passes_above, language
        ("": all)
    requirements : rule, value, low, high, met
    removes : share of the language error that a `LabelCalibrator` removes, with limits, or None
    """

    board: pd.DataFrame
    frame: pd.DataFrame
    judges: pd.DataFrame
    by_language: pd.DataFrame
    pairs: pd.DataFrame
    disagreements: pd.DataFrame
    annotators: pd.DataFrame
    weights: pd.DataFrame
    alone: pd.DataFrame
    requirements: pd.DataFrame
    alpha: Limits
    removes: Limits | None
    two_valued: bool
    not_random: float
    findings: tuple[Finding, ...]
    panel_: Panel
    sides_: Sides
    calibrator_: LabelCalibrator | None
    board_: PeopleBoard | None
    options_: dict[str, Any]

    @property
    def incomplete(self) -> bool:
        """Whether a requirement is not surely met."""
        return bool(len(self.requirements)) and not bool(self.requirements["met"].all())

    def report(self) -> Report:
        """The answer as it is shown."""
        return words.report(self)


@dataclass(frozen=True, eq=False, repr=False)
class Sides:
    """What is compared: labels and what judges say, answer by answer (rows, systems, languages).

    y : labels; in verdicts 1 and 0, between them where annotators differ
    judges : name -> scores or verdicts; the last one is the panel's where there are several
    guide : what makes estimates from few labels precise: the mean of the judges' scores or verdicts
    verdicts : both are pass or fail; same : both are on one scale
    far : distance of what the panel says from the pass mark, where that makes sense
    """

    y: Array
    judges: dict[str, Array]
    guide: Array
    verdicts: bool
    same: bool
    found: Labelled
    label: Array
    far: Array | None = None
    mark: float = math.nan

    @property
    def lead(self) -> str:
        """The judge whose trust is asked for: the one, or the panel."""
        return list(self.judges)[-1]

    @property
    def people(self) -> Array:
        """Verdicts of people: NaN where annotators split evenly. Else the labels."""
        if not self.verdicts:
            return self.y
        return np.where(np.abs(self.y - 0.5) < 1e-9, np.nan, np.where(self.y > 0.5, 1.0, 0.0)) + 0 * self.y


def humans(
    panel: Panel | Any,
    labels: Any = None,
    *,
    threshold: str | None = None,
    require: tuple[str, ...] = (),
    allow: float | None = None,
    level: float = 0.95,
    seed: int = 0,
    **columns: Unpack[ColumnsJudgesItems],
) -> Humans:
    """Compare judges with people's labels: agreement, the rate people would give, and where they disagree.

    Labels are a column of the scores, a table of their own, or a folder of `label make`: numbers, or pass and fail.

    labels : table of labels (task, label and, where there are several, system, language, annotator), or a folder of
        `label make`; without it the column of labels in the scores
    threshold : pass mark of the scores: '4' passes above 4, '>=4' from 4 on
    require : what must hold, or the command ends with 1: 'kappa>=0.6', 'accuracy>=0.8', 'false-pass<=0.1',
        'false-fail<=0.1', 'sensitivity>=0.9', 'specificity>=0.9', 'r>=0.5'; the limit of the interval decides
    allow : share of errors that is allowed where the judge decides alone, such as 0.05
    level : confidence level of all intervals
    seed : number that fixes what is drawn at random

    Examples:
        polyjudge humans scores.csv
        polyjudge humans scores.csv labels.csv --threshold '>=4' --require 'kappa>=0.6'
        polyjudge humans scores.csv labels/ --allow 0.05
    """
    panel = read_panel(panel, **columns)
    if panel.pairs is not None:
        return votes(panel, labels, require=require, level=level)  # type: ignore[return-value]
    if not 0.5 <= level < 1:
        raise UsageError(f"level is from 0.5 to below 1, such as 0.95, not {level:g}.")
    if allow is not None and not 0 < allow < 0.5:
        raise UsageError(f"allow is a share of errors above 0 and below 0.5, such as 0.05, not {allow:g}.")
    rules = [_rule(text) for text in require or ()]
    said: tuple[Finding, ...] = ()
    named = labels if isinstance(labels, str | Path) else ""
    labels = join_labels(labels)
    if isinstance(labels, Returned):
        said = tuple(f for f in labels.findings if f.severity != "info")
        if not len(labels.labels) and panel.human is None:
            raise UsageError(" ".join(f.text for f in said))
    found = labelled(panel, labels)
    sides = sides_of(panel, found, threshold)
    needs = [text for text, (measure, _), _, _ in rules if measure != "r"] + ["allow"] * (allow is not None)
    if needs and not sides.verdicts:
        raise UsageError(f"{name(needs[0])} is about pass and fail. Add the pass mark of the scores: --threshold 4.")
    judges = _judges(panel, sides, level)
    calibrator = None
    if len(panel.languages) > 1 and found.answers >= 10:
        calibrator = LabelCalibrator(level=level, seed=seed).fit(panel, found)
    at = np.isfinite(sides.guide)
    language = np.broadcast_to(np.arange(at.shape[2]), at.shape)[at]
    parts: dict[str, Any] = {
        "frame": _frame(panel, sides, level, seed),
        "judges": judges,
        "by_language": _by_language(panel, sides, level),
        "pairs": _pairs(panel, sides, level, seed),
        "disagreements": _disagreements(panel, sides),
        "annotators": _harsher(panel, sides, level),
        "weights": weights_by_labels(panel, found, seed),
        "alone": _alone(panel, sides, allow, level),
        "requirements": _requirements(rules, judges, sides),
        "alpha": st.alpha(found.table(sides.label), level, seed) if len(found.annotators) > 1 else NONE,
        "removes": None if calibrator is None else calibrator.removes_,
        "two_valued": sides.verdicts or found.two_valued,
        "not_random": st.not_random(sides.guide[at], np.isfinite(sides.y[at]), language, _units(panel, at)),
        "panel_": panel,
        "sides_": sides,
        "calibrator_": calibrator,
        "options_": {
            "threshold": threshold,
            "allow": allow,
            "level": level,
            "seed": seed,
            "given": labels,
            "named": named,
        },
    }
    parts |= _board(panel, sides, parts, level, seed)
    made = Humans(findings=(), **parts)
    if threshold is not None:
        said += tuple(tipped_ties_finding(panel, sides.mark, "People"))
    return Humans(findings=(*words.findings(made), *said), **parts)


def _board(panel: Panel, sides: Sides, parts: dict[str, Any], level: float, seed: int) -> dict[str, Any]:
    """What people would say of every system in every language (METHODS 39), or of the one language (METHODS 13)."""
    import pandas as pd

    board = people_board(panel, sides, level=level, seed=seed)
    if board is not None:
        return {"board": board_frame(board), "board_": board}
    if panel.has_systems and len(panel.languages) == 1:
        frame = frame_of_one_language(panel, parts["frame"], parts["pairs"], sides.lead)
        return {"board": frame, "board_": None}
    return {"board": pd.DataFrame(columns=list(COLUMNS)), "board_": None}


# --- what is compared ---


def sides_of(panel: Panel, found: Labelled, threshold: str | None = None) -> Sides:
    """Labels and judges as they can be compared: verdicts where both are pass or fail or a threshold makes them so."""
    mean, one = panel_mean(panel), panel.shape[3] == 1
    each = {x: panel.scores[..., i] for i, x in enumerate(panel.judges)}
    lead = "panel" if "panel" not in panel.judges else "all judges"
    if threshold is None and not (found.two_valued and panel.two_valued):
        judges = each if one else {**each, lead: mean}
        return Sides(found.y, judges, mean, False, found.same, found, found.label)
    mark, how = (sum(panel.scale) / 2, ">") if threshold is None else parse_threshold(threshold, panel.scale)
    y, label = found.y, found.label
    if not found.two_valued:
        if not found.same:
            raise PanelError(
                f"Labels go from {found.scale[0]:g} to {found.scale[1]:g} and scores from {panel.scale[0]:g} to "
                f"{panel.scale[1]:g}, so one pass mark does not fit both. Give the labels as pass and fail."
            )
        label = _verdict(label, mark, how, panel.width)
        y = found.by_answer(label)
    each = {x: _verdict(s, mark, how, panel.width) for x, s in each.items()}
    share = mean_seen(np.stack(list(each.values()), axis=3), 3)
    if panel.two_valued:
        mean, mark, how = share, 0.5, ">"  # the majority
    judges = each if one else {**each, lead: _verdict(mean, mark, how, panel.width)}
    far = np.round(np.abs(mean - mark) / panel.width, 9) * panel.width  # 1/3 and 2/3 are equally far from 1/2
    return Sides(y, judges, share, True, True, found, label, far, mark)


def _verdict(x: Array, mark: float, how: str, width: float) -> Array:
    tiny = 1e-9 * width
    return np.where(np.isfinite(x), (x > mark + tiny) if how == ">" else (x >= mark - tiny), np.nan)


def _units(panel: Panel, at: Bools) -> Codes:
    return np.asarray(np.broadcast_to(panel.unit[:, None, None], at.shape)[at], dtype=np.int64)


# --- each judge ---


def _judges(panel: Panel, sides: Sides, level: float) -> pd.DataFrame:
    """How each judge agrees with people on the labelled answers, in all languages and in each."""
    import pandas as pd

    rows, people, k = [], sides.people, len(panel.languages)
    for i, (judge, f) in product((None, *range(k)) if k > 1 else (0,), sides.judges.items()):
        at = np.isfinite(people) & np.isfinite(f) & (True if i is None else np.arange(k) == i)
        y, x, unit = people[at], f[at], _units(panel, at)
        found = {**dict.fromkeys(MEASURES, NONE), "r": st.correlation(y, x, unit, level)}
        if sides.verdicts:
            found["accuracy"] = st.share((y == x).astype(float), unit, level)
            found["kappa"] = st.kappa(y, x, unit, level)
            found["sensitivity"] = st.share(x[y == 1], unit[y == 1], level)
            found["specificity"] = st.share(1 - x[y == 0], unit[y == 0], level)
        found["difference"] = st.mean(x - y, unit, level) if sides.same else NONE
        row = {m + end: v for m, limits in found.items() for end, v in zip(("", "_low", "_high"), limits, strict=True)}
        rows.append({"language": "all" if i is None else panel.languages[i], "judge": judge, "labelled": len(y), **row})
    return pd.DataFrame(rows)


# --- errors by language, with their direction ---

BY_LANGUAGE = ("accuracy", "false_pass", "false_fail")
ERROR_KINDS = {"false_pass": 0.0, "false_fail": 1.0}
"""What people say of the cases in which each error can be made."""


def _by_language(panel: Panel, sides: Sides, level: float) -> pd.DataFrame:
    """Errors of the judge (or the panel) in each language, worst first; empty without verdicts or with one language.

    worse : the kinds of error that are certainly more frequent there than in the other languages, all comparisons
        together; *_elsewhere: their rates in the others
    """
    import pandas as pd

    limits = [column + end for column in BY_LANGUAGE for end in ("", "_low", "_high")]
    columns = ["language", "labelled", *limits, "false_pass_elsewhere", "false_fail_elsewhere", "worse"]
    n_languages = len(panel.languages)
    if not sides.verdicts or n_languages < 2:
        return pd.DataFrame(columns=columns)
    people, verdicts = sides.people, sides.judges[sides.lead]
    is_case = np.isfinite(people) & np.isfinite(verdicts)
    level_of_one = level ** (1 / (len(ERROR_KINDS) * n_languages))  # Sidak
    rows = []
    for index, language in enumerate(panel.languages):
        in_language = is_case & (np.arange(n_languages) == index)
        if not in_language.any():
            continue
        is_right = (people == verdicts)[in_language].astype(float)
        accuracy = st.share(is_right, _units(panel, in_language), level)
        errors, elsewhere, worse = [], [], []
        for kind, verdict_of_people in ERROR_KINDS.items():
            can_err = is_case & (people == verdict_of_people)
            here, others = can_err & in_language, can_err & ~in_language
            errors.append(_error_rate(panel, people, verdicts, here, level))
            elsewhere.append(_error_rate(panel, people, verdicts, others, level)[0])
            together = [_error_rate(panel, people, verdicts, part, level_of_one) for part in (here, others)]
            if here.any() and others.any() and st.difference(together[0], together[1], 0.0)[1] > 0:
                worse.append(kind.replace("_", " "))
        numbers = (*accuracy, *errors[0], *errors[1], *elsewhere)
        rows.append((language, int(in_language.sum()), *numbers, ", ".join(worse)))
    by_language = pd.DataFrame(rows, columns=columns)
    order = by_language["accuracy"].round(9).argsort(kind="stable")
    return by_language.iloc[order].reset_index(drop=True)


def _error_rate(panel: Panel, people: Array, verdicts: Array, cases: Bools, level: float) -> Limits:
    """Share of some cases in which judge and people differ."""
    return st.share((people != verdicts)[cases].astype(float), _units(panel, cases), level)


# --- what people would say (METHODS 13) ---


def _frame(panel: Panel, sides: Sides, level: float, seed: int) -> pd.DataFrame:
    """One row for each language and system (or all of them) and judge."""
    import pandas as pd

    _, s, k = sides.y.shape
    extra = _annotator_covariance(panel, sides)
    rows = []
    for i, j in product((None, *range(k)) if k > 1 else (0,), (None, *range(s)) if s > 1 else (0,)):
        where = np.ones(sides.y.shape, dtype=bool)
        where &= True if i is None else np.arange(k) == i
        where &= True if j is None else (np.arange(s) == j)[:, None]
        made: dict[bytes, Powered] = {}
        for judge, f in sides.judges.items():
            at = where & np.isfinite(f) & np.isfinite(sides.guide)
            if not at.any():
                continue
            some = (np.isfinite(sides.y) & at).any((0, 1))
            at &= some | ~some.any()  # of a language without labels nothing is said, where others have some
            key = at.tobytes()
            made[key] = people = made.get(key) or would_give(panel, sides, at, level, seed, extra)
            unit, x = _units(panel, at), f[at]
            said = st.share(x, unit, level) if sides.verdicts else st.mean(x, unit, level)
            own = np.bincount(unit, (x - x.mean()) / len(x), minlength=len(people.influence)).astype(float)
            limits = (people.value, people.low, people.high)
            d = st.difference(said, limits, st.correlated(own, people.influence)) if sides.same else NONE
            row = ("all" if i is None else panel.languages[i], "all" if j is None else panel.systems[j], judge, said[0])
            rows.append((*row, limits[0], *d, *limits[1:], *people.alone, people.n, len(x), *people.these))
    columns = "language system judge panel people difference low high people_low people_high labels labels_low"
    columns += " labels_high labelled answers these_low these_high"
    return pd.DataFrame(rows, columns=columns.split())


def would_give(panel: Panel, sides: Sides, at: Bools, level: float, seed: int, extra: Any = None) -> Powered:
    """The mean or rate that people would give the answers of a part."""
    is_two_valued = sides.verdicts or sides.found.two_valued
    y, f, unit = sides.y[at], sides.guide[at], _units(panel, at)
    language = np.broadcast_to(np.arange(at.shape[2]), at.shape)[at]
    people = st.powered(y, f, unit, two_valued=is_two_valued, group=language, level=level, seed=seed, units=panel.units)
    if people.n == 0:
        return people
    these = st.of_these(y, f, people, unit, two_valued=is_two_valued, group=language, level=level)
    people = replace(people, these=these)
    if extra is None:
        return people
    covariance, df = extra
    weight = np.bincount(language, minlength=at.shape[2]) / at.sum()
    more = float(weight @ covariance @ weight)
    return st.widened(people, more, df, two_valued=is_two_valued, level=level) if more > 0 else people


def _annotator_covariance(panel: Panel, sides: Sides) -> tuple[Array, float] | None:
    """What annotators add to the covariance of the languages' means, (k, k), and degrees of freedom.

    None where labels are by one annotator, or by people unknown.
    """
    labels, k = sides.found, len(panel.languages)
    if len(labels.annotators) < 2 or "" in labels.annotators:
        return None
    guide = sides.guide[labels.row, labels.system, labels.language]
    has_score = np.isfinite(guide)
    adjusted_label = sides.label - _slopes(panel, sides)[labels.language] * np.where(has_score, guide, 0.0)
    known, language = np.unique(labels.language[has_score], return_inverse=True)
    answer = np.ravel_multi_index((labels.row, labels.system), sides.y.shape[:2])[has_score]
    who = np.unique(labels.who[has_score], return_inverse=True)[1]
    people = language_means(adjusted_label[has_score], answer, language, who)
    covariance = np.zeros((k, k))
    covariance[np.ix_(known, known)] = people.annotator_covariance
    return covariance, DF_OF_ANNOTATORS


def _slopes(panel: Panel, sides: Sides) -> Array:
    """By how much a label of each language rises with what the judges say, as means by few labels use it."""
    is_two_valued = sides.verdicts or sides.found.two_valued
    slopes = []
    for language in range(len(panel.languages)):
        at = np.isfinite(sides.guide) & (np.arange(len(panel.languages)) == language)
        slopes.append(st.powered(sides.y[at], sides.guide[at], _units(panel, at), two_valued=is_two_valued).slope)
    return np.array(slopes)


def _pairs(panel: Panel, sides: Sides, level: float, seed: int) -> pd.DataFrame:
    """Every difference of two systems that have labels enough, as people would give it, all together (Newcombe)."""
    import pandas as pd

    columns = ["system", "other", "panel", "people", "low", "high", "labels", "labels_low", "labels_high"]
    s = panel.shape[1]
    if s == 1:
        return pd.DataFrame(columns=columns)
    together = level ** (1 / (s * (s - 1) / 2))
    f, known = sides.judges[sides.lead], np.isfinite(sides.guide)
    made: dict[bytes, Powered] = {}
    rows = []
    for i, j in combinations(range(s), 2):
        both = (known[:, i] & known[:, j])[:, None]  # where both were scored
        both = both & np.isfinite(sides.y[:, i]).any(0) & np.isfinite(sides.y[:, j]).any(0)  # languages with labels
        found = []
        for x in (i, j):
            at = both & (np.arange(s) == x)[:, None]
            key = at.tobytes()
            if both.any():
                made[key] = made.get(key) or would_give(panel, sides, at, together, seed)
                found.append((made[key], float(f[at].mean())))
        if len(found) < 2 or not all(x.n >= st.FEW for x, _ in found):
            continue
        (a, says), (b, other) = found
        r = st.correlated(a.influence, b.influence)
        people = st.difference((a.value, a.low, a.high), (b.value, b.low, b.high), r)
        plain = st.difference(a.alone, b.alone, min(max(r, 0.0), 1.0))
        rows.append((panel.systems[i], panel.systems[j], says - other, *people, *plain))
    return pd.DataFrame(rows, columns=columns)


# --- annotators ---


def _harsher(panel: Panel, sides: Sides, level: float) -> pd.DataFrame:
    """How much lower each annotator labels than the others of the language, at the same score of the panel."""
    import pandas as pd

    found = sides.found
    columns = ["language", "annotator", "labels", "harsher", "low", "high"]
    guide = sides.guide[found.row, found.system, found.language]
    rows: list[tuple[Any, ...]] = []
    of = [len(np.unique(found.who[found.language == i])) for i in range(len(panel.languages))]
    together = max(sum(x if x > 2 else x == 2 for x in of), 1)  # distinct comparisons
    for i, language in enumerate(panel.languages):
        at = (found.language == i) & np.isfinite(guide)
        people = np.unique(found.who[at])
        x, g = sides.label[at], guide[at]
        var = float(g.var()) if len(g) else 0.0
        slope = float(((g - g.mean()) * (x - x.mean())).mean()) / var if var > 1e-12 else 0.0
        x = x - slope * g
        flat = np.ravel_multi_index((found.row[at], found.system[at]), sides.y.shape[:2])
        for a in people:
            mine = found.who[at] == a
            if mine.all() or mine.sum() < 2 or (~mine).sum() < 2 or found.annotators[a] == "":
                rows.append((language, found.annotators[a], int(mine.sum()), *NONE))
                continue
            limits = st.gap(x, ~mine, flat, level ** (1 / together))
            rows.append((language, found.annotators[a], int(mine.sum()), *limits))
    return pd.DataFrame(rows, columns=columns)


# --- where they part ---


def _disagreements(panel: Panel, sides: Sides) -> pd.DataFrame:
    """Answers on which the judge (or the panel) and people part: false passes first; scores by distance."""
    import pandas as pd

    columns = ["kind", "task", "system", "language", "judge", "score", "people", "gap"]
    f, y = sides.judges[sides.lead], sides.people
    if not (sides.verdicts or sides.same):
        return pd.DataFrame(columns=columns)
    gap = f - y
    at = np.argwhere(np.isfinite(gap) & (np.abs(np.where(np.isfinite(gap), gap, 0)) > 1e-9 * panel.width))
    mean = panel_mean(panel)
    rows = []
    for r, s, i in at:
        g, x = float(gap[r, s, i]), round(float(mean[r, s, i]) / panel.width, 9)
        kind = ("false pass" if g > 0 else "false fail") if sides.verdicts else "higher" if g > 0 else "lower"
        worst = (g < 0, -x if g > 0 else x) if sides.verdicts else (False, -round(abs(g) / panel.width, 9))
        about = (kind, panel.tasks[r], panel.systems[s], panel.languages[i], sides.lead, float(mean[r, s, i]))
        rows.append((worst, (*about, float(sides.y[r, s, i]), g)))
    rows.sort(key=lambda row: row[0])
    made = pd.DataFrame([row for _, row in rows], columns=columns)
    return with_texts(panel, made, ("task", "system", "language"))


# --- who may decide alone (METHODS 22) ---


def _alone(panel: Panel, sides: Sides, allow: float | None, level: float) -> pd.DataFrame:
    """Where judges agree with each other, and where the judge may decide alone: agreement with people in each part."""
    import pandas as pd

    rows: list[tuple[Any, ...]] = []
    if sides.verdicts and len(panel.judges) > 1:
        rows += _unanimous_rows(panel, sides, level)
    if sides.far is not None and allow is not None:
        rows += _deciding_rows(panel, sides, allow, level)
    for who, won, near, annotators in _stand_ins(panel, sides):
        part = f"instead of one of {annotators} annotators"
        rows.append((who, part, math.nan, 0, won, math.nan, near, *NO_CUTS, ""))
    columns = "decides part share labelled agreement low high fails_below passes_above language"
    return pd.DataFrame(rows, columns=columns.split())


def _unanimous_rows(panel: Panel, sides: Sides, level: float) -> list[tuple[Any, ...]]:
    """Cases on which all judges agree, and the others; the first also by language."""
    votes = np.stack([verdicts for judge, verdicts in sides.judges.items() if judge != sides.lead], axis=3)
    is_case = np.asarray(np.isfinite(votes).all(3))
    is_unanimous = (votes == votes[..., :1]).all(3)
    rows = [
        _part_row(panel, sides, ("the panel", "all judges agree"), is_unanimous & is_case, is_case, level),
        _part_row(panel, sides, ("the panel", "judges differ"), ~is_unanimous & is_case, is_case, level),
    ]
    languages = range(len(panel.languages)) if len(panel.languages) > 1 else ()
    for index in languages:
        in_language = is_case & (np.arange(len(panel.languages)) == index)
        title = ("the panel", "all judges agree")
        rows.append(
            _part_row(panel, sides, title, is_unanimous & in_language, in_language, level, panel.languages[index])
        )
    return rows


def _deciding_rows(panel: Panel, sides: Sides, allow: float, level: float) -> list[tuple[Any, ...]]:
    """The part that the judge may decide alone and the rest, by cuts that hold over all languages; then the part beyond
    the cuts in each language. In one language it may decide where its own cases show it too."""
    assert sides.far is not None
    people, verdicts = sides.people, sides.judges[sides.lead]
    is_case = np.isfinite(verdicts)
    is_labelled = np.isfinite(people) & is_case
    cut = st.decide_alone(sides.far[is_labelled], (verdicts != people)[is_labelled], allow, level)
    if cut is None:
        return []
    cuts, is_beyond = (sides.mark - cut, sides.mark + cut), is_case & (sides.far >= cut)
    languages = range(len(panel.languages)) if len(panel.languages) > 1 else ()
    beyond_in = {index: is_beyond & (np.arange(len(panel.languages)) == index) for index in languages}
    may_decide = is_beyond.copy()
    language_rows = []
    for index, part in beyond_in.items():
        is_known = part & is_labelled
        n_wrong, n_known = int((verdicts != people)[is_known].sum()), int(is_known.sum())
        if not st.shows_at_most(n_wrong, n_known, allow, level):
            may_decide &= ~part
        in_language = is_case & (np.arange(len(panel.languages)) == index)
        who = "the judge" if st.shows_at_most(n_wrong, n_known, allow, level) else "people"
        title = (who, "beyond the cuts")
        language_rows.append(_part_row(panel, sides, title, part, in_language, level, panel.languages[index], cuts))
    rows = [
        _part_row(panel, sides, ("the judge", "beyond the cuts"), may_decide, is_case, level, "", cuts),
        _part_row(panel, sides, ("people", "between the cuts"), is_case & ~may_decide, is_case, level, "", cuts),
    ]
    return [*rows, *language_rows]


def _part_row(
    panel: Panel, sides: Sides, title: tuple[str, str], part: Bools, cases: Bools, level: float,
    language: str = "", cuts: tuple[float, float] = NO_CUTS,
) -> tuple[Any, ...]:  # fmt: skip
    """A row of `alone`: who decides which part, its share of the cases, and agreement with people in it."""
    is_labelled = part & np.isfinite(sides.people)
    is_right = (sides.judges[sides.lead] == sides.people)[is_labelled].astype(float)
    agreement = st.share(is_right, _units(panel, is_labelled), level)
    share = float(part.sum() / max(cases.sum(), 1))
    return (*title, share, int(is_labelled.sum()), *agreement, *cuts, language)


def _stand_ins(panel: Panel, sides: Sides, epsilon: float = 0.15) -> list[tuple[str, float, float, int]]:
    """Alternative annotator test of each judge: share of annotators it wins against, chance to be as near."""
    found = sides.found
    if len(found.annotators) < 3 or not (sides.verdicts or sides.same):
        return []
    table = found.table(sides.label)
    many = (~np.isnan(table)).sum(1) >= 3
    flat = np.unique(np.ravel_multi_index((found.row, found.system, found.language), sides.y.shape))
    out = []
    for judge, f in sides.judges.items():
        won, near, p = st.alternative_annotator(f.reshape(-1)[flat][many], table[many], epsilon)
        tested = int(np.isfinite(p).sum())
        if tested >= 3:
            out.append((judge, won, near, tested))
    return out


# --- requirements ---


def _rule(text: str) -> tuple[str, tuple[str, int], str, float]:
    """'kappa>=0.6' as its measure, direction and limit."""
    plain = text.lower().replace("_", "-").replace(" ", "")
    got = re.fullmatch(r"([a-z-]+)([<>])=?(-?\d*\.?\d+)(%?)", plain)
    if got is None or got[1] not in RULES:
        raise UsageError(
            f"A requirement is a measure and its limit, such as 'kappa>=0.6', not {name(text)!r}. Measures: "
            f"{', '.join(RULES)}."
        )
    return text.strip(), RULES[got[1]], got[2], float(got[3]) / (100 if got[4] else 1)


def _requirements(rules: list[Any], judges: pd.DataFrame, sides: Sides) -> pd.DataFrame:
    """Each rule with what was measured; met where the limit of the interval says so."""
    import pandas as pd

    row = judges[judges["judge"] == sides.lead].iloc[0]
    out = []
    for text, (measure, sign), how, limit in rules:
        value, low, high = (float(row[measure + end]) for end in ("", "_low", "_high"))
        if sign < 0:
            value, low, high = 1 - value, 1 - high, 1 - low
        met = low >= limit - 1e-12 if how == ">" else high <= limit + 1e-12
        surely_not = high < limit if how == ">" else low > limit
        out.append((text, value, low, high, bool(met), bool(surely_not)))
    return pd.DataFrame(out, columns=["rule", "value", "low", "high", "met", "surely_not"])
