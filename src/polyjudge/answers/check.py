"""How is a file of scores read, and what can be answered from it? Nothing is estimated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyjudge.base.later import Later, framed
from polyjudge.base.numbers import percent
from polyjudge.base.text import count, name, names, shell
from polyjudge.panel import Panel
from polyjudge.report.model import Finding, Report, Result, Section, Step, Table
from polyjudge.verdicts import Verdicts

if TYPE_CHECKING:
    import pandas as pd

Columns = Mapping[str, Sequence[Any]]
Codes = NDArray[np.int64]
MOST_LEVELS = 12
"""Distinct scores up to which all are shown."""
ROLES = ("task", "system", "language", "judge", "score", "human", "criterion", "replicate", "cluster")


@dataclass(frozen=True, repr=False, kw_only=True)
class Check(Result):
    """How scores were read. Frames:

    roles : role, column (empty where no column holds it), labels (how many), examples
    coverage : language, judge, scored, missing (scores)
    answers : question, able, why (not)
    """

    roles: Later[pd.DataFrame] = Later()
    coverage: Later[pd.DataFrame] = Later()
    answers: Later[pd.DataFrame] = Later()
    levels: tuple[float, ...]
    """The distinct scores, where they are few."""
    unused: tuple[str, ...]
    failed: int
    """Rows whose own error column says that they failed: read as missing."""
    findings: tuple[Finding, ...]
    panel_: Panel
    source_: str
    columns_: Mapping[str, Columns]
    """The frames as columns: a screen needs no more."""
    labels_: str = ""
    """The file of labels, where one was named."""

    @property
    def panel(self) -> Panel:
        """The scores as they were read."""
        return self.panel_

    def report(self) -> Report:
        """The report."""
        p, held = self.panel_, self.columns_
        head = {"role": "text", "column": "text", "labels": "count", "examples": "text"}
        board = Table(
            "roles", "Which column holds what", held["roles"], head, {"labels": "different", "examples": "such as"}
        )
        shown = {"language": "name", "judge": "name", "scored": "count", "missing": "count"}
        cover = Table("coverage", "Scores by language and judge", held["coverage"], shown, {"language": p.noun})
        able = Table(
            "answers", "What can be answered", held["answers"], {"question": "text", "able": "yes", "why": "text"}
        )
        words = " ".join(p.read)
        command = f"polyjudge audit {shell(self.source_ or 'scores.csv')}{' ' + words if words else ''}"
        command += f" --labels {shell(self.labels_)}" if self.labels_ else ""
        sections = (
            Section("answers", "What can be answered", tables=(able,)),
            Section("coverage", "Coverage", tables=(cover,), open=False),
        )
        return Report(
            "check", "How the scores are read", p.read_facts, self.findings, board, (Step(command),), sections
        )


def check(source: Any, **columns: Any) -> Check:
    """How is a file of scores read, and what can be answered from it?

    Long tables (one row a score), wide tables (one column of scores a judge), pairs with a winner, one row a case with
    human and judge columns, and files of evaluation tools are read. Name a column where its role is not seen by itself.

    source : file, table or frame of scores

    Examples:
        polyjudge check scores.csv
        polyjudge check results.parquet --judge backbone --replicate run
    """
    if isinstance(source, Panel):
        panel, levels = source, np.unique(source.scores[np.isfinite(source.scores)])
        roles: dict[str, str] = {}
        unused: tuple[str, ...] = ()
        failed = 0
    else:
        from polyjudge.read import explain

        found = explain(source, **columns)
        panel, roles, unused, failed, levels = found.panel, found.roles, found.unused, found.failed, found.levels
        levels = levels if len(levels) else np.array(panel.scale)
    cover, answers, held = _coverage(panel), _answers(panel), _roles(panel, roles, levels)
    said = [_levels(panel, levels), *_missing(panel, cover)]
    if failed:
        text = f"{count(failed, 'row')} marked as failed {'is' if failed == 1 else 'are'} read as missing."
        said.append(Finding("notice", "failed", text, "Missing"))
    if unused:
        said.append(Finding("info", "unused", f"Not read: {names(unused, 8)}.", "Columns"))
    said += [Finding("notice", "note", text, "Note") for text in panel.notes]
    lacking: dict[str, list[str]] = {}
    for question, why in zip(answers["question"], answers["why"], strict=True):
        lacking.setdefault(why, []).append(question)
    can = names(lacking.pop("", []), 12)
    text = f"{can[0].upper()}{can[1:]}." if can != "none" else "Nothing yet: see below what is lacking."
    said.append(Finding("info", "able", text, "Answers"))
    if lacking:
        parts = [f"{names(questions, 12)} ({why})" for why, questions in lacking.items()]
        said.append(Finding("info", "unable", f"Not: {'; '.join(parts)}.", "Answers"))
    few = tuple(float(x) for x in levels) if not panel.hashed and len(levels) <= MOST_LEVELS else ()
    return Check(
        roles=partial(framed, held),
        coverage=partial(framed, cover),
        answers=partial(framed, answers),
        levels=few,
        unused=tuple(unused),
        failed=failed,
        findings=tuple(said),
        panel_=panel,
        source_=panel.source,
        labels_=str(columns["labels"]) if isinstance(columns.get("labels"), (str, Path)) else "",
        columns_={"roles": held, "coverage": cover, "answers": answers},
    )


def _roles(panel: Panel, roles: dict[str, str], levels: Any) -> Columns:
    rows = []
    tasks = () if panel.hashed else panel.tasks
    labels: dict[str, tuple[str, ...]] = {
        "task": tasks, "system": panel.systems, "language": panel.languages, "judge": panel.judges,
        "criterion": tuple(panel.criteria),
    }  # fmt: skip
    for role in (*ROLES, *(r for r in roles if r not in ROLES)):
        column = roles.get(role, "")
        if role == "judge" and not column:
            column = roles.get("judges", "")
        own = [x for x in labels.get(role, ()) if x]
        if role == "judges" or not (column or len(own) > 1):
            continue
        title = panel.noun if role == "language" else role
        size = round(panel.weight.sum()) if role == "task" else len(own)
        examples = ", ".join(name(x, 20) for x in own[:2]) + (", ..." if len(own) > 2 else "") or None
        if role == "score":
            size = 0 if panel.hashed else len(levels)
            examples = f"{levels[0]:g} to {levels[-1]:g}"
        rows.append((title, name(column) if column else None, size or None, examples))
    return {c: [row[i] for row in rows] for i, c in enumerate(("role", "column", "labels", "examples"))}


def _coverage(panel: Panel) -> Columns:
    scored, whole = panel.coverage if panel.pairs is None else _count_judged_pairs(panel, panel.pairs)
    return {
        "language": [x for x in panel.languages for _ in panel.judges],
        "judge": list(panel.judges) * len(panel.languages),
        "scored": scored.ravel().tolist(),
        "missing": (whole - scored).ravel().tolist(),
    }


def _count_judged_pairs(panel: Panel, pairs: Verdicts) -> tuple[Codes, Codes]:
    """The pairs of answers in each language that each judge decided, (languages, judges), and that anybody did."""
    n_tasks, n_systems, n_languages, n_judges = panel.shape
    sizes = (n_tasks, n_systems, n_systems, n_languages, n_judges)
    lower, upper = np.minimum(pairs.first, pairs.second), np.maximum(pairs.first, pairs.second)
    key = np.ravel_multi_index((pairs.task, lower, upper, pairs.language, pairs.judge), sizes)
    by_judge = np.unique(key)
    by_anybody = np.unique(by_judge // n_judges)
    judged = np.bincount(by_judge % (n_languages * n_judges), minlength=n_languages * n_judges)
    asked = np.bincount(by_anybody % n_languages, minlength=n_languages)
    return judged.reshape(n_languages, n_judges), np.repeat(asked[:, None], n_judges, axis=1)


def _answers(panel: Panel) -> Columns:
    """What each question needs."""
    _, s, k, m = panel.shape
    judges, languages = "needs two judges" if m < 2 else "", f"needs two {panel.nouns}" if k < 2 else ""
    has_votes = panel.pairs is not None and panel.pairs.people is not None
    why = {
        "which system wins": "" if s > 1 else "needs two systems",
        "whether the judges agree": judges,
        "what is off": languages or judges,
        "calibrating": languages or judges,
        "drift": "",
        "swapping a judge": judges,
        "judges against people": "" if panel.human is not None or has_votes else "needs human labels",
    }
    return {"question": list(why), "able": [not x for x in why.values()], "why": list(why.values())}


def _levels(panel: Panel, levels: Any) -> Finding:
    """The scale."""
    low, high = panel.scale
    text = f"The scale is {low:g} to {high:g}."
    if not panel.hashed:
        text = f"The scale is {low:g} to {high:g}, with {len(levels):,} different scores."
        if len(levels) <= MOST_LEVELS:
            verb = "scores are" if len(levels) > 1 else "only score is"
            text = f"The {verb} {names([f'{x:g}' for x in levels], MOST_LEVELS)}."
    return Finding("info", "scale", text, "Scores")


def _all_missing_of_one(panel: Panel) -> str:
    """A sentence where all missing scores are of one system, language or judge; else empty."""
    if panel.apart or panel.hashed or panel.pairs is not None:
        return ""
    missing_mask = ~np.isfinite(panel.scores)
    for axis, place in (("system", 1), (panel.noun, 2), ("judge", 3)):
        labels = (panel.systems, panel.languages, panel.judges)[place - 1]
        of_label = missing_mask.sum(tuple(other for other in range(4) if other != place))
        n_most = int(of_label.max())
        if len(labels) > 1 and missing_mask.sum() == n_most:
            return f"All {count(n_most, 'missing score')} are of the {axis} {name(labels[int(of_label.argmax())])}."
    return ""


def _missing(panel: Panel, cover: Columns) -> list[Finding]:
    """Where most is missing; how much is missing stands above."""
    missing, scored = np.asarray(cover["missing"]), np.asarray(cover["scored"])
    if not missing.sum():
        return []
    if one := _all_missing_of_one(panel):
        return [Finding("notice", "missing", one, "Missing")]
    share = missing / np.maximum(missing + scored, 1)
    most, average = int(np.argmax(share.round(9))), missing.sum() / (missing + scored).sum()
    if share[most] <= 2 * average:
        return []
    place = f" in {name(cover['language'][most])}" if cover["language"][most] else ""
    text = f"{name(cover['judge'][most])}{place} lacks {percent(float(share[most]))}; all together {percent(average)}."
    return [Finding("notice", "missing", text, "Missing")]
