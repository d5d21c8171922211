"""The DevAI part of the paper: every analysis run again on the released scores, every number answered."""

from __future__ import annotations

from dataclasses import dataclass
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
from polyjudge.paper.ledger import Answer, Answers, label, labels, measured_scatter, scattered, setting
from polyjudge.paper.requirements import GROUPS, Requirements
from polyjudge.paper.score_information import Information, information
from polyjudge.paper.top_judge import TARGET, Decisions, decisions
from polyjudge.paper.unseen import unseen_language
from polyjudge.questions.audit.orders import RankReversals, rank_reversals
from polyjudge.questions.audit.variation import Variance, variance
from polyjudge.questions.compare.held_out import Comparison, compare

IDENTITIES = {
    "per-language norm": "Equal to raw by identity I6: it cannot change an order within a language.",
    "cbc-weighted": "Equal to CBC by identity I6: it differs by a constant in each language.",
    "oracle": "1 by identity I3: it subtracts the interaction of the very tasks it is evaluated on.",
}
FULL_FIT = "1 by identity I3: after subtracting its own interaction every language ranks alike. Not evidence."
CONSISTENCY = "Consistency between languages, not accuracy."
SEVERITY = "The order of mean scores: how lenient a judge is, not how good."
NEED_INSTANCES = "Needs the benchmark's requirements: give them with --instances, or let them be fetched."
NEED_JUDGMENTS = (
    "Needs verdicts on single requirements: --judgments with data/internal_benchmark/judgments of the authors' "
    "repository."
)
TYPE_MAP = 'By category, and for "Other" as the released code assigns them; the map stands in docs/paper.md.'
NEED_TOKENS = "Needs token counts and prices, which are not among the released scores."
BARE = "Printed as published where values that differ by rounding only count as different."
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


# --- answers ---


def answer(found: Findings, types: Types | None = None) -> Answers:
    """What is known about every published DevAI number; with the requirements and their ablation if they are known."""
    book = published.load("devai")
    answers: Answers = {
        **{(part, "seed"): setting("seed", spec["seed"]) for part, spec in book.items() if "seed" in spec},
        **_panel(found),
        **_reversals(book, found),
        **_bound(book, found),
        **_fit(found),
        **_held_out(book, found),
        **_unseen_answers(book, found),
        **_decisions(found),
        **_ablations(book, found),
        **_information(found),
        **elsewhere(book, found),
        **_requirement_types(book, types or Types()),
    }
    return answers if found.seed is None else scattered(answers, measured_scatter())


def _panel(found: Findings) -> Answers:
    panel = found.panel
    out: Answers = {
        ("panel", "tasks"): Answer("tasks", len(panel.tasks)),
        ("panel", "runs"): Answer("single scores", panel.n_scores),
    }
    for word, names in (("languages", panel.languages), ("judges", panel.judges), ("replicates", panel.replicates)):
        out |= labels(word, names)
    said = {"clear": "clear of zero", "pointwise": "clear of zero only on its own", "unclear": "not clear of zero"}
    for cell in found.uncertainty.cells.to_dict("records"):
        band = f"[{cell['band_low']:.2f}, {cell['band_high']:.2f}]"
        out["beta_hat", cell["language"], cell["judge"]] = Answer(
            f"interaction, {cell['language']} x {cell['judge']}",
            cell["interaction"],
            "file check",
            corrected=f"95% band over all cells {band}: {said[cell['verdict']]}",
            reading="A file with other cells is refused.",
        )
    return out


def _reversals(book: dict[str, Any], found: Findings) -> Answers:
    result = found.reversals
    pairs = result.pairs
    held = f"{result.count_selected} of {len(pairs)} hold when the choice of the languages is allowed for"
    head = "rank_reversal"
    out: Answers = {
        (head, "reversing_pairs"): Answer(
            "pairs of judges that reverse",
            result.count,
            corrected=f"{held}; by chance, without interaction, as many: {p_words(result.p_global, result.p_floor)}",
            reading="The count of sign changes in the means. Which of them are significant is another question.",
        ),
        (head, "pairs"): Answer("pairs of judges", len(pairs), "identity", reading="m(m-1)/2."),
    }
    for i, row in enumerate(pairs.to_dict("records")):
        here = (head, "rows", str(i))
        name = f"{row['judge_i']} / {row['judge_j']}"
        turns = row["delta"] > 0
        out[(*here, "0")] = label(f"{name}: first judge", row["judge_i"])
        out[(*here, "1")] = label(f"{name}: second judge", row["judge_j"])
        out[(*here, "2")] = Answer(f"{name}: reversal strength (points squared)", row["delta"])
        verdict = "holds, with another p" if row["reverses"] else "does not hold at 5%"
        out[(*here, "3")] = Answer(
            f"{name}: adjusted p",
            row["p_published"],
            "artefact" if turns and not row["reverses"] else "reproduced",
            corrected=f"{verdict}: p = {row['p_selected']:.2g}" if turns else "",
            reading="The two languages were picked from the same data; the corrected p allows for that."
            if turns
            else "1 by definition where nothing reverses.",
        )
        for at, which, language in (("4", "first", row["language_a"]), ("5", "second", row["language_b"])):
            text = f"{name}: {which} witness language"
            out[(*here, at)] = Answer(text, language) if turns else label(text, "none")
    named = pairs.set_index(pairs["judge_i"] + "/" + pairs["judge_j"])
    for pair, gaps in book[head]["witness_gaps"].items():
        row = named.loc[pair]
        have = {row["language_a"]: row["gap_a"], row["language_b"]: row["gap_b"]}
        for language in gaps:
            out[head, "witness_gaps", pair, language] = Answer(
                f"{pair}: gap in {language} (points)", float(have.get(language, np.nan))
            )
    means = found.panel.matrix(found.panel.cell_means)
    best = means.idxmax(axis=1)
    chance = result.top.set_index("language")
    for judge, languages in book[head]["top_judge"].items():
        for i, language in enumerate(languages):
            out[head, "top_judge", judge, str(i)] = Answer(
                f"language with {judge} on top",
                language if best[language] == judge else f"{language}: {best[language]}",
                corrected=f"on top in {chance.loc[language, 'probability']:.0%} of resampled task sets",
                reading=SEVERITY,
            )
    return out


def _bound(book: dict[str, Any], found: Findings) -> Answers:
    u = found.uncertainty
    all_scores, noise = u.sigma_scores, u.sigma_noise
    band = (u.cells["band_high"] - u.cells["band_low"]) / 2
    half = found.largest / 2
    why = "The bound needs the sd of the noise; the sd of all scores counts tasks, judges and languages as noise."
    radius = (
        f"{found.radius(noise):.2f} with the noise's sigma; band {band.min():.2f} to {band.max():.2f} by cell, "
        f"{u.clear} of {len(u.cells)} cells clear of zero"
    )
    tasks = f"{found.tasks_for(noise, half)} if the noise is known to have sd {noise:.2f}"
    out: Answers = {("bound", "epsilon"): setting("error level of the bound", book["bound"]["epsilon"])}
    for name, word, value, instead in (
        ("sigma_all_scores", "sigma in the bound", all_scores, f"{noise:.2f} (noise left by double centring)"),
        ("radius", "simultaneous radius (points)", found.radius(all_scores), radius),
        (
            "tasks_for_half_of_max_beta",
            "tasks for a radius of half the largest interaction",
            found.tasks_for(all_scores, half),
            tasks,
        ),
    ):
        out["bound", name] = Answer(word, value, "artefact", corrected=instead, reading=why)
    return out


def _fit(found: Findings) -> Answers:
    words = {
        "r2_simplified": "R2 without task:language",
        "r2_full": "R2 with task:language",
        "r2_increment": "what task:language adds to R2",
        "sse_simplified": "residual sum of squares without task:language",
        "sse_full": "residual sum of squares with task:language",
        "sst": "total sum of squares",
    }
    return {("fit", name): Answer(word, getattr(found.variance, name)) for name, word in words.items()}


def gain_text(found: Findings) -> str:
    """The label-free accuracy gain of CBC, in sample and held out."""
    row = found.held_out.table.set_index("method").loc["cbc"]
    return (
        f"label-free gain of a judge drawn at random {row['gain']:.2f} [{row['gain_low']:.2f}, {row['gain_high']:.2f}] "
        f"points squared, above 0 in {row['gain_positive']:.1%} of resamples (in sample {row['gain_full_fit']:.3f})"
    )


def _held_out(book: dict[str, Any], found: Findings) -> Answers:
    spec = book["held_out"]
    table = found.held_out.table.set_index("method")
    out: Answers = {("held_out", "replicates"): setting("resamples", found.held_out.resamples)}
    for name in spec["methods"]:
        row = table.loc[name]
        ours = tuple(float(row[c]) for c in ("tau", "low", "high", "full_fit"))
        values = found.bare.get(name, ours)
        for i, part in enumerate(("held-out tau", "low end", "high end", "full-fit tau")):
            reading = IDENTITIES.get(name, "")
            identity = bool(reading)
            corrected = _with_many(found, name) if (name, i) in MARKED else ""
            if name == "cbc" and i == 0:
                corrected += f"; {gain_text(found)}"
            if name in ("ensemble", "dawid-skene"):
                corrected, reading = f"{ours[i]:.3f} with the tie rule", BARE
            if name == "cbc":
                identity, reading = (i == 3, FULL_FIT if i == 3 else CONSISTENCY)
            out["held_out", "methods", name, str(i)] = Answer(
                f"{name}: {part}",
                values[i],
                "identity" if identity else "reproduced",
                corrected=corrected,
                reading=reading,
            )
    taus = found.held_out.resample_tau
    better = int((taus["cbc"] > taus["combat-eb"]).sum())
    out["held_out", "cbc_minus_combat"] = Answer(
        "CBC against ComBat-EB, paired",
        "positive in all 1000 replicates" if better == len(taus) == 1000 else f"positive in {better} of {len(taus)}",
        reading=CONSISTENCY,
    )
    p = 2 * (1 + len(taus) - better) / (1 + len(taus))
    out["held_out", "cbc_minus_combat_p"] = Answer(
        "p of CBC against ComBat-EB", "< 0.002" if p < 0.002 else f"{p:.2g}", reading=CONSISTENCY
    )
    order = np.argsort(-found.panel.cell_means.mean(axis=0), kind="stable")
    for i, b in enumerate(order):
        out["held_out", "calibrated_order", str(i)] = Answer(
            f"calibrated order, place {i + 1}", found.panel.judges[b], reading=SEVERITY
        )
    return out


def _with_many(found: Findings, method: str) -> str:
    tau, low, high = found.many.table.set_index("method").loc[method, ["tau", "low", "high"]]
    return f"{tau:.3f} [{low:.3f}, {high:.3f}] with {MANY:,} resamples of other draws"


def _unseen_answers(book: dict[str, Any], found: Findings) -> Answers:
    out: Answers = {}
    same = "Mean imputation gives the same by arithmetic: the mean of the seen rows is 0."
    for name, reading in (("raw", ""), ("zero_shot", same)):
        for language in book["unseen_language"][name]:
            text = f"left-out language, {name.replace('_', '-')}, {language}"
            value = float(found.unseen.loc[language, name])
            out["unseen_language", name, language] = Answer(text, value, reading=reading)
    return out


def with_binomial(decisions: Decisions) -> pd.DataFrame:
    """The table with the published interval of the accuracy: exact binomial over all decisions, as if independent."""
    hits = (decisions.table["accuracy"] * decisions.decisions).round().astype(int)
    exact = [binomtest(int(x), decisions.decisions).proportion_ci(0.95, method="exact") for x in hits]
    return decisions.table.assign(accuracy_low=[e.low for e in exact], accuracy_high=[e.high for e in exact])


def _decisions(found: Findings) -> Answers:
    out: Answers = {}
    for name, row in with_binomial(found.decisions).set_index("method").iterrows():
        for path, word, column in (
            (("accuracy",), "agreement with the model's own choice", "accuracy"),
            (("accuracy_interval", "0"), "low end of the agreement", "accuracy_low"),
            (("accuracy_interval", "1"), "high end of the agreement", "accuracy_high"),
            (("regret",), "regret (points)", "regret"),
            (("regret_interval", "0"), "low end of the regret", "regret_low"),
            (("regret_interval", "1"), "high end of the regret", "regret_high"),
        ):
            out["decisions", str(name), *path] = Answer(
                f"{name}: {word}",
                float(row[column]),
                corrected=gain_text(found) if name == "cbc" and path == ("accuracy",) else "",
                reading=str(TARGET),
            )
    return out


def _ablations(book: dict[str, Any], found: Findings) -> Answers:
    few, repeats = book["ablation_judges"]["replicates_per_subset"], book["ablation_tasks"]["repeats"]
    out: Answers = {
        ("ablation_judges", "replicates_per_subset"): setting("resamples of each subset", few),
        ("ablation_tasks", "repeats"): setting("random subsets of each size", repeats),
    }
    for i, row in enumerate(found.judges.to_dict("records")):
        size = int(row["judges"])
        alone = size == len(found.panel.judges)
        out["ablation_judges", "m", str(i)] = setting("number of judges", size)
        out["ablation_judges", "tau", str(i)] = Answer(
            f"{size} judges: held-out tau of CBC", row["tau"], reading=str(JUDGES_IDENTITY)
        )
        out["ablation_judges", "sd", str(i)] = Answer(
            f"{size} judges: sd over subsets",
            row["sd"],
            "identity" if alone else "reproduced",
            reading="0 by arithmetic: there is one subset." if alone else "",
        )
    for i, row in enumerate(found.tasks.table.to_dict("records")):
        size = int(row["tasks"])
        out["ablation_tasks", "n", str(i)] = setting("number of tasks", size)
        out["ablation_tasks", "tau", str(i)] = Answer(f"{size} tasks: held-out tau of CBC", row["tau"])
        out["ablation_tasks", "sd", str(i)] = Answer(f"{size} tasks: sd over subsets", row["sd"])
        out["ablation_tasks", "mean_abs_beta_error", str(i)] = Answer(
            f"{size} tasks: mean |error| (points)",
            row["error"],
            corrected=f"bound {row['bound']:.2f} with the noise's sigma, {row['bound_all_scores']:.2f} as published",
            reading="Against the interaction of all 55 tasks, which holds the subset: at 55 it is not an error but the "
            "spread of a bootstrap.",
        )
    return out


def _information(found: Findings) -> Answers:
    info, nats = found.information, found.nats
    with_ties = f"{info.with_tolerance:.3f} with the tie rule (and other permutations)"
    least = f"The smallest value that {info.permutations} permutations can give."
    answers = {
        ("slices",): Answer("task x judge slices", info.slices),
        ("slice_size",): Answer("scores in a slice", info.slice_size),
        ("q",): setting("nearest neighbour that sets the distance", info.q),
        ("permutations",): setting("permutations", info.permutations),
        ("observed",): Answer("information, plain estimate (nats)", info.observed),
        ("null_mean",): Answer("information of permuted labels (nats)", nats["null_mean"]),
        ("debiased",): Answer("information, debiased (nats)", nats["debiased"], corrected=with_ties, reading=BARE),
        ("interval", "0"): Answer("low end of the debiased information", nats["low"]),
        ("interval", "1"): Answer("high end of the debiased information", nats["high"]),
        ("p",): Answer("p of the information", "< 0.002" if nats["p"] < 0.002 else f"{nats['p']:.3g}", reading=least),
    }
    return {("information", *path): answer for path, answer in answers.items()}


def _requirement_types(book: dict[str, Any], types: Types) -> Answers:
    known = types.requirements
    out: Answers = {}
    for group, row in book["requirement_types"].items():
        names = GROUPS[group]
        counts = {} if known is None else {n.lower().replace(" ", "_"): known.count(n) for n in names}
        if known is not None:
            counts |= {"requirements": known.count(*names), "tasks": known.tasks(*names)}
        for name in row:
            text = f"{group} requirements: {name.replace('_', ' ')}"
            if name in ("raw", "cbc"):
                value = types.tau[group][name] if types.tau else None
                out["requirement_types", group, name] = Answer(
                    f"{text}, held-out tau", value, basis="verdicts given", reading="" if types.tau else NEED_JUDGMENTS
                )
            else:
                reading = TYPE_MAP if known else NEED_INSTANCES
                out["requirement_types", group, name] = Answer(
                    text, counts.get(name), basis="benchmark's requirements", reading=reading
                )
    return out


def elsewhere(book: dict[str, Any], found: Findings) -> Answers:
    """Numbers that the released scores do not hold, and the calls that follow from sizes."""
    out: Answers = {}
    columns = book["cost"]["columns"]
    for name in ("three_language_extension", "mrewardbench_panel"):
        for i, column in enumerate(columns[1:], 1):
            out["cost", name, str(i)] = Answer(
                f"{name.replace('_', ' ')}: {column.replace('_', ' ')}", None, reading=NEED_TOKENS
            )
    panel = found.panel
    added = ("Japanese", "Spanish", "Swahili")
    out["cost", "three_language_extension", "0"] = Answer(
        "three language extension: calls",
        found.requirements * len(panel.judges) * len(panel.replicates) * len(added),
        reading=f"One call for each of {found.requirements} requirements (the fewest that give the released scores), "
        f"{len(panel.judges)} judges, {len(panel.replicates)} replicates and {len(added)} added languages.",
    )
    other = published.load("mrewardbench")["panel"]
    out["cost", "mrewardbench_panel", "0"] = Answer(
        "mrewardbench panel: calls",
        2 * other["items_per_language"] * len(other["languages"]) * len(other["judges"]),
        "identity",
        basis="published sizes",
        reading="Two calls, chosen and rejected, for each item, language and judge: a product of published sizes.",
    )
    return out
