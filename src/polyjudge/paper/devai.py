"""The paper's numbers on the DevAI panel (sections 5.1 to 5.4 and 6, Tables 1 to 3 and 6 to 8, Figures 1, 2 and 4) from
the authors' released runs: `values` returns them by the keys of claims.csv."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from polyjudge import cbc
from polyjudge.base.errors import PanelError
from polyjudge.base.text import name, names
from polyjudge.calibrate import baselines
from polyjudge.panel import Panel
from polyjudge.paper import protocols
from polyjudge.paper.protocols import Array, Counts, draws, summary

LANGUAGES = ("English", "Arabic", "Turkish", "Chinese", "Hindi", "Japanese", "Spanish", "Swahili")
JUDGES = ("GPT-4o", "GPT-5.4", "Sonnet", "Gemini", "DeepSeek", "Qwen")
FRAMEWORKS = ("MetaGPT", "GPT-Pilot", "OpenHands")
ADDED = ("Japanese", "Spanish", "Swahili")
"""Languages that the paper adds to an earlier collection."""
READING_ORDER = ("English", "Arabic", "Chinese", "Hindi", "Japanese", "Spanish", "Turkish", "Swahili")
TABLE_2 = (
    "raw", "per-language norm", "combat-eb", "z-score", "quantile norm", "ensemble", "judge-only norm",
    "random control", "dawid-skene", "cbc", "cbc-weighted", "oracle",
)  # fmt: skip
TINY = 1e-7
"""Scores run from 0 to 100."""
TYPES = {"operational": ("Data Loading", "Training"), "semantic": ("Model Construction", "Evaluation Metrics")}
CATEGORIES = {
    "Dataset or Environment": "Data Loading",
    "Save Trained Model": "Training",
    "Machine Learning Method": "Model Construction",
    "Performance Metrics": "Evaluation Metrics",
    "Performence Metrics": "Evaluation Metrics",  # so in the benchmark
}
OTHERS = {  # task:requirements
    "Data Loading": "55:1,3,7",
    "Training": "4:2,4 8:3 15:3 28:4 36:4 53:2",
    "Model Construction": "9:4 17:7",
    "Evaluation Metrics": "28:6 29:4 35:4 38:4,7 40:3 41:4 44:3 45:3 46:4 47:4 48:3,4 50:5,7",
}
"""Requirements of category "Other" or of none, typed as in the released code."""
FOLDERS = ("gpt-4o", "gpt-5.4", "claude-sonnet-4.6", "gemini-3-flash-preview", "deepseek-v3.2", "qwen3.5-9b")
"""Of the authors' judgments, in the order of `JUDGES`."""


REPOSITORY = "KurbanIntelligenceLab/multilingual-judge-calibration"
COMMIT = "4436df2ed3e93b402bd1d53db7cbbc3e45c5de73"
RELEASED = "paper/analysis/run_level_scores.csv"
RELEASED_BYTES = 645_737
RELEASED_SHA256 = "a21deb5722decf93b361e537cff5ee65ccb339be0347d8204ac6e99d0961f901"


def how_to_fetch() -> str:
    """Where the authors' runs are, and the line that fetches them."""
    address = f"https://raw.githubusercontent.com/{REPOSITORY}/{COMMIT}/{RELEASED}"
    return (
        f"Give the authors' run_level_scores.csv with --data ({RELEASED_BYTES:,} bytes, sha256 {RELEASED_SHA256}). "
        f"Fetch it with: curl -L -o run_level_scores.csv {address}"
    )


def is_another_file(path: str | Path) -> bool:
    """Whether a file is there and is not the released one, byte for byte."""
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() != RELEASED_SHA256
    except OSError:
        return False


NUMBERS = frozenset({"score", "margin", "raw_margin", "cbc_margin", "satisfied", "requirement_id"})
"""Columns of the released files that hold numbers."""


class Runs(NamedTuple):
    """scores : (tasks, languages, judges, frameworks)"""

    scores: Array
    tasks: tuple[str, ...]


def read_runs(path: str | Path) -> Runs:
    """The released run_level_scores.csv."""
    columns = ("task", "language", "backbone", "framework", "score")
    table = read_csv(path, columns, "run_level_scores.csv")
    tasks = tuple(sorted(map(str, table["task"].unique())))
    scores = array_of(table, columns[:4], (tasks, LANGUAGES, JUDGES, FRAMEWORKS), "score", path)
    if not np.isfinite(scores).all() or scores.min() < 0 or scores.max() > 100:
        raise PanelError(
            f"{name(path, 200)} has {int(np.isfinite(scores).sum()):,} scores of {scores.size:,}, or some outside 0 to "
            "100: it is not the released file. For your own panel: polyjudge paper report SCORES."
        )
    return Runs(scores, tasks)


def read_csv(path: str | Path, columns: tuple[str, ...], released: str) -> pd.DataFrame:
    """A released CSV file that has these columns."""
    try:
        table = pd.read_csv(path, dtype=str)
    except FileNotFoundError:
        raise PanelError(f"There is no file {name(path, 200)}.") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise PanelError(f"{name(path, 200)} is not a CSV file: {name(error, 120)}") from None
    lacking = [c for c in columns if c not in table]
    if lacking:
        raise PanelError(
            f"{name(path, 200)} has no column {names(lacking)}. The authors' {released} has them: give it unchanged. "
            "For your own panel: polyjudge paper report SCORES."
        )
    for column in NUMBERS.intersection(table.columns):
        table[column] = [to_float(text) for text in table[column]]
    return table


def to_float(text: Any) -> float:
    """A number to its last bit, NaN where there is none: versions of pandas differ in it, and ties hang on it."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return float("nan")


def array_of(table: pd.DataFrame, keys: tuple[str, ...], axes: Any, value: str, path: str | Path) -> Array:
    """A long table as an array with these labels along its axes; strange labels and repeated rows are refused."""
    out = np.full([len(a) for a in axes], np.nan)
    at = [pd.Index(axis).get_indexer(pd.Index(table[key])) for key, axis in zip(keys, axes, strict=True)]
    for key, places in zip(keys, at, strict=True):
        if (places < 0).any():
            strange = table[key][places < 0].iloc[0]
            raise PanelError(f"{name(path, 200)}: {key} {name(strange)} is not in the paper's panel.")
    if table.duplicated(list(keys)).any():
        raise PanelError(f"{name(path, 200)} has rows that appear twice: it is not the released file.")
    out[tuple(at)] = pd.to_numeric(table[value], errors="coerce")
    return out


def values(
    runs: Runs, instances: str | Path | None = None, judgments: str | Path | None = None, seed: int = 0
) -> dict[str, Any]:
    """Every number of claims.csv that these files give. seed 0: the authors' own draws."""
    scores = runs.scores.mean(3)
    n, _, m = scores.shape

    def of(published: int) -> int:
        return published if seed == 0 else seed

    sizes = {"tasks": n, "languages": LANGUAGES, "judges": JUDGES, "replicates": FRAMEWORKS}
    beta = zip(LANGUAGES, cbc.interaction(scores), strict=True)
    out: dict[str, Any] = {
        "panel": sizes | {"runs": runs.scores.size},
        "beta_hat": {language: dict(zip(JUDGES, row, strict=True)) for language, row in beta},
        "rank_reversal": _reversals(scores),
        "bound": _bound(scores),
        "fit": cbc.fit(runs.scores)._asdict(),
        "held_out": _table_2(runs, of(7)),
        "unseen_language": _unseen(scores, np.random.default_rng(of(207))),
        "decisions": _table_3(scores, draws(n, 1000, of(307))),
    }  # fmt: skip
    judged, counts, rng = [2, 3, 4, 5, 6], [10, 20, 30, 40, 55], np.random.default_rng(of(107))
    judges = protocols.ablate_judges(scores, judged, [draws(n, 100, of(7) + s) for s in judged], TINY)
    out["ablation_judges"] = judges[["tau", "sd"]].to_dict("list")
    tasks = protocols.ablate_tasks(scores, counts, [protocols.subset_draws(n, s, 100, rng) for s in counts], TINY)
    out["ablation_tasks"] = tasks.rename(columns={"error": "mean_abs_beta_error"}).to_dict("list")
    by_name = np.argsort(np.array(JUDGES))
    found = protocols.information(runs.scores[:, :, by_name], of(407))
    p = "< 0.002" if found["p"] < 0.002 else f"{found['p']:.3g}"
    out["information"] = {**found, "interval": [found["low"], found["high"]], "p": p}
    calls = requirements_behind(runs.scores) * m * runs.scores.shape[3] * len(ADDED)
    out["cost"] = {"three_language_extension": [calls], "mrewardbench_panel": [2 * 1500 * 7 * 5]}
    out["fit"]["r2_increment"] = out["fit"]["r2_full"] - out["fit"]["r2_simplified"]
    if instances is not None:
        types = read_types(instances)
        out["requirement_types"] = _counts(types)
        if judgments is not None:
            for group, taus in _slices(read_judgments(judgments, runs), types, of(9)).items():
                out["requirement_types"][group] |= taus
    return out


def _reversals(scores: Array) -> dict[str, Any]:
    """Table 1, Section 5.2."""
    r = cbc.reversals(scores, TINY)
    languages = (*LANGUAGES, "none")
    rows = [
        [JUDGES[i], JUDGES[j], delta, p, languages[a], languages[b]]
        for i, j, a, b, delta, p in zip(r.i, r.j, r.language_a, r.language_b, r.delta, r.p_published, strict=True)
    ]
    gaps = dict(zip((languages[r.language_a[0]], languages[r.language_b[0]]), (r.gap_a[0], r.gap_b[0]), strict=True))
    best = cbc.first_max(scores.mean(0), TINY)
    top = {judge: [x for x in READING_ORDER if best[LANGUAGES.index(x)] == b] for b, judge in enumerate(JUDGES)}
    return {
        "reversing_pairs": int((r.delta > 0).sum()), "pairs": len(r.i), "rows": rows,
        "witness_gaps": {"GPT-4o/GPT-5.4": gaps}, "top_judge": top,
    }  # fmt: skip


def _bound(scores: Array) -> dict[str, float]:
    """Proposition 2 with the sd of all scores."""
    n, k, m = scores.shape
    sigma = cbc.score_sigma(scores)
    tasks = cbc.tasks_for(np.abs(cbc.interaction(scores)).max() / 2, sigma, k, m)
    return {"sigma_all_scores": sigma, "radius": cbc.radius(sigma, n, k, m), "tasks_for_half_of_max_beta": tasks}


def _table_2(runs: Runs, seed: int) -> dict[str, Any]:
    """Table 2. The ensemble and Dawid-Skene make values that differ by rounding alone, which the authors' code compares
    bare: they come out as published only without the tie rule."""
    scores = runs.scores.mean(3)
    n, k, m = scores.shape
    drawn, orders = protocols.held_out_draws(n, k, m, 1000, seed)
    panel = Panel.from_array(scores, scale=(0.0, 100.0), replicates=runs.scores[:, None])
    labels, of_unit = baselines.full_scores(panel)
    fresh = np.random.default_rng(seed)
    shuffled = np.stack([row[fresh.permutation(m)] for row in scores.mean(0)])
    methods: dict[str, list[float]] = {}
    taus: dict[str, Array] = {}
    for method in TABLE_2:
        bare = method in ("ensemble", "dawid-skene", "random control")
        both = []
        for counts in (drawn, None):
            s = cbc.split(scores, counts, tiny=TINY)
            if method == "random control":
                kept = np.take_along_axis(s.left, orders[(drawn == 0).any(1)], -1) if counts is not None else shuffled
            elif method == "ensemble":
                kept = _bare_ensemble(s)
            else:
                kept = baselines.METHODS[method](baselines.Block(**vars(s), labels=labels, of_unit=of_unit))
            tiny = 0.0 if bare else 1e-9 * baselines.WIDTH.get(method, 100.0)
            both.append(np.atleast_1d(cbc.mean_tau(kept, tiny)))
        taus[method] = both[0]
        methods[method] = [*summary(both[0]), float(both[1][0])]
    better, of = int((taus["cbc"] > taus["combat-eb"]).sum()), len(taus["cbc"])
    p = 2 * (1 + of - better) / (1 + of)
    order = np.argsort(-scores.mean((0, 1)), kind="stable")
    return {
        "methods": methods,
        "cbc_minus_combat": better,
        "cbc_minus_combat_p": "< 0.002" if p < 0.002 else f"{p:.2g}",
        "calibrated_order": [JUDGES[b] for b in order],
    }


def _bare_ensemble(s: cbc.Split) -> Array:
    """Mean of three percentile ranks, values compared bare."""
    parts = (baselines.judge_only(s), baselines.z_score(s), baselines.quantile(s))
    m = s.left.shape[-1]
    shares = []
    for x in parts:
        below, level = (x[..., None] > x[..., None, :]).sum(-1), (x[..., None] == x[..., None, :]).sum(-1)
        shares.append((below + (level + 1) / 2) / m)
    return np.asarray((shares[0] + shares[1] + shares[2]) / 3.0)


def _unseen(scores: Array, rng: np.random.Generator) -> dict[str, dict[str, float]]:
    """Section 5.3, leave one language out: one generator for all languages, in the order of the panel."""
    out: dict[str, dict[str, float]] = {"raw": {}, "zero_shot": {}}
    for at, language in enumerate(LANGUAGES):
        s = cbc.split(scores, draws(len(scores), 1000, rng), tiny=TINY)
        for part, taus in zip(out.values(), cbc.leave_one_language_out(s, at), strict=True):
            part[language] = float(taus.mean())
    return {key: {"overall": float(np.mean(list(part.values()))), **part} for key, part in out.items()}


def _table_3(scores: Array, drawn: Counts) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for method, found in cbc.decisions(cbc.split(scores, drawn, tiny=TINY)).items():
        regret, low, high = summary(found.regret.mean(1))
        interval = cbc.binomial_interval(int(found.right.sum()), found.right.size)
        accuracy = {"accuracy": float(found.right.mean()), "accuracy_interval": interval}
        out[method] = {**accuracy, "regret": regret, "regret_interval": [low, high]}
    return out


# --- requirements of the benchmark ---


def requirements_behind(runs: Array, most: int = 60) -> int:
    """How many requirements the tasks have together, read off the scores: a run's score is the share that is met, so a
    task has at least the fewest equal parts of 100 of which each of its scores is a whole number."""
    met = runs.reshape(len(runs), -1, 1) / 100 * np.arange(1, most + 1)
    return int(((np.abs(met - np.round(met)) < 1e-6).all(1).argmax(1) + 1).sum())


def read_types(path: str | Path) -> dict[tuple[str, int], str]:
    """Type of every requirement (task, id) of the benchmark's instances.jsonl; "" for neither group."""
    others = {
        (task, int(r)): kind
        for kind, text in OTHERS.items()
        for task, ids in (part.split(":") for part in text.split())
        for r in ids.split(",")
    }
    out = {}
    try:
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            one = json.loads(line) if line.strip() else {"requirements": ()}
            for r in one["requirements"]:
                task, id_ = str(one["task"]), int(r["requirement_id"])
                known = others.get((task.split("_")[0].lstrip("0"), id_), "")
                out[task, id_] = CATEGORIES.get(r.get("category") or "", known)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PanelError(f"{name(path, 200)} is not the benchmark's instances.jsonl: {name(error, 120)}") from None
    return out


def _counts(types: Mapping[tuple[str, int], str]) -> dict[str, dict[str, Any]]:
    out: dict[str, dict[str, Any]] = {}
    for group, kinds in TYPES.items():
        here = [(task, kind) for (task, _), kind in types.items() if kind in kinds]
        out[group] = {"requirements": len(here), "tasks": len({task for task, _ in here})}
        out[group] |= {x.lower().replace(" ", "_"): sum(kind == x for _, kind in here) for x in kinds}
    return out


def read_judgments(path: str | Path, runs: Runs) -> pd.DataFrame:
    """Verdicts on single requirements: the authors' folder (MODEL/LANGUAGE/FRAMEWORK/gray_box/TASK.json), whose shares
    must be the released scores, or a CSV file with task, framework, language, backbone, requirement_id, satisfied."""
    columns = ("task", "language", "backbone", "framework", "requirement_id", "satisfied")
    if not Path(path).is_dir():
        return read_csv(path, columns, "verdicts, one row for each requirement,")
    rows = []
    for model, judge in zip(FOLDERS, JUDGES, strict=True):
        for file in sorted(Path(path, model).glob("*/*/gray_box/*.json")):
            try:
                run = json.loads(file.read_text(encoding="utf-8"))
                for s in run["judge_stats"]:
                    where = (str(run.get("name", file.stem)), file.parts[-4], judge, file.parts[-3])
                    rows.append((*where, int(s["requirement_index"]), int(bool(s.get("satisfied", False)))))
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise PanelError(f"{name(file, 200)} is not a run of the authors: {name(error, 80)}") from None
    table = pd.DataFrame(rows, columns=list(columns))
    share = table.groupby(list(columns[:4]))["satisfied"].mean().mul(100).reset_index()
    found = array_of(share, columns[:4], (runs.tasks, LANGUAGES, JUDGES, FRAMEWORKS), "satisfied", path)
    off = ~(np.abs(found - runs.scores) <= 1e-6)
    if off.any():
        raise PanelError(f"{name(path, 200)}: {int(off.sum()):,} of {off.size:,} runs do not give the released score.")
    return table


def _slices(judgments: pd.DataFrame, types: Mapping[tuple[str, int], str], seed: int) -> dict[str, dict[str, float]]:
    """Appendix B.3: each group of requirements calibrated and evaluated on its own."""
    kinds = [types.get((t, int(r)), "") for t, r in zip(judgments["task"], judgments["requirement_id"], strict=True)]
    out = {}
    for group, wanted in TYPES.items():
        rows = judgments[[kind in wanted for kind in kinds]]
        means = rows.groupby(["task", "language", "backbone"])["satisfied"].mean().mul(100).reset_index()
        tasks = sorted(means["task"].unique())
        scores = array_of(means, ("task", "language", "backbone"), (tasks, LANGUAGES, JUDGES), "satisfied", "judgments")
        if not np.isfinite(scores).all():
            raise PanelError(f"Some judges have no verdict on {group} requirements of a task.")
        out[group] = protocols.slice_tau(scores, draws(len(tasks), 200, seed), TINY)
    return out


# --- people's labels of the same work ---


class People(NamedTuple):
    """Correlation of the panel's mean with people over the pieces of work, its interval over tasks, their number; and
    the mean correlation of two judges about the frameworks within a task."""

    r: float
    low: float
    high: float
    works: int
    judges_r: float
    judges_low: float
    judges_high: float


def people(runs: Runs, path: str | Path, seed: int = 0) -> People:
    """The panel beside the benchmark's human labels (task, framework, requirement_id, satisfied)."""
    from polyjudge.stats.agreement import agreement

    table = read_csv(path, ("task", "framework", "requirement_id", "satisfied"), "human_labels.csv")
    share = table.groupby(["task", "framework"])["satisfied"].mean().mul(100).reset_index()
    truth = array_of(share, ("task", "framework"), (runs.tasks, FRAMEWORKS), "satisfied", path)
    if not np.isfinite(truth).all():
        raise PanelError(f"{name(path, 200)} has no label for {int(np.isnan(truth).sum())} of {truth.size} works.")
    mean, n = runs.scores.mean((1, 2)), len(truth)
    drawn = np.vstack([np.ones((1, n)), cbc.draw(n, 10_000, seed)])
    moments = [drawn @ x.sum(1) / drawn.sum(1) / truth.shape[1] for x in (mean, truth, mean**2, truth**2, mean * truth)]
    a, b, aa, bb, ab = moments
    r = (ab - a * b) / np.sqrt((aa - a * a) * (bb - b * b))
    low, high = np.percentile(r[1:], [2.5, 97.5])
    found = agreement(runs.scores.transpose(0, 3, 1, 2), np.arange(n), np.ones(n), seed=seed)
    return People(float(r[0]), float(low), float(high), truth.size, found.r, found.r_low, found.r_high)
