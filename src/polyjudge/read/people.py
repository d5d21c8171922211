"""Test columns that are called after people by their values: a label is said of an answer, not of a judge or a task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polyjudge.base.text import name, names, shell
from polyjudge.read import columns as col
from polyjudge.read.sample import Sample
from polyjudge.read.work import Work

Codes = NDArray[np.int64]
BY_CHANCE = 0.01
"""A label is the same for all systems of each task by chance so rarely that it is said of the task."""


def check_people(work: Work, sample: Sample) -> None:
    """Keep the columns that people's labels may be; name those that only the user can tell."""
    roles, asked = work.roles, work.asked
    scored = [roles.of["score"]] if "score" in roles.of else list(roles.wide)
    for column in [c for c in roles.humans if c != asked.human]:
        reason = _why_no_label(work, sample, column, scored)
        if reason:
            flag = f" If it is: --human {shell(column)}." if sample.levels(column) else ""
            work.notes.append(f"{name(column)} is not read as people's labels: {reason}.{flag}")
            roles.humans.remove(column)
            roles.unused.append(column)
    if roles.humans or asked.human:
        return
    _note_kinds_of_judges(work, sample)
    known = frozenset().union(*(sample.levels(column) for column in scored))
    for column in roles.unused:
        levels = sample.levels(column)
        is_verdict = len(levels) > 1 and (levels <= known or levels <= {0.0, 1.0})
        if is_verdict and col.COULD_BE_PEOPLE.fullmatch(col.norm(column.split(".")[-1])):
            work.notes.append(f"Column {name(column)} could be people's: --human {shell(column)}.")
            return


def _note_kinds_of_judges(work: Work, sample: Sample) -> None:
    """Say which judges another column calls people: `type` is human in their rows."""
    roles = work.roles
    judge = roles.of.get("judge")
    if not judge or work.asked.human_judges:
        return
    for column in roles.unused:
        people = _people_by_kind(sample.texts(judge), [col.norm(kind) for kind in sample.texts(column)])
        if people:
            flag = ",".join(map(shell, people))
            work.notes.append(f"{name(column)} calls {names(people)} people. If so: --human-judges {flag}.")
            return


def _people_by_kind(judges: Sequence[str], kinds: Sequence[str]) -> list[str]:
    """The judges whose rows all say that they are people, where other judges' never do; their own names do not."""
    human_kinds = {kind for kind in set(kinds) if col.HUMANS.fullmatch(kind)}
    if not human_kinds or len(set(kinds)) > 12:
        return []
    people = {judge for judge, kind in zip(judges, kinds, strict=True) if kind in human_kinds}
    others = {judge for judge, kind in zip(judges, kinds, strict=True) if kind not in human_kinds}
    if not others or people & others:
        return []
    return sorted(judge for judge in people if not col.HUMANS.fullmatch(col.norm(judge)))


def _why_no_label(work: Work, sample: Sample, column: str, scored: list[str]) -> str:
    """Why a column cannot hold people's labels of answers; empty where it may."""
    of = work.roles.of
    if not sample.levels(column) and not sample.mixed_levels(column):
        return "its values are no numbers, nor pass and fail"
    labels = sample.numbers(column)
    answer = sample.codes([of[role] for role in ("task", "system", "language") if role in of])
    if "judge" in of and "task" in of and _share_that_varies(answer, labels) > 0.1:
        return "it differs between judges of one answer"
    for score in scored:
        if column != score and _is_function(sample.numbers(score), labels):
            return f"it follows from {name(score)}"
    if {"system", "task"} <= {*of}:
        task = sample.codes([of[role] for role in ("task", "language") if role in of])
        if _is_said_of_tasks(task, sample.codes([of["system"]]), labels):
            return "it is the same for all systems of a task, as an answer key is"
    return ""


def _share_that_varies(groups: Codes, labels: NDArray[np.float64]) -> float:
    """The share of groups with several labels in which these differ."""
    there = np.isfinite(labels)
    n_labels = np.bincount(groups[there], minlength=1)
    distinct = np.unique(np.stack([groups[there].astype(float), labels[there]]), axis=1)[0].astype(np.int64)
    n_distinct = np.bincount(distinct, minlength=len(n_labels))
    return float(np.mean(n_distinct[n_labels > 1] > 1)) if (n_labels > 1).any() else 0.0


def _is_function(scores: NDArray[np.float64], labels: NDArray[np.float64]) -> bool:
    """Whether labels follow from scores: the same score always has the same label, often enough to be no chance."""
    there = np.isfinite(scores) & np.isfinite(labels)
    scores, labels = scores[there], labels[there]
    if len(np.unique(labels)) < 2:
        return False
    levels, code = np.unique(scores, return_inverse=True)
    n_repeated = len(scores) - len(levels)
    return n_repeated >= 20 and _share_that_varies(code, labels) == 0


def _is_said_of_tasks(task: Codes, system: Codes, labels: NDArray[np.float64]) -> bool:
    """Whether labels never differ between the systems of a task, though they differ between tasks."""
    there = np.isfinite(labels)
    answers = np.unique(np.stack([task[there].astype(float), system[there].astype(float), labels[there]]), axis=1)
    codes = answers[0].astype(np.int64)
    n_answers = np.bincount(codes)
    if _share_that_varies(codes, answers[2]) > 0 or not (n_answers > 1).any():
        return False
    shares = np.unique(answers[2], return_counts=True)[1] / answers.shape[1]
    # The chance that all answers to each task have one label, were labels said of answers.
    chance = np.prod([np.sum(shares**n) for n in n_answers[n_answers > 1]])
    return bool(chance < BY_CHANCE)
