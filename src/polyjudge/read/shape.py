"""Decide from values what the names of columns leave open: which columns hold scores, labels, repeats."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from polyjudge.base.errors import PanelError
from polyjudge.base.text import name, names, plural, shell
from polyjudge.read import columns as col
from polyjudge.read import scale
from polyjudge.read.people import check_people
from polyjudge.read.sample import Levels, Sample
from polyjudge.read.table import Table
from polyjudge.read.work import Work

MAXIMA = ("max_score", "max_points", "out_of", "max_rating", "score_max", "scale_max", "max_grade", "max_value")
SCORE_WORDS = {"score", "scores", "rating", "ratings", "grade", "grades"}
NO_RIVAL = {
    "max", "min", "std", "stddev", "stdev", "sd", "variance", "var", "count", "n", "num", "threshold", "weight", "id",
    "confidence", "time", "type", "range", "step", "scale", "possible", "cutoff", "delta",
}  # fmt: skip
"""Words of columns about a score that are no score."""
MOST_SCALES = 50
"""So many scales are compared: thousands of columns may each end elsewhere."""
MOST_COMPARED = 50
"""Of more judges none is asked about."""
CORRELATED = 0.3
"""What judges that see the same have at least among each other."""


def settle(work: Work) -> None:
    """Give columns the roles that their values allow; refuse what has two readings."""
    sample = Sample(work.table, work.asked.drop)
    _refuse_several_maxima(work)
    _replace_row_number(work)
    if not _assign_listed(work):
        if "score" in work.roles.of and not work.asked.score:
            _check_score(work, sample)
        if "score" not in work.roles.of and "winner" not in work.roles.of:
            _assign_score_columns(work, sample)
        elif "score" in work.roles.of:
            _refuse_board(work, sample)
    _refuse_unread_keys(work, sample)
    check_people(work, sample)
    _check_replicate(work, sample)
    score = work.roles.of.get("score", "")
    if col.norm(score) == "label" and not work.asked.score:
        work.notes.append(
            f"{name(score)} is read as a judge's score. If it is people's or an answer key, name the judge's: "
            f"--score COLUMN --human {shell(score)}."
        )


def may_name_judge(column: str) -> bool:
    """Whether a column may be called after a judge: `gpt-4o` may, `tokens`, `mean` and `label` may not."""
    plain = col.norm(column)
    return not (col.NO_SCORE.search(plain) or col.SUMMARY.fullmatch(plain) or col.COULD_BE_PEOPLE.fullmatch(plain))


# --- before anything else ---


def _refuse_several_maxima(work: Work) -> None:
    """Refuse scores whose own column says that they are out of several numbers."""
    table = work.table
    for column in [c for c in work.roles.unused if col.norm(c) in MAXIMA and work.asked.range is None]:
        rows = table.rows(f"SELECT DISTINCT {table.columns[column][0]} FROM {table.relation} LIMIT 9")
        maxima = sorted({f"{x:g}" if isinstance(x, float) else str(x) for (x,) in rows if x is not None})
        if len(maxima) > 1:
            raise PanelError(
                f"Scores in {table.where} are out of {names(maxima)} ({name(column)}). Bring them to one scale in the "
                "file; if they are on one scale already, give it: --range 0:100."
            )


def _replace_row_number(work: Work) -> None:
    """An id that numbers the rows of a long table is not the task, where another column may be it."""
    roles, table = work.roles, work.table
    task = roles.of.get("task", "")
    others = col.usual("task", [*roles.unused, *roles.texts.values()])
    if not task or work.asked.task or not others or not {"judge", "system"} & {*roles.of}:
        return
    n_rows, n_values = _count_distinct(table, [task])
    if n_rows != n_values:
        return
    rest = [roles.of[role] for role in ("system", "language", "judge", "criterion") if role in roles.of]
    is_id = col.norm(task) in ("id", "idx")
    if is_id or len(set(_count_distinct(table, [others[0], *rest]))) == 1:  # else `task` may be a kind of tasks
        roles.of["task"] = others[0]
        roles.unused = [column for column in roles.unused if column != others[0]] + [task]


def _count_distinct(table: Table, columns: Sequence[str]) -> tuple[int, int]:
    """The number of rows, and of different ones in these columns."""
    listed = ", ".join(table.columns[column][0] for column in columns)
    of_rows = f"(SELECT DISTINCT {listed} FROM {table.relation}) AS of_rows"
    n_rows = table.rows(f"SELECT count(*) FROM {table.relation}")[0][0]
    return int(n_rows), int(table.rows(f"SELECT count(*) FROM {of_rows}")[0][0])


def _assign_listed(work: Work) -> bool:
    """Columns that the user lists as those of judges, criteria, systems or languages hold the scores."""
    roles, asked = work.roles, work.asked
    listed = {"judge": asked.judges, "criterion": asked.criteria, "system": asked.systems, "language": asked.languages}
    for axis, wanted in listed.items():
        if wanted and not asked.score and all(column in work.table.columns for column in wanted):
            roles.wide = {column: {axis: column} for column in wanted}
            other_roles = {role: column for role, column in roles.of.items() if column not in wanted}
            roles.of = {role: column for role, column in other_roles.items() if role not in ("score", *col.PAIR)}
            roles.humans = [column for column in roles.humans if column not in wanted]
            return True
    return False


def _refuse_board(work: Work, sample: Sample) -> None:
    """Refuse a table with one row a system and no tasks: its numbers are means already."""
    roles = work.roles
    if "task" in roles.of or "system" not in roles.of or {"judge", "criterion"} & {*roles.of}:
        return
    systems = sample.texts(roles.of["system"])
    if 2 < len(systems) < sample.n_rows and len(set(systems)) == len(systems):
        raise PanelError(
            f"{work.table.where} has one row for each {name(roles.of['system'])} and no column of tasks: that is a "
            "board of means, not a table of scores. Give the scores of single tasks; if each row is a task, name its "
            "column: --task COLUMN."
        )


# --- a column that is called a score ---


def _check_score(work: Work, sample: Sample) -> None:
    """Test a column that is called a score against others that may be scores too."""
    roles, score = work.roles, work.roles.of["score"]
    has_judges = "judge" in roles.of
    is_label = col.norm(score) == "label"
    free = _free_number_columns(work, sample, with_texts=is_label and not has_judges)  # label, prediction
    levels = sample.levels(score)
    similar = [column for column in free if levels and are_on_one_scale(levels, sample.levels(column))]
    rivals = [column for column in roles.unused if _is_called_score(column) and len(sample.levels(column)) > 1]
    if is_label:
        _give_label_up(work, sample, similar or _largest_group(sample, free), has_judges)
    elif rivals and (has_judges or len(similar) < 2):
        raise _rivals_error(work, [score, *rivals])
    elif not has_judges:
        _compare_with_similar(work, score, similar, similar or _largest_group(sample, free)[1:])


def _free_number_columns(work: Work, sample: Sample, with_texts: bool) -> list[str]:
    """Columns of numbers without a role that may be scores by their names."""
    texts = list(work.roles.texts.values())
    free = [column for column in work.roles.unused if column not in texts]
    if with_texts:
        free += texts
    return [column for column in free if may_name_judge(column) and sample.levels(column)]


def _rivals_error(work: Work, columns: Sequence[str]) -> PanelError:
    flags = " or ".join(f"--score {shell(column)}" for column in columns[:8])
    return PanelError(f"In {work.table.where} {names(columns)} could all be the score. Say which one is: {flags}.")


def _is_called_score(column: str) -> bool:
    words = {*col.norm(column.split(".")[-1]).split("_")}
    is_about_score = words & NO_RIVAL or col.NO_SCORE.search(col.norm(column))
    return bool(words & SCORE_WORDS) and not is_about_score


def _give_label_up(work: Work, sample: Sample, others: Sequence[str], has_judges: bool) -> None:
    """Beside other scores `label` is the key or people's, and not a judge's score."""
    roles = work.roles
    judge = roles.of.get("judge", "")
    is_judge_of_numbers = has_judges and not work.asked.judge and bool(sample.levels(judge))
    if not is_judge_of_numbers and (has_judges or not others):
        return
    roles.unused.append(roles.of.pop("score"))
    roles.texts = {text: column for text, column in roles.texts.items() if column not in others}
    roles.unused += [column for column in others if column not in roles.unused]


def _compare_with_similar(work: Work, score: str, similar: Sequence[str], others: Sequence[str]) -> None:
    """A column that is called a score beside columns of like values: one of several scores, or their summary."""
    roles = work.roles
    if not others:
        return
    if len(similar) < 2:
        flags = ",".join(shell(column) for column in [score, *others])
        text = f"{name(score)} is read as the score, and not {names(others)}. If there are several scores: "
        work.notes.append(f"{text}--judges {flags} or --criteria {flags}.")
    elif col.SUMMARY.fullmatch(col.norm(score)):
        roles.unused.append(roles.of.pop("score"))
        flag = f"--score {shell(score)}"
        work.notes.append(f"{name(score)} is not read: a summary of the others. If it is the score: {flag}.")
    else:
        flags = ",".join(map(shell, similar))
        raise PanelError(
            f"In {work.table.where} {name(score)} is called a score, and {names(similar, 12)} may be scores too. Say "
            f"which one is: --score {shell(score)}; or that the others are of judges (--judges {flags}) or of criteria "
            f"(--criteria {flags})."
        )


# --- columns of scores ---


@dataclass(frozen=True)
class _Candidates:
    """Columns that may hold scores.

    number_columns : hold nothing but scores
    mixed_columns : hold scores and other words, and may be called after a judge
    misnamed : role -> column of scores that was given this role for its name
    """

    number_columns: list[str]
    mixed_columns: list[str]
    misnamed: dict[str, str]


def _assign_score_columns(work: Work, sample: Sample) -> None:
    """Find the columns of scores: one for each judge (criterion, system, language), or a single one."""
    free = [column for column in work.roles.unused if column not in work.roles.texts.values()]
    candidates = _find_candidates(work, sample, free)
    _take_roles_away(work, candidates.misnamed)
    judge_columns = _columns_named_like_judges(work, candidates.number_columns)
    score_columns = _largest_group(sample, judge_columns)
    _refuse_checkboxes(work, sample, score_columns)
    score_columns = _without_means(work, sample, _without_idle(sample, score_columns))
    varied = _without_constants(sample, judge_columns)
    if len(score_columns) == 1 and len(varied) > 1:
        raise _no_score_error(work, varied)  # each on a scale of its own
    if score_columns:
        reference = max((sample.levels(column) for column in score_columns), key=len)
        _assign_by_names(work, score_columns + _mixed_on_scale(sample, candidates, free, reference))
        if work.roles.wide:
            _note_others(work, sample, candidates, judge_columns, reference)
            _ask_about_unlike(work, sample)
    elif candidates.mixed_columns:
        # The reader stops at the first word of this column and its message names the word: this helps the user most.
        column = candidates.mixed_columns[0]
        work.roles.of = {role: other for role, other in work.roles.of.items() if other != column} | {"score": column}
    else:
        raise _no_score_error(work, judge_columns or candidates.number_columns)


def _mixed_on_scale(sample: Sample, candidates: _Candidates, free: Sequence[str], reference: Levels) -> list[str]:
    """Columns that hold other words as well, with scores like the others'."""
    mixed = [column for column in candidates.mixed_columns if column in free]
    return [column for column in mixed if are_on_one_scale(reference, sample.mixed_levels(column))]


def _find_candidates(work: Work, sample: Sample, free: Sequence[str]) -> _Candidates:
    """Look into the columns without a role, and into those whose names may mislead: `answer`, `judge`, `system`."""
    roles, asked = work.roles, work.asked
    doubtful = dict(roles.texts) | {role: roles.of[role] for role in ("judge", "system") if role in roles.of}
    misnamed = {
        role: column
        for role, column in doubtful.items()
        if sample.levels(column) and not (role in ("judge", "system") and getattr(asked, role))
    }
    number_columns = [column for column in (*free, *misnamed.values()) if sample.levels(column)]
    possible = [*free, *([roles.of["judge"]] if "judge" in roles.of else [])]
    mixed_columns = [column for column in possible if sample.mixed_levels(column) and may_name_judge(column)]
    return _Candidates(list(dict.fromkeys(number_columns)), mixed_columns, misnamed)


def _take_roles_away(work: Work, misnamed: dict[str, str]) -> None:
    roles = work.roles
    roles.of = {role: column for role, column in roles.of.items() if role not in misnamed}
    roles.texts = {text: column for text, column in roles.texts.items() if text not in misnamed}
    roles.unused += [column for column in misnamed.values() if column not in roles.unused]


def _columns_named_like_judges(work: Work, columns: Sequence[str]) -> list[str]:
    """Columns whose names may be those of judges; where only languages are left, the columns of languages."""
    judge_columns = [column for column in columns if may_name_judge(column)]
    if not judge_columns and len(columns) == 1 and {"judge", "system"} & {*work.roles.of}:
        return [column for column in columns if _is_called_score(column)]  # overall_rating, of each row
    if not all(col.is_language(column) for column in judge_columns):
        return judge_columns
    # Among languages, `is`, `no` and `id` are Icelandic, Norwegian and Indonesian, though they name no judge.
    return [column for column in columns if col.is_language(column)]


def are_on_one_scale(one: Levels, two: Levels) -> bool:
    """Whether the scores of two columns look like scores on one scale.

    >>> are_on_one_scale(frozenset({1, 2, 5}), frozenset({2, 3, 4}))
    True
    >>> are_on_one_scale(frozenset({1, 5}), frozenset({0, 37}))
    False
    """
    return _fits(one, two) or _fits(two, one)


def _fits(levels: Levels, reference: Levels) -> bool:
    """Whether levels fit into the evident scale of a reference."""
    own = levels - {*scale.HIGH, *scale.LOW}
    usual = reference - {*scale.HIGH, *scale.LOW}
    if not own or not usual:
        return not own and not usual
    highest, usual_highest = max(map(abs, own)), max(map(abs, usual))
    is_longer = _evident_end(own) > _evident_end(usual) and not 10 < highest <= 1.25 * usual_highest
    is_lower = min(own) < 0 <= min(usual)
    if is_longer or is_lower or 4 * highest <= usual_highest:
        # Some levels of the others, such as 0, 10 and 20 of 100, are a judge that hardly varies.
        return own <= usual and (highest == 0 or len(own) > 2) and 10 * highest >= usual_highest
    return not _are_flags(own, usual) and not _are_finer(own, usual)


def _are_flags(own: Levels, usual: Levels) -> bool:
    """Whether levels are 0 and 1 beside whole scores to 3 and more, or beside shares."""
    has_two = len(own) == 2 and own <= {0.0, 1.0}
    is_share = len(usual) > 5 and max(usual) <= 1
    return has_two and (_evident_end(usual) > 2 or is_share)


def _are_finer(own: Levels, usual: Levels) -> bool:
    """Whether most levels are fractions, where a reference has whole numbers."""
    is_whole = len(usual) > 2 and all(level == round(level) for level in usual)
    n_fractions = sum(2 * level != round(2 * level) for level in own)  # halves stand between whole scores
    return is_whole and n_fractions > 2 and 2 * n_fractions > len(own)


def _evident_end(levels: Levels) -> float:
    """The end of the usual scale that scores lie on, or the highest score."""
    highest = max(map(abs, levels))
    return float(next((end for end in (1, 2, *scale.EVIDENT) if highest <= end), highest))


def _largest_group(sample: Sample, columns: Sequence[str]) -> list[str]:
    """The most columns on one scale. Of flags beside two columns of finer scores the finer ones."""
    levels = {column: sample.levels(column) for column in columns}
    ends = {column: _evident_end(levels[column]) for column in columns}
    finest_of_end: dict[float, str] = {}
    for column in columns:
        finest = finest_of_end.setdefault(ends[column], column)
        if len(levels[column]) > len(levels[finest]):
            finest_of_end[ends[column]] = column
    groups = []
    for end, reference in list(finest_of_end.items())[:MOST_SCALES]:
        n_equal = sum(ends[c] == end and are_on_one_scale(levels[c], levels[reference]) for c in columns)
        members = [column for column in columns if _fits(levels[column], levels[reference])]
        is_fine = n_equal > 1 and len(levels[reference]) > 2
        groups.append((is_fine, n_equal, len(members), members))
    best = max(groups, key=lambda group: group[:3], default=None)
    return best[3] if best else []


def _without_idle(sample: Sample, columns: list[str]) -> list[str]:
    """The columns that vary, if each is of one judge: in one language a judge may well say the same."""
    has_one_axis = len(next(iter(col.spread(columns, "judge", True).values()), {})) < 2
    return _without_constants(sample, columns) if has_one_axis else columns


def _without_constants(sample: Sample, columns: list[str]) -> list[str]:
    """The columns that vary; all, where none does or there are few rows."""
    varied = [column for column in columns if len(sample.levels(column)) > 1 or len(sample.values(column)) < 5]
    return varied or columns


def _without_means(work: Work, sample: Sample, columns: list[str]) -> list[str]:
    """The columns without one that is the mean of all others, whatever it is called."""
    if not 3 <= len(columns) <= MOST_COMPARED:
        return columns
    scores = np.stack([sample.numbers(column) for column in columns])
    scores = scores[:, np.isfinite(scores).all(0)]
    if scores.shape[1] < 20:
        return columns
    for place, column in enumerate(columns):
        others = np.delete(scores, place, axis=0)
        is_whole = bool((others == np.round(others)).all())
        tolerance = 0.051 if is_whole else 0.0051  # a mean is rounded to one or two digits
        if others.std(0).any() and np.abs(scores[place] - others.mean(0)).max() <= tolerance:
            _note_left(work, [column], ": it is the mean of the others")
            work.roles.unused = [other for other in work.roles.unused if other != column]
            return [other for other in columns if other != column]
    return columns


def _refuse_checkboxes(work: Work, sample: Sample, columns: Sequence[str]) -> None:
    """Refuse columns of 0 and 1 that exclude each other, or are rare and unrelated: criteria, not judges."""
    if len(columns) < 3 or any(not sample.levels(column) <= {0.0, 1.0} for column in columns):
        return
    if all(col.is_language(column) for column in columns):
        return
    scores = np.stack([sample.numbers(column) for column in columns])
    scores = scores[:, np.isfinite(scores).all(0)]
    if scores.shape[1] < 10:
        return
    are_exclusive = scores.sum(0).max() <= 1
    varied = scores[scores.std(1) > 0]
    correlations = np.asarray(np.corrcoef(varied))[np.triu_indices(len(varied), 1)] if len(varied) > 1 else np.zeros(1)
    are_rare = np.median(scores.mean(1)) < 0.2 and correlations.mean() < 0.1
    if are_exclusive or are_rare:
        why = "at most one of them is 1 in a row" if are_exclusive else "1 is rare in most of them"
        flags = ",".join(map(shell, columns))
        raise PanelError(
            f"In {work.table.where} {names(columns)} hold 0 and 1, and {why}: they look like criteria or kinds of "
            f"error, not like judges. Say what they are: --criteria {flags} or --judges {flags}."
        )


def _assign_by_names(work: Work, score_columns: list[str]) -> None:
    """Read columns on one scale by what their names say: the judge, criterion, system or language of each."""
    roles = work.roles
    if len(score_columns) > 1 and _is_judge_called_model(work):
        # Beside columns of judges, `model` holds what they judge; a note says that it is the judge.
        roles.of["system"] = roles.of.pop("judge")
        work.notes[:] = [note for note in work.notes if "is read as the judge" not in note]
    _refuse_means(work, score_columns)
    cells = col.spread(score_columns, "judge", "language" not in roles.of)
    columns_are_judges = any("judge" in labels for labels in cells.values())
    if columns_are_judges and "judge" in roles.of:
        # These contradict each other, unless there is one score to read.
        if len(score_columns) > 1:
            raise _two_kinds_of_judges_error(work, score_columns)
        roles.of["score"] = score_columns[0]
        return
    roles.wide = cells
    roles.unused = [column for column in roles.unused if column not in cells]
    _refuse_board(work, Sample(work.table, work.asked.drop))
    _note_axes(work, cells)
    if columns_are_judges:
        _note_crossed(work, [labels["judge"] for labels in cells.values() if [*labels] == ["judge"]])


def _note_axes(work: Work, cells: dict[str, dict[str, str]]) -> None:
    """Say which languages, criteria or systems are in the names of columns."""
    for axis in [axis for axis in next(iter(cells.values())) if axis != "judge"]:
        nouns = "criteria" if axis == "criterion" else plural(axis)
        labels = list(dict.fromkeys(cell[axis] for cell in cells.values()))
        work.notes.append(f"The {nouns} are in the names of columns: {names(labels, 6)}.")


def _note_crossed(work: Work, labels: Sequence[str]) -> None:
    """Say that each name is one of some beginnings and one of some ends: there may be systems in it."""
    for separator in ("__", "::", "/", "|", ":", "_", " "):
        cuts = [label.rpartition(separator) for label in labels]
        firsts, ends = (list(dict.fromkeys(cut[side] for cut in cuts)) for side in (0, 2))
        if "" not in firsts and min(len(firsts), len(ends)) > 1 and len(firsts) * len(ends) == len(set(labels)):
            work.notes.append(
                f"The names of the judges are {names(firsts, 6)}, each with {names(ends, 6)}. If one of these is what "
                "is judged, write one row a score, with a column system."
            )
            return


def _refuse_means(work: Work, columns: Sequence[str]) -> None:
    """Refuse columns that are all called means."""
    if len(columns) > 1 and all(_is_mean(column) for column in columns):
        flags = ",".join(map(shell, columns))
        raise PanelError(
            f"{work.table.where} holds means ({names(columns)}), and no single scores. Give the scores of single "
            f"tasks; if these are scores: --judges {flags} or --systems {flags}."
        )


def _is_mean(column: str) -> bool:
    words = col.norm(column).split("_")
    return bool({"mean", "avg", "average"} & {words[0], words[-1]})


def _is_judge_called_model(work: Work) -> bool:
    """Whether the judge column is called `model`, and may as well hold the systems."""
    judge = work.roles.of.get("judge")
    if not judge or work.asked.judge or "system" in work.roles.of:
        return False
    return bool(col.usual("model", [judge]))


def _note_others(
    work: Work, sample: Sample, candidates: _Candidates, judge_columns: Sequence[str], reference: Levels
) -> None:
    """Name the columns of numbers that are not read as judges, and say why."""
    left = [column for column in judge_columns if column not in work.roles.wide]
    constant = [column for column in left if len(sample.levels(column)) < 2]
    constant = _on_scale_of(sample, reference, constant)
    _note_left(work, [column for column in left if column not in constant], ": their scores are of another kind")
    _note_left(work, constant, ": it says the same everywhere")
    known = {*judge_columns, *work.roles.wide}
    not_named = [c for c in candidates.number_columns if c not in known and not _is_summary_or_label(c)]
    _note_left(work, _on_scale_of(sample, reference, not_named), ", by name: say --judges to read it so")


def _on_scale_of(sample: Sample, reference: Levels, columns: Sequence[str]) -> list[str]:
    return [column for column in columns if are_on_one_scale(sample.levels(column), reference)]


def _note_left(work: Work, columns: Sequence[str], why: str) -> None:
    if columns:
        verb = "is" if len(columns) == 1 else "are"
        work.notes.append(f"{names(columns)} {verb} not read as a judge{why}.")


def _is_summary_or_label(column: str) -> bool:
    plain = col.norm(column)
    return bool(col.SUMMARY.fullmatch(plain) or col.COULD_BE_PEOPLE.fullmatch(plain))


def _ask_about_unlike(work: Work, sample: Sample) -> None:
    """Ask about a judge column that agrees with no other, where the others agree: it stays a judge."""
    columns = [column for column, labels in work.roles.wide.items() if [*labels] == ["judge"]]
    if not 3 <= len(columns) <= MOST_COMPARED or len(columns) < len(work.roles.wide):
        return
    scores = {column: sample.numbers(column) for column in columns}
    unlike = [column for column in columns if _agrees_with_none(scores, column)]
    if unlike and len(columns) - len(unlike) > 1:
        rest = ",".join(shell(column) for column in columns if column not in unlike)
        verb, pronoun = ("agrees", "it is no judge") if len(unlike) == 1 else ("agree", "they are no judges")
        work.question = f"{names(unlike)} {verb} with no other column: if {pronoun}, --judges {rest}"


def _agrees_with_none(scores: dict[str, scale.Array], column: str) -> bool:
    """Whether a column surely correlates far less with the mean of the others than these do with each other."""
    others = np.stack([values for other, values in scores.items() if other != column])
    complete_mask = np.isfinite(others).all(0) & np.isfinite(scores[column])
    n = int(complete_mask.sum())
    others, own = others[:, complete_mask], scores[column][complete_mask]
    if n < 30 or own.std() == 0 or (others.std(1) == 0).any():
        return False
    among_others = np.asarray(np.corrcoef(others))[np.triu_indices(len(others), 1)]
    r = float(np.corrcoef(np.stack([own, others.mean(0)]))[0, 1])
    upper = abs(r) + 2 / np.sqrt(n)
    # A third of what the others have is far less; 0.1 where they agree just enough.
    return bool(among_others.max() > CORRELATED and upper < max(0.1, among_others.max() / 3))


def _refuse_unread_keys(work: Work, sample: Sample) -> None:
    """Refuse rows without a task that two columns of words number together: one is the task, the other the judge."""
    roles = work.roles
    if "task" in roles.of or {"judge", "system", "winner"} & {*roles.of} or len(roles.wide) > 1:
        return
    texts = [column for column in roles.unused if not sample.levels(column)][:MOST_COMPARED]
    n_values = {column: len(set(sample.texts(column)) - {""}) for column in texts}
    n_rows = len(next(iter(sample.columns.values()), []))
    for one, two in combinations(sorted(texts, key=lambda column: -n_values[column]), 2):
        n_crossed = n_values[one] * n_values[two]
        is_crossed = n_values[two] > 1 and n_values[one] < n_rows and 0.9 * n_crossed <= n_rows <= n_crossed
        if is_crossed and n_rows >= 20 and len(set(sample.codes([one, two]))) == n_rows:
            task, flag = f"--task {shell(one)}", shell(two)
            raise PanelError(
                f"{work.table.where} has no column that is called a task, but each row is one {name(one)} "
                f"({n_values[one]:,}) and one {name(two)} ({n_values[two]:,}). Say which is which: {task} --judge "
                f"{flag} or {task} --system {flag}."
            )


# --- repeats ---


def _check_replicate(work: Work, sample: Sample) -> None:
    """A column that is called a run is one only if it numbers repeats, and nothing else tells the rows apart."""
    roles = work.roles
    replicate = roles.of.get("replicate")
    if not replicate or work.asked.replicate or work.table.tool:
        return
    if not _are_numbers_of_runs({text.lower() for text in sample.texts(replicate) if text}):
        roles.unused.append(roles.of.pop("replicate"))
        return
    keys = [roles.of[role] for role in ("task", "system", "language", "judge", "criterion") if role in roles.of]
    if "task" not in roles.of:
        return
    cells, runs = sample.codes(keys), sample.codes([replicate])
    for column in roles.unused:
        n_texts = len(set(sample.texts(column)) - {""})
        if (
            1 < n_texts <= 12
            and col.norm(column) not in SAME_AS_RUN
            and _is_the_run(sample.codes([column]), cells, runs)
        ):
            flag = shell(column)
            raise PanelError(
                f"In {work.table.where} rows of one cell differ in {name(replicate)} and in {name(column)}. Say "
                f"what {name(column)} is: --system {flag}, --criterion {flag} or --by {flag}; if the rows are "
                f"repeats: --replicate {shell(replicate)}."
            )


def _are_numbers_of_runs(values: Collection[str]) -> bool:
    """Whether values number runs, as 1, run-2 and hashes do; gpt-4 and claude-3 number nothing.

    >>> _are_numbers_of_runs(["run-1", "run-2"]), _are_numbers_of_runs(["gpt-4", "claude-3"])
    (True, False)
    """
    named = [value for value in values if not re.fullmatch("[0-9a-f-]{8,}", value)]
    stems = {value.rstrip("0123456789.") for value in named}
    return len(stems) < 2 and all(re.fullmatch(r"[a-z]*[ _-]?\d+(\.0)?", value) for value in named)


def _is_the_run(codes: NDArray[np.int64], cells: NDArray[np.int64], runs: NDArray[np.int64]) -> bool:
    """Whether a column is the run under another name: most cells have several of its values, one for each run."""
    n_in_cell = np.bincount(np.unique(np.stack([cells, codes]), axis=1)[0])
    n_pairs = np.unique(np.stack([runs, codes]), axis=1).shape[1]
    return bool(np.median(n_in_cell) > 1 and n_pairs <= max(runs.max(), codes.max()) + 1)


SAME_AS_RUN = {"seed", "date", "time", "timestamp", "created_at", "tstamp", "run_name", "run_id", "run"}
"""Columns that name a run once more."""


# --- errors ---


def _no_score_error(work: Work, number_columns: Sequence[str]) -> PanelError:
    """No column can be read as the score."""
    humans, lists = work.roles.humans, work.table.lists
    if humans:
        return PanelError(
            f"{work.table.where} holds human labels ({names(humans)}) and no scores of a judge. "
            f"Give the judges' scores, and these as labels; or read them as scores: --score {shell(humans[0])}."
        )
    if lists:
        verb = "holds" if len(lists) == 1 else "hold"
        return PanelError(
            f"In {work.table.where} {names(lists)} {verb} lists of scores, and no column holds single ones. Write one "
            "row a score, with a column that says what each is of."
        )
    if number_columns:
        flags = " or ".join(f"--score {shell(column)}" for column in number_columns[:4])
        return PanelError(f"{work.table.where} has no column that is called a score. Say which one it is: {flags}.")
    columns = names(work.table.columns, 20)
    return PanelError(f"{work.table.where} has no column of scores. Its columns: {columns}. Name it: --score COLUMN.")


def _two_kinds_of_judges_error(work: Work, columns: Sequence[str]) -> PanelError:
    """Each row names a judge, and so does each column of scores."""
    flags = ",".join(map(shell, columns))
    return PanelError(
        f"{work.table.where} has a judge in each row ({name(work.roles.of['judge'])}) and several columns of numbers: "
        f"{names(columns, 12)}. Say which one is the score (--score {shell(columns[0])}), or that all are criteria "
        f"(--criteria {flags}) or systems (--systems {flags})."
    )
