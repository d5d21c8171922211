"""What few labels buy on real annotators (RTP-LX, PARIKSHA): drawn by the design of `label make`, judged on the rest.

    python benchmarks/labels.py --draws 200
    python benchmarks/labels.py --only "Violence 50 + --more"

Columns: removed (share of the squared language error of the panel mean that goes on tasks without labels), stated (the
median of what is stated), covered (stated intervals of it that hold the true one), calibrate, its and held (the same of
a calibrator with the map that it chose), shift, error and mean (intervals of languages' shifts, shrunken errors and
means that hold), best (languages whose best judge is found), ratio (squared error of language means against plain means
of as many labels, of all natives, drawn at random). "three natives": every item by all three; "dealt out": three items
in ten by all, the others by one.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import polyjudge as pj
from polyjudge.calibrate.anchored import AnchoredCalibrator
from polyjudge.estimate.few_labels import (
    fall_of_error,
    powered_means,
    shrink,
    steady_variance,
    stratified_means,
    t_interval,
)
from polyjudge.estimate.severity import guess_of, take_off_severity
from polyjudge.panel.arrays import mean_there
from polyjudge.panel.gold import Gold, Ratings, by_answer
from polyjudge.panel.panel import Panel
from polyjudge.questions.anchor.humans import language_error
from polyjudge.questions.anchor.raters import annotators
from polyjudge.questions.label.draw import draw_items

DATA = Path(os.environ.get("POLYJUDGE_SHARED") or Path(__file__).parents[2] / "shared") / "data"
PARIKSHA = {"task": "task_quality", "ling": "linguistic"}
DESIGNS = {"three natives": (1, 1.0), "+ --more": (2, 1.0), "dealt out": (1, 0.3)}
"""Rounds of drawing, and share of items that all annotators label."""


def rtplx(category: str) -> tuple[Panel, np.ndarray]:
    """The panel and the labels (n, k, 3) of the three natives."""
    scores = pd.read_csv(DATA / "rtplx/judge_scores.csv.gz").query("category == @category")
    panel = pj.read_panel(scores.drop(columns="category"), range=(0, 100))
    labels = pd.read_csv(DATA / "rtplx/human_labels.csv.gz").query("category == @category")
    out = np.full((*panel.shape[:2], 3), np.nan)
    places = [
        pd.Index(panel.tasks).get_indexer(labels["task"]),
        pd.Index(panel.languages).get_indexer(labels["language"]),
    ]
    out[places[0], places[1], labels["annotator"].str.rsplit("-", n=1).str[1].astype(int) - 1] = labels["label"]
    out[np.isnan(panel.scores).any(axis=2)] = np.nan
    return panel, out


def pariksha(criterion: str = "task") -> tuple[Panel, np.ndarray, list[str]]:
    """The panel of labelled answers and the labels (n, k, annotators of a language), for `task` or `ling`."""
    key = ["task", "system", "language"]
    labels = pd.read_csv(DATA / "pariksha/human_labels.csv.gz").rename(columns={PARIKSHA[criterion]: "score"})
    labels = labels[[*key, "annotator", "score"]].dropna()
    scores = pd.read_csv(DATA / "pariksha/judge_scores.csv.gz").query("criterion == @criterion")
    scores = scores.drop(columns=["type", "criterion"]).merge(labels[key].drop_duplicates(), on=key)
    panel = pj.read_panel(scores, range=(0, 2))
    units, table = by_answer(panel, labels)
    who = table.groupby("language")["annotator"].transform(lambda a: pd.factorize(a)[0])
    out = np.full((*units.shape[:2], int(who.max()) + 1), np.nan)
    rows, columns = (
        pd.Index(units.tasks).get_indexer(table["task"]),
        pd.Index(units.languages).get_indexer(table["language"]),
    )
    known = rows >= 0
    out[rows[known], columns[known], who[known]] = table["score"][known]
    out[np.isnan(units.scores).any(axis=2)] = np.nan
    return units, out, panel.answers()[1]


def deal(chosen: np.ndarray, every: np.ndarray, rng: np.random.Generator, overlap: float) -> np.ndarray:
    """Labels of the drawn items by annotator: a share by all of them, the rest by one each."""
    out = np.where(chosen[..., None], every, np.nan)
    n, k, a = every.shape
    alone = (rng.random((n, k)) >= overlap)[..., None]
    mine = rng.integers(a, size=(n, k))[..., None] == np.arange(a)
    dealt = np.where(alone & ~mine, np.nan, out)
    lost = chosen & np.isnan(dealt).all(axis=2)  # the one who should have has no label there
    return np.where(lost[..., None], out, dealt)


def gold_of(panel: Panel, dealt: np.ndarray, stratum: np.ndarray) -> Gold:
    with np.errstate(invalid="ignore"):
        count = (~np.isnan(dealt)).sum(axis=2)
        mean = np.where(count > 0, np.nansum(dealt, axis=2) / np.maximum(count, 1), np.nan)
    t, i, a = np.nonzero(~np.isnan(dealt))
    names = tuple(f"{x}-{y}" for x in panel.languages for y in range(dealt.shape[2]))
    ratings = Ratings(
        task=t, language=i, annotator=i * dealt.shape[2] + a, value=dealt[t, i, a],
        again=np.zeros(len(t), bool), names=names,
    )  # fmt: skip
    return Gold("score", mean, panel.languages, ratings=ratings, stratum=stratum)


def draws(panel: Panel, labels: np.ndarray, systems: list[str], n: int, count: int, rounds: int) -> Iterator[Any]:
    """Drawn items of the design, of two rounds when asked; labels of every annotator."""
    mean = mean_there(labels, 2)
    for seed in range(count):
        taken, cuts, so_far = None, None, None
        for part in [n] if rounds == 1 else [n // 2, n - n // 2]:
            drawn = draw_items(panel, list(panel.tasks), systems, part, seed, so_far, cuts, taken)
            cuts, taken = drawn.cuts, drawn.chosen
            so_far = Gold("score", np.where(drawn.chosen, mean, np.nan), panel.languages)
        yield seed, drawn


def correlations(panel: Panel, truth: np.ndarray) -> np.ndarray:
    out = np.full(panel.shape[1:], np.nan)
    for i, j in np.ndindex(out.shape):
        known = ~np.isnan(truth[:, i]) & ~np.isnan(panel.scores[:, i, j])
        out[i, j] = np.corrcoef(panel.scores[known, i, j], truth[known, i])[0, 1]
    return out


def consistent(panel: Panel) -> np.ndarray:
    """Label-free: how a judge's scores in a language follow its own mean over the other languages."""
    k, m = panel.shape[1:]
    out = np.full((k, m), np.nan)
    for i, j in np.ndindex(k, m):
        others = np.nanmean(np.delete(panel.scores[:, :, j], i, axis=1), axis=1)
        known = ~np.isnan(panel.scores[:, i, j]) & ~np.isnan(others)
        out[i, j] = np.corrcoef(panel.scores[known, i, j], others[known])[0, 1]
    return out


def measure(
    panel: Panel, labels: np.ndarray, systems: list[str], n: int, count: int, quick: bool, rounds: int, overlap: float
) -> dict[str, float]:
    """Means over draws of everything that the table shows; `quick` leaves the calibrator out."""
    truth = mean_there(labels, 2)
    f = panel.scores.mean(axis=2)
    whole, off = np.nanmean(truth, axis=0), np.nanmean(f - truth, axis=0)
    tasks = (~np.isnan(truth)).sum(axis=0).astype(float)
    best = correlations(panel, truth).argmax(axis=1)
    rows = []
    for seed, drawn in draws(panel, labels, systems, n, count, rounds):
        rng = np.random.default_rng(seed)
        gold = gold_of(panel, deal(drawn.chosen, labels, rng, overlap), drawn.stratum)
        found = stratified_means((f - gold.values)[..., None], drawn.stratum, panel.weights)
        fit = shrink(found.mean[:, 0], steady_variance(found) + take_off_severity(panel, gold)[1])
        fall = fall_of_error(found, fit.estimate, tasks, seed).removed
        rest = np.nanmean(np.where(drawn.chosen, np.nan, f - truth), axis=0)
        left = rest - fit.estimate
        removed = 1 - np.var(left) / np.var(rest)
        calibrated, says = np.nan, (np.nan,) * 3
        if not quick:
            by = AnchoredCalibrator().fit(panel, gold)
            after = np.where(drawn.chosen, np.nan, by.transform(panel).scores.mean(axis=2) - truth)
            calibrated = 1 - np.var(np.nanmean(after, axis=0)) / np.var(rest)
            says = (0.0, 0.0, 0.0) if by.fall_ is None else by.fall_.removed
        low, high = t_interval(found.mean[:, 0], np.sqrt(found.variance[:, 0]), found.df[:, 0])
        half = 1.96 * np.sqrt(fit.se**2 + found.shared[0])
        means = powered_means(gold.values, panel.scores, drawn.stratum, panel.weights)
        ends = t_interval(means.mean[:, 0], np.sqrt(means.variance[:, 0]), means.df[:, 0])
        plain = np.stack([_plain(truth[:, i], n, rng) for i in range(len(whole))])
        chosen = _chosen(panel, gold, drawn.stratum)
        rows.append(
            {
                "removed": removed, "stated": fall[0],
                "covered": _within(removed, fall),
                "calibrate": calibrated, "its": says[0], "held": _within(calibrated, says),
                "shift": np.mean((low <= off) & (off <= high)),
                "error": np.mean(np.abs(fit.estimate - off) <= half),
                "mean": np.mean((ends[0] <= whole) & (whole <= ends[1])),
                "best": np.mean(chosen == best),
                "own": np.mean((means.mean[:, 0] - whole) ** 2), "random": np.mean((plain - whole) ** 2),
            }
        )  # fmt: skip
    out = pd.DataFrame(rows).astype(float).mean()
    return {**out.drop(["own", "random"]).to_dict(), "ratio": out["own"] / out["random"]}


def _within(removed: float, stated: tuple[float, float, float]) -> bool:
    return stated[1] - 1e-9 <= max(removed, -1.0) <= stated[2] + 1e-9


def _plain(values: np.ndarray, n: int, rng: np.random.Generator) -> float:
    known = values[~np.isnan(values)]
    return float(rng.choice(known, min(n, len(known)), replace=False).mean())


def _chosen(panel: Panel, gold: Gold, stratum: np.ndarray) -> np.ndarray:
    from polyjudge.questions.anchor.humans import _judges

    table = _judges(panel, gold, stratum, None)
    table = table[(table["language"] != "(all)")]
    return table["correlation"].to_numpy().reshape(panel.shape[1:]).argmax(axis=1)


def severe(panel: Panel, labels: np.ndarray, n: int, count: int, by: float) -> tuple[float, float]:
    """Share of draws in which an annotator made harsher by so much is called odd, and of others called so."""
    hit = wrong = 0.0
    for seed, drawn in draws(panel, labels, [], n, count, 1):
        rng = np.random.default_rng(seed)
        planted = labels.copy()
        i = int(rng.integers(panel.shape[1]))
        planted[:, i, 0] -= by
        gold = gold_of(panel, deal(drawn.chosen, planted, rng, 0.5), drawn.stratum)
        found = annotators(panel, gold, guess_of(panel, gold), resamples=20)
        assert found is not None
        named = set(found.table.loc[found.table["odd"] == "harsh", "annotator"])
        hit += f"{panel.languages[i]}-0" in named
        wrong += len(named - {f"{panel.languages[i]}-0"}) / len(found.table)
    return hit / count, wrong / count


def by_annotators(panel: Panel, labels: np.ndarray, systems: list[str], n: int, count: int) -> tuple[float, float]:
    """Median share that annotators may explain, and draws in which the first screen says that it may be most."""
    said, shares = 0, []
    for seed, drawn in draws(panel, labels, systems, n, count, 1):
        gold = gold_of(panel, deal(drawn.chosen, labels, np.random.default_rng(seed), 1.0), drawn.stratum)
        raters = annotators(panel, gold, guess_of(panel, gold), resamples=20)
        found = language_error(panel, gold, raters)
        said, shares = said + found.by_annotators, [*shares, found.explained[0]]
    return float(np.nanmedian(shares)), said / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--labels", type=int, nargs="+", default=[10, 20, 50, 100])
    parser.add_argument("--only", default="", help="rows whose title holds all of these words")
    parser.add_argument("--quick", action="store_true", help="without the columns of the calibrator")
    options = parser.parse_args()

    def wanted(title: str) -> bool:
        return all(word in title.split() for word in options.only.split())

    sets = {c: (*rtplx(c), []) for c in ("Violence", "IdentityAttack")} | {
        f"PARIKSHA-{c}": pariksha(c) for c in PARIKSHA
    }
    for name, (panel, labels, systems) in sets.items():
        truth = correlations(panel, mean_there(labels, 2)).argmax(axis=1)
        if len(panel.judges) > 1 and wanted(f"{name} free"):
            free = float((consistent(panel).argmax(axis=1) == truth).mean())
            print(f"{name} best judge by chance 0.50, label-free (consistency) {free:.2f}", flush=True)
        for n, (design, how) in product(options.labels, DESIGNS.items()):
            if wanted(title := f"{name} {n} {design}"):
                row = measure(panel, labels, systems, n, options.draws, options.quick, *how)
                print(f"{title:34s}", "  ".join(f"{k} {v:.3f}" for k, v in row.items()), flush=True)
        if wanted(f"{name} harsh"):
            hit, wrong = severe(panel, labels, 50, options.draws, np.ptp(panel.range) / 4)
            print(
                f"{name} an annotator 25 points harsher: named in {hit:.1%}; of the others {wrong:.2%} are", flush=True
            )
        for n in options.labels:
            if name.startswith("PARIKSHA") and wanted(f"{name} {n} annotators"):
                share, said = by_annotators(panel, labels, systems, n, options.draws)
                print(f"{name} {n} annotators may explain {share:.0%} (median); said in {said:.1%}", flush=True)


if __name__ == "__main__":
    main()
