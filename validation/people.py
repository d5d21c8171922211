"""Claims about people's labels (METHODS 13, 19, 22): planted truth, and the sets of ../shared/data.

`CLAIMS` are rows of scenarios.csv: a seed -> what held and what did not. The other functions measure on real labels:
`python -m validation.people fall 60` prints how often the stated fall covered what was removed, and how much that was;
`python -m validation.people weights 60` the gain of judges' weights.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.answers.humans.compare import humans
from polyjudge.answers.humans.weights import weights_by_labels
from polyjudge.calibrate.by_labels import LabelCalibrator
from polyjudge.calibrate.labelled import Labelled, panel_mean
from polyjudge.panel import Panel

DATA = Path(os.environ.get("POLYJUDGE_SHARED") or Path(__file__).resolve().parents[2] / "shared") / "data"
Held = list[tuple[str, bool]]
SIZES = (10, 20, 50, 100)


# --- planted truth ---


def language_means(seed: int) -> Held:
    """L1: the interval of each language's mean, two annotators of some severity, the same or other tasks."""
    rng = np.random.default_rng([seed, 1])
    held: Held = []
    for k in (4, 8):
        for sd in (0.0, 3.0, 5.0):
            for same in (True, False):
                held += _language_means(rng, k, sd, same)
    return held


def _language_means(rng: np.random.Generator, k: int, sd: float, same: bool) -> Held:
    tasks, labels = 200, 30
    level = 50 + rng.normal(0, 4, k)
    truth = level + rng.normal(0, 12, (tasks, 1)) + rng.normal(0, 3, (tasks, k))
    judge = truth + rng.normal(0, 6, k) + rng.normal(0, 5, (tasks, k))
    panel = Panel.from_array(judge[..., None], languages=[f"l{i}" for i in range(k)], scale=(0, 100))
    rows = []
    for i in range(k):
        drawn = rng.permutation(tasks)[: labels // 2 if same else labels]
        for a in range(2):
            severity = rng.normal(0, sd)
            for t in drawn if same else drawn[a::2]:
                label = truth[t, i] - severity + rng.normal(0, 12)
                rows.append((panel.tasks[t], f"l{i}", f"l{i}-{a}", label))
    frame = pd.DataFrame(rows, columns=["task", "language", "annotator", "label"])
    found = humans(panel, frame).frame.set_index("language")
    name = f"L1 {k} languages, severity {sd:g}, {'same' if same else 'other'} tasks"
    return [
        (name, bool(found.loc[f"l{i}", "people_low"] <= level[i] <= found.loc[f"l{i}", "people_high"]))
        for i in range(k)
    ]


def rates(seed: int) -> Held:
    """L2: the rate or mean of each of two systems as people would give it, and their difference."""
    rng = np.random.default_rng([seed, 2])
    held: Held = []
    for labels in (20, 50, 100):
        for kind in ("pass 70%", "pass 95%", "normal", "lognormal"):
            held += _rates(rng, labels, kind)
    return held


def _rates(rng: np.random.Generator, labels: int, kind: str) -> Held:
    tasks, systems = 400, 2
    task = rng.normal(size=(tasks, 1))
    if kind.startswith("pass"):
        from scipy.special import ndtri

        p = float(kind[5:-1]) / 100
        true = np.array([p, p])
        people = (0.5**0.5 * task + 0.5**0.5 * rng.normal(size=(tasks, systems)) < ndtri(p)).astype(float)
        judge = np.where(people == 1, rng.random(people.shape) < 0.92, rng.random(people.shape) > 0.75).astype(float)
        scale = (0.0, 1.0)
    else:
        z = 0.5**0.5 * task + 0.5**0.5 * rng.normal(size=(tasks, systems))
        people, true = (50 + 10 * z, np.full(2, 50.0)) if kind == "normal" else (np.exp(z), np.full(2, np.exp(0.5)))
        judge = people + rng.normal(0, 0.7 * people.std(), people.shape) + 0.3 * people.std()
        scale = (float(min(judge.min(), people.min())), float(max(judge.max(), people.max())))
    panel = Panel.from_array(judge[:, :, None, None], systems=["x", "y"], scale=scale)
    drawn = rng.permutation(tasks)[:labels]
    rows = [(panel.tasks[t], panel.systems[s], people[t, s]) for t in drawn for s in range(systems)]
    made = humans(panel, pd.DataFrame(rows, columns=["task", "system", "label"]))
    one = made.frame.set_index("system")
    held = [
        (f"L2 {labels} labels, {kind}: mean", bool(one.loc[x, "people_low"] <= true[i] <= one.loc[x, "people_high"]))
        for i, x in enumerate(panel.systems)
    ]
    pair = made.pairs.iloc[0]
    return [*held, (f"L2 {labels} labels, {kind}: difference", bool(pair["low"] <= true[0] - true[1] <= pair["high"]))]


CLAIMS: dict[str, Callable[[int], Held]] = {"L1": language_means, "L2": rates}


# --- real labels ---


def _long(scores: pd.DataFrame, scale: tuple[float, float], **more: Any) -> Panel:
    return Panel.from_frame(scores, scale=scale, **more)


def _y(panel: Panel, labels: pd.DataFrame) -> Any:
    """Mean label of every answer, as an array beside the scores."""
    y = np.zeros(panel.scores.shape[:3])
    n = np.zeros_like(y)
    at = [pd.Index(panel.tasks).get_indexer(pd.Index(labels["task"].astype(str)))]
    for axis, names in (("system", panel.systems), ("language", panel.languages)):
        at.append(
            pd.Index(names).get_indexer(pd.Index(labels[axis].astype(str)))
            if axis in labels
            else np.zeros(len(labels), int)
        )
    ok = np.logical_and.reduce([a >= 0 for a in at]) & labels["label"].notna().to_numpy()
    where = tuple(a[ok] for a in at)
    np.add.at(y, where, labels["label"].to_numpy(dtype=float)[ok])
    np.add.at(n, where, 1)
    return np.where(n > 0, y / np.maximum(n, 1), np.nan)


@cache
def sets() -> dict[str, tuple[Panel, Any]]:
    """Name -> panel, and the mean label of every answer that people labelled."""
    out: dict[str, tuple[Panel, Any]] = {}
    scores, people = (pd.read_csv(DATA / "rtplx" / f"{x}.csv.gz") for x in ("judge_scores", "human_labels"))
    for part in ("Violence", "IdentityAttack"):
        panel = _long(scores[scores["category"] == part], (0, 100))
        out[f"RTP-LX {part}"] = panel, _y(panel, people[people["category"] == part])
    scores, people = (pd.read_csv(DATA / "pariksha" / f"{x}.csv.gz") for x in ("judge_scores", "human_labels"))
    for part, column in (("ling", "linguistic"), ("task", "task_quality")):
        names = [c for c in scores["criterion"].unique() if c.startswith(part)]
        panel = _long(scores[scores["criterion"].isin(names)], (0, 2))
        out[f"PARIKSHA {column}"] = panel, _y(panel, people.rename(columns={column: "label"}))
    scores, people = (
        pd.read_csv(DATA / "wmt23" / "judge_scores.csv.gz"),
        pd.read_csv(DATA / "wmt23" / "human_mqm.csv.gz"),
    )
    panel = _long(scores, (float(scores["score"].min()), float(scores["score"].max())))
    out["WMT23"] = panel, _y(panel, people.rename(columns={"human": "label"}))
    return out


def _labelled(panel: Panel, y: Any) -> Labelled:
    """Labels y of a panel, annotators unknown."""
    row, system, language = np.nonzero(np.isfinite(y))
    label = y[row, system, language]
    low, high = float(label.min()), float(label.max())
    same = low >= panel.scale[0] and high <= panel.scale[1] and panel.scale[0] in (0.0, 1.0)
    return Labelled(
        y=y, row=row, system=system, language=language, who=np.zeros(len(row), dtype=np.int64), label=label,
        annotators=("",), two_valued=False, same=same, scale=panel.scale if same else (low, high),
    )  # fmt: skip


def fall(name: str, n: int, seed: int) -> tuple[float, tuple[float, float, float] | None]:
    """What n labels a language removed on the other answers, and what was said."""
    panel, every = sets()[name]
    rng = np.random.default_rng([seed, n])
    f = panel_mean(panel)
    there = np.isfinite(every) & np.isfinite(f)
    y = np.full(every.shape, np.nan)
    for i in range(every.shape[2]):
        flat = np.flatnonzero(there[:, :, i].ravel())
        at = rng.permutation(flat)[:n]
        r, s = np.divmod(at, every.shape[1])
        y[r, s, i] = every[r, s, i]
    keep = Panel.from_array(
        np.where(there[..., None], panel.scores, np.nan), tasks=panel.tasks, systems=panel.systems,
        languages=panel.languages, judges=panel.judges, scale=panel.scale,
    )  # fmt: skip
    made = LabelCalibrator(seed=seed).fit(keep, _labelled(keep, y))
    f = panel_mean(keep)
    laid = made.line_[0] + made.line_[1] * f
    rest = there & ~np.isfinite(y)
    after, before = made.transform(keep) - every, laid - every
    k = every.shape[2]
    e, b = (np.array([x[..., i][rest[..., i]].mean() for i in range(k)]) for x in (after, before))
    return 1 - float(e.var() / b.var()), made.removes_


def falls(draws: int) -> Iterator[dict[str, Any]]:
    """For each set and number of labels: how often the stated interval covered, what was removed, what was said."""
    for name in sets():
        for n in SIZES:
            got = [fall(name, n, seed) for seed in range(draws)]
            said = [(x, s) for x, s in got if s is not None]
            yield {
                "set": name,
                "labels": n,
                "draws": draws,
                "covered": float(np.mean([s[1] <= x <= s[2] for x, s in said])) if said else float("nan"),
                "removed": float(np.median([x for x, _ in got])),
                "said": float(np.mean([s is not None and s[1] > 0 for _, s in got])),
                "worse": float(np.mean([x < 0 for x, _ in got])),
            }


BOARDS = ("one language pair", "all three together")
PAIRS = ("systems", "answers to a task")


def weight_accuracy(labels: int, seed: int, whole: bool = False) -> Iterator[tuple[str, str, int, float, float]]:
    """Of one board (six judges of WMT23 at random, in one language pair or in all), the share of pairs that the panel
    orders as people do, on answers without labels: board, pairs of what, labels, by equal weights, by weights from
    labels. Scores are centred inside task and language, as systems are compared."""
    panel, every = sets()["WMT23"]
    rng = np.random.default_rng([seed, labels, whole] if whole else [seed, labels])
    languages = list(range(3)) if whole else [int(rng.integers(len(panel.languages)))]
    judges = sorted(rng.permutation(len(panel.judges))[:6])
    y = every[:, :, languages]
    rows = np.isfinite(y).any((1, 2))
    y, scores = y[rows], panel.scores[rows][:, :, languages][..., judges]
    there = np.isfinite(y) & np.isfinite(scores).all(3)
    names = [panel.judges[j] for j in judges]
    scores = np.where(there[..., None], scores, np.nan)
    board = Panel.from_array(scores, systems=panel.systems, judges=names, scale=panel.scale)
    chosen = rng.permutation(np.flatnonzero(there.ravel()))[:labels]
    some, left = np.full(y.size, np.nan), there.copy()
    some[chosen], left.ravel()[chosen] = y.ravel()[chosen], False
    found = weights_by_labels(board, _labelled(board, some.reshape(y.shape)), seed=seed)

    def centred(x: Any) -> Any:
        n = left.sum(1, keepdims=True)
        return np.where(left, x - np.where(left, x, 0).sum(1, keepdims=True) / np.maximum(n, 1), np.nan)

    def right(people: Any, mine: Any) -> float:
        """Of the pairs along the second axis that people do not tie."""
        i, j = np.triu_indices(people.shape[1], 1)
        a, b = people[:, i] - people[:, j], mine[:, i] - mine[:, j]
        return float((a * b > 0)[np.abs(np.nan_to_num(a)) > 1e-9].mean())

    def mean(x: Any) -> Any:
        seen = left.any((0, 2))
        return (np.where(left, x, 0).sum((0, 2)) / np.maximum(left.sum((0, 2)), 1))[None, seen]

    people, kind = centred(y), BOARDS[whole]
    panels = [centred(scores @ w) for w in (np.full(6, 1 / 6), found["weight"].to_numpy(dtype=float))]
    equal, weighted = (right(mean(people), mean(x)) for x in panels)
    yield kind, PAIRS[0], labels, equal, weighted
    equal, weighted = (right(people, x) for x in panels)
    yield kind, PAIRS[1], labels, equal, weighted


def main() -> None:
    """`fall`, `weights`, or rows of scenarios (L1, L2), with a number of draws."""
    what, draws = sys.argv[1], int(sys.argv[2])
    if what == "fall":
        for row in falls(draws):
            print({k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
    elif what == "weights":
        from validation.evidence import weights

        by = weights(draws).groupby(["board", "pairs", "labels"])
        print(by[["equal", "gain"]].mean().assign(se=by["gain"].sem()).round(4).to_string())
    else:
        held = pd.DataFrame([x for seed in range(draws) for x in CLAIMS[what](seed)], columns=["claim", "held"])
        print(held.groupby("claim", sort=False)["held"].agg(["mean", "count"]).round(3).to_string())


if __name__ == "__main__":
    main()
