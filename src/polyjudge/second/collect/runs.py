"""Folders that hold scores: a collection run (its store is read directly) or Inspect eval logs."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from polyjudge.second.collect.store import FILE, check_answers, damaged, open_store, read_meta
from polyjudge.second.panel.errors import CollectError, PanelError
from polyjudge.second.panel.files import atomic_path, safe_csv
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.say import Words, say
from polyjudge.second.questions.probe.versions import is_version

KEYS = ["task", "system", "replicate", "language", "judge"]
BY_DESIGN = say("panel.by-design")
WORDING = "wording"
TYPE = "type"
"""Group name that asks for the rows of single requirements (by their type) or of single criteria."""


@dataclass(frozen=True)
class FolderScores:
    """Long scores of a folder, their scale, and what a person should know about them."""

    frame: pd.DataFrame
    declared_range: tuple[float, float] | None
    notes: tuple[Words, ...]
    looks: int = 0
    """Looks that an adaptive run planned."""
    condition: str = ""
    """What stands in place of language, where something does."""
    orders: pd.DataFrame | None = None
    """Verdicts on pairs as they were shown: task, language, judge, first, second, margin (of the first, -1 to 1)."""


def holds_run(folder: str | Path) -> bool:
    return (Path(folder) / FILE).is_file()


def holds_probes(folder: str | Path) -> bool:
    """Whether a folder is a collection run that scored probe versions beside its items."""
    if not holds_run(folder):
        return False
    with closing(open_store(Path(folder))) as con:
        return bool((read_meta(con, "plan") or {}).get("probes"))


def read_run(folder: str | Path, group: str | None = None, every: bool = False, probes: bool = False) -> FolderScores:
    """The scores of a collection run: one row for each task, system, language, judge and replicate asked in full.

    A rating is its score (the expected one where log-probabilities were asked for); a pair is chosen minus rejected; a
    comparison the preference for chosen in percent, over both orders; a checklist the percent of requirements
    satisfied. It is missing (NaN) when an answer it needs could not be read. With `group="type"` a checklist has one
    row for each requirement instead, 100 or 0, with its type; a rating by several criteria one for each criterion.
    An adaptive run gives the tasks of the looks taken; with `every` also those of a look that is under way. Where the
    plan has probes, their versions are left out; with `probes` they alone are read, as systems.
    """
    with closing(open_store(Path(folder))) as con, damaged(Path(folder) / FILE):
        plan = read_meta(con, "plan")
        if plan is None:
            raise CollectError(f"{clean(folder, 200)} has no answers yet.")
        check_answers(con)
        clusters = read_meta(con, "clusters") or {}
        answers, notes, looks = _settled(con, plan, every, probes)
        items = {
            (task, system, replicate): (grp, cluster or clusters.get(task, ""), json.loads(lines))
            for task, system, replicate, grp, cluster, lines in con.execute(
                "select task, system, replicate, grp, cluster, requirements from items"
            )
        }
        frame, scale = _scores(answers, plan["rubric"], items, group)
        orders = _orders(answers) if plan["rubric"]["kind"] == "compare" else None
    facts = [items[key] for key in zip(frame["task"], frame["system"], frame["item"], strict=True)]
    if any(fact[0] for fact in facts):
        frame = frame.assign(group=[fact[0] for fact in facts])
    if any(fact[1] for fact in facts):
        frame = frame.assign(cluster=[fact[1] or task for fact, task in zip(facts, frame["task"], strict=True)])
    frame = frame.drop(columns=["item", *(c for c in ("system", "replicate") if not frame[c].any())])
    missing = int(frame["score"].isna().sum())
    if missing:
        notes.append(say("run.unread", count=missing, all=len(frame)))
    condition = WORDING if plan.get("wordings") else ""
    return FolderScores(frame.reset_index(drop=True), scale, tuple(notes), looks, condition, orders)


def read_texts(folder: str | Path, wanted: pd.DataFrame, longest: int) -> pd.DataFrame:
    """What was asked and answered behind some scores, and what the judge said: prompt, response, reason.

    A row for each row of `wanted` (task, language, judge, and system where there are any); of repeats and replicates
    the first. Prompts of own templates have no fences, so all that the judge was sent is the prompt.
    """
    query = (
        "select a.replicate, a.repeat, a.part, p.text, a.answer "
        "from answers a left join prompts p on p.hash = a.prompt "
        "where a.task = ? and a.system = ? and a.language = ? and a.judge = ? order by a.replicate, a.repeat, a.part"
    )
    rows = []
    with closing(open_store(Path(folder))) as con, damaged(Path(folder) / FILE):
        for row in wanted.to_dict("records"):
            key = [str(row[name]) if name in row else "" for name in ("task", "system", "language", "judge")]
            found = con.execute(query, key).fetchall()
            first = [(part, sent or "", said) for *at, part, sent, said in found if at == list(found[0][:2])]
            rows.append({name: text[:longest] or None for name, text in _spoken(first).items()})
    return pd.DataFrame(rows, columns=["prompt", "response", "reason"], index=wanted.index)


def _spoken(parts: list[tuple[str, str, str]]) -> dict[str, str]:
    """The texts of one score, whose parts are (name, what the judge was sent, what it said)."""
    prompt, responses, reasons = "", dict[str, str](), list[str]()
    for part, sent, said in parts:
        fence = re.search(r"<request-([0-9a-f]{8})>", sent)
        fenced = re.findall(rf"<([a-z-]+)-{fence[1]}>\n(.*?)\n</\1-{fence[1]}>", sent, re.DOTALL) if fence else []
        texts = dict(fenced) or {"request": sent}
        prompt = prompt or texts.get("request", sent)
        for name, text in texts.items():
            if name.startswith("answer"):
                responses.setdefault(text, name.removeprefix("answer").strip("-").upper() or part)
        reasons.append(f"{part}: {_reason(said)}" if len(parts) > 1 else _reason(said))
    named = len(responses) > 1
    answered = "\n".join(f"{name}: {text}" if named else text for text, name in responses.items())
    return {"prompt": prompt, "response": answered, "reason": "\n".join(reasons)}


def _reason(said: str) -> str:
    """The reason in a judge's answer; the whole of it where it has no field for that."""
    try:
        found = json.loads(said)
    except (ValueError, RecursionError):
        return said
    return found["reason"] if isinstance(found, dict) and isinstance(found.get("reason"), str) else said


def _scores(
    answers: pd.DataFrame, rubric: dict[str, Any], items: dict[Any, Any], group: str | None
) -> tuple[pd.DataFrame, tuple[float, float]]:
    low, high = rubric["scale"]
    names = [c["name"] for c in rubric["criteria"]] if isinstance(rubric.get("criteria"), list) else []
    if rubric["kind"] == "pair":
        return _margins(answers), (float(low - high), float(high - low))
    if rubric["kind"] == "compare":
        return _preferences(answers), (0.0, 100.0)
    if rubric["kind"] == "checklist":
        rows = _verdicts(answers, items, rubric["calls"])
        return (rows if group == TYPE else _percent(rows)), (0.0, 100.0)
    if names and group == TYPE:
        return _each(answers, [[(name,) for name in names]] * len(answers), [TYPE]), (float(low), float(high))
    return answers[[*KEYS, "item", "score"]], (float(low), float(high))


def _settled(
    con: sqlite3.Connection, plan: dict[str, Any], every: bool, probes: bool
) -> tuple[pd.DataFrame, list[Words], int]:
    """The answers of the tasks that were asked in full, in the order of the run, what was left out, and the looks that
    an adaptive run planned."""
    repeats = int(plan.get("repeats", 1))
    answers = pd.read_sql_query(
        "select a.task, a.system, a.replicate as item, a.repeat, a.language, a.judge, a.part, "
        "coalesce(a.expected, a.score) as score, a.detail, i.place from answers a "
        "join items i using (task, system, replicate) where i.place >= 0 and a.repeat < ?",
        con, params=[repeats],
    )  # fmt: skip
    languages, judges = ([part["name"] for part in plan[axis]] for axis in ("languages", "judges"))
    answers = answers[answers["language"].isin(languages) & answers["judge"].isin(judges)]
    if plan.get("probes"):
        answers = answers[answers["system"].map(is_version) == probes]
    if answers.empty:
        raise PanelError("The run has no answers yet." if not probes else "The run has no answers to probes yet.")
    answers["replicate"] = answers["item"]
    if repeats > 1:
        number = (answers["repeat"] + 1).astype(str)
        answers["replicate"] = (answers["item"] + "/" + number).where(answers["item"] != "", number)
    adaptive = read_meta(con, "adaptive")
    if adaptive is not None:
        # A look that is under way has bought some cells of its tasks and not yet others, for no reason of design.
        taken = pd.Series(False, index=answers.index)
        for part in [] if every else adaptive["parts"]:
            cells = answers["language"].isin(part["languages"]) & answers["judge"].isin(part["judges"])
            taken |= cells & answers["task"].isin(adaptive["order"][: part["tasks"]])
        answers = answers[taken] if taken.any() else answers
        return _in_order(answers, languages, judges), [BY_DESIGN], len(adaptive["looks"])
    counts = answers["judge"].value_counts().reindex(judges, fill_value=0)
    behind = [judge for judge in judges if counts[judge] < counts.median() / 2]
    judges = [judge for judge in judges if judge not in behind]
    answers = answers[answers["judge"].isin(judges)]
    notes: list[Words] = [say("run.behind", judges=behind)] if behind else []
    answers, more = _whole_tasks(con, plan, answers, len(languages) * len(judges) * repeats, probes)
    return _in_order(answers, languages, judges), notes + more, 0


def _in_order(answers: pd.DataFrame, languages: list[str], judges: list[str]) -> pd.DataFrame:
    places = answers.assign(language=answers["language"].map(languages.index), judge=answers["judge"].map(judges.index))
    return answers.loc[places.sort_values(["place", "replicate", "language", "judge", "part"], kind="stable").index]


def _whole_tasks(
    con: sqlite3.Connection, plan: dict[str, Any], answers: pd.DataFrame, cells: int, probes: bool
) -> tuple[pd.DataFrame, list[Words]]:
    """The answers of tasks that lack none. Items that nobody was asked about are not in the store."""
    kind, calls = plan["rubric"]["kind"], plan["rubric"]["calls"]
    each = 2 if kind in ("pair", "compare") else 1
    wanted = {
        (task, system, replicate): cells * (len(json.loads(lines)) if kind == "checklist" and calls == "each" else each)
        for task, system, replicate, lines in con.execute(
            "select task, system, replicate, requirements from items where place >= 0"
        )
        if not plan.get("probes") or is_version(system) == probes
    }
    have = answers.groupby(["task", "system", "item"]).size().to_dict()
    tasks = {key[0] for key in wanted}
    unfinished = {key[0] for key, count in wanted.items() if have.get(key, 0) != count}
    if unfinished and len(tasks - unfinished) >= 2:
        left = say("run.unfinished", count=len(unfinished), all=len(tasks))
        return answers[~answers["task"].isin(unfinished)], [left]
    return answers, [say("run.begun")] if unfinished else []


def _wide(answers: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """One row for each score, one column for each part, in the order of the run."""
    index = [*KEYS, "item"]
    wide = answers.pivot_table(
        index=index, columns="part", values="score", aggfunc="first", sort=False, dropna=False, observed=True
    )
    wide = wide.reindex(columns=columns)
    return wide.loc[pd.MultiIndex.from_frame(answers[index].drop_duplicates())].reset_index().rename_axis(columns=None)


def _margins(answers: pd.DataFrame) -> pd.DataFrame:
    wide = _wide(answers, ["chosen", "rejected"])
    wide["score"] = wide["chosen"] - wide["rejected"]
    return wide.rename(columns={"chosen": "chosen_score", "rejected": "rejected_score"})


def _preferences(answers: pd.DataFrame) -> pd.DataFrame:
    """Preference for chosen: the mean of both orders, so that a liking for a position cancels."""
    wide = _wide(answers, ["AB", "BA"])
    wide["score"] = (wide["AB"] + 100 - wide["BA"]) / 2
    return wide.drop(columns=["AB", "BA"])


def _orders(answers: pd.DataFrame) -> pd.DataFrame:
    """Every verdict with what was shown first; its score is the first one's preference in percent."""
    first = answers["part"].map({"AB": "chosen", "BA": "rejected"})
    second = answers["part"].map({"AB": "rejected", "BA": "chosen"})
    known = answers.assign(first=first, second=second, margin=answers["score"] / 50 - 1)
    return known[["task", "language", "judge", "first", "second", "margin"]].dropna()


def _verdicts(answers: pd.DataFrame, items: dict[Any, Any], calls: str) -> pd.DataFrame:
    """One row for each requirement: 100, 0 or NaN."""
    if calls == "each":
        found = answers.rename(columns={"part": "requirement"})
        keys = zip(answers["task"], answers["system"], answers["item"], answers["part"], strict=True)
        found[TYPE] = [dict(items[tuple(key)][2])[part] for *key, part in keys]
        return found[[*KEYS, "item", "requirement", TYPE, "score"]]
    names = [items[key][2] for key in zip(answers["task"], answers["system"], answers["item"], strict=True)]
    frame = _each(answers, names, ["requirement", TYPE])
    return frame.assign(score=100.0 * frame["score"])


def _each(answers: pd.DataFrame, names: Sequence[Sequence[Any]], columns: list[str]) -> pd.DataFrame:
    """One row for each of several scores in one answer. `names`: what they are called, by answer."""
    rows = []
    entries = answers[[*KEYS, "item", "detail"]].itertuples(index=False)
    for (*key, detail), lines in zip(entries, names, strict=True):
        values = json.loads(detail) if detail else [None] * len(lines)
        rows += [(*key, *line, value) for line, value in zip(lines, values, strict=True)]
    return pd.DataFrame(rows, columns=[*KEYS, "item", *columns, "score"]).astype({"score": float})


def _percent(rows: pd.DataFrame) -> pd.DataFrame:
    """Percent satisfied; missing as soon as one requirement is, for the others are not of the same difficulty."""
    grouped = rows.groupby([*KEYS, "item"], sort=False)["score"]
    frame = grouped.mean().where(grouped.count() == grouped.size())
    return frame.reset_index()


def export_run(folder: str | Path, path: str | Path) -> None:
    """Write a run's scores to a Parquet or CSV file that `read_panel` reads. Missing scores have a row without a score;
    a pair has both of its scores too."""
    from polyjudge.second.read.duck import write_parquet

    run = read_run(folder)
    frame = run.frame.rename(columns={"language": run.condition or "language"})
    with atomic_path(path) as part:
        if Path(path).suffix == ".parquet":
            write_parquet(frame, part)
        else:
            part.write_text(safe_csv(frame), encoding="utf-8", newline="")
