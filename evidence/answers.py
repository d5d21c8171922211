"""The questions: each with its table, its interval and a plain answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from evidence import agree, error, ranks
from evidence.sets import Evidence


@dataclass(frozen=True, eq=False)
class Answer:
    """A question, what came out, and the tables behind it. `word` is "Yes", "No", "Partly" or "Cannot tell"."""

    key: str
    question: str
    word: str
    sentence: str
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)


def _all(sets: Sequence[Evidence], make: Callable[[Evidence], pd.DataFrame]) -> pd.DataFrame:
    """The tables of all sets that have one."""
    parts = [table for e in sets if len(table := make(e))]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _rows(sets: Sequence[Evidence], make: Callable[[Evidence], dict[str, float | str] | None]) -> pd.DataFrame:
    return pd.DataFrame([row for e in sets if (row := make(e)) is not None])


def study(sets: Sequence[Evidence]) -> list[Answer]:
    """All answers that the sets allow, in the order of the page."""
    languages = _all(sets, agree.by_language)
    apart = [e for e in sets if e.apart]
    made = [
        _panels(languages),
        _languages(languages),
        _judges(sets),
        _ranks(sets),
        _errors(apart),
        _labels(apart),
        _marks(apart),
        _decisions(sets),
        _ppi(apart),
        _research(languages),
    ]
    return [answer for answer in made if answer is not None]


def _panels(languages: pd.DataFrame) -> Answer:
    names = ["agreement", "consistency", "people", "low", "high", "annotators"]
    table = languages.groupby("set", sort=False)[names].mean().reset_index()
    known = table.dropna(subset="agreement")
    far = known[(known["agreement"] > 0.3) & (known["high"] < known["agreement"])]
    near = known.drop(far.index)
    said = "; ".join(
        f"{row['set']}: {row['agreement']:.2f} with each other, {row['people']:.2f} "
        f"[{row['low']:.2f}, {row['high']:.2f}] with people"
        for _, row in pd.concat([far, near]).iterrows()
    )
    return Answer(
        "panels", "Do judges that agree with each other agree with people?", "No" if len(far) else "Partly",
        f"Agreement is not truth ({said}).", {"By set, mean over its languages": table},
    )  # fmt: skip


def _languages(languages: pd.DataFrame) -> Answer | None:
    parts = []
    for name, rows in languages.groupby("set", sort=False):
        found = agree.over_languages(rows, ("agreement", "consistency"))
        parts.append(found.assign(set=name)[["set", *found.columns]])
    table = pd.concat(parts, ignore_index=True)
    if not len(table):
        return None
    clear = table[table["low"] > 0]
    said = ", ".join(
        f"{row['statistic']} {row['r']:.2f} [{row['low']:.2f}, {row['high']:.2f}] on {row['set']}"
        for _, row in table[table["languages"] > 10].iterrows()
    )
    return Answer(
        "languages", "Does agreement tell in which languages judges are right?",
        "Partly" if len(clear) else "No",
        "Neither agreement nor consistency across languages tells it everywhere: r over languages with people is "
        f"{said}.",
        {"Over the languages of a set: r with the panel's r with people": table},
    )  # fmt: skip


def _judges(sets: Sequence[Evidence]) -> Answer | None:
    table, choice = _all(sets, agree.by_judge), _all(sets, agree.best_judge)
    if not len(table):
        return None
    blind = table[table["said"] == "does not"]
    wrong = int((blind["people_low"] > agree.BLIND).sum())
    agrees = table[table["said"] == "agrees"]
    not_so = int((agrees["people_high"] < agree.BLIND).sum())
    means = choice[["best", "agreement picks", "chance", "labels pick"]].mean()
    right = int(choice["right"].sum())
    sentence = (
        f"Of {len(agrees)} judges that agree with the others in a language, {not_so} surely do not agree with people; "
        f"of {len(blind)} that do not, {wrong} do. The judge that agrees most was people's best in {right} of "
        f"{len(choice)} languages (r with people {means['agreement picks']:.2f}; people's best {means['best']:.2f}, by "
        f"50 labels {means['labels pick']:.2f}, at random {means['chance']:.2f})."
    )
    return Answer(
        "judges", "Does agreement tell which judge is right?", "No", sentence, {"Choosing one judge a language": choice}
    )


def _ranks(sets: Sequence[Evidence]) -> Answer | None:
    table = _all([e for e in sets if len(e.systems) > 2], ranks.rank_sets)
    if not len(table):
        return None
    by_tasks, audit = int(table["tasks all"].sum()), int(table["audit all"].sum())
    many = table[table["systems"] > 5]
    alone = f", {int(many['tasks all'].sum())} of the {len(many)} with more than five systems" if len(many) else ""
    sentence = (
        f"Rank sets that allow for the tasks alone hold people's rank of all systems on {by_tasks} of {len(table)} "
        f"boards{alone}; the audit's sets, which also leave out judges, on {audit}, by leaving "
        f"{table['audit open'].mean():.0%} of the ranks open."
    )
    return Answer("ranks", "Do rank sets hold people's ranks?", "No", sentence, {"A row a board": table})


def _errors(sets: Sequence[Evidence]) -> Answer | None:
    table = _rows(sets, error.sizes)
    helped = _all(sets, error.judges_helped)
    if not len(helped):
        return None
    known = table.dropna(subset="shared")
    said = ", ".join(f"{r['set']} {r['sd']:.1f} [{r['low']:.1f}, {r['high']:.1f}]" for _, r in table.iterrows())
    order = helped["removed"].to_numpy()
    worst, best = helped.iloc[int(order.argmin())], helped.iloc[int(order.argmax())]
    shared, cbc = known["shared"], known["cbc removes"]
    bound = ", ".join(f"{r['of it']:.1f} ({r['set']})" for _, r in table.dropna(subset="of it").iterrows())
    return Answer(
        "calibrating", "Does calibrating without labels bring judges nearer to people?", "No",
        f"The panel's error has an sd over languages of {said} points of 100; annotators' own severity can make "
        f"{bound} of it. {shared.min():.0%} to {shared.max():.0%} of single judges' error is shared by all, so CBC "
        f"removes {cbc.min():.0%} to {cbc.max():.0%} of it and nothing of the panel mean's: {best['judge']} "
        f"{best['removed']:+.0%}, {worst['judge']} {worst['removed']:+.0%} on {worst['set']}.",
        {"Language error of the panel mean (sd over languages, points)": table,
         "Share of a judge's squared language error that CBC removes": helped},
    )  # fmt: skip


def _labels(sets: Sequence[Evidence]) -> Answer | None:
    table = _all(sets, error.labels_remove)
    if not len(table):
        return None
    fifty = table[table["labels"] == 50]
    said = ", ".join(f"{row['shared variance']:.0%} ({row['set']})" for _, row in fifty.iterrows())
    few = table[table["labels"] == 10]
    plain = int((few["plain"] < 0).sum())
    return Answer(
        "labels", "Do few labels remove the language error?", "Yes",
        f"50 labels a language, shrunk to their mean, remove {said} of its square on the other items; 10 that are not "
        f"shrunk make it worse in {plain} of {len(few)} sets.",
        {"Share of the squared language error that labels remove": table,
         "The same by `calibrate --method anchored` (mean of six draws)": _all(sets, error.anchored_removes)},
    )  # fmt: skip


def _marks(sets: Sequence[Evidence]) -> Answer | None:
    table = _all(sets, error.pass_rates)
    if not len(table):
        return None
    wide = table.pivot(index="set", columns="scores", values="points off")
    labelled = wide.filter(like="labels").iloc[:, 0]
    better = int((labelled < wide["panel mean"]).sum())
    single = wide.reindex(columns=["single judge", "single judge, CBC"]).dropna()
    nearer = int((single["single judge, CBC"] < single["single judge"]).sum())
    return Answer(
        "marks", "Do pass rates come nearer to people's?", "Partly",
        f"A shift from 50 labels a language brings pass rates at 50 nearer in {better} of "
        f"{int(labelled.notna().sum())} sets; CBC brings single judges' nearer in {nearer} of {len(single)} and leaves "
        f"them {single['single judge, CBC'].max():.0f} points off at worst.",
        {"Mean distance of pass rates from people's (percentage points)": table},
    )  # fmt: skip


def _decisions(sets: Sequence[Evidence]) -> Answer | None:
    named, swapped, bought = _rows(sets, error.named_cells), _rows(sets, ranks.swaps), _rows(sets, ranks.adaptive)
    said = []
    if len(named):
        said.append(f"mending brings {named['nearer to people'].sum()} of {named['named'].sum()} named cells nearer")
    if len(bought):
        settled, right = bought["settled"].sum(), bought["people agree"].sum()
        said.append(f"of {settled} orders of systems that were settled early people share {right}")
    if len(swapped):
        row = swapped.iloc[0]
        said.append(
            "how far two judges are apart without labels does not tell how their r with people differs "
            f"(r = {row['r']:.2f} over {int(row['pairs'])} pairs, {row['set']})"
        )
    if not said:
        return None
    tables = {"Cells that the sparse reading names": named, "Pairs of judges": swapped, "Adaptive collection": bought}
    sentence = "; ".join(said)
    return Answer(
        "decisions", "Do named cells, swaps and early stops hold for people?", "Cannot tell",
        f"{sentence[0].upper()}{sentence[1:]}: too few here.", {k: v for k, v in tables.items() if len(v)},
    )  # fmt: skip


def _ppi(sets: Sequence[Evidence]) -> Answer | None:
    table = _all(sets, error.ppi_covers)
    if not len(table):
        return None
    by = table.groupby("labels")[["covers", "width"]].agg({"covers": ["min", "max"], "width": "median"})
    said = "; ".join(f"{n} labels: {r['covers', 'min']:.0%} to {r['covers', 'max']:.0%}" for n, r in by.iterrows())
    short = [n for n, r in by.iterrows() if r["covers", "min"] < 0.93]
    verdict = f"with {short[-1]} labels or fewer some are short" if short else "none is short, some are a little wide"
    return Answer(
        "ppi", "Do intervals from few labels and many scores hold?", "Partly" if short else "Yes",
        f"95% intervals of a language's mean held it in {said}: {verdict}.",
        {"Coverage of 95% intervals (tasks drawn from the labelled ones), width beside labels alone": table},
    )  # fmt: skip


def _research(languages: pd.DataFrame) -> Answer | None:
    """Statistics without labels, chosen on one half of the sets and confirmed on the other."""
    parts = []
    for name, rows in languages.groupby("set", sort=False):
        found = agree.over_languages(rows)
        parts.append(found.assign(set=name)[["set", *found.columns]])
    table = pd.concat(parts, ignore_index=True)
    names = sorted(table.loc[table["statistic"] == "consistency", "set"].unique())
    if len(names) < 2:
        return None
    chosen_on, confirmed_on = names[::2], names[1::2]
    pool: dict[str, dict[str, float]] = {
        half: {str(name): _pooled(rows) for name, rows in table[table["set"].isin(some)].groupby("statistic")}
        for half, some in (("chosen on", chosen_on), ("confirmed on", confirmed_on))
    }
    both = pd.DataFrame(pool).rename_axis("statistic").reset_index()
    best = str(both["statistic"].iloc[int(both["chosen on"].to_numpy().argmax())])
    row = both.set_index("statistic").loc[best]
    base = both.set_index("statistic").loc["agreement"]
    wins = row["confirmed on"] > base["confirmed on"] and best != "agreement"
    verdict = (
        f"it also does better than agreement on {', '.join(confirmed_on)}"
        if wins
        else f"on {', '.join(confirmed_on)} it does not do better than agreement"
    )
    return Answer(
        "research", "Does another label-free statistic predict people better by language?", "Partly" if wins else "No",
        f"On {', '.join(chosen_on)} {best} does best (r {row['chosen on']:.2f}); {verdict} "
        f"({row['confirmed on']:.2f} against {base['confirmed on']:.2f}). Split halves and rewordings need repeated "
        "calls, which these sets do not have.",
        {"Statistics without labels: r over languages with r with people, sets pooled": both, "By set": table},
    )  # fmt: skip


def _pooled(rows: pd.DataFrame) -> float:
    """One r from those of several sets, weighted by their languages (Fisher's z)."""
    weight = np.maximum(rows["languages"].to_numpy(float) - 3, 1)
    z = np.arctanh(np.clip(rows["r"].to_numpy(float), -0.999, 0.999))
    return float(np.tanh((weight * z).sum() / weight.sum()))
