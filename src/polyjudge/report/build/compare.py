"""What the protocols of `compare` say: methods on left-out tasks, newcomers, decisions, ablations."""

from __future__ import annotations

from typing import Any

from polyjudge.analyse.ablations import Ablation
from polyjudge.analyse.decisions import Decisions
from polyjudge.analyse.held_out import Comparison
from polyjudge.analyse.unseen import Unseen
from polyjudge.calibrate.methods.base import IDENTITIES
from polyjudge.core.panel import Panel
from polyjudge.core.sections import Report, Section, Words, say
from polyjudge.report.build.shared import chart, column, fields, frame_of, notes, table
from polyjudge.report.words import word


def build(result: Any, panel: Panel | None = None) -> Report:
    """The report of any protocol."""
    title, verdict, sections = PARTS[type(result).__name__](result)
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
    paired = table(
        "differences",
        "Difference of tau, paired over the same resamples",
        d,
        "method = method_a | against = method_b | difference of tau = difference/low/high:+ratio "
        "| resamples for it = favour_a:share | for the other = favour_b:share",
    )
    pairs = table(
        "language_pairs",
        "Agreement of two languages on the judges' order",
        c.language_pairs,
        "method | language = language_a:label | and = language_b:label | tau/low/high:ratio "
        "| resamples with a tau = defined:share",
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
        column("method"),
        column("agreement of languages (tau) = tau/low/high:ratio", pale="pale_tau"),
        column("full fit = full_fit:ratio", pale="pale_full_fit"),
        column("gain, points squared = gain/_low/_high:+points", pale="pale_gain"),
        column("resamples with a gain = gain_positive:share", pale="pale_gain_positive"),
        column("true by arithmetic = identity", words=codes),
    )
    real = frame[~frame["pale_tau"] & frame["tau"].notna()].sort_values("tau", ascending=False)
    best = {"method": None} if real.empty else fields(real.iloc[0], "method", "tau", "low", "high")
    methods = chart(
        "held-out-tau",
        "intervals",
        "Rank agreement between languages on left-out tasks.",
        say("held-out.chart", resamples=c.resamples, **best),
        table("compare", "Methods on left-out tasks", frame, *columns),
        frame=frame,
        label="method",
        value="tau",
        unit="mean tau",
        grey="pale_tau",
        title="Agreement of languages on left-out tasks",
    )
    advice: tuple[Words, ...] = () if said or c.advice is None else (c.advice.text,)
    return Section(
        name="held-out",
        title="Held out: does it hold on tasks it has not seen",
        says=(*advice, c.scope, say("held-out.full-fit"), *notes(c.notes)),
        blocks=(methods,),
        folded=not said,
    )


def _unseen(u: Unseen) -> Parts:
    o = u.overall
    values = {f"zero{end}": o[f"zero_shot{end}"] for end in ("", "_low", "_high")}
    values |= {f"raw{end}": o[f"raw{end}"] for end in ("", "_low", "_high")}
    verdict: list[Words] = [say("unseen.verdict", what=u.what, **values)]
    if u.enough is not None:
        verdict.append(say("unseen.enough", enough=u.enough, full=u.full))
    head = f"{u.what} | tau, raw = raw/_low/_high:ratio | tau, no task scored = zero_shot/_low/_high:ratio"
    each = table("compare", "Agreement with the others on left-out tasks", u.table, head)
    says: tuple[Words, ...] = (u.identity, *((say("unseen.judge"),) if u.what == "judge" else ()), *notes(u.notes))
    title = f"Each {u.what} as a newcomer"
    sections = [Section(name="newcomer", title=title, says=says, blocks=(each,), folded=False)]
    if len(u.curve) > 1:
        sections.append(_curve(u))
    return say("unseen.title", what=u.what), tuple(verdict), tuple(sections)


def _curve(u: Unseen) -> Section:
    head = "scored tasks = shots:count | tau/low/high:ratio | share of the gain of all tasks = share:share"
    if "consistency" in u.curve:
        head += " | consistency/_low/_high:ratio"
    first, last = u.curve.iloc[0], u.curve.iloc[-1]
    values = {"first": first["tau"], "few": int(first["shots"]), "last": last["tau"], "many": int(last["shots"])}
    caption, alt = "Agreement by number of scored tasks", say("unseen.curve-chart", **values)
    instead = table("curve", caption, u.curve, head)
    line = chart("few-shot", "few_shot_curve", f"{caption}.", alt, instead, **fields(u, "curve", "what", "full"))
    return Section(name="curve", title="With some of its tasks scored", blocks=(line,), folded=False)


def _decisions(d: Decisions) -> Parts:
    best = d.table.sort_values("accuracy", ascending=False).iloc[0]
    values = {"accuracy": best["accuracy"], "low": best["accuracy_low"], "high": best["accuracy_high"]}
    verdict = (
        say("decisions.verdict", method=best["method"], decisions=d.decisions, **values),
        d.target,
    )
    met = (
        "chosen by = method | meets the target = accuracy/_low/_high:share | regret, points = regret/_low/_high:points"
    )
    caption = "Decisions on left-out tasks"
    every = chart(
        "decisions-chart",
        "intervals",
        f"{caption}.",
        say("decisions.chart", method=best["method"], **values),
        table("compare", caption, d.table, met),
        frame=d.table,
        label="method",
        value="accuracy",
        low="accuracy_low",
        high="accuracy_high",
        title=caption,
        unit="share that meets the target",
        zero=None,
    )
    head = (
        "chosen by = method | language | meets the target = accuracy:share | regret, points = regret:points "
        "| chosen most often = chosen:judge | in = chosen_share:share"
    )
    each = table("languages", "Decisions by language", d.languages, head)
    how = (say("decisions.interval"),)
    sections = (
        Section(name="decisions", title="All languages", says=how, blocks=(every,), folded=False),
        Section(name="languages", title="By language", blocks=(each,)),
    )
    return say("decisions.title"), verdict, sections


def _ablation(a: Ablation) -> Parts:
    title = say("ablation.title", by=a.by)
    first = [c for c in ("judges", "subsets", "group", "tasks") if c in a.table]
    columns = [
        *(column(f"{c}:{'label' if c == 'group' else 'count'}") for c in first),
        column("tau, raw = raw/_low/_high:ratio"),
        column("tau, calibrated = tau/low/high:ratio"),
        column("sd:ratio"),
        column("gain, points squared = gain/_low/_high:+points"),
        column("mean error of the interaction = error/_low/_high:points"),
        column("bound:points"),
    ]
    by_size = chart(
        "ablation",
        "intervals",
        f"{word(title)}.",
        say("ablation.chart", what=first[0]),
        table("compare", title, a.table, *(c for c in columns if c.name in a.table)),
        frame=a.table.assign(name=[str(x) for x in a.table[first[0]]]),
        label="name",
        value="tau",
        unit="mean tau",
        title=f"{word(title)}: agreement on left-out tasks",
    )
    last = a.table.iloc[-1]
    values = fields(last, "tau", "low", "high", "gain", "gain_low", "gain_high")
    verdict = (say("ablation.verdict", what=first[0], size=last[first[0]], **values),)
    says: tuple[Words, ...] = (*((a.identity,) if a.identity else ()), a.scope, *notes(a.notes))
    section = Section(name="ablation-section", title=title, says=says, blocks=(by_size,), folded=False)
    return title, verdict, (section,)


PARTS: dict[str, Any] = {"Comparison": _comparison, "Unseen": _unseen, "Decisions": _decisions, "Ablation": _ablation}
