"""The DevAI part of the paper: every analysis run again on the released scores, every number answered, its tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from polyjudge.second.estimate.bands import Uncertainty, gaussian_radius, uncertainty
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.panel.numbers import p_words
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import say
from polyjudge.second.paper import draws, figures, ledger, published
from polyjudge.second.paper.ablations import JUDGES_IDENTITY, Ablation, ablate_judges, ablate_tasks
from polyjudge.second.paper.follow_up import follow_up
from polyjudge.second.paper.human_labels import CAVEAT, LabelCheck, check_labels
from polyjudge.second.paper.ledger import Answer, Answers, Correction, Kind, Reproduction, answers_of, correction
from polyjudge.second.paper.printed import Table, table
from polyjudge.second.paper.requirements import GROUPS
from polyjudge.second.paper.score_information import Information, information
from polyjudge.second.paper.top_judge import TARGET, Decisions, decisions
from polyjudge.second.paper.unseen import unseen_language
from polyjudge.second.questions.audit.orders import RankReversals, rank_reversals
from polyjudge.second.questions.audit.variation import Variance, variance
from polyjudge.second.questions.compare.held_out import GAIN_SCOPE, Comparison, compare
from polyjudge.second.report.build import fields

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
MARKED = {"raw": (0,), "cbc": (0, 2)}
MANY = 10_000
"""Resamples of the run that shows what of an interval belongs to its draws."""


@dataclass(frozen=True)
class Types:
    """The benchmark's requirements, and the ablation of their groups: {group: {raw, cbc}}."""

    requirements: pd.DataFrame | None = None
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
    bare: dict[str, draws.Tau]
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
        return float(np.abs(double_centre(self.panel.cell_means)).max())


def analyse(panel: Panel, seed: int | None = None) -> Findings:
    """Run everything. Without a seed the published random draws are used, so nothing but rounding differs."""
    book = published.load("devai")
    n, k, m = panel.shape

    def seed_of(part: str) -> int:
        return int(book[part]["seed"]) if seed is None else seed

    resamples, spec = book["held_out"]["replicates"], book["information"]
    drawn, orders = draws.held_out_draws(n, k, m, resamples, seed_of("held_out"))
    sizes, few = book["ablation_judges"]["m"], book["ablation_judges"]["replicates_per_subset"]
    base = 7 if seed is None else seed
    judges = [ablate_judges(panel, [s], few, base + s, draws=draws.plain_draws(n, few, base + s)).table for s in sizes]
    repeats, counts = book["ablation_tasks"]["repeats"], book["ablation_tasks"]["n"]
    stream = np.random.default_rng(seed_of("ablation_tasks"))
    subsets = {s: draws.subset_draws(n, s, repeats, stream) for s in counts}
    return Findings(
        panel=panel,
        uncertainty=uncertainty(panel),
        reversals=rank_reversals(panel),
        variance=variance(panel),
        information=information(panel, seed=seed_of("information"), permutations=spec["permutations"]),
        held_out=compare(panel, list(book["held_out"]["methods"]), resamples, seed_of("held_out"), draws=drawn),
        many=compare(panel, ["raw", "cbc"], MANY, seed_of("held_out") + 1),
        bare=draws.bare_comparison(panel, drawn, orders, seed_of("held_out")),
        nats=draws.published_information(panel, spec["q"], spec["permutations"], seed_of("information")),
        unseen=_unseen(panel, resamples, seed_of("unseen_language")),
        decisions=decisions(
            panel, resamples, seed_of("decisions"), draws=draws.plain_draws(n, resamples, seed_of("decisions"))
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
        drawn = draws.plain_draws(len(panel.tasks), resamples, stream)
        parts.append(unseen_language(panel, (0,), resamples, seed, languages=[language], draws=drawn).table)
    table = pd.concat(parts).set_index("language")[["raw", "zero_shot"]]
    return pd.concat([table.mean().to_frame("overall").T.rename_axis("language"), table])


# --- answers: values here, their wording in data/answers.json ---


def answer(found: Findings, types: Types | None = None) -> Answers:
    """What is known about every published DevAI number; with the requirements and their ablation if they are known."""
    pairs = found.reversals.pairs
    words = {
        "rank_reversal": [f"{a} / {b}" for a, b in zip(pairs["judge_i"], pairs["judge_j"], strict=True)],
        "ablation_judges": [str(int(x)) for x in found.judges["judges"]],
        "ablation_tasks": [str(int(x)) for x in found.tasks.table["tasks"]],
        "cost": [column.replace("_", " ") for column in published.load("devai")["cost"]["columns"]],
        "target": str(TARGET),
        "judges_identity": str(JUDGES_IDENTITY),
    }
    answers = ledger.worded("devai", answers_of(_computed(found, types or Types())), words)
    return answers if found.seed is None else ledger.scattered(answers, published.data("scatter")["sd"])


def _computed(found: Findings, types: Types) -> dict[str, Any]:
    """The computed values, nested as the published ones."""
    book = published.load("devai")
    panel, info, nats = found.panel, found.information, found.nats
    sizes = {"tasks": len(panel.tasks), "runs": panel.n_scores}
    tie_rule = f"{info.with_tolerance:.3f} with the tie rule (and other permutations)"
    return {
        "panel": sizes | {word: list(getattr(panel, word)) for word in ("languages", "judges", "replicates")},
        "beta_hat": _cells(found),
        "rank_reversal": _reversals(book["rank_reversal"], found),
        "bound": _bound(found),
        "fit": {name: getattr(found.variance, name) for name in book["fit"]},
        "held_out": _held_out(book["held_out"], found),
        "unseen_language": found.unseen.to_dict(),
        "decisions": _decisions(found),
        "ablation_judges": found.judges[["tau", "sd"]].to_dict("list"),
        "ablation_tasks": _ablation_tasks(found.tasks.table),
        "information": {
            **fields(info, "slices", "slice_size", "observed"),
            "null_mean": nats["null_mean"],
            "debiased": Answer(nats["debiased"], tie_rule),
            "interval": [nats["low"], nats["high"]],
            "p": "< 0.002" if nats["p"] < 0.002 else f"{nats['p']:.3g}",
        },
        "requirement_types": _requirement_types(book["requirement_types"], types),
        "cost": _costs(book["cost"], found),
    }


def _cells(found: Findings) -> dict[str, dict[str, Answer]]:
    said = {"clear": "clear of zero", "pointwise": "clear of zero only on its own", "unclear": "not clear of zero"}
    out: dict[str, dict[str, Answer]] = {}
    for cell in found.uncertainty.cells.to_dict("records"):
        band = f"95% band over all cells [{cell['band_low']:.2f}, {cell['band_high']:.2f}]: {said[cell['verdict']]}"
        out.setdefault(cell["language"], {})[cell["judge"]] = Answer(cell["interaction"], band)
    return out


def _reversals(book: dict[str, Any], found: Findings) -> dict[str, Any]:
    result, rows = found.reversals, []
    pairs = result.pairs
    held = f"{result.count_selected} of {len(pairs)} hold when the choice of the languages is allowed for"
    chance = f"{held}; by chance, without interaction, as many: {p_words(result.p_global, result.p_floor)}"
    for row in pairs.to_dict("records"):
        languages: list[Any] = [row["language_a"], row["language_b"]]
        verdict = "holds, with another p" if row["reverses"] else "does not hold at 5%"
        kind: Kind = "reproduced" if row["reverses"] else "artefact"
        test = Answer(row["p_published"], f"{verdict}: p = {row['p_selected']:.2g}", kind)
        if row["delta"] <= 0:
            test = Answer(row["p_published"], reading="1 by definition where nothing reverses.")
            languages = [Answer("none", kind="label", basis="label")] * 2
        rows.append([row["judge_i"], row["judge_j"], row["delta"], test, *languages])
    gaps: dict[str, dict[str, float]] = {}
    named = pairs.set_index(pairs["judge_i"] + "/" + pairs["judge_j"])
    for pair, wanted in book["witness_gaps"].items():
        row = named.loc[pair]
        have = {row["language_a"]: row["gap_a"], row["language_b"]: row["gap_b"]}
        gaps[pair] = {language: float(have.get(language, np.nan)) for language in wanted}
    best = found.panel.matrix(found.panel.cell_means).idxmax(axis=1)
    top = result.top.set_index("language")["probability"]

    def on_top(judge: str, language: Any) -> Answer:
        name = language if best[language] == judge else f"{language}: {best[language]}"
        return Answer(name, f"on top in {top[language]:.0%} of resampled task sets")

    tops = {judge: [on_top(judge, language) for language in theirs] for judge, theirs in book["top_judge"].items()}
    counts = {"reversing_pairs": Answer(result.count, chance), "pairs": len(pairs)}
    return {**counts, "rows": rows, "witness_gaps": gaps, "top_judge": tops}


def _bound(found: Findings) -> dict[str, Answer]:
    u = found.uncertainty
    all_scores, noise, half = u.sigma_scores, u.sigma_noise, found.largest / 2
    band = (u.cells["band_high"] - u.cells["band_low"]) / 2
    radius = (
        f"{found.radius(noise):.2f} with the noise's sigma; band {band.min():.2f} to {band.max():.2f} by cell, "
        f"{u.clear} of {len(u.cells)} cells clear of zero"
    )
    tasks = f"{found.tasks_for(noise, half)} if the noise is known to have sd {noise:.2f}"
    return {
        "sigma_all_scores": Answer(all_scores, f"{noise:.2f} (noise left by double centring)"),
        "radius": Answer(found.radius(all_scores), radius),
        "tasks_for_half_of_max_beta": Answer(found.tasks_for(all_scores, half), tasks),
    }


def gain_text(found: Findings) -> str:
    """The label-free accuracy gain of CBC, in sample and held out."""
    row = found.held_out.table.set_index("method").loc["cbc"]
    return (
        f"label-free gain of a judge drawn at random {row['gain']:.2f} [{row['gain_low']:.2f}, {row['gain_high']:.2f}] "
        f"points squared, above 0 in {row['gain_positive']:.1%} of resamples (in sample {row['gain_full_fit']:.3f})"
    )


def _held_out(book: dict[str, Any], found: Findings) -> dict[str, Any]:
    table, many = (result.table.set_index("method") for result in (found.held_out, found.many))
    methods: dict[str, list[Answer]] = {}
    for name in book["methods"]:
        ours = [float(table.loc[name, c]) for c in book["columns"]]
        corrected = [f"{x:.3f} with the tie rule" if name in ("ensemble", "dawid-skene") else "" for x in ours]
        for at in MARKED.get(name, ()):
            tau, low, high = many.loc[name, ["tau", "low", "high"]]
            corrected[at] = f"{tau:.3f} [{low:.3f}, {high:.3f}] with {MANY:,} resamples of other draws"
        if name == "cbc":
            corrected[0] += f"; {gain_text(found)}"
        methods[name] = [Answer(*both) for both in zip(found.bare.get(name, ours), corrected, strict=True)]
    taus = found.held_out.resample_tau
    better = int((taus["cbc"] > taus["combat-eb"]).sum())
    p = 2 * (1 + len(taus) - better) / (1 + len(taus))
    order = np.argsort(-found.panel.cell_means.mean(axis=0), kind="stable")
    return {
        "methods": methods,
        "cbc_minus_combat": "positive in all 1000 replicates"
        if better == len(taus) == 1000
        else f"positive in {better} of {len(taus)}",
        "cbc_minus_combat_p": "< 0.002" if p < 0.002 else f"{p:.2g}",
        "calibrated_order": [found.panel.judges[b] for b in order],
    }


def _decisions(found: Findings) -> dict[str, Any]:
    """With the published interval of the accuracy: exact binomial over all decisions, as if they were independent."""
    out, decided = {}, found.decisions.decisions
    for row in found.decisions.table.to_dict("records"):
        exact = binomtest(round(row["accuracy"] * decided), decided).proportion_ci(0.95, method="exact")
        out[str(row["method"])] = {
            "accuracy": Answer(row["accuracy"], gain_text(found) if row["method"] == "cbc" else ""),
            "accuracy_interval": [exact.low, exact.high],
            "regret": row["regret"],
            "regret_interval": [row["regret_low"], row["regret_high"]],
        }
    return out


def _ablation_tasks(table: pd.DataFrame) -> dict[str, Any]:
    bounds = "bound {bound:.2f} with the noise's sigma, {bound_all_scores:.2f} as published"
    errors = [Answer(row["error"], bounds.format_map(row)) for _, row in table.iterrows()]
    return {"tau": list(table["tau"]), "sd": list(table["sd"]), "mean_abs_beta_error": errors}


def _requirement_types(book: dict[str, Any], types: Types) -> dict[str, dict[str, Answer]]:
    known = types.requirements
    out: dict[str, dict[str, Answer]] = {}
    for group, row in book.items():
        counts: dict[str, int] = {}
        if known is not None:
            here = known[known["type"].isin(GROUPS[group])]
            counts = {name.lower().replace(" ", "_"): int((here["type"] == name).sum()) for name in GROUPS[group]}
            counts |= {"requirements": len(here), "tasks": here["task"].nunique()}
        reading, lacking = NEED_INSTANCES if known is None else TYPE_MAP, "" if types.tau else NEED_JUDGMENTS
        out[group] = {
            name: Answer((types.tau or {}).get(group, {}).get(name), basis="verdicts given", reading=lacking)
            if name in ("raw", "cbc")
            else Answer(counts.get(name), basis="benchmark's requirements", reading=reading)
            for name in row
        }
    return out


def calls(found: Findings) -> dict[str, int]:
    """The calls of the two collections, which follow from their sizes."""
    panel, other = found.panel, published.load("mrewardbench")["panel"]
    return {
        "three_language_extension": found.requirements * len(panel.judges) * len(panel.replicates) * len(ADDED),
        "mrewardbench_panel": 2 * other["items_per_language"] * len(other["languages"]) * len(other["judges"]),
    }


def _costs(book: dict[str, Any], found: Findings) -> dict[str, Any]:
    panel, (first, second) = found.panel, calls(found).items()
    reading = (
        f"One call for each of {found.requirements} requirements (the fewest that give the released scores), "
        f"{len(panel.judges)} judges, {len(panel.replicates)} replicates and {len(ADDED)} added languages."
    )
    others = [None] * (len(book["columns"]) - 1)
    return {
        first[0]: [Answer(first[1], reading=reading), *others],
        second[0]: [Answer(second[1], basis="published sizes"), *others],
    }


# --- tables and figures ---


def reproduce_devai(
    panel: Panel,
    labels: pd.DataFrame | None,
    types: Types,
    replication: str | Path | None,
    seed: int | None,
    more: tuple[str, ...],
) -> Reproduction:
    """The DevAI part of the paper from its panel, human verdicts, requirements by type and repeat calls; with `more`
    notes."""
    found = analyse(panel, seed)
    check = None if labels is None else check_labels(panel, labels)
    errors = published.load("devai")["ablation_tasks"]["mean_abs_beta_error"]
    return Reproduction(
        ledger=ledger.settle("devai", answer(found, types)),
        corrections=(*_corrections(found, types), *_seen(check)),
        tables=tuple(_tables(found, replication, check)),
        figures={
            "interaction_heatmap": lambda: figures.heatmap(found.uncertainty),
            "ranks_before_after": lambda: figures.ranks_of(panel),
            "reversal_strength": lambda: figures.reversal_strength(found.reversals.pairs, found.reversals.alpha),
            "convergence": lambda: figures.convergence(found.tasks.table.assign(published_error=errors)),
        },
        inputs={"scores": panel.fingerprint},
        notes=(*ledger.notes(seed), *more, *(() if check is None else (CAVEAT,))),
        labels=check,
    )


def _tables(found: Findings, replication: str | Path | None, check: LabelCheck | None) -> Iterator[Table]:
    book, mine = published.load("devai"), _computed(found, Types())
    made = partial(table, "devai")
    yield made("rank_reversal", _reversal_table(book["rank_reversal"]["rows"], found.reversals.pairs))
    yield made("calibration", _calibration(book["held_out"], mine["held_out"], found.held_out.table), scope=GAIN_SCOPE)
    ends = [f"{x}{end}" for x in ("agreement", "regret") for end in ("", "_low", "_high")]
    decided = [
        (name, source, *(a.value for a in answers_of(part["decisions"][name]).values()))
        for name in ("raw", "cbc")
        for source, part in (("published", book), ("computed", mine))
    ]
    yield made("decisions", pd.DataFrame(decided, columns=["method", "source", *ends]), target=TARGET)
    old = pd.DataFrame(book["unseen_language"]).loc[found.unseen.index]
    yield made("unseen_language", _beside(old, found.unseen, "raw", "zero_shot").reset_index())
    judges = [found.judges[["judges", "subsets"]].astype(int), _beside(book["ablation_judges"], found.judges)]
    yield made("ablation_judges", pd.concat(judges, axis=1), identity=JUDGES_IDENTITY)
    new, theirs = found.tasks.table, book["ablation_tasks"]
    beside = _beside({**theirs, "error": theirs["mean_abs_beta_error"]}, new, "tau", "sd", "error")
    bounds = {"bound_as_published": new["bound_all_scores"], "bound_noise": new["bound"]}
    yield made("ablation_tasks", pd.concat([new["tasks"].astype(int), beside, pd.DataFrame(bounds)], axis=1))
    rows = [(name.replace("_", " "), *book["cost"][name], n) for name, n in calls(found).items()]
    yield made("cost", pd.DataFrame(rows, columns=["component", *book["cost"]["columns"], "calls_computed"]))
    yield made("follow_up", follow_up(found.panel, found.reversals, replication))
    if check is not None:
        yield made("human_labels", check.cells, answers=check.answers)


def _reversal_table(theirs: list[list[Any]], pairs: pd.DataFrame) -> pd.DataFrame:
    languages = pairs["language_a"] + " / " + pairs["language_b"]
    return pd.DataFrame(
        {
            "pair": pairs["judge_i"] + " / " + pairs["judge_j"],
            "delta_published": [row[2] for row in theirs],
            "delta": pairs["delta"],
            "languages": languages.where(pairs["delta"] > 0, None),
            "p_published": [row[3] for row in theirs],
            "p_as_published": pairs["p_published"],
            "p_selected": pairs["p_selected"],
            "holds": pairs["reverses"].map({True: "yes", False: "no"}),
        }
    )


def _calibration(book: dict[str, Any], mine: dict[str, Any], table: pd.DataFrame) -> pd.DataFrame:
    table, gain, rows = table.set_index("method"), ["gain", "gain_low", "gain_high"], []
    for name, old in book["methods"].items():
        new, code = [a.value for a in mine["methods"][name]], table.loc[name, "identity"]
        rows.append((name, *old, *new, *table.loc[name, gain], str(say(f"identity.{code}")) if code else ""))
    both = [f"{x}_{w}" for w in ("published", "computed") for x in book["columns"]]
    return pd.DataFrame(rows, columns=["method", *both, *gain, "identity"])


def _beside(old: Mapping[str, Any] | pd.DataFrame, new: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Columns (tau and sd where none are named) as published and as computed."""
    out = pd.DataFrame(index=new.index)
    for name in names or ("tau", "sd"):
        out[f"{name}_published"], out[f"{name}_computed"] = old[name], new[name]
    return out


# --- corrections: what in the paper does not hold or is arithmetic, and what can be said instead. Their texts are in
# data/corrections.json, with what the paper concedes and what its authors say later, in their words.


def _corrections(found: Findings, types: Types) -> tuple[Correction, ...]:
    u, rev = found.uncertainty, found.reversals
    lost = rev.pairs[(rev.pairs["p_published"] <= rev.alpha) & ~rev.pairs["reverses"]]
    turned = rev.pairs[rev.pairs["delta"] > 0]
    gemini = (turned["judge_i"] == "Gemini") | (turned["judge_j"] == "Gemini")
    sizes = {"pairs": len(rev.pairs), "p": p_words(rev.p_global, rev.p_floor)}
    tasks = found.tasks_for(u.sigma_noise, found.largest / 2)
    given = types.dawid_skene
    asked = "" if given is None else f"; on single requirements, as the text has it, Dawid-Skene has tau {given:.3f}"
    return (
        correction("reversals", rev=rev, lost=_pairs(lost) or "none", **sizes),
        correction("uncertainty", u=u, radius=found.radius(u.sigma_noise), tasks=tasks, cells=len(u.cells)),
        correction("upper-end", high=float(found.many.table.set_index("method")["high"]["cbc"]), many=MANY),
        correction("dawid-skene", asked=asked),
        correction("agree", full_fit=FULL_FIT),
        correction("right-judge", target=str(TARGET)),
        correction("consistency", gain=gain_text(found), scope=GAIN_SCOPE),
        correction("more-judges", identity=str(JUDGES_IDENTITY)),
        correction("order", severity=SEVERITY),
        correction("which-pairs", seven=_pairs(turned), gemini=int(gemini.sum())),
        correction("zeros"),
    )


def _pairs(table: pd.DataFrame) -> str:
    return "; ".join(f"{a} / {b}" for a, b in zip(table["judge_i"], table["judge_j"], strict=True))


def _seen(check: LabelCheck | None) -> tuple[Correction, ...]:
    if check is None:
        return ()
    return correction("measured", s=check.signal, r=check.panel, check=check), correction("helped", check=check)
