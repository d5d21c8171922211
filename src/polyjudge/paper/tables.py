"""`paper report`: the paper's tables and figures for one's own panel, each with what of it is arithmetic.

Whatever a panel does not allow (information without replicates, subsets of two judges) is left out with one line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge import cbc
from polyjudge.answers.margins import margins
from polyjudge.base.errors import PanelError, PolyjudgeError, UsageError
from polyjudge.base.numbers import number, p_value, points
from polyjudge.base.numbers import threshold as pass_mark
from polyjudge.base.options import ReadingOptions
from polyjudge.base.text import count, names
from polyjudge.base.text import name as named
from polyjudge.calibrate import baselines
from polyjudge.calibrate.consensus import interaction_parts
from polyjudge.panel import Panel
from polyjudge.paper import protocols
from polyjudge.paper.own_anchor import anchor_sentences, compare_with_people
from polyjudge.read.labels import read_table
from polyjudge.report.model import Chart, Finding, Report, Result, Section, Table
from polyjudge.stats.cells import Values
from polyjudge.stats.interval import interval
from polyjudge.stats.variance import components, fits

Array = protocols.Array
TITLES = {
    "interaction": "Figure 1: interaction of language and judge, beta^",
    "reversals": "Table 1: pairs of judges that reverse between languages",
    "fit": "Section 5.2: share of the variance that Eq. 2 and Eq. 1 explain",
    "variance": "Where the variance of a score comes from",
    "calibration": "Table 2: rank consistency on left-out tasks",
    "unseen": "Section 5.3: a language left out",
    "decisions": "Table 3: choice of the top judge",
    "ablation_judges": "Table 6: number of judges",
    "without": "Without one judge",
    "ablation_tasks": "Table 7: number of tasks",
    "information": "Section 6: information of a score about its language (nats)",
    "gates": "Gates: pass rates (%) and their spread over languages (percentage points)",
    "few_shot": "Beyond the paper: an unseen language with a few shared tasks",
    "families": "Beyond the paper: beta^ by family of tasks",
    "anchor": "Table 5: agreement with people, raw and calibrated",
}
NOTES = {
    "interaction": "Rows and columns sum to 0 by arithmetic. low and high hold for all cells together.",
    "reversals": "p published ignores that the languages were picked by the data; p selected allows for it.",
    "fit": "R2 is of the scores it was fitted on.",
    "calibration": "tau is consistency between languages, not accuracy; its limits are percentiles of resamples. "
    "Gain in points squared (docs/methods.md, section 3).",
    "unseen": "Mean imputation equals zero-shot by arithmetic.",
    "decisions": "The target is the additive model's own answer on the left-out tasks, not a human one. Limits are "
    "percentiles of resamples.",
    "ablation_judges": "Without ties the mean over all subsets is that of all judges by arithmetic; only sd tells.",
    "ablation_tasks": "error is the mean |beta^ - beta^ of all tasks|; radius that of Prop. 2.",
    "information": "Less what permuted labels give; p is at least 1 in 501.",
    "gates": "A score above the threshold passes; with >= one on it does too. What is calibrated is the rate "
    "(docs/methods.md, section 32).",
    "few_shot": "Mean tau of a language with the others on left-out tasks, averaged over languages; limits are "
    "percentiles of resamples.",
    "families": "r is the correlation of a family's beta^ with that of all other tasks, freed from noise: 1 where "
    "beta^ carries over; no limits where noise may be all. p: tasks exchanged between families.",
    "anchor": "A tie is a score on the pass mark: it agrees with nobody, or passes with >=. Limits hold for all judges "
    "together.",
}
SINGLE = ("fit", "variance", "information", "gates")
WHOLE_GRID = (
    *SINGLE, "calibration", "unseen", "decisions", "ablation_judges", "without", "ablation_tasks", "few_shot",
    "families",
)  # fmt: skip
"""Tables that take every judge in every language."""
PERCENT = ("share", "accuracy", "agree_raw", "agree_calibrated", "gain_without_ties")
SHARED_TASKS = (0, 2, 5, 12, 30)
USABLE_SHARE = 0.9
"""Of the replicates, that have so many tasks; the others are left out."""
SMALLEST_FAMILY = 5
"""Tasks."""


@dataclass(frozen=True, repr=False)
class PaperReport(Result):
    """frames : the paper's tables by name (`TITLES`); `left_out` says what this panel does not allow, and why."""

    frames: dict[str, pd.DataFrame]
    left_out: tuple[str, ...]
    radius: float
    replicates: int
    seed: int
    findings: tuple[Finding, ...]
    panel_: Panel

    def report(self) -> Report:
        """One section for each table, with the figures of the paper."""
        charts = _charts(self.frames, self.panel_)
        sections = []
        for table, frame in self.frames.items():
            title = table.replace("_", " ").capitalize()
            made = Table(table, title, frame, _kinds(frame), note=NOTES.get(table, ""))
            sections.append(Section(table, TITLES[table], tables=(made,), charts=charts.get(table, ())))
        if self.left_out:
            sections.append(Section("left_out", "Left out", self.left_out))
        about, title = {"seed": self.seed, "replicates": self.replicates}, "As the paper reports it"
        return Report("paper report", title, (self.panel_.facts,), self.findings, sections=tuple(sections), about=about)


def _kinds(frame: pd.DataFrame) -> dict[str, str]:
    """Formats of columns; ends of intervals stand with what they are the ends of."""
    every = [str(c) for c in frame]
    ends = {c: f" {c}_low {c}_high" for c in every if f"{c}_low" in every}
    if "low" in every:
        ends[every[every.index("low") - 1]] = " low high"
    out = {}
    for c in every:
        kind = "count" if frame[c].dtype.kind in "iu" else "text" if frame[c].dtype.kind != "f" else "points"
        kind = (
            "percent"
            if c in PERCENT or (c == "gain" and "agree_raw" in every)
            else "p"
            if c.startswith("p_") or c == "p"
            else kind
        )
        if c not in " ".join(ends.values()).split():
            out[c] = kind + ends.get(c, "")
    return out


def report(
    panel: Panel | Any,
    *,
    threshold: tuple[str, ...] | None = None,
    family: str | None = None,
    replicates: int = 1000,
    seed: int = 0,
    **columns: Unpack[ReadingOptions],
) -> PaperReport:
    """Give the paper's tables and figures for your own panel.

    Rank reversals, fit, held-out consistency of all methods, unseen languages, decisions, ablations, information,
    gates; with people's labels their agreement. As in the paper, its frameworks are replicates: --replicate framework.

    panel : scores: a file, frame or table
    threshold : pass marks of the gates (4 passes above 4, >=4 from 4 on); by default the quartiles of the scores. The
        first one is also the mark by which people's labels are compared
    family : a column of the scores that sorts tasks, such as a domain: whether beta^ is the same in each family
    replicates : bootstrap replicates of the tasks
    seed : number that fixes what is drawn at random

    Examples:
        polyjudge paper report scores.csv -o tables
        polyjudge paper report scores.csv --replicate framework --family domain
    """
    from polyjudge.read import read_panel

    source = panel
    panel = margins(read_panel(panel, **columns))
    if not 100 <= replicates <= 100_000:
        raise UsageError(f"Replicates are from 100 to 100,000, not {replicates}.")
    tiny = 1e-9 * panel.width
    marks = tuple(pass_mark(text, panel.scale) for text in threshold or ())
    families = None if family is None else families_of(source, panel, family)
    whole, gaps = _whole_grid(panel)
    work = _Work(panel, panel.values(), tiny, replicates, seed, marks, families)
    work_on_whole_grid = replace(work, panel=whole, reduced=whole.values())
    frames, left_out = {}, [gaps] if gaps else []
    for name, make_table in TABLES.items():
        try:
            if panel.indicator is not None and name in SINGLE:
                raise PanelError("it takes single tasks, and of so many only means are kept.")
            frames[name] = make_table(work_on_whole_grid if name in WHOLE_GRID else work)
        except PolyjudgeError as error:
            left_out.append(f"{TITLES[name]}: {error}")
    radius = _radius(work_on_whole_grid)
    findings = _findings(work_on_whole_grid, frames, radius)
    if gaps:
        findings.insert(0, Finding("notice", "gaps", gaps, "Left out"))
    return PaperReport(frames, tuple(left_out), radius, replicates, seed, tuple(findings), panel)


def _whole_grid(panel: Panel) -> tuple[Panel, str]:
    """The part in which every judge is compared in every language, and the sentence that says what it leaves out."""
    _, _, k, m = panel.shape
    if k < 2 or m < 2:
        raise PanelError(f"The paper compares judges over {panel.nouns}: it needs two of each at least.")
    _, is_known = interaction_parts(panel.values())
    if is_known.all():
        return panel, ""
    cells = f"beta^ of {_unknown_cells(panel, is_known)} cannot be known"
    languages, judges = _largest_whole_grid(panel, is_known)
    too_few = PanelError(f"Too few judges and {panel.nouns} can be compared: {cells}.")
    if min(len(languages), len(judges)) < 2:
        raise too_few
    part = panel.select(languages=languages, judges=judges)
    if not interaction_parts(part.values())[1].all():
        raise too_few
    dropped = [name for name in (*panel.languages, *panel.judges) if name not in (*languages, *judges)]
    return part, f"{cells}. Tables of the whole grid leave out {names(dropped, 8)}."


def _largest_whole_grid(panel: Panel, is_known: NDArray[np.bool_]) -> tuple[list[str], list[str]]:
    """The languages without a gap with all judges, or all languages with the judges without one: the larger grid."""
    whole_languages = [x for x, row in zip(panel.languages, is_known, strict=True) if row.all()]
    whole_judges = [x for x, column in zip(panel.judges, is_known.T, strict=True) if column.all()]
    candidates = [(whole_languages, list(panel.judges)), (list(panel.languages), whole_judges)]
    return max(candidates, key=lambda grid: (min(map(len, grid)) > 1, len(grid[0]) * len(grid[1])))


def _unknown_cells(panel: Panel, is_known: NDArray[np.bool_]) -> str:
    """Which cells of beta^ cannot be estimated."""
    cells = [f"{panel.judges[b]} in {panel.languages[x]}" for x, b in np.argwhere(~is_known)]
    return names(cells, 6)


def families_of(source: Any, panel: Panel, column: str) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Names of the families of tasks, and the number of each task's family, -1 where none is given."""
    if isinstance(source, Panel):
        raise UsageError("Families of tasks are a column of the scores: give the file or the frame, not a panel.")
    frame = source if hasattr(source, "iloc") else read_table(source)
    columns = [str(c) for c in frame.columns]
    if column not in columns:
        raise UsageError(f"There is no column {named(column)!r}. The scores have {names(columns, 12)}.")
    task_columns = [c for c in columns if set(panel.tasks) <= set(frame[c].astype(str))]
    if not task_columns:
        raise UsageError("No column of the scores holds the names of the tasks, so families cannot be assigned.")
    pairs = frame[[task_columns[0], column]].astype(str).drop_duplicates()
    split_tasks = pairs[task_columns[0]].duplicated()
    if split_tasks.any():
        task = named(pairs[task_columns[0]][split_tasks].iloc[0])
        raise UsageError(f"Task {task} is in two families of {named(column)}: a family sorts whole tasks.")
    of_task = pairs.set_index(task_columns[0])[column].reindex(list(panel.tasks))
    numbers, labels = pd.factorize(of_task, sort=True)
    return tuple(map(str, labels)), np.asarray(numbers, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class _Work:
    """What the tables are made of.

    marks : pass marks of the gates and how they pass, ">" or ">="; empty where the user names none
    families : names of the families of tasks, and the number of each task's, -1 where it has none
    """

    panel: Panel
    reduced: Values
    tiny: float
    replicates: int
    seed: int
    marks: tuple[tuple[float, str], ...]
    families: tuple[tuple[str, ...], NDArray[np.int64]] | None

    @property
    def values(self) -> Array:
        """(units, languages, judges); of an incomplete panel the pseudo-values (METHODS 17)."""
        return self.reduced.v

    def split(self) -> cbc.Split:
        """Replicates that leave tasks out."""
        s = cbc.split(self.values, cbc.draw(len(self.values), self.replicates, self.seed), tiny=self.tiny)
        if not len(s.left):
            raise PanelError("no replicate left a task out; score more tasks.")
        return s

    def cells(self, **columns: Array) -> pd.DataFrame:
        k, m = len(self.panel.languages), len(self.panel.judges)
        labels = {"language": np.repeat(self.panel.languages, m), "judge": np.tile(self.panel.judges, k)}
        return pd.DataFrame({**labels, **{x: c.ravel() for x, c in columns.items()}})


def _interaction(w: _Work) -> pd.DataFrame:
    parts, is_known = interaction_parts(w.reduced)
    limits = interval(parts.reshape(len(parts), -1), together=int(is_known.sum()))
    return w.cells(mean=w.values.mean(0), beta=limits.estimate, low=limits.low, high=limits.high)


def _reversals(w: _Work) -> pd.DataFrame:
    r = cbc.reversals(w.values, w.tiny)
    judges, languages = np.array(w.panel.judges, object), np.array((*w.panel.languages, None), object)
    return pd.DataFrame(
        {
            "judge_i": judges[r.i], "judge_j": judges[r.j], "delta": r.delta, "language_a": languages[r.language_a],
            "gap_a": r.gap_a, "language_b": languages[r.language_b], "gap_b": r.gap_b,
            "p_published": r.p_published, "p_selected": r.p,
        }
    )  # fmt: skip


def _runs(w: _Work) -> Array:
    """(tasks, languages, judges, replicates): systems count as replicates, as the paper reads its frameworks."""
    y = w.panel.scores[..., None] if w.panel.replicates is None else w.panel.replicates
    return np.asarray(y.transpose(0, 2, 3, 1, 4).reshape(*w.panel.scores[:, 0].shape, -1))


def _fit(w: _Work) -> pd.DataFrame:
    simplified, full = fits(_runs(w).transpose(0, 3, 1, 2))
    return pd.DataFrame({"model": ["Eq. 2", "Eq. 1 (with task:language)"], "r2": [simplified, full]})


def _variance(w: _Work) -> pd.DataFrame:
    runs = _runs(w)
    found = components(w.panel.scores.mean(1), runs if runs.shape[3] > 1 else None)
    if found is None:
        raise PanelError("fewer than two tasks have all their scores.")
    return pd.DataFrame({"component": list(found.shares), "share": list(found.shares.values())})


def _calibration(w: _Work) -> pd.DataFrame:
    methods = [x for x in baselines.METHODS if w.panel.complete or x not in baselines.COMPLETE]
    found = baselines.held_out(w.panel, methods, w.replicates, w.seed)
    rows = []
    for x in methods:
        tau, low, high = protocols.summary(found.tau[x])
        gained: tuple[float, ...] = (np.nan, np.nan, np.nan)
        if x in baselines.SUBTRACT and x != "oracle":
            part, keep = baselines.part_of(x, w.values)
            gained = baselines.unbiased_gain(part, w.tiny, keep)
        rows.append((x, tau, low, high, found.full_fit[x], *gained, baselines.IDENTITY.get(x) or None))
    return pd.DataFrame(
        rows, columns=["method", "tau", "low", "high", "full_fit", "gain", "gain_low", "gain_high", "identity"]
    )


def _unseen(w: _Work) -> pd.DataFrame:
    if len(w.panel.languages) < 3:
        raise PanelError(f"it takes three {w.panel.nouns}.")
    s = w.split()
    both = [cbc.leave_one_language_out(s, at) for at in range(len(w.panel.languages))]
    every = tuple(np.mean([x[i] for x in both], axis=0) for i in (0, 1))
    rows = [
        (language, *protocols.summary(raw), *protocols.summary(zero))
        for language, (raw, zero) in zip(("(all)", *w.panel.languages), (every, *both), strict=True)
    ]
    columns = [f"{x}{end}" for x in ("raw", "zero_shot") for end in ("", "_low", "_high")]
    return pd.DataFrame(rows, columns=["language", *columns])


def _decisions(w: _Work) -> pd.DataFrame:
    rows = []
    for method, found in cbc.decisions(w.split()).items():
        accuracy, regret = protocols.summary(found.right.mean(1)), protocols.summary(found.regret.mean(1))
        rows.append((method, *accuracy, *regret))
    columns = ["method", "accuracy", "accuracy_low", "accuracy_high", "regret", "regret_from", "regret_to"]
    return pd.DataFrame(rows, columns=columns)


def _judges(w: _Work) -> pd.DataFrame:
    m = len(w.panel.judges)
    if m < 3:
        raise PanelError("it takes three judges.")
    sizes = list(range(2, min(m, 8) + 1))
    drawn = [cbc.draw(len(w.values), 100, w.seed + s) for s in sizes]
    return protocols.ablate_judges(w.values, sizes, drawn, w.tiny, most=200)


def _without(w: _Work) -> pd.DataFrame:
    if len(w.panel.judges) < 3:
        raise PanelError("it takes three judges.")
    rows = [(b, *x) for b, x in zip(w.panel.judges, protocols.without_each_judge(w.values, w.tiny), strict=True)]
    return pd.DataFrame(rows, columns=["without", "largest_beta", "reversing_pairs"])


def _tasks(w: _Work) -> pd.DataFrame:
    n = len(w.values)
    sizes = [*(s for s in (10, 20, 30, 40) if s < n), n]
    rng = np.random.default_rng(w.seed)
    return protocols.ablate_tasks(w.values, sizes, [protocols.subset_draws(n, s, 100, rng) for s in sizes], w.tiny)


def _information(w: _Work) -> pd.DataFrame:
    return pd.DataFrame([protocols.information(_runs(w), w.seed)])


def _gates(w: _Work) -> pd.DataFrame:
    y = w.panel.scores.reshape(-1, *w.panel.shape[2:])
    marks = w.marks or tuple((x, ">") for x in np.unique(np.nanquantile(w.panel.scores, [0.25, 0.5, 0.75])))
    y = y[np.isfinite(y).all((1, 2))]
    if len(y) < 2:
        raise PanelError("fewer than two answers have all their scores.")
    drawn = cbc.draw(len(y), 200, w.seed) if len(y) <= 5000 and not w.panel.has_systems else None
    from_above = [mark - 2 * w.tiny * (how == ">=") for mark, how in marks]
    return protocols.sweep(y, from_above, drawn, w.tiny).assign(threshold=[mark for mark, _ in marks])


def _few_shot(w: _Work) -> pd.DataFrame:
    languages = range(len(w.panel.languages))
    if len(languages) < 3:
        raise PanelError(f"it takes three {w.panel.nouns}.")
    s = w.split()
    rows: list[tuple[int, float, float, float]] = []
    for shared in SHARED_TASKS:
        if ((s.drawn > 0).sum(1) >= shared).mean() < USABLE_SHARE:
            continue
        taus = np.mean([protocols.few_shot(s, language, shared, w.seed) for language in languages], axis=0)
        rows.append((shared, *protocols.summary(taus)))
    return pd.DataFrame(rows, columns=["shared_tasks", "tau", "low", "high"])


def _families(w: _Work) -> pd.DataFrame:
    if w.families is None:
        raise PanelError("it needs a column that sorts tasks: --family COLUMN.")
    labels, family = w.families
    if len(w.values) != len(family):
        raise PanelError("it takes single tasks, and here units are clusters of them.")
    sizes = np.bincount(family[family >= 0], minlength=len(labels))
    is_large = sizes >= SMALLEST_FAMILY
    if is_large.sum() < 2:
        raise PanelError(f"it takes two families of {SMALLEST_FAMILY} tasks or more.")
    is_used = (family >= 0) & is_large[family]
    numbers = np.unique(family[is_used], return_inverse=True)[1]
    effect = protocols.compare_families(w.values[is_used], numbers, w.replicates, w.seed)
    return pd.DataFrame(
        {
            "family": np.array(labels, dtype=object)[is_large], "tasks": sizes[is_large],
            "r": effect.r, "low": effect.low, "high": effect.high, "p_exchanged": effect.p,
        }
    )  # fmt: skip


def _anchor(w: _Work) -> pd.DataFrame:
    parts, _ = interaction_parts(w.reduced)
    return compare_with_people(w.panel, parts.mean(0), w.marks[0] if w.marks else None, w.tiny)


TABLES: dict[str, Callable[[_Work], pd.DataFrame]] = {
    "interaction": _interaction, "reversals": _reversals, "fit": _fit, "variance": _variance,
    "calibration": _calibration, "unseen": _unseen, "decisions": _decisions, "ablation_judges": _judges,
    "without": _without, "ablation_tasks": _tasks, "information": _information, "gates": _gates,
    "few_shot": _few_shot, "families": _families, "anchor": _anchor,
}  # fmt: skip


def _radius(w: _Work) -> float:
    """The radius of Prop. 2 by the noise."""
    _, k, m = w.values.shape
    return cbc.radius(cbc.noise_sigma(w.values), len(w.values), k, m)


def _findings(w: _Work, frames: dict[str, pd.DataFrame], radius: float) -> list[Finding]:
    panel, r = w.panel, frames["reversals"]
    turned, sure = int((r["delta"] > 0).sum()), int((r["p_selected"] <= 0.05).sum())
    verb = "reverses" if turned == 1 else "reverse"
    text = f"{turned} of {count(len(r), 'pair')} of judges {verb} between two {panel.nouns} in the means; "
    text += f"a test that allows for having chosen the two confirms {sure}."
    if panel.complete:
        p = protocols.global_null(w.values, 1000, w.seed, w.tiny)[0]
        text += f" So many are {'unlikely' if p <= 0.05 else 'likely enough'} without interaction ({p_value(p)})."
    out = [Finding("info", "reversals", text, "Order")]
    if "calibration" in frames:
        raw, ours = (number(frames["calibration"].set_index("method")["tau"][x]) for x in ("raw", "cbc"))
        text = f"On left-out tasks the {panel.nouns} rank the judges alike with a tau of {raw}, after CBC of {ours}."
        out.append(Finding("info", "consistency", f"{text} That is consistency, not accuracy.", "Held out"))
    largest, reach = (points(x * panel.factor) for x in (frames["interaction"]["beta"].abs().max(), radius))
    text = f"The largest cell of beta^ is {largest} {panel.unit_name}; the radius of Prop. 2, by the noise, {reach}."
    out.append(Finding("info", "radius", text, "Cells"))
    if "anchor" in frames:
        out.append(Finding("info", "anchor", anchor_sentences(frames["anchor"]), "People"))
    return out


def _charts(frames: dict[str, pd.DataFrame], panel: Panel) -> dict[str, tuple[Chart, ...]]:
    cells = frames["interaction"]
    heat = cells.rename(columns={"language": "row", "judge": "column", "beta": "value"})[["row", "column", "value"]]
    ranks = []
    for title, values in (("raw", cells["mean"]), ("after CBC", cells["mean"] - cells["beta"])):
        place = values.round(9).groupby(cells["language"]).rank(ascending=False, method="min")
        ranks.append(pd.DataFrame({"panel": title, "group": cells["language"], "label": cells["judge"], "rank": place}))
    alt = "Ranks of the judges in each language, before and after calibrating."
    out: dict[str, tuple[Chart, ...]] = {
        "interaction": (
            Chart("interaction", "heatmap", TITLES["interaction"], heat, "The cells of beta^ as colours."),
        ),
        "calibration": (Chart("ranks", "ranks", "Figure 2: ranks before and after CBC", pd.concat(ranks), alt),),
    }
    if "ablation_tasks" in frames:
        t, alt = frames["ablation_tasks"], "Error of beta^ and the radius of Prop. 2 fall with the number of tasks."
        parts = [pd.DataFrame({"label": x, "x": t["tasks"], "value": t[x]}) for x in ("error", "radius")]
        made = (pd.concat(parts, ignore_index=True), alt, "tasks", panel.unit_name)
        out["ablation_tasks"] = (Chart("convergence", "lines", "Figure 4: convergence", *made),)
    return out
