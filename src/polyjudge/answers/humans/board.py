"""What would people say of every system in every language? A leaderboard with people (METHODS 39).

The answer: for every system, in every language and overall, what people would give, with its interval, the ranks that
are possible, and on what that rests: labels there, or the judges' error carried over from other languages. It rests on
languages being draws of one kind, which each screen says in the user's names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from polyjudge.answers.amounts import spelled
from polyjudge.base.numbers import ci, digits_of, number
from polyjudge.base.text import count, name, names
from polyjudge.panel import Panel
from polyjudge.report.model import Chart, Finding, Section, Severity, Table
from polyjudge.stats.anchored import (
    FEWEST_LANGUAGES,
    Differences,
    Judged,
    JudgeErrors,
    People,
    average_languages,
    draw_people,
    judge_means,
    limit_differences,
    measure_errors,
    predict_left_out,
)
from polyjudge.stats.annotators import language_means

if TYPE_CHECKING:
    import pandas as pd

    from polyjudge.answers.audit.systems import Systems
    from polyjudge.answers.humans.compare import Humans, Sides
    from polyjudge.calibrate.labelled import Labelled

Array = NDArray[np.float64]
Index = NDArray[np.int64]
COLUMNS = ("language", "system", "people", "low", "high", "rank_low", "rank_high", "labels", "basis")
OVERALL = "all"
LABELS, NO_LABELS = "labels", "no labels"
EXPLANATIONS = ("length", "own maker", "copies")
"""Threats that explain a lead of the judges, and take nothing from it where people have said who is better."""
FEW_NAMES = 4
"""Languages that a sentence names; more are counted."""
RARELY = 0.01
"""Chance below which too few languages are predicted by the others for the assumption to be believed."""


@dataclass(frozen=True, eq=False, repr=False)
class PeopleBoard:
    """What people would say of systems in languages; overall is the last of the languages.

    panel : what was compared
    people : draws of what people would say, from `measured`, the judges' error, and `judged`, what judges say
    means : (languages + 1, systems) what people would give; low, high : its limits, NaN where the level is not known
    judges : (languages + 1, systems) what the judges alone say, on the scale of the labels
    limits : all differences between systems that hold together, in each language and overall
    labels : (systems, languages) number of labelled answers
    predicted : of each labelled language, whether the others predict it
    one_annotator : languages in which a single annotator's harshness hides the level
    what : what people gave: labels, or votes on pairs
    factor, unit : by which differences are multiplied to be shown, and what they are counted in
    """

    panel: Panel
    people: People
    measured: JudgeErrors
    judged: Judged
    means: Array
    low: Array
    high: Array
    judges: Array
    limits: Differences
    labels: Index
    predicted: tuple[bool, ...]
    one_annotator: tuple[str, ...]
    factor: float
    unit: str
    seed: int
    what: str = LABELS

    @property
    def labelled(self) -> list[int]:
        """The languages whose error was measured."""
        return [int(language) for language in self.measured.languages]

    @property
    def unlabelled(self) -> list[int]:
        """The other languages."""
        return [language for language in range(len(self.panel.languages)) if language not in self.labelled]

    @property
    def tells_others(self) -> bool:
        """Whether labels say something of languages that have none."""
        return self.measured.tells_others

    @property
    def uncompared(self) -> list[int]:
        """The systems that judges scored and labels do not compare with the others: they may have any rank."""
        is_scored = np.isfinite(self.judges[-1]) | np.isfinite(self.judges[:-1]).any(axis=0)
        return [int(system) for system in np.flatnonzero(is_scored & ~self.limits.known[-1])]

    @property
    def spread(self) -> float:
        """Sd between languages of the judges' error of a difference of two systems, beyond the common error."""
        return math.sqrt(2) * float(np.median(self.people.spread))

    @property
    def order(self) -> list[int]:
        """The systems that are compared overall, the best estimate first; ties in the order of the panel."""
        known = np.flatnonzero(self.limits.known[-1])
        if not len(known):
            return []
        middle = self.limits.middle[-1][np.ix_(known, known)]
        ahead = np.nansum(middle, axis=1)
        tiny = 1e-9 * max(float(np.abs(ahead).max()), 1e-300)
        return [int(known[place]) for place in np.argsort(-np.round(ahead / tiny), kind="stable")]

    @property
    def may_be_best(self) -> list[int]:
        """The systems that may be first overall, the best estimate first."""
        return [system for system in self.order if self.limits.rank_low[-1, system] == 1]

    @property
    def lead_half_width(self) -> float:
        """Half-width of the leader's lead over its rival overall."""
        leader, rival = self.order[:2]
        return float(self.limits.half_width[-1, leader, rival])


# --- numbers ---


@dataclass(frozen=True, eq=False)
class FittedPeople:
    """scores : (tasks, systems, languages) of the panel, on the scale of the labels; languages_alone : those in which
    one annotator's harshness hides the level"""

    scores: Array
    judged: Judged
    measured: JudgeErrors
    people: People
    languages_alone: list[int]


def fit_people(panel: Panel, sides: Sides, seed: int = 0) -> FittedPeople | None:
    """What people would say, from the judges' error where people labelled; None where labels are too few, or all alike
    on a scale of their own: scores cannot be laid on it."""
    given = sides.y[np.isfinite(sides.y) & np.isfinite(sides.guide)]
    if not sides.same and (not len(given) or np.ptp(given) == 0):
        return None
    scores = on_scale_of_labels(sides.guide, sides.y, sides.same)
    judged = judge_means(scores, panel.unit, panel.weight)
    measured = measure_errors(scores, sides.y, panel.unit, judged)
    if measured is None:
        return None
    alone = languages_of_one_annotator(sides.found, len(panel.languages))
    measured = with_annotators(measured, scores, sides, alone)
    return FittedPeople(scores, judged, measured, draw_people(judged, measured, seed=seed), alone)


def people_board(panel: Panel, sides: Sides, *, level: float = 0.95, seed: int = 0) -> PeopleBoard | None:
    """The board of a panel of several languages and systems; None where labels are too few to measure anything."""
    if len(panel.languages) < 2 or not panel.has_systems:
        return None
    fitted = fit_people(panel, sides, seed)
    if fitted is None:
        return None
    judged, measured, people = fitted.judged, fitted.measured, fitted.people
    means = _with_overall(people.means)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    has_level = _has_level(people)
    low[~has_level], high[~has_level] = np.nan, np.nan
    in_percent = sides.verdicts or sides.found.two_valued
    ends = sides.found.scale if in_percent or sides.same else (-np.inf, np.inf)
    languages, n_languages = list(map(int, measured.languages)), len(panel.languages)
    others = [language for language in range(n_languages) if language not in languages]
    draws = _with_overall(people.differences)
    return PeopleBoard(
        panel=panel,
        people=people,
        measured=measured,
        judged=judged,
        means=np.clip(np.median(means, axis=0), *ends),
        low=np.clip(low, *ends),
        high=np.clip(high, *ends),
        judges=np.clip(np.vstack([judged.mean, _judges_overall(judged, draws)]), *ends),
        limits=limit_differences(draws, [languages, others, [n_languages]], level),
        labels=np.logical_and(np.isfinite(sides.y), np.isfinite(fitted.scores)).sum(axis=0),
        predicted=tuple(predict_left_out(measured, level, seed=seed)),
        one_annotator=tuple(panel.languages[language] for language in fitted.languages_alone),
        factor=100.0 if in_percent else 1.0,
        unit=_unit(sides, in_percent),
        seed=seed,
    )


def _unit(sides: Sides, in_percent: bool) -> str:
    if in_percent:
        return "percentage points"
    return "points" if sides.same else "points on the scale of the labels"


def _with_overall(draws: Array) -> Array:
    """The mean over languages as one more language."""
    return np.concatenate([draws, average_languages(draws)[:, None]], axis=1)


def _has_level(people: People) -> NDArray[np.bool_]:
    """Of each language, and of their mean, whether the level has an interval."""
    is_in_mean = np.any(np.isfinite(people.differences).all(axis=0), axis=1)
    return np.append(people.has_level, people.has_level[is_in_mean].all())


def _judges_overall(judged: Judged, people: Array) -> Array:
    """What judges say of systems over the same languages as people's overall."""
    is_told = np.any(np.isfinite(people[:, :-1]).all(axis=0), axis=1)
    return average_languages(np.where(is_told[:, None], judged.mean, np.nan)[None])[0]


def on_scale_of_labels(scores: Array, labels: Array, same: bool) -> Array:
    """Scores (tasks, systems, languages) as they are, or laid on labels of another scale by mean and spread.

    The spread is that inside languages: by how much languages differ on either side is what is to be found out.
    """
    if same:
        return scores
    is_labelled = np.isfinite(scores) & np.isfinite(labels)
    language = np.nonzero(is_labelled)[2]
    given, wanted = scores[is_labelled], labels[is_labelled]
    n_labels = np.maximum(np.bincount(language), 1)
    ratio = [x - (np.bincount(language, x) / n_labels)[language] for x in (given, wanted)]
    spread, wanted_spread = (float((x**2).sum()) for x in ratio)
    if spread <= 0:
        return np.asarray(scores - given.mean() + wanted.mean())
    return np.asarray(wanted.mean() + math.sqrt(wanted_spread / spread) * (scores - given.mean()))


def languages_of_one_annotator(found: Labelled, n_languages: int) -> list[int]:
    """Languages with a single, named annotator who labelled in no other language."""
    pairs = np.unique(np.stack([found.language, found.who]), axis=1)
    n_annotators = np.bincount(pairs[0], minlength=n_languages)
    n_languages_of = np.bincount(pairs[1], minlength=len(found.annotators))
    return [
        int(language)
        for language, who in pairs.T
        if found.annotators[who] and n_annotators[language] == 1 and n_languages_of[who] == 1
    ]


def with_annotators(measured: JudgeErrors, scores: Array, sides: Sides, alone: list[int]) -> JudgeErrors:
    """The same errors, with what annotators add to the variance of levels (METHODS 38)."""
    found = sides.found
    extra = np.zeros(scores.shape[2])
    judged = scores[found.row, found.system, found.language]
    is_scored = np.isfinite(judged)
    if len(found.annotators) > 1 and "" not in found.annotators and is_scored.any():
        difference = (sides.label - measured.control_weight * judged)[is_scored]
        languages, language = np.unique(found.language[is_scored], return_inverse=True)
        who = np.unique(found.who[is_scored], return_inverse=True)[1]
        answer = np.ravel_multi_index((found.row, found.system), scores.shape[:2])[is_scored]
        people = language_means(difference, answer, language, who)
        extra[languages] = np.maximum(np.diag(people.annotator_covariance), 0.0)
    extra[alone] = np.nan
    return replace(measured, severity=extra[measured.languages])


def board_frame(board: PeopleBoard) -> pd.DataFrame:
    """language ("all" first), system, people, low, high, rank_low, rank_high, labels, basis; best systems first."""
    import pandas as pd

    panel = board.panel
    n_languages = len(panel.languages)
    rows = []
    for place in (n_languages, *range(n_languages)):
        is_scored = np.isfinite(board.judges[place])
        is_known = board.limits.known[place]
        low_rank, high_rank = board.limits.rank_low[place], board.limits.rank_high[place]
        n_unknown = int((is_scored & ~is_known).sum())
        by_mean = np.nan_to_num(board.means[place], nan=-np.inf)
        for system in np.argsort(-by_mean, kind="stable"):
            if not is_scored[system]:
                continue
            # A system of which nothing is known may have any rank, also above the others.
            ranks = (low_rank[system], high_rank[system] + n_unknown) if is_known[system] else (1, is_scored.sum())
            labels = board.labels[system].sum() if place == n_languages else board.labels[system, place]
            limits = board.means[place, system], board.low[place, system], board.high[place, system]
            language = OVERALL if place == n_languages else panel.languages[place]
            basis = _basis(board, place, int(system))
            rows.append((language, panel.systems[system], *limits, *map(int, ranks), int(labels), basis))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _basis(board: PeopleBoard, place: int, system: int) -> str:
    """On what a row rests."""
    n_labelled, n_languages = len(board.labelled), len(board.panel.languages)
    if not np.isfinite(board.means[place, system]):
        return NO_LABELS
    if place == n_languages:
        of_all = f"labels in {n_labelled} of {count(n_languages, board.panel.noun)}"
        return of_all if board.tells_others or n_labelled == n_languages else f"{of_all}, and of these alone"
    if place in board.labelled and np.isfinite(board.measured.error[board.labelled.index(place), system]):
        return LABELS
    return f"carried over from {count(n_labelled, board.panel.noun)}"


def frame_of_one_language(panel: Panel, frame: pd.DataFrame, pairs: pd.DataFrame, lead: str) -> pd.DataFrame:
    """The same of a panel of one language: what people would give each system, and ranks by all differences."""
    import pandas as pd

    rows = frame[(frame["judge"] == lead) & (frame["system"] != OVERALL)]
    n_systems = len(rows)
    columns = {"people_low": "low", "people_high": "high", "labelled": "labels"}
    kept = rows[["language", "system", "people", *columns]]
    board = kept.rename(columns=columns).sort_values("people", ascending=False, kind="stable")
    ahead = pd.concat([pairs.loc[pairs["low"] > 0, "other"], pairs.loc[pairs["high"] < 0, "system"]])
    behind = pd.concat([pairs.loc[pairs["low"] > 0, "system"], pairs.loc[pairs["high"] < 0, "other"]])
    board["rank_low"] = 1 + board["system"].map(ahead.value_counts()).fillna(0).astype(int)
    board["rank_high"] = n_systems - board["system"].map(behind.value_counts()).fillna(0).astype(int)
    board["basis"] = np.where(board["labels"] > 0, LABELS, NO_LABELS)
    return board[list(COLUMNS)].reset_index(drop=True)


# --- sentences ---


def board_findings(board: PeopleBoard) -> list[Finding]:
    """Who is first by people, on what that rests, and what labels cannot tell."""
    texts: list[tuple[str, str, Severity]] = [("board", _first(board), "info")]
    texts += [("carried", text, "notice") for text in _assumption(board)]
    texts += _predicted(board)
    texts += [("few-languages", text, "notice") for text in _too_few_languages(board)]
    texts += [("unlabelled-systems", text, "notice") for text in _unlabelled_systems(board)]
    texts += [("board-annotators", text, "notice") for text in _one_annotator(board)]
    return [Finding(how, f"humans.{key}", text, "People") for key, text, how in texts]


def _languages(board: PeopleBoard, which: list[int]) -> str:
    return names([board.panel.languages[language] for language in which], FEW_NAMES)


def _first(board: PeopleBoard) -> str:
    """Who is first by people: overall, in the labelled languages, and in the others."""
    sources = f"{board.what} in {_languages(board, board.labelled)}"
    if board.tells_others and board.unlabelled:
        n_others = len(board.unlabelled)
        noun = board.panel.noun if n_others == 1 else board.panel.nouns
        sources += f", and judges in {spelled(n_others)} more {noun}"
    best = board.may_be_best
    where = "overall" if board.tells_others or not board.unlabelled else "there"
    if board.uncompared:
        where += f" among the {spelled(len(board.order))} systems that {board.what} compare"
    systems = [name(board.panel.systems[system]) for system in best]
    if not best:
        return f"From {sources}: {board.what} compare no two systems."
    if len(best) == 1:
        who = f"{systems[0]} is first {where}{_in_labelled(board, best[0])}"
    elif len(best) <= 3:
        who = f"{', '.join(systems[:-1])} or {systems[-1]} is first {where}; {board.what} do not tell which yet"
    else:
        who = f"{systems[0]} leads {where}, but {spelled(len(best) - 1)} others may be first"
    return f"From {sources}: by people, {who}{_in_others(board, best[0])}.{_judges_alone(board, best)}"


def _in_labelled(board: PeopleBoard, leader: int) -> str:
    """In how many labelled languages the leader is certainly first too."""
    n_labelled = len(board.labelled)
    n_first = sum(int(board.limits.rank_high[language, leader]) == 1 for language in board.labelled)
    if n_labelled < 2 or n_first == 0:
        return ""
    if n_first == n_labelled:
        return f", and in {'both' if n_labelled == 2 else f'all {spelled(n_labelled)}'} labelled {board.panel.nouns}"
    return f", and certainly in {spelled(n_first)} of the {spelled(n_labelled)} labelled {board.panel.nouns}"


def _in_others(board: PeopleBoard, leader: int) -> str:
    """The ranks that the leader may have in languages without labels."""
    if not board.tells_others or not board.unlabelled:
        return ""
    high = {x: int(board.limits.rank_high[x, leader]) for x in board.unlabelled if board.limits.known[x, leader]}
    unsure = [language for language, rank in high.items() if rank > 1]
    if not high:
        return ""
    system = name(board.panel.systems[leader])
    if not unsure:
        return f"; carried over, {system} is first in the others too"
    lowest = min(int(board.limits.rank_low[language, leader]) for language in unsure)
    ranks = f"{lowest} to {max(high[language] for language in unsure)}"
    its_rank = f"{system}'s rank{' among them' if board.uncompared else ''}"
    if len(unsure) <= FEW_NAMES:
        return f"; in {_languages(board, unsure)} {its_rank} may be {ranks}"
    return f"; in {spelled(len(unsure))} {board.panel.nouns} without {board.what} {its_rank} may be {ranks}"


def _judges_alone(board: PeopleBoard, best: list[int]) -> str:
    """Whether the judges put somebody first who is not."""
    judges = np.where(board.limits.known[-1], board.judges[-1], -np.inf)
    first = int(np.argmax(judges))
    return "" if first in best else f" The judges alone put {name(board.panel.systems[first])} first."


def _assumption(board: PeopleBoard) -> list[str]:
    """What languages without labels rest on, in the user's names."""
    if not board.tells_others or not board.unlabelled:
        return []
    n_others = len(board.unlabelled)
    if n_others <= FEW_NAMES:
        who = f"{_languages(board, board.unlabelled)} {'is' if n_others == 1 else 'are'}"
    else:
        who = f"The {spelled(n_others)} {board.panel.nouns} without {board.what} are"
    size = board.factor * board.spread
    spread = f"{number(size, max(digits_of(size), 1))} {board.unit}, sd"
    labelled = _languages(board, board.labelled)
    ask = "label 20 answers" if board.what == LABELS else "let people vote on 100 pairs"
    return [f"{who} taken to differ from {labelled} as these differ from each other ({spread}): {ask} there to know."]


def _predicted(board: PeopleBoard) -> list[tuple[str, str, Severity]]:
    """How many labelled languages the others predict; whether that is too few to believe what is carried over."""
    n_predicted, n_held = len(board.predicted), sum(board.predicted)
    if n_predicted == 0:
        return []
    text = f"Each labelled {board.panel.noun} predicted from the others: {n_held} of {n_predicted} held."
    is_rare = float(bdtr(n_held, n_predicted, 0.95)) < RARELY
    if not is_rare or n_held == n_predicted:
        return [("predicted", text, "info")]
    more = f" Labelled {board.panel.nouns} are too unlike: do not rely on {board.panel.nouns} without {board.what}."
    return [("predicted", text + more, "warning")]


def _too_few_languages(board: PeopleBoard) -> list[str]:
    """What labels in one or two languages say, and what they do not."""
    if board.tells_others or not board.unlabelled:
        return []
    noun, nouns, what = board.panel.noun, board.panel.nouns, board.what.capitalize()
    say = "They say what people think there, and nothing of the others"
    if len(board.labelled) >= FEWEST_LANGUAGES:
        return [f"{what} compare the same systems in too few {nouns} to tell the others: three are needed."]
    if len(board.labelled) == 1:
        return [f"{what} are in one {noun} ({_languages(board, board.labelled)}). {say}."]
    return [f"{what} are in two {nouns}. {say}: from three on the others can be told too."]


def _unlabelled_systems(board: PeopleBoard) -> list[str]:
    """Systems that labels do not compare with the others."""
    unknown = [board.panel.systems[system] for system in board.uncompared]
    if not unknown:
        return []
    it = "it" if len(unknown) == 1 else "them"
    text = f"No {board.what} compare {names(unknown)} with the other systems: what people think of {it} is not known"
    return [f"{text}, and any of them may be first." if len(unknown) > 1 else f"{text}, and it may be first."]


def _one_annotator(board: PeopleBoard) -> list[str]:
    """Languages whose level a single annotator's harshness hides."""
    alone = board.one_annotator
    if not alone:
        return []
    verb = "has" if len(alone) == 1 else "have"
    return [
        f"{names(alone)} {verb} one annotator{'' if len(alone) == 1 else ' each'}: a strict one and a "
        f"{board.panel.noun} of weak answers look the same, so differences of systems have an interval there, and "
        "people's mean has none."
    ]


# --- tables and charts ---


def board_table(h: Humans) -> Table | None:
    """The board on the first screen: overall, or of the one language."""
    if not len(h.board):
        return None
    rows = h.board[h.board["language"] == h.board["language"].iloc[0]].copy()
    if h.board_ is None:
        frame = h.frame[(h.frame["judge"] == h.sides_.lead)].set_index("system")
        rows["judges"] = rows["system"].map(frame["panel"])
    else:
        place = {system: i for i, system in enumerate(h.panel_.systems)}
        rows["judges"] = [float(h.board_.judges[-1, place[system]]) for system in rows["system"]]
    return Table("people", "Board (what people would give, what the judges alone say)", rows, *_columns(h))


def _columns(h: Humans) -> tuple[dict[str, str], dict[str, str]]:
    """Formats and headings of a board."""
    is_two_valued = h.sides_.verdicts or h.sides_.found.two_valued
    kind = "percent" if is_two_valued else "points"
    is_on_labels_scale = h.board_ is not None and is_two_valued
    judges_kind = "percent" if h.sides_.verdicts or is_on_labels_scale else "points"
    kinds = {"rank_low": "rank rank_high", "system": "name", "people": f"{kind} low high", "judges": judges_kind}
    return kinds, {"rank_low": "rank", "people": "people would give", "judges": "judges alone"}


def board_section(h: Humans) -> Section | None:
    """A part of the page: every language, a heatmap of ranks, and an interval plot overall."""
    if not len(h.board):
        return None
    kinds, titles = _columns(h)
    kinds = {"language": "name"} | {c: kind for c, kind in kinds.items() if c != "judges"}
    kinds |= {"labels": "count", "basis": "name"}
    if h.board_ is None:
        kinds.pop("language")
    note = "ranks: all that people's differences between systems allow, together in each family of languages"
    table = Table("board", "What people would give", h.board, kinds, titles | {"language": h.panel_.noun}, note)
    charts = [_intervals(h)]
    text: tuple[str, ...] = ()
    if h.board_ is not None:
        charts.insert(0, _heatmap(h.board_))
        text = (
            "Judges scored every language, people labelled some answers in some. Where people labelled, the judges' "
            "error is measured; elsewhere it is carried over, as wide as labelled languages differ from each other.",
        )
    return Section("board", "What would people say of every system?", text, (table,), tuple(charts))


def _heatmap(board: PeopleBoard) -> Chart:
    """Ranks by people: colour is the middle of the range, so that a rank that is not known is pale."""
    import pandas as pd

    panel, rows = board.panel, []
    is_scored = np.isfinite(board.judges)
    for system in board.order:
        for place in range(len(panel.languages)):
            if not is_scored[place, system]:
                continue
            low, high = int(board.limits.rank_low[place, system]), int(board.limits.rank_high[place, system])
            if not board.limits.known[place, system]:
                low, high = 1, int(is_scored[place].sum())
            middle = (1 + int(is_scored[place].sum())) / 2
            marked = f"{panel.languages[place]}{' (labels)' if place in board.labelled else ''}"
            text = f"{low}" if low == high else f"{low}–{high}"
            rows.append((panel.systems[system], marked, middle - (low + high) / 2, text))
    frame = pd.DataFrame(rows, columns=["row", "column", "value", "text"])
    alt = "Ranks by people of each system in each language; pale where many ranks are possible."
    return Chart("people-ranks", "heatmap", "Ranks by people", frame, alt, x=panel.noun, y="system")


def _intervals(h: Humans) -> Chart:
    """What people would give overall, system by system."""
    rows = h.board[h.board["language"] == h.board["language"].iloc[0]]
    factor = 100.0 if h.sides_.verdicts or h.sides_.found.two_valued else 1.0
    plot = rows.assign(label=rows["system"], value=rows["people"] * factor, best=rows["rank_low"] == 1)
    plot = plot.assign(low=rows["low"] * factor, high=rows["high"] * factor)
    kept = plot[["label", "value", "low", "high", "best"]]
    alt = "What people would give each system, with intervals."
    return Chart("people-board", "intervals", "What people would give", kept, alt, x="people")


# --- does the win stand? ---


@dataclass(frozen=True)
class Settled:
    """What people say of a leader and its rival: the difference, and how it is said on the Winner line.

    agrees : people certainly put the leader ahead (True), certainly behind (False), or labels do not tell (None)
    """

    agrees: bool | None
    difference: float
    low: float
    high: float
    text: str


def settle_winner(h: Humans, leader: str, rival: str) -> Settled | None:
    """Whether people's labels settle who of two systems is better; None where they do not compare the two."""
    limits = _people_difference(h, leader, rival)
    if limits is None or any(math.isnan(value) for value in limits):
        return None
    difference, low, high = limits
    factor = 100.0 if h.two_valued else 1.0
    unit = "percentage points" if h.two_valued else "points"
    labels = _labels_of_two(h, leader, rival)
    if low > 0:
        first = h.board.loc[h.board["language"] == h.board["language"].iloc[0]].set_index("system")
        is_first = int(first.loc[leader, "rank_high"]) == 1
        place = "first too" if is_first else f"ahead of {name(rival)} too"
        size = ci(factor * difference, factor * low, factor * high, unit)
        return Settled(True, *limits, f"By {labels} people put {name(leader)} {place}, by {size}.")
    if high < 0:
        size = ci(-factor * difference, -factor * high, -factor * low, unit)
        return Settled(False, *limits, f"People do not: by {labels} {name(rival)} leads by {size}.")
    size = ci(factor * difference, factor * low, factor * high, unit, sign=True)
    text = f"{labels[0].upper()}{labels[1:]} do not settle it: by people {name(leader)} is ahead by {size}."
    return Settled(None, *limits, text)


def _people_difference(h: Humans, leader: str, rival: str) -> tuple[float, float, float] | None:
    """Leader less rival by people, with its limits: overall, or of the one language."""
    if h.board_ is not None:
        first, second = (h.panel_.systems.index(system) for system in (leader, rival))
        middle = float(h.board_.limits.middle[-1, first, second])
        half_width = float(h.board_.limits.half_width[-1, first, second])
        return middle, middle - half_width, middle + half_width
    for row in h.pairs.to_dict("records"):
        if (row["system"], row["other"]) == (leader, rival):
            return row["people"], row["low"], row["high"]
        if (row["system"], row["other"]) == (rival, leader):
            return -row["people"], -row["high"], -row["low"]
    return None


def _labels_of_two(h: Humans, leader: str, rival: str) -> str:
    """How many labels there are of two systems: "50 labels in each language"."""
    systems = [h.panel_.systems.index(system) for system in (leader, rival)]
    each = np.isfinite(h.sides_.y)[:, systems].sum(axis=(0, 1))
    labelled = each[each > 0]
    if len(h.panel_.languages) == 1:
        return count(int(each.sum()), "label")
    if labelled.min() == labelled.max() and len(labelled) == len(each):
        return f"{count(int(labelled[0]), 'label')} in each {h.panel_.noun}"
    where = f"{spelled(len(labelled))} {h.panel_.nouns if len(labelled) > 1 else h.panel_.noun}"
    if len(labelled) < len(each):
        where = f"{spelled(len(labelled))} of {spelled(len(each))} {h.panel_.nouns}"
    return f"{count(int(labelled.sum()), 'label')} in {where}"


def settle_findings(findings: Sequence[Finding], h: Humans, judges: Systems | None) -> list[Finding]:
    """Findings whose Winner line begins with what people say of the leader and its rival.

    Where people settle it, what else could explain the judges' lead (length, an own maker, copies) threatens nothing.
    """
    if judges is None or len(judges.board.order) < 2:
        return list(findings)
    leader, rival = (judges.board.systems[place] for place in judges.board.order[:2])
    settled = settle_winner(h, leader, rival)
    if settled is None:
        return list(findings)
    return [_settled_finding(finding, settled, rival, _explanation(judges)) for finding in findings]


def _explanation(judges: Systems) -> str:
    """The clause of the Winner line about a threat that only explains the lead once people have settled it."""
    from polyjudge.answers.audit.stands_words import stands_clause

    worst = None if judges.stands is None else judges.stands.worst
    if judges.stands is None or worst is None or worst.name not in EXPLANATIONS:
        return ""
    return f" {stands_clause(judges.stands)}"


def _settled_finding(finding: Finding, settled: Settled, rival: str, explanation: str) -> Finding:
    """One finding, with what people say where it is the Winner line."""
    if finding.topic == "Winner" and finding.key.split(".")[0] == "winner":
        text = finding.text.replace(explanation, "") if settled.agrees is not None else finding.text
        head = f"People put {name(rival)} ahead" if settled.agrees is False else finding.head
        how: Severity = "warning" if settled.agrees is False else finding.severity
        return replace(finding, severity=how, text=f"{settled.text} {text}", head=head)
    if settled.agrees is not None and finding.key in {f"winner.{threat.replace(' ', '_')}" for threat in EXPLANATIONS}:
        return replace(finding, severity="info", topic="")
    return finding
