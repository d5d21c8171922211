"""What a comparison of methods says."""

from __future__ import annotations

from dataclasses import replace

from polyjudge.second.calibrate.methods import IDENTITIES
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Words, say, word
from polyjudge.second.panel.scale import Scale
from polyjudge.second.questions.compare.held_out import GAINS, Comparison
from polyjudge.second.report.build import chart, column, fields, frame_of, notes, table
from polyjudge.second.report.sections import Report, Section
from polyjudge.second.report.unit import shown_scale


def build(result: Comparison, panel: Panel | None = None) -> Report:
    """Methods on left-out tasks."""
    scale, frame = shown_scale(result, panel), frame_of("compare", result, panel)
    c = in_unit(result, scale)
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
    sections = (
        held_out_section(c, said=True),
        Section(name="differences", title="Method against method", blocks=(paired,)),
    )
    wide = [note for note in c.notes if note.code == "held-out.wide"] or [say("held-out.consistency")]
    return Report(**frame, unit=scale.unit, title=say("held-out.title"), verdict=(best, *wide), sections=sections)


def in_unit(c: Comparison, scale: Scale) -> Comparison:
    """The comparison with gains as they are shown: of pass or fail in percentage points."""
    factor = scale.factor
    if factor == 1.0:
        return c
    gains = {name: c.table[name] * factor**2 for name in GAINS if name != "gain_positive"}
    advice = c.advice
    if advice is not None:
        power = {"gain": 2, "low": 2, "high": 2, "closer": 1, "closer_low": 1, "closer_high": 1}
        values = {
            n: x * factor ** power[n] if n in power and x is not None else x for n, x in advice.text.values.items()
        }
        advice = replace(advice, text=replace(advice.text, values=values))
    return replace(c, table=c.table.assign(**gains), advice=advice)


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


VIEWS = {"Comparison": build}
