"""Requirements by type: the paper's fourth ablation, from verdicts on single requirements.

The benchmark gives every requirement a category (one is misspelt there). The paper groups requirements by type; its
released code takes the type from the category, and for "Other" from words of the criterion. What it assigns so stands
in data/requirements.json, by task and requirement: with it the paper's counts come out. Other categories belong to
neither group.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.files import read_json, read_text
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.panel import Panel
from polyjudge.second.paper.draws import held_out_draws, plain_draws
from polyjudge.second.paper.inputs import array_of, table_of
from polyjudge.second.paper.published import data
from polyjudge.second.questions.compare.held_out import compare

GROUPS = {"operational": ("Data Loading", "Training"), "semantic": ("Model Construction", "Evaluation Metrics")}
RESAMPLES, SEED = 200, 9
"""Of the published ablation."""
JUDGMENT_COLUMNS = ["task", "framework", "language", "backbone", "requirement_id", "satisfied"]


def read_instances(path: str | Path) -> list[dict[str, Any]]:
    """The benchmark's tasks, one JSON object a line: task, query, requirements with criteria and prerequisites."""
    where = clean(str(path), 300)
    try:
        rows = [json.loads(line) for line in read_text(path).split("\n") if line.strip()]
    except (json.JSONDecodeError, RecursionError) as error:
        raise PanelError(f"{where} is not JSON lines: {clean(error, 120)}.") from None
    for i, row in enumerate(rows, 1):
        parts = row.get("requirements") if isinstance(row, dict) else None
        good = isinstance(parts, list) and all(
            isinstance(r, dict) and {"requirement_id", "criteria"} <= set(r) for r in parts
        )
        if not good or "task" not in row:
            raise PanelError(
                f"{where}, line {i}: a task needs `task`, and `requirements` with requirement_id and criteria."
            )
    return rows


def typed(instances: list[dict[str, Any]]) -> pd.DataFrame:
    """task, requirement_id, category and type ("" for neither group) of every requirement."""
    known = data("requirements")
    chosen = {(n, r): kind for kind, tasks in known["others"].items() for n, ids in tasks.items() for r in ids}
    rows = []
    for one in instances:
        number = str(one["task"]).split("_")[0].lstrip("0")
        for r in one["requirements"]:
            category, id_ = r.get("category") or "", int(r["requirement_id"])
            kind = known["categories"].get(category, chosen.get((number, id_), ""))
            rows.append((one["task"], id_, category, kind))
    return pd.DataFrame(rows, columns=["task", "requirement_id", "category", "type"])


def read_judgments(path: str | Path, requirements: pd.DataFrame, panel: Panel) -> pd.DataFrame:
    """Verdicts on single requirements: the authors' folder, or a CSV file of them.

    The folder holds MODEL/LANGUAGE/FRAMEWORK/gray_box/TASK.json, one file for each run; the file has task, framework,
    language, backbone, requirement_id and satisfied (0, 1 or empty).
    """
    if Path(path).is_dir():
        table, where = _folder(Path(path), panel), clean(str(path), 300)
    else:
        table, where = table_of(path, JUDGMENT_COLUMNS, "verdicts, one row for each requirement,")
    if not table["satisfied"].dropna().isin([0, 1]).all() or table.duplicated(JUDGMENT_COLUMNS[:5]).any():
        raise PanelError(f"{where}: `satisfied` must be 0, 1 or empty, once for each run and requirement.")
    joined = table.merge(requirements, how="left", on=["task", "requirement_id"])
    unknown = joined["type"].isna()
    if unknown.any():
        row = joined[unknown].iloc[0]
        raise PanelError(
            f"{where}: {int(unknown.sum())} rows name a requirement the instances do not have, the first requirement "
            f"{clean(row['requirement_id'])} of {clean(row['task'])}."
        )
    return joined


def _folder(folder: Path, panel: Panel) -> pd.DataFrame:
    """The verdicts of a folder of runs; its shares of satisfied requirements must be the released scores."""
    rows = []
    models = data("requirements")["folders"]
    for model, judge in models.items():
        for language in panel.languages:
            for framework in panel.replicates:
                for path in sorted((folder / model / language / framework / "gray_box").glob("*.json")):
                    rows += [(framework, language, judge, *row) for row in _run(path)]
    assert panel.replicate_scores is not None
    table = pd.DataFrame(rows, columns=["framework", "language", "backbone", "task", "requirement_id", "satisfied"])
    keys = ["task", "language", "backbone", "framework"]
    share = table.groupby(keys, sort=False)["satisfied"].mean().mul(100)
    where = clean(str(folder), 300)
    axes = [panel.tasks, panel.languages, panel.judges, panel.replicates]
    known = [table[name].isin(axis).all() for name, axis in zip(keys, axes, strict=True)]
    if len(share) != panel.n_scores or not all(known):
        first = f"{next(iter(models))}/{panel.languages[0]}/{panel.replicates[0]}/gray_box"
        raise PanelError(
            f"{where} has {len(share)} runs of the released {panel.n_scores}. It should hold {first}/TASK.json and so "
            "on: data/internal_benchmark/judgments of the authors' repository."
        )
    off = np.abs(array_of(share.reset_index(), keys, axes, "satisfied") - panel.replicate_scores) > 1e-6
    if off.any():
        raise PanelError(f"{where}: {int(off.sum())} runs do not give the released score. It is another release.")
    return table


def _run(path: Path) -> list[tuple[str, int, int]]:
    try:
        run = read_json(path)
        task = str(run.get("name", path.stem))
        return [(task, int(s["requirement_index"]), int(bool(s.get("satisfied", False)))) for s in run["judge_stats"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise PanelError(
            f"{clean(str(path), 300)} is not a run of the authors: it needs `judge_stats` with `requirement_index` and "
            f"`satisfied` ({clean(error, 80)})."
        ) from None


def slice_panel(judgments: pd.DataFrame, panel: Panel, types: tuple[str, ...]) -> Panel:
    """Mean verdict x 100 over the requirements of some types, by task, language and judge, of tasks that have any."""
    rows = judgments[judgments["type"].isin(types)]
    means = rows.groupby(["task", "language", "backbone"])["satisfied"].mean().mul(100).reset_index()
    judged = set(rows["task"])
    axes = [[t for t in panel.tasks if t in judged], panel.languages, panel.judges]
    array = array_of(means, ["task", "language", "backbone"], axes, "satisfied")
    return Panel.from_array(array, *axes, declared_range=(0.0, 100.0))


def ablate_types(judgments: pd.DataFrame, panel: Panel, seed: int | None = None) -> dict[str, dict[str, float]]:
    """Held-out tau, raw and calibrated, of each group on its own; with the published draws unless a seed is given."""
    out = {}
    for name, types in GROUPS.items():
        part = slice_panel(judgments, panel, types)
        if np.isnan(part.scores).any():
            raise PanelError(
                f"The verdicts on {name} requirements leave cells of the panel empty: not every judge has one."
            )
        draws = plain_draws(len(part.tasks), RESAMPLES, SEED if seed is None else seed)
        table = compare(part, ["raw", "cbc"], RESAMPLES, SEED, draws=draws).table.set_index("method")["tau"]
        out[name] = {"raw": float(table["raw"]), "cbc": float(table["cbc"])}
    return out


def requirement_dawid_skene(judgments: pd.DataFrame, panel: Panel) -> float:
    """Held-out tau of Dawid-Skene with single requirements as items, on the draws of the main comparison."""
    names = judgments["framework"] + "/" + judgments["requirement_id"].astype(str)
    rows = judgments.assign(item=names, score=judgments["satisfied"] * 100.0)
    axes = [panel.tasks, panel.languages, panel.judges, sorted(names.unique())]
    array = array_of(rows, ["task", "language", "backbone", "item"], axes, "score")
    whole = Panel.from_array(array, *axes, declared_range=(0.0, 100.0))
    n, k, m = panel.shape
    drawn, _ = held_out_draws(n, k, m)
    return float(compare(whole, ["dawid-skene"], draws=drawn).table["tau"].iloc[0])
