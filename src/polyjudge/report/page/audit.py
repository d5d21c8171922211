"""The page of an audit, section by section. A section without results says why it is absent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from polyjudge.core.labels import clean, label, labels
from polyjudge.core.schema import envelope
from polyjudge.report import charts
from polyjudge.report.charts.ranks import AFTER, BEFORE
from polyjudge.report.charts.theme import unchecked
from polyjudge.report.numbers import writer
from polyjudge.report.page.deeper import deeper_sections
from polyjudge.report.page.made import facts
from polyjudge.report.page.model import POINTS, Column, Figure, Page, Section, Table, p_value, table
from polyjudge.report.page.render import render
from polyjudge.report.verdict import verdict

if TYPE_CHECKING:
    from polyjudge.analyse.audit import Audit

SHOWN_NOT = (
    "Shared shift: what all judges add or take in a language together stays in the scores. Only labels can tell it "
    "from real differences between the languages.",
    "Accuracy: agreement of the languages after calibrating is consistency. A high mean is leniency, not quality, so "
    "the top judge is the most lenient one.",
    "Languages that are not in the panel: the interaction of an unseen language is taken as zero until a few of its "
    "tasks are scored.",
    "Single tasks: calibrating removes the mean over tasks of what language and judge do together. What differs from "
    "task to task (the three-way term) stays.",
)


def audit_page(
    audit: Audit, command: str, payload: dict[str, Any] | None = None, extra: Sequence[Section] = ()
) -> Page:
    """The page of an audit.

    Parameters
    ----------
    command : what makes the page again
    payload : its JSON; made here when not given
    extra : sections to show before what the audit does not show
    """
    with unchecked():
        return _audit_page(audit, command, payload, extra)


def audit_html(audit: Audit) -> str:
    """The page of an audit made in Python."""
    settings: dict[str, object] = {"seed": audit.seed, "level": audit.level, "resamples": audit.held_out.resamples}
    if audit.gates is not None:
        settings |= {"threshold": audit.gates.threshold, "base": audit.gates.base}
    words = ", ".join(f"{name}={value!r}" for name, value in settings.items() if value is not None)
    return render(audit_page(audit, f'polyjudge.audit(panel, {words}).to_html("report.html")'))


def _audit_page(audit: Audit, command: str, payload: dict[str, Any] | None, extra: Sequence[Section]) -> Page:
    s = audit.summary
    sections = [
        panel_section(audit),
        rank_section(audit),
        interaction_section(audit),
        reversal_section(audit),
        probability_section(audit),
        *deeper_sections(audit),
        *extra,
        Section("limits", "What this does not show", points=(*SHOWN_NOT, *audit.caveats)),
        methods_section(audit),
    ]
    return Page(
        title=f"Audit of {len(s.judges)} judges in {len(s.languages)} languages",
        subtitle=f"{s.tasks:,} tasks, {s.scores:,} scores between {s.low:g} and {s.high:g}",
        verdict=verdict(audit),
        findings=tuple((f.severity, f.text) for f in audit.findings),
        sections=tuple(sections),
        judges=tuple(labels(s.judges).values()),
        facts=facts({"seed": audit.seed, "level": audit.level, "input fingerprint": s.fingerprint}),
        command=command,
        payload=payload if payload is not None else envelope("audit", audit.to_dict()),
    )


def panel_section(audit: Audit) -> Section:
    s = audit.summary
    scale = "the declared scale" if s.range_declared else "as observed; declare the scale with --range if it is wider"
    replicates = f" with {len(s.replicates)} replicates ({_some(s.replicates)})" if s.replicates else ""
    full = s.units * len(s.languages) * len(s.judges) * max(1, len(s.replicates))
    facts_ = [
        f"{s.tasks:,} tasks" + (f" in {s.units:,} units" if s.units != s.tasks else "") + replicates,
        f"{len(s.languages)} languages: {_some(s.languages)}",
        f"{len(s.judges)} judges: {_some(s.judges)}",
        f"scores between {s.low:g} and {s.high:g} ({scale})",
    ]
    if s.units == s.tasks:
        covered = "every task is scored in every language by every judge"
        facts_.append(
            f"coverage: {covered}" if s.scores >= full else f"coverage: {s.scores:,} scores of {full:,} possible ones"
        )
    facts_ += [f"note: {clean(note, 400)}" for note in s.notes]
    facts_ += _missing_words(audit)
    effect = {"effect": Column("effect", POINTS, True, "low", "high"), "rank": Column("rank", 1)}
    judge, language = audit.judge_effect, audit.language_effect
    first = judge.sort_values("rank")
    unit = "points from the grand mean"
    points = writer([*judge["effect"], *language["effect"]], 3)
    return Section(
        "panel",
        "The panel and its coverage",
        points=tuple(facts_),
        blocks=(
            Figure(
                "effects",
                (
                    charts.intervals(first, "judge", "effect", "Judges: leniency overall", unit),
                    charts.intervals(language, "language", "effect", "Languages: shift that all judges share", unit),
                ),
                "Judge and language effects.",
                f"The judges' order by overall mean, from {label(first['judge'].iloc[0])} "
                f"({points(first['effect'].iloc[0], True)}) to {label(first['judge'].iloc[-1])} "
                f"({points(first['effect'].iloc[-1], True)}), is the order that calibrating gives to every language. "
                f"The shared shift of a language (from {points(language['effect'].min(), True)} to "
                f"{points(language['effect'].max(), True)}) stays in the scores. "
                f"Bars are {audit.level:.0%} intervals over tasks.",
                table(first, "Judge effects, in points", {"judge": Column("judge"), **effect}),
            ),
            table(language, "Language effects, in points", {"language": Column("language"), **effect}, judges=()),
            *_missing_cells(audit),
        ),
    )


def _missing_words(audit: Audit) -> list[str]:
    m = audit.missingness
    if m is None:
        return []
    out = [f"{m.missing:,} of {m.entries:,} entries ({m.rate:.1%}) have no score; missing is missing, never zero"]
    if m.p_cell is not None:
        out.append(
            f"does missingness depend on the cell: p {p_value(m.p_cell)}; on language and judge together, beyond each "
            f"alone: p {p_value(m.p_interaction)}"
        )
    return out + [clean(n, 400) for n in m.notes]


def _missing_cells(audit: Audit) -> list[Table]:
    if audit.missingness is None:
        return []
    cells = audit.missingness.cells
    cells = cells[cells["missing"] > 0].sort_values("rate", ascending=False, kind="stable")
    columns = {
        "language": Column("language"),
        "judge": Column("judge"),
        "missing": Column("missing", 0),
        "tasks": Column("of tasks", 0),
        "rate": Column("rate", 1, percent=True),
    }
    if "sensitivity_low" in cells:
        words = "interaction, and its range if missing scores lie off"
        columns["interaction"] = Column(words, POINTS, True, "sensitivity_low", "sensitivity_high")
    return [table(cells, "Cells that lack scores", columns)]


def rank_section(audit: Audit) -> Section:
    ranks = audit.ranks.table
    shown = ranks[["language", "judge", "rank", "rank_low", "rank_high", "top_set", "tied_with"]]
    before = ranks[ranks["scope"] == "language"]
    tops = before[before["rank"] == before.groupby("language")["rank"].transform("min")]
    leaders = tops["judge"].nunique()
    columns = {
        "language": Column("language"),
        "judge": Column("judge"),
        "rank": Column("rank", 1),
        "rank_low": Column("best rank not ruled out", 0),
        "rank_high": Column("worst", 0),
        "top_set": Column("may be top"),
        "tied_with": Column("cannot be told apart from"),
    }
    return Section(
        "ranks",
        "Ranks by language, before and after",
        lead=(
            "That all languages agree after calibrating is arithmetic: the calibrated means of the same scores have "
            "one order in every language. It is the panel's own order, not evidence for it.",
        ),
        blocks=(
            Figure(
                "rank-lines",
                (charts.rank_lines(audit.ranks, BEFORE), charts.rank_lines(audit.ranks, AFTER)),
                "Ranks by mean score.",
                f"Before calibrating {leaders} different judges lead in {before['language'].nunique()} languages; "
                "after it one order holds in all. Hovering shows the ranks that the data cannot rule out.",
                table(shown, "Ranks and the judges that cannot be told apart", columns, most=400),
            ),
        ),
    )


def interaction_section(audit: Audit) -> Section:
    u = audit.uncertainty
    cells = u.cells.assign(size=u.cells["interaction"].abs()).sort_values("size", ascending=False, kind="stable")
    top = cells.iloc[0]
    points = writer(cells["interaction"])
    value, low, high = (points(top[name], True) for name in ("interaction", "low", "high"))
    columns = {
        "language": Column("language"),
        "judge": Column("judge"),
        "interaction": Column(f"interaction and {u.level:.0%} interval", POINTS, True, "low", "high"),
        "band_low": Column("band from", POINTS, True),
        "band_high": Column("band to", POINTS, True),
        "verdict": Column("verdict"),
    }
    notes = tuple(clean(n, 400) for n in u.notes)
    return Section(
        "interaction",
        "Where language and judge interact",
        lead=(
            "Points that a cell has beyond what its judge and its language have overall. This is what calibrating "
            "subtracts.",
            *notes,
        ),
        blocks=(
            Figure(
                "heatmap",
                (charts.interaction_heatmap(u),),
                "Interaction of language and judge.",
                f"The largest cell is {label(top['judge'])} in {label(top['language'])}: {value} points "
                f"[{low}, {high}] over {u.tasks:,} tasks. {u.clear} of {len(cells)} cells are clear of the band that "
                f"holds all cells at once ({u.band_method}).",
                table(cells, "Cells by size, in points", columns, most=400),
            ),
        ),
    )


def reversal_section(audit: Audit) -> Section:
    r = audit.reversals
    pairs = r.pairs.sort_values(["p_selected", "delta"], ascending=[True, False], kind="stable")
    turned = pairs[pairs["delta"] > 0]
    columns = {
        "judge_i": Column("first"),
        "judge_j": Column("second"),
        "language_a": Column("language a"),
        "gap_a": Column("gap in a and its se", POINTS, True, se="gap_a_se"),
        "language_b": Column("language b"),
        "gap_b": Column("gap in b and its se", POINTS, True, se="gap_b_se"),
        "p_selected": Column("p, selection allowed for", show=p_value),
        "p_published": Column("p, ignoring selection", show=p_value),
        "reverses": Column("reverses"),
    }
    words = (
        f"{r.count} of {len(r.pairs)} pairs change places in the means, {r.count_selected} of them surely once it is "
        f"allowed for that the two languages were picked from the data. By chance alone {r.null_mean:.1f} pairs would "
        f"(up to {r.null_high:.0f} in 95% of draws; p {p_value(r.p_global)}, {r.global_method})."
    )
    if turned.empty:
        return Section("reversals", "Pairs that change places", lead=(words,))
    shown = table(turned, "Reversing pairs; p adjusted over all pairs", columns, judges=("judge_i", "judge_j"))
    cut = (
        f" The {charts.MOST_PAIRS} clearest of {len(turned)} pairs are drawn."
        if len(turned) > charts.MOST_PAIRS
        else ""
    )
    return Section(
        "reversals",
        "Pairs that change places",
        lead=(words,),
        blocks=(
            Figure(
                "gaps",
                (charts.pair_gaps(r, audit.ranks),),
                "Gaps of the reversing pairs by language.",
                "Each row is a pair; strokes right of 0 are languages in which the first judge is above." + cut,
                None,
            ),
            shown,
        ),
    )


def probability_section(audit: Audit) -> Section:
    frame = audit.reversals.rank_probabilities
    scopes = labels(frame["language"].unique())
    calibrated = frame.loc[frame["scope"] == "calibrated", "language"]
    start = scopes[calibrated.iloc[0]] if len(calibrated) else next(iter(scopes.values()))
    top = audit.reversals.top
    return Section(
        "probabilities",
        "How sure the ranks are",
        blocks=(
            Figure(
                "rank-probabilities",
                (charts.rank_probabilities(audit.reversals),),
                "Probability of each rank over resampled tasks.",
                "Choose a language above, or the calibrated order that all languages share. The table names the top "
                "judge of each and how often resampled tasks put it there.",
                None,
                tuple(scopes.values()),
                start,
            ),
            table(
                top,
                "Top judge and the share of resampled task sets that agree",
                {
                    "language": Column("language"),
                    "judge": Column("top judge"),
                    "probability": Column("probability", 1, percent=True),
                },
            ),
        ),
    )


def methods_section(audit: Audit) -> Section:
    u, r = audit.uncertainty, audit.reversals
    lead = (
        "The interaction of a cell is its mean over tasks, less its judge's mean, less its language's mean, plus the "
        "grand mean (double centring). Calibrating subtracts it from every score of the cell. No labels are used.",
        f"Intervals come from the spread over tasks, which are taken as independent; within a task anything may depend "
        f"on anything. The band over all cells is a {u.band_method} at {u.level:.0%}: interaction plus or minus "
        f"{u.critical:.2f} standard errors. Reversals are tested in both directions over all languages, adjusted for "
        f"picking the languages (Bonferroni) and for testing all pairs (Benjamini-Hochberg at {r.alpha:g}).",
    )
    bounds = table(
        u.bounds,
        "Half-widths of the bounds on all cells at once, in points",
        {"bound": Column("bound"), "sigma": Column("sigma", POINTS), "radius": Column("half-width", POINTS)},
        judges=(),
    )
    return Section("methods", "Methods", lead=lead, blocks=(bounds,))


def _some(names: tuple[str, ...], most: int = 12) -> str:
    shown = ", ".join(label(n) for n in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
