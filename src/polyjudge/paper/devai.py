"""The DevAI part of the paper: every analysis run again on the released scores, every number answered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from polyjudge.estimate.bands import Uncertainty, gaussian_radius, uncertainty
from polyjudge.estimate.kernels import double_centre
from polyjudge.panel.numbers import p_words
from polyjudge.panel.panel import Panel
from polyjudge.paper import published
from polyjudge.paper.ablations import JUDGES_IDENTITY, Ablation, ablate_judges, ablate_tasks
from polyjudge.paper.draws import held_out_draws, plain_draws, subset_draws
from polyjudge.paper.exact import Tau, bare_comparison, published_information
from polyjudge.paper.ledger import Answers, measured_scatter, scattered, value, worded
from polyjudge.paper.requirements import GROUPS, Requirements
from polyjudge.paper.score_information import Information, information
from polyjudge.paper.top_judge import TARGET, Decisions, decisions
from polyjudge.paper.unseen import unseen_language
from polyjudge.questions.audit.orders import RankReversals, rank_reversals
from polyjudge.questions.audit.variation import Variance, variance
from polyjudge.questions.compare.held_out import Comparison, compare

FULL_FIT = "1 by identity I3: after subtracting its own interaction every language ranks alike. Not evidence."
SEVERITY = "The order of mean scores: how lenient a judge is, not how good."
NEED_INSTANCES = "Needs the benchmark's requirements: give them with --instances, or let them be fetched."
NEED_JUDGMENTS = (
    "Needs verdicts on single requirements: --judgments with data/internal_benchmark/judgments of the authors' "
    "repository."
)
TYPE_MAP = 'By category, and for "Other" as the released code assigns them; the map stands in docs/paper.md.'
ADDED = ("Japanese", "Spanish", "Swahili")
"""Languages that the paper adds."""
MARKED = (("raw", 0), ("cbc", 0), ("cbc", 2))
MANY = 10_000
"""Resamples of the run that shows what of an interval belongs to its draws."""


@dataclass(frozen=True)
class Types:
    """The benchmark's requirements, and the ablation of their groups: {group: {raw, cbc}}."""

    requirements: Requirements | None = None
    tau: dict[str, dict[str, float]] | None = None
    dawid_skene: float | None = None
    """Held-out tau of Dawid-Skene on single requirements, as the text of the paper describes it."""


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The results of all analyses of the DevAI panel."""

    panel: Panel
    uncertainty: Uncertainty
    reversals: RankReversals
    variance: Variance
    information: Information
    held_out: Comparison
    many: Comparison
    """Raw and CBC with `MANY` resamples of other draws."""
    bare: dict[str, Tau]
    """Methods whose published values hang on bare comparisons of floating-point numbers, or on the shuffles."""
    nats: dict[str, float]
    """The information with the published permutations."""
    unseen: pd.DataFrame
    """raw and zero_shot of each language left out, and of all together ("overall")."""
    decisions: Decisions
    judges: pd.DataFrame
    """judges, tau, sd"""
    tasks: Ablation
    requirements: int
    seed: int | None
    """Of own draws; None with the published ones."""

    def radius(self, sigma: float, tasks: float | None = None) -> float:
        """The paper's simultaneous radius at level 95%."""
        n, k, m = self.panel.shape
        return gaussian_radius(sigma, n if tasks is None else tasks, k, m, 0.95)

    def tasks_for(self, sigma: float, target: float) -> int:
        """Fewest tasks with a radius of at most `target`."""
        return int(np.ceil(self.radius(sigma, 1.0) ** 2 / target**2))

    @property
    def largest(self) -> float:
        """The largest |interaction|."""
        return float(np.abs(double_centre(self.panel.cell_means)).max())


def analyse(panel: Panel, seed: int | None = None) -> Findings:
    """Run everything. Without a seed the published random draws are used, so nothing but rounding differs."""
    book = published.load("devai")
    n, k, m = panel.shape

    def seed_of(part: str) -> int:
        return int(book[part]["seed"]) if seed is None else seed

    resamples, spec = book["held_out"]["replicates"], book["information"]
    drawn, orders = held_out_draws(n, k, m, resamples, seed_of("held_out"))
    sizes, few = book["ablation_judges"]["m"], book["ablation_judges"]["replicates_per_subset"]
    base = 7 if seed is None else seed
    judges = [ablate_judges(panel, [s], few, base + s, draws=plain_draws(n, few, base + s)).table for s in sizes]
    repeats, counts = book["ablation_tasks"]["repeats"], book["ablation_tasks"]["n"]
    stream = np.random.default_rng(seed_of("ablation_tasks"))
    subsets = {s: subset_draws(n, s, repeats, stream) for s in counts}
    return Findings(
        panel=panel,
        uncertainty=uncertainty(panel),
        reversals=rank_reversals(panel),
        variance=variance(panel),
        information=information(panel, seed=seed_of("information"), permutations=spec["permutations"]),
        held_out=compare(panel, list(book["held_out"]["methods"]), resamples, seed_of("held_out"), draws=drawn),
        many=compare(panel, ["raw", "cbc"], MANY, seed_of("held_out") + 1),
        bare=bare_comparison(panel, drawn, orders, seed_of("held_out")),
        nats=published_information(panel, spec["q"], spec["permutations"], seed_of("information")),
        unseen=_unseen(panel, resamples, seed_of("unseen_language")),
        decisions=decisions(
            panel, resamples, seed_of("decisions"), draws=plain_draws(n, resamples, seed_of("decisions"))
        ),
        judges=pd.concat(judges, ignore_index=True),
        tasks=ablate_tasks(panel, counts, repeats, seed_of("ablation_tasks"), draws=subsets),
        requirements=requirements_behind(panel),
        seed=seed,
    )


def requirements_behind(panel: Panel, most: int = 60) -> int:
    """How many requirements the tasks have together, read off the scores.

    A run's score is the share of a task's requirements that are met. So a task has at least as many as the fewest equal
    parts of 100 of which every one of its scores is a whole number.
    """
    assert panel.replicate_scores is not None
    scores = panel.replicate_scores.reshape(len(panel.tasks), -1) / 100
    parts = np.arange(1, most + 1)
    met = scores[..., None] * parts
    whole = (np.abs(met - np.round(met)) < 1e-6).all(axis=1)
    return int((whole.argmax(axis=1) + 1).sum())


def _unseen(panel: Panel, resamples: int, seed: int) -> pd.DataFrame:
    """Raw and zero-shot agreement of each language left out, and of all together."""
    stream = np.random.default_rng(seed)
    parts = []
    for language in panel.languages:
        draws = plain_draws(len(panel.tasks), resamples, stream)
        parts.append(unseen_language(panel, (0,), resamples, seed, languages=[language], draws=draws).table)
    table = pd.concat(parts).set_index("language")[["raw", "zero_shot"]]
    return pd.concat([table.mean().to_frame("overall").T.rename_axis("language"), table])


# --- answers: values here, their wording in data/answers.json ---


def answer(found: Findings, types: Types | None = None) -> Answers:
    """What is known about every published DevAI number; with the requirements and their ablation if they are known."""
    book = published.load("devai")
    given: Answers = {("fit", name): value(getattr(found.variance, name)) for name in book["fit"]}
    given |= _panel(found) | _bound(found) | _information(found) | _requirement_types(book, types or Types())
    for answers_to in (_reversals, _held_out, _protocols, _costs):
        given |= answers_to(book, found)
    pairs = found.reversals.pairs
    words = {
        "rank_reversal": [f"{a} / {b}" for a, b in zip(pairs["judge_i"], pairs["judge_j"], strict=True)],
        "ablation_judges": [str(int(x)) for x in found.judges["judges"]],
        "ablation_tasks": [str(int(x)) for x in found.tasks.table["tasks"]],
        "cost": [column.replace("_", " ") for column in book["cost"]["columns"]],
        "target": str(TARGET),
        "judges_identity": str(JUDGES_IDENTITY),
    }
    answers = worded("devai", given, words)
    return answers if found.seed is None else scattered(answers, measured_scatter())


def _panel(found: Findings) -> Answers:
    panel = found.panel
    out: Answers = {("panel", "tasks"): value(len(panel.tasks)), ("panel", "runs"): value(panel.n_scores)}
    for word in ("languages", "judges", "replicates"):
        out |= {("panel", word, str(i)): value(name) for i, name in enumerate(getattr(panel, word))}
    said = {"clear": "clear of zero", "pointwise": "clear of zero only on its own", "unclear": "not clear of zero"}
    for cell in found.uncertainty.cells.to_dict("records"):
        band = f"95% band over all cells [{cell['band_low']:.2f}, {cell['band_high']:.2f}]: {said[cell['verdict']]}"
        out["beta_hat", cell["language"], cell["judge"]] = value(cell["interaction"], band)
    return out


def _reversals(book: dict[str, Any], found: Findings) -> Answers:
    result, head = found.reversals, "rank_reversal"
    pairs = result.pairs
    held = f"{result.count_selected} of {len(pairs)} hold when the choice of the languages is allowed for"
    chance = f"{held}; by chance, without interaction, as many: {p_words(result.p_global, result.p_floor)}"
    out: Answers = {(head, "reversing_pairs"): value(result.count, chance), (head, "pairs"): value(len(pairs))}
    for i, row in enumerate(pairs.to_dict("records")):
        verdict = "holds, with another p" if row["reverses"] else "does not hold at 5%"
        test = value(row["p_published"], f"{verdict}: p = {row['p_selected']:.2g}")
        languages = [value(row["language_a"]), value(row["language_b"])]
        if row["delta"] <= 0:
            test = value(row["p_published"], reading="1 by definition where nothing reverses.")
            languages = [value("none", kind="label", basis="label")] * 2
        elif not row["reverses"]:
            test = replace(test, kind="artefact")
        cells = [value(row["judge_i"]), value(row["judge_j"]), value(row["delta"]), test, *languages]
        out |= {(head, "rows", str(i), str(j)): cell for j, cell in enumerate(cells)}
    named = pairs.set_index(pairs["judge_i"] + "/" + pairs["judge_j"])
    for pair, gaps in book[head]["witness_gaps"].items():
        row = named.loc[pair]
        have = {row["language_a"]: row["gap_a"], row["language_b"]: row["gap_b"]}
        out |= {(head, "witness_gaps", pair, x): value(float(have.get(x, np.nan))) for x in gaps}
    best = found.panel.matrix(found.panel.cell_means).idxmax(axis=1)
    top = result.top.set_index("language")["probability"]
    for judge, languages_of in book[head]["top_judge"].items():
        for i, language in enumerate(languages_of):
            name = language if best[language] == judge else f"{language}: {best[language]}"
            out[head, "top_judge", judge, str(i)] = value(name, f"on top in {top[language]:.0%} of resampled task sets")
    return out


def _bound(found: Findings) -> Answers:
    u = found.uncertainty
    all_scores, noise, half = u.sigma_scores, u.sigma_noise, found.largest / 2
    band = (u.cells["band_high"] - u.cells["band_low"]) / 2
    radius = (
        f"{found.radius(noise):.2f} with the noise's sigma; band {band.min():.2f} to {band.max():.2f} by cell, "
        f"{u.clear} of {len(u.cells)} cells clear of zero"
    )
    tasks = f"{found.tasks_for(noise, half)} if the noise is known to have sd {noise:.2f}"
    return {
        ("bound", "sigma_all_scores"): value(all_scores, f"{noise:.2f} (noise left by double centring)"),
        ("bound", "radius"): value(found.radius(all_scores), radius),
        ("bound", "tasks_for_half_of_max_beta"): value(found.tasks_for(all_scores, half), tasks),
    }


def gain_text(found: Findings) -> str:
    """The label-free accuracy gain of CBC, in sample and held out."""
    row = found.held_out.table.set_index("method").loc["cbc"]
    return (
        f"label-free gain of a judge drawn at random {row['gain']:.2f} [{row['gain_low']:.2f}, {row['gain_high']:.2f}] "
        f"points squared, above 0 in {row['gain_positive']:.1%} of resamples (in sample {row['gain_full_fit']:.3f})"
    )


def _held_out(book: dict[str, Any], found: Findings) -> Answers:
    table = found.held_out.table.set_index("method")
    out: Answers = {}
    for name in book["held_out"]["methods"]:
        ours = tuple(float(table.loc[name, c]) for c in ("tau", "low", "high", "full_fit"))
        corrected = [_with_many(found, name) if (name, i) in MARKED else "" for i in range(4)]
        if name == "cbc":
            corrected[0] += f"; {gain_text(found)}"
        if name in ("ensemble", "dawid-skene"):
            corrected = [f"{x:.3f} with the tie rule" for x in ours]
        for i, computed in enumerate(found.bare.get(name, ours)):
            out["held_out", "methods", name, str(i)] = value(computed, corrected[i])
    taus = found.held_out.resample_tau
    better = int((taus["cbc"] > taus["combat-eb"]).sum())
    all_of_them = better == len(taus) == 1000
    p = 2 * (1 + len(taus) - better) / (1 + len(taus))
    out["held_out", "cbc_minus_combat"] = value(
        "positive in all 1000 replicates" if all_of_them else f"positive in {better} of {len(taus)}"
    )
    out["held_out", "cbc_minus_combat_p"] = value("< 0.002" if p < 0.002 else f"{p:.2g}")
    order = np.argsort(-found.panel.cell_means.mean(axis=0), kind="stable")
    return out | {("held_out", "calibrated_order", str(i)): value(found.panel.judges[b]) for i, b in enumerate(order)}


def _with_many(found: Findings, method: str) -> str:
    tau, low, high = found.many.table.set_index("method").loc[method, ["tau", "low", "high"]]
    return f"{tau:.3f} [{low:.3f}, {high:.3f}] with {MANY:,} resamples of other draws"


def with_binomial(decisions: Decisions) -> pd.DataFrame:
    """The table with the published interval of the accuracy: exact binomial over all decisions, as if independent."""
    hits = (decisions.table["accuracy"] * decisions.decisions).round().astype(int)
    exact = [binomtest(int(x), decisions.decisions).proportion_ci(0.95, method="exact") for x in hits]
    return decisions.table.assign(accuracy_low=[e.low for e in exact], accuracy_high=[e.high for e in exact])


def _protocols(book: dict[str, Any], found: Findings) -> Answers:
    """Unseen languages, decisions, ablations."""
    out: Answers = {}
    for name in ("raw", "zero_shot"):
        for language in book["unseen_language"][name]:
            out["unseen_language", name, language] = value(float(found.unseen.loc[language, name]))
    for row in with_binomial(found.decisions).to_dict("records"):
        here = ("decisions", str(row["method"]))
        for part in ("accuracy", "regret"):
            corrected = gain_text(found) if (row["method"], part) == ("cbc", "accuracy") else ""
            out[(*here, part)] = value(row[part], corrected)
            out[(*here, f"{part}_interval", "0")] = value(row[f"{part}_low"])
            out[(*here, f"{part}_interval", "1")] = value(row[f"{part}_high"])
    for name, table in (("judges", found.judges), ("tasks", found.tasks.table)):
        for i, row in enumerate(table.to_dict("records")):
            out |= {(f"ablation_{name}", part, str(i)): value(row[part]) for part in ("tau", "sd")}
            if name == "tasks":
                bound = f"bound {row['bound']:.2f} with the noise's sigma, {row['bound_all_scores']:.2f} as published"
                out["ablation_tasks", "mean_abs_beta_error", str(i)] = value(row["error"], bound)
    return out


def _information(found: Findings) -> Answers:
    info, nats, head = found.information, found.nats, "information"
    with_ties = f"{info.with_tolerance:.3f} with the tie rule (and other permutations)"
    out: Answers = {(head, name): value(getattr(info, name)) for name in ("slices", "slice_size", "observed")}
    out |= {(head, "null_mean"): value(nats["null_mean"]), (head, "debiased"): value(nats["debiased"], with_ties)}
    out |= {(head, "interval", str(i)): value(nats[end]) for i, end in enumerate(("low", "high"))}
    return out | {(head, "p"): value("< 0.002" if nats["p"] < 0.002 else f"{nats['p']:.3g}")}


def _requirement_types(book: dict[str, Any], types: Types) -> Answers:
    known = types.requirements
    out: Answers = {}
    for group, row in book["requirement_types"].items():
        names = GROUPS[group]
        counts = {} if known is None else {n.lower().replace(" ", "_"): known.count(n) for n in names}
        if known is not None:
            counts |= {"requirements": known.count(*names), "tasks": known.tasks(*names)}
        for name in row:
            if name in ("raw", "cbc"):
                tau, reading = types.tau[group][name] if types.tau else None, "" if types.tau else NEED_JUDGMENTS
                out["requirement_types", group, name] = value(tau, basis="verdicts given", reading=reading)
            else:
                reading = TYPE_MAP if known else NEED_INSTANCES
                asked = value(counts.get(name), basis="benchmark's requirements", reading=reading)
                out["requirement_types", group, name] = asked
    return out


def calls(found: Findings) -> dict[str, int]:
    """The calls of the two collections, which follow from their sizes."""
    panel, other = found.panel, published.load("mrewardbench")["panel"]
    return {
        "three_language_extension": found.requirements * len(panel.judges) * len(panel.replicates) * len(ADDED),
        "mrewardbench_panel": 2 * other["items_per_language"] * len(other["languages"]) * len(other["judges"]),
    }


def _costs(book: dict[str, Any], found: Findings) -> Answers:
    others = range(1, len(book["cost"]["columns"]))
    out: Answers = {("cost", name, str(i)): value(None) for name in calls(found) for i in others}
    first, second = (("cost", name, "0") for name in calls(found))
    panel = found.panel
    out[first] = value(
        calls(found)[first[1]],
        reading=f"One call for each of {found.requirements} requirements (the fewest that give the released scores), "
        f"{len(panel.judges)} judges, {len(panel.replicates)} replicates and {len(ADDED)} added languages.",
    )
    return out | {second: value(calls(found)[second[1]], basis="published sizes")}
