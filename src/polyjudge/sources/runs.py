"""Folders that hold scores: a collection run (its store is read directly) or Inspect eval logs."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from polyjudge.core.errors import PanelError
from polyjudge.core.labels import clean

STORE = "store.sqlite"
"""File that makes a folder a collection run."""
KEYS = ["task", "replicate", "language", "judge"]
TYPE = "type"
"""Group name that asks for the rows of single requirements, by their type."""


@dataclass(frozen=True)
class FolderScores:
    """Long scores of a folder, their scale, and what a person should know about them."""

    frame: pd.DataFrame
    declared_range: tuple[float, float] | None
    notes: tuple[str, ...]


def read_run(folder: str | Path, group: str | None = None) -> FolderScores:
    """The scores of a collection run: one row for each task, system, language, judge and replicate asked in full.

    A rating is its score; a pair is chosen minus rejected; a checklist is the percent of requirements satisfied.
    It is missing (NaN) when an answer it needs could not be read. With `group="type"` a checklist has one row for each
    requirement instead, 100 or 0, with its type.
    """
    from polyjudge.collect.store import SYSTEM_MARK, open_store, read_meta

    con = open_store(Path(folder))
    try:
        plan = read_meta(con, "plan")
        if plan is None:
            raise PanelError(f"{clean(folder, 200)} has no answers yet.")
        rubric, clusters = plan["rubric"], read_meta(con, "clusters") or {}
        answers, notes = _settled(con, plan)
        groups = {(t, r): g for t, r, g in con.execute("select task, replicate, grp from items")}
        types = {
            (t, r): [tuple(line) for line in json.loads(lines)]
            for t, r, lines in con.execute("select task, replicate, requirements from items")
        }
    finally:
        con.close()
    low, high = rubric["scale"]
    if rubric["kind"] == "pair":
        frame, scale = _margins(answers), (float(low - high), float(high - low))
    elif rubric["kind"] == "checklist":
        rows = _verdicts(answers, types, rubric["calls"])
        frame, scale = (rows if group == TYPE else _percent(rows)), (0.0, 100.0)
    else:
        frame, scale = answers[[*KEYS, "score"]], (float(low), float(high))
    if any(groups.values()):
        frame = frame.assign(group=[groups[key] for key in zip(frame["task"], frame["replicate"], strict=True)])
    if clusters:
        frame = frame.assign(cluster=[clusters.get(task, task) for task in frame["task"]])
    if plan["items"].get("system"):
        parts = frame["replicate"].str.partition(SYSTEM_MARK)
        frame = frame.assign(system=parts[0], replicate=parts[2])
    if not frame["replicate"].any():
        frame = frame.drop(columns="replicate")
    missing = int(frame["score"].isna().sum())
    if missing:
        notes.append(f"{missing} of {len(frame)} scores are missing: an answer could not be read")
    return FolderScores(frame.reset_index(drop=True), scale, tuple(notes))


def _settled(con: sqlite3.Connection, plan: dict[str, Any]) -> tuple[pd.DataFrame, list[str]]:
    """The answers of the tasks that were asked in full, in the order of the run, and what was left out."""
    answers = pd.read_sql_query(
        "select a.task, a.replicate, a.language, a.judge, a.part, a.score, a.detail, i.place, i.requirements "
        "from answers a join items i using (task, replicate)",
        con,
    )
    languages = [language["name"] for language in plan["languages"]]
    judges = [judge["name"] for judge in plan["judges"]]
    answers = answers[answers["language"].isin(languages) & answers["judge"].isin(judges)]
    notes: list[str] = []
    if answers.empty:
        raise PanelError("The run has no answers yet.")
    counts = answers["judge"].value_counts().reindex(judges, fill_value=0)
    behind = [judge for judge in judges if counts[judge] < counts.median() / 2]
    if behind:
        notes.append(f"left out, with less than half of the others' answers: {', '.join(clean(b) for b in behind)}")
        judges = [judge for judge in judges if judge not in behind]
        answers = answers[answers["judge"].isin(judges)]
    kind, calls = plan["rubric"]["kind"], plan["rubric"]["calls"]
    each = 2 if kind == "pair" else 1
    wanted = {
        (task, replicate): len(languages)
        * len(judges)
        * (len(json.loads(lines)) if kind == "checklist" and calls == "each" else each)
        for task, replicate, lines in con.execute("select task, replicate, requirements from items")
    }
    have = answers.groupby(["task", "replicate"]).size()
    whole = {key for key, count in have.items() if wanted[key] == count}  # type: ignore[index]
    tasks = {task for task, _ in wanted}
    unfinished = {key[0] for key in wanted if key not in whole}
    if unfinished and len(tasks - unfinished) >= 2:
        notes.append(f"{len(unfinished)} of {len(tasks)} tasks left out: not all of their calls are answered yet")
        answers = answers[~answers["task"].isin(unfinished)]
    elif unfinished:
        notes.append("the run has only begun: most entries are missing")
    order = {name: i for i, name in enumerate(judges)}, {name: i for i, name in enumerate(languages)}
    answers = answers.assign(_l=answers["language"].map(order[1]), _j=answers["judge"].map(order[0]))
    return answers.sort_values(["place", "replicate", "_l", "_j", "part"], kind="stable"), notes


def _margins(answers: pd.DataFrame) -> pd.DataFrame:
    wide = answers.pivot_table(
        index=KEYS, columns="part", values="score", aggfunc="first", sort=False, dropna=False, observed=True
    )
    wide = wide.reindex(columns=["chosen", "rejected"])
    wide = wide.loc[pd.MultiIndex.from_frame(answers[KEYS].drop_duplicates())].reset_index()
    wide["score"] = wide["chosen"] - wide["rejected"]
    return wide.rename(columns={"chosen": "chosen_score", "rejected": "rejected_score"}).rename_axis(columns=None)


def _verdicts(answers: pd.DataFrame, types: dict[Any, Any], calls: str) -> pd.DataFrame:
    """One row for each requirement: 100, 0 or NaN."""
    rows: list[tuple[Any, ...]] = []
    for task, replicate, language, judge, part, score, detail in answers[[*KEYS, "part", "score", "detail"]].itertuples(
        index=False
    ):
        lines = types[(task, replicate)]
        if calls == "each":
            found = [(part, dict(lines)[part], score)]
        else:
            verdicts = json.loads(detail) if detail else [None] * len(lines)
            found = [
                (id_, type_, None if v is None else 100.0 * v) for (id_, type_), v in zip(lines, verdicts, strict=True)
            ]
        rows += [(task, replicate, language, judge, *line) for line in found]
    frame = pd.DataFrame(rows, columns=[*KEYS, "requirement", TYPE, "score"])
    return frame.astype({"score": float})


def _percent(rows: pd.DataFrame) -> pd.DataFrame:
    """Percent satisfied; missing as soon as one requirement is, for the others are not of the same difficulty."""
    grouped = rows.groupby(KEYS, sort=False)["score"]
    frame = grouped.mean().where(grouped.count() == grouped.size())
    return frame.reset_index()


def export_run(folder: str | Path, path: str | Path) -> None:
    """Write a run's scores to a Parquet or CSV file that `read_panel` reads. Missing scores have a row without a score;
    a pair has both of its scores too."""
    from polyjudge.core.files import atomic_path, spreadsheet_safe

    frame = read_run(folder).frame
    path = Path(path)
    with atomic_path(path) as part:
        if path.suffix == ".parquet":
            frame.to_parquet(part, index=False)
        else:
            texts = frame.select_dtypes(exclude="number").columns
            frame.assign(**{c: frame[c].map(spreadsheet_safe) for c in texts}).to_csv(part, index=False)
