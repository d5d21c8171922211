"""Repeating the paper's two collections: item files and plans from the benchmarks' own instances.

The authors' prompts, translations and workspaces are not shipped; docs/collect.md says where they are.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.files import read_text, safe_csv, write_texts
from polyjudge.second.panel.labels import clean
from polyjudge.second.paper.requirements import JUDGMENT_COLUMNS, typed
from polyjudge.second.paper.translate import Translation, parse_judge, read_translations, translate

LANGUAGES = ("English", "Arabic", "Turkish", "Chinese", "Hindi", "Japanese", "Spanish", "Swahili")
FRAMEWORKS = ("MetaGPT", "GPT-Pilot", "OpenHands")
NAMED = re.compile(r"`([^`\s]+)`")
LISTED = 200
"""Files named in the list at the top."""
SKIPPED = {".git", "__pycache__", "node_modules", ".venv", "venv"}


def write_devai(
    folder: Path,
    instances: list[dict[str, Any]],
    workspaces: Path,
    translations: Mapping[str, Mapping[str, Translation]],
    budget: int,
    shared: Sequence[str] | None,
) -> list[Path]:
    """items.LANGUAGE.jsonl for English and each translated language, and plan.yaml; returns the paths.

    One line for each task and framework that has a workspace (workspaces/FRAMEWORK/TASK); frameworks are systems.
    `shared`: languages that all judge the English items, of which only the instructions are translated.
    """
    kinds = typed(instances).set_index(["task", "requirement_id"])["type"]
    languages = ["English", *(name for name in LANGUAGES if name in translations and name != "English")]
    lines: dict[str, list[str]] = {language: [] for language in languages}
    for one in instances:
        task = one["task"]
        named = named_files(str(r["criteria"]) for r in one["requirements"])
        for framework in FRAMEWORKS:
            place = workspaces / framework / task
            if not place.is_dir():
                continue
            work = read_workspace(place, named, budget)
            for language in languages:
                say = {} if language == "English" else translations[language]
                row = {
                    "task": task,
                    "framework": framework,
                    "prompt": _in(say, f"{task}/query", str(one.get("query", ""))),
                    "response": work,
                    "requirements": [
                        {
                            "id": str(r["requirement_id"]),
                            "type": kinds[task, int(r["requirement_id"])] or "other",
                            "text": _in(say, f"{task}/{r['requirement_id']}", str(r["criteria"])),
                        }
                        for r in one["requirements"]
                    ],
                }
                lines[language].append(json.dumps(row, ensure_ascii=False))
    if not lines["English"]:
        raise UsageError(
            f"{workspaces} has no workspace of a task: it should hold {FRAMEWORKS[0]}/{instances[0]['task']} and so on."
        )
    plan = example("agent-as-a-judge.yaml")
    plan = _changed(plan, f"languages: [{', '.join(LANGUAGES)}]", f"languages: [{', '.join(shared or languages)}]")
    if shared is not None:
        plan = _changed(plan, "  path: items.{language}.jsonl\n", "  path: items.English.jsonl\n  shared: true\n")
    texts = {f"items.{language}.jsonl": "\n".join(rows) + "\n" for language, rows in lines.items()}
    return write_texts(folder, {**texts, "plan.yaml": plan})


def use_prompts(folder: Path, prompts: Path, languages: Sequence[str]) -> list[Path]:
    """Copy prompt templates (LANGUAGE/checklist.txt, reminder.txt) beside the plan, and have the plan use them."""
    texts = {}
    for language in languages:
        found = sorted((prompts / language).glob("*.txt"))
        if "checklist.txt" not in {path.name for path in found}:
            raise UsageError(
                f"{clean(str(prompts / language), 300)} has no checklist.txt: the prompt of {language}, with "
                "{prompt}, {response} and {requirement} where they belong."
            )
        for path in found:
            texts[f"prompts/{language}/{path.name}"] = read_text(path)
    plan = (folder / "plan.yaml").read_text(encoding="utf-8")
    plan = _changed(plan, "  kind: checklist\n", "  kind: checklist\n  templates: prompts\n")
    return write_texts(folder, {**texts, "plan.yaml": plan})


def _changed(plan: str, old: str, new: str) -> str:
    """The plan with one line changed, which must be there."""
    assert plan.count(old) == 1, old
    return plan.replace(old, new)


def write_mrewardbench(folder: Path) -> list[Path]:
    """The plan with one English prompt for all languages, as the paper asked, and its template."""
    names = ("en/rating.txt", "en/reminder.txt")
    texts = {f"prompts/{name}": example(f"mrewardbench-english/{name}") for name in names}
    return write_texts(folder, {"plan.yaml": example("mrewardbench-english.yaml"), **texts})


def run_verdicts(run: Path) -> pd.DataFrame:
    """The verdicts of a DevAI run: one row for each requirement. A verdict that could not be read is missing."""
    from polyjudge.second.collect.runs import TYPE, read_run

    frame = read_run(run, group=TYPE).frame
    if "requirement" not in frame or "system" not in frame:
        raise UsageError(f"{run} is no run of requirements with frameworks as systems.")
    frame = frame.rename(columns={"system": "framework", "judge": "backbone", "requirement": "requirement_id"})
    frame["requirement_id"] = frame["requirement_id"].astype(int)
    return frame.assign(satisfied=frame["score"] / 100)[JUDGMENT_COLUMNS]


def honour(verdicts: pd.DataFrame, instances: list[dict[str, Any]]) -> pd.DataFrame:
    """The verdicts where a requirement counts only if all it builds on do; unknown where one of them is."""
    below = {str(one["task"]): _below(one["requirements"]) for one in instances}
    out = []
    for key, rows in verdicts.groupby(["task", "framework", "language", "backbone"], sort=False):
        given = dict(zip(rows["requirement_id"], rows["satisfied"], strict=True))
        chains = [[given.get(p, np.nan) for p in below[str(key[0])][r]] for r in rows["requirement_id"]]
        # One that fails decides, whatever the others; min() of the rest is NaN where one is unknown.
        out.append(rows.assign(satisfied=[0.0 if 0 in chain else float(np.min(chain)) for chain in chains]))
    return pd.concat(out, ignore_index=True)


def _below(requirements: list[dict[str, Any]]) -> dict[int, set[int]]:
    """Requirement -> itself and all that it builds on, directly or not."""
    needs = {int(r["requirement_id"]): {int(p) for p in r.get("prerequisites") or []} for r in requirements}
    out = {}
    for start in needs:
        found, ahead = set(), [start]
        while ahead:
            at = ahead.pop()
            if at not in found:
                found.add(at)
                ahead += needs.get(at, ())
        out[start] = found
    return out


def task_scores(verdicts: pd.DataFrame) -> pd.DataFrame:
    """task, framework, language, backbone, score: percent satisfied; missing where a verdict is."""
    grouped = verdicts.groupby(["task", "framework", "language", "backbone"], sort=False)["satisfied"]
    return grouped.mean().where(grouped.count() == grouped.size()).mul(100).rename("score").reset_index()


def write_verdicts(folder: Path, verdicts: pd.DataFrame, instances: list[dict[str, Any]]) -> list[Path]:
    """verdicts.csv for `reproduce --judgments`; scores as the paper counts, and with prerequisites honoured."""
    tables = {
        "verdicts.csv": verdicts,
        "scores.csv": task_scores(verdicts),
        "scores_prerequisites.csv": task_scores(honour(verdicts, instances)),
    }
    return write_texts(folder, {name: safe_csv(table) for name, table in tables.items()})


def chosen_languages(text: str | None) -> list[str]:
    names = list(LANGUAGES) if text is None else [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in LANGUAGES]
    if unknown or not names:
        raise UsageError(f"The paper's languages are {', '.join(LANGUAGES)}; not {clean(', '.join(unknown))!r}.")
    return names


def translations(
    instances: list[dict[str, Any]], languages: Sequence[str], folder: Path, model: str | None, base_url: str | None
) -> dict[str, dict[str, Translation]]:
    """Queries and criteria in every language but English: from the files in `folder`, the rest from a model."""
    texts, out = {f"{one['task']}/query": str(one["query"]) for one in instances if one.get("query")}, {}
    for one in instances:
        texts |= {f"{one['task']}/{r['requirement_id']}": str(r["criteria"]) for r in one["requirements"]}
    for language in languages:
        if language == "English":
            continue
        path = folder / f"{language}.jsonl"
        known = read_translations(path)
        if all(i in known and known[i].source == text for i, text in texts.items()):
            out[language] = known
            continue
        if model is None:
            raise UsageError(f"{path} lacks translations. Name a model that makes them: --translate openai/gpt-4o.")
        address = {"base_url": base_url} if base_url else {}
        out[language] = translate(texts, language, parse_judge({"model": model, "name": "translator", **address}), path)
    return out


def example(name: str) -> str:
    return (resources.files("polyjudge.second.collect") / "examples" / name).read_text(encoding="utf-8")


def _in(say: Mapping[str, Translation], key: str, english: str) -> str:
    return say[key].translation if key in say else english


# --- the work to be judged: a list of the files of a folder, and those that the requirements name ---


def named_files(criteria: Iterable[str]) -> list[str]:
    """What stands between backticks in criteria and has a dot or a slash in it: `src/train.py`, `models/`."""
    found = (name for text in criteria for name in NAMED.findall(text))
    return list(dict.fromkeys(name.strip("/") for name in found if "/" in name or "." in name))


def read_workspace(folder: Path, named: Iterable[str], budget: int) -> str:
    """A workspace as text: the list of its files, then the named files as far as `budget` characters go.

    A file gets an equal share of what is left, so that a long one does not push out the others; what was cut is said.
    Links that lead out of the folder are not followed.
    """
    root = folder.resolve()
    files = sorted(_files(root))
    listing = "\n".join(files[:LISTED]) + (f"\n... and {len(files) - LISTED} more" if len(files) > LISTED else "")
    found = {n: [f for f in files if f == n or f.startswith(f"{n}/") or f.endswith(f"/{n}")] for n in named}
    wanted = list(dict.fromkeys(f for some in found.values() for f in some))
    parts = [f"Files:\n{listing or '(none)'}"]
    left = max(budget - len(parts[0]), 0)
    for i, name in enumerate(wanted):
        text = _text(root / name, left // (len(wanted) - i))
        left -= len(text)
        parts.append(f"File {name}:\n{text}")
    absent = [name for name, some in found.items() if not some]
    if absent:
        parts.append(f"Not there: {', '.join(absent)}")
    return "\n\n".join(parts)


def _files(root: Path) -> Iterable[str]:
    for folder, names, files in os.walk(root):
        names[:] = sorted(n for n in names if n not in SKIPPED)
        for name in files:
            path = Path(folder) / name
            if path.resolve().is_relative_to(root):
                yield path.relative_to(root).as_posix()


def _text(path: Path, most: int) -> str:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            data = file.read(4 * most + 4)
    except OSError as error:
        return f"(cannot be read: {error.strerror})"
    if b"\0" in data:
        return f"(binary, {size:,} bytes)"
    text = data.decode("utf-8", "replace")
    return text if len(text) <= most and len(data) == size else f"{text[:most]}\n(cut: {size:,} bytes in all)"
