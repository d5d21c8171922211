"""What the protocols of `compare` say: methods on left-out tasks, newcomers, decisions, ablations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyjudge.calibrate.methods.base import IDENTITIES
from polyjudge.core.sections import Block, Chart, Column, Report, Section, Table, Words, say
from polyjudge.report.build.shared import LANGUAGE, frame_of, notes, value
from polyjudge.report.words import word

if TYPE_CHECKING:
    from polyjudge.analyse.ablations import Ablation
    from polyjudge.analyse.decisions import Decisions
    from polyjudge.analyse.held_out import Comparison
    from polyjudge.analyse.unseen import Unseen
    from polyjudge.core.panel import Panel


def build(result: Any, panel: Panel | None = None) -> Report:
    """The report of any protocol."""
    kind = next(k.__name__ for k in type(result).__mro__ if k.__name__ in PARTS)
    title, verdict, sections = PARTS[kind](result)
    return Report(**frame_of("compare", result, panel), title=title, verdict=verdict, sections=sections)


Parts = tuple[Words, tuple[Words, ...], tuple[Section, ...]]
"""Title, verdict and sections."""


def _comparison(c: Comparison) -> Parts:
    best = say("held-out.unmeasured") if c.advice is None else c.advice.text
    main = "cbc" if (c.table["method"] == "cbc").any() else c.table["method"].iloc[0]
    d = c.differences
    d = d.assign(main=(d["method_a"] == main) | (d["method_b"] == main)).sort_values(
        "main", ascending=False, kind="stable"
    )
    paired = Table(
        name="differences",
        caption="Difference of tau, paired over the same resamples",
        frame=d,
        columns=(
            Column(name="method_a", title="method"),
            Column(name="method_b", title="against"),
            Column(name="difference", title="difference of tau", kind="ratio", sign=True, low="low", high="high"),
            Column(name="favour_a", title="resamples for it", kind="share"),
            Column(name="favour_b", title="for the other", kind="share"),
        ),
    )
    pairs = Table(
        name="language_pairs",
        caption="Agreement of two languages on the judges' order",
        frame=c.language_pairs,
        columns=(
            Column(name="method", title="method"),
            Column(name="language_a", title="language", kind="label"),
            Column(name="language_b", title="and", kind="label"),
            Column(name="tau", title="tau", kind="ratio", low="low", high="high"),
            Column(name="defined", title="resamples with a tau", kind="share"),
        ),
        most=200,
    )
    sections = (
        held_out_section(c, said=True),
        Section(name="differences", title="Method against method", blocks=(paired,)),
        Section(name="language-pairs", title="Pairs of languages", blocks=(pairs,)),
    )
    wide = [note for note in c.notes if note.code == "held-out.wide"]
    return say("held-out.title"), (best, *(wide or [say("held-out.consistency")])), sections


def held_out_section(c: Comparison, said: bool = False) -> Section:
    """The comparison of methods; what is true by arithmetic is pale. `said`: the advice stands elsewhere."""
    against = c.table["method"] == "raw"  # what the gain is measured against has none
    frame = c.table.assign(gain=c.table["gain"].mask(against), gain_positive=c.table["gain_positive"].mask(against))
    for name in ("tau", "full_fit", "gain", "gain_positive"):
        frame[f"pale_{name}"] = [name in IDENTITIES.get(code, ()) for code in frame["identity"]]
    codes = {code: word(say(f"identity.{code}")) for code in IDENTITIES} | {"": ""}
    columns = (
        Column(name="method", title="method"),
        Column(name="tau", title="agreement of languages (tau)", kind="ratio", low="low", high="high", pale="pale_tau"),
        Column(name="full_fit", title="full fit", kind="ratio", pale="pale_full_fit"),
        value("gain", "gain, points squared", "gain_low", "gain_high", sign=True, pale="pale_gain"),
        Column(name="gain_positive", title="resamples with a gain", kind="share", pale="pale_gain_positive"),
        Column(name="identity", title="true by arithmetic", words=codes),
    )
    real = frame[~frame["pale_tau"] & frame["tau"].notna()].sort_values("tau", ascending=False)
    best = {"method": None} if real.empty else {n: real.iloc[0][n] for n in ("method", "tau", "low", "high")}
    data = {"frame": frame, "label": "method", "value": "tau", "unit": "mean tau", "grey": "pale_tau"}
    chart = Chart(
        name="held-out-tau",
        draw="intervals",
        data=({**data, "title": "Agreement of languages on left-out tasks"},),
        caption="Rank agreement between languages on left-out tasks.",
        alt=say("held-out.chart", resamples=c.resamples, **best),
        instead=Table(name="compare", caption="Methods on left-out tasks", frame=frame, columns=columns),
    )
    advice: tuple[Words, ...] = () if said or c.advice is None else (c.advice.text,)
    return Section(
        name="held-out",
        title="Held out: does it hold on tasks it has not seen",
        says=(*advice, c.scope, say("held-out.full-fit"), *notes(c.notes)),
        blocks=(chart,),
        folded=not said,
    )


def _unseen(u: Unseen) -> Parts:
    o = u.overall
    values = {f"zero{end}": o[f"zero_shot{end}"] for end in ("", "_low", "_high")}
    values |= {f"raw{end}": o[f"raw{end}"] for end in ("", "_low", "_high")}
    verdict: list[Words] = [say("unseen.verdict", what=u.what, **values)]
    if u.enough is not None:
        verdict.append(say("unseen.enough", enough=u.enough, full=u.full))
    columns = (
        Column(name=u.what, title=u.what, kind="judge" if u.what == "judge" else "label"),
        Column(name="raw", title="tau, raw", kind="ratio", low="raw_low", high="raw_high"),
        Column(name="zero_shot", title="tau, no task scored", kind="ratio", low="zero_shot_low", high="zero_shot_high"),
    )
    table = Table(name="compare", caption="Agreement with the others on left-out tasks", frame=u.table, columns=columns)
    says: tuple[Words, ...] = (u.identity, *((say("unseen.judge"),) if u.what == "judge" else ()), *notes(u.notes))
    sections = [
        Section(name="newcomer", title=f"Each {u.what} as a newcomer", says=says, blocks=(table,), folded=False)
    ]
    if len(u.curve) > 1:
        sections.append(_curve(u))
    return say("unseen.title", what=u.what), tuple(verdict), tuple(sections)


def _curve(u: Unseen) -> Section:
    columns = [
        Column(name="shots", title="scored tasks", kind="count"),
        Column(name="tau", title="tau", kind="ratio", low="low", high="high"),
        Column(name="share", title="share of the gain of all tasks", kind="share"),
    ]
    if "consistency" in u.curve:
        low, high = "consistency_low", "consistency_high"
        columns.append(Column(name="consistency", title="consistency", kind="ratio", low=low, high=high))
    first, last = u.curve.iloc[0], u.curve.iloc[-1]
    values = {"first": first["tau"], "few": int(first["shots"]), "last": last["tau"], "many": int(last["shots"])}
    caption = "Agreement by number of scored tasks"
    chart = Chart(
        name="few-shot",
        draw="few_shot_curve",
        data=({"curve": u.curve, "what": u.what, "full": u.full},),
        caption=f"{caption}.",
        alt=say("unseen.curve-chart", **values),
        instead=Table(name="curve", caption=caption, frame=u.curve, columns=tuple(columns)),
    )
    return Section(name="curve", title="With some of its tasks scored", blocks=(chart,), folded=False)


def _decisions(d: Decisions) -> Parts:
    best = d.table.sort_values("accuracy", ascending=False).iloc[0]
    values = {"accuracy": best["accuracy"], "low": best["accuracy_low"], "high": best["accuracy_high"]}
    verdict = (
        say("decisions.verdict", method=best["method"], decisions=d.decisions, **values),
        d.target,
    )
    columns = (
        Column(name="method", title="chosen by"),
        Column(name="accuracy", title="meets the target", kind="share", low="accuracy_low", high="accuracy_high"),
        value("regret", "regret, points", "regret_low", "regret_high"),
    )
    by = (
        Column(name="method", title="chosen by"),
        LANGUAGE,
        Column(name="accuracy", title="meets the target", kind="share"),
        value("regret", "regret, points"),
        Column(name="chosen", title="chosen most often", kind="judge"),
        Column(name="chosen_share", title="in", kind="share"),
    )
    caption = "Decisions on left-out tasks"
    data = {"frame": d.table, "label": "method", "value": "accuracy", "low": "accuracy_low", "high": "accuracy_high"}
    every = Chart(
        name="decisions-chart",
        draw="intervals",
        data=({**data, "title": caption, "unit": "share that meets the target", "zero": None},),
        caption=f"{caption}.",
        alt=say("decisions.chart", method=best["method"], **values),
        instead=Table(name="compare", caption=caption, frame=d.table, columns=columns),
    )
    each = Table(name="languages", caption="Decisions by language", frame=d.languages, columns=by)
    sections = (
        Section(
            name="decisions",
            title="All languages",
            says=(say("decisions.interval"),),
            blocks=(every,),
            folded=False,
        ),
        Section(name="languages", title="By language", blocks=(each,)),
    )
    return say("decisions.title"), verdict, sections


def _ablation(a: Ablation) -> Parts:
    title = say("ablation.title", by=a.by)
    first = [c for c in ("judges", "subsets", "group", "tasks") if c in a.table]
    columns = [
        *(Column(name=c, title=c, kind="label" if c == "group" else "count") for c in first),
        Column(name="raw", title="tau, raw", kind="ratio", low="raw_low", high="raw_high"),
        Column(name="tau", title="tau, calibrated", kind="ratio", low="low", high="high"),
        Column(name="sd", title="sd", kind="ratio"),
        value("gain", "gain, points squared", "gain_low", "gain_high", sign=True),
    ]
    columns = [c for c in columns if c.name in a.table]
    if "error" in a.table:
        columns += [value("error", "mean error of the interaction", "error_low", "error_high"), value("bound", "bound")]
    frame = a.table.assign(name=[str(x) for x in a.table[first[0]]])
    data = {"frame": frame, "label": "name", "value": "tau", "unit": "mean tau"}
    chart = Chart(
        name="ablation",
        draw="intervals",
        data=({**data, "title": f"{word(title)}: agreement on left-out tasks"},),
        caption=f"{word(title)}.",
        alt=say("ablation.chart", what=first[0]),
        instead=Table(name="compare", caption=title, frame=a.table, columns=tuple(columns)),
    )
    last = a.table.iloc[-1]
    values = {n: last[n] for n in ("tau", "low", "high", "gain", "gain_low", "gain_high")}
    verdict = (say("ablation.verdict", what=first[0], size=last[first[0]], **values),)
    says: tuple[Words, ...] = (*((a.identity,) if a.identity else ()), a.scope, *notes(a.notes))
    blocks: tuple[Block, ...] = (chart,)
    return title, verdict, (Section(name="ablation-section", title=title, says=says, blocks=blocks, folded=False),)


PARTS: dict[str, Any] = {
    "Comparison": _comparison,
    "Unseen": _unseen,
    "Decisions": _decisions,
    "Ablation": _ablation,
}
