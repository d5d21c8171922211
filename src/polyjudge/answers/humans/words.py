"""What `humans` says: sentences for the first screen (topic "People"), and the report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from polyjudge._version import __version__
from polyjudge.base.numbers import ci, digits_of, missing, number, percent, percent_ci
from polyjudge.base.text import count, name, shell
from polyjudge.report.model import Chart, Finding, Report, Section, Step, Table
from polyjudge.stats.labels import Limits, fewest_to_decide

if TYPE_CHECKING:
    import pandas as pd

    from polyjudge.answers.humans.compare import Humans

AGREE = 0.3
"""Krippendorff's alpha above (below) which annotators surely (hardly) agree: the mark of judges' agreement."""
UNEVEN = 2.0
"""z of labelled against other answers from which it is said."""


def findings(h: Humans) -> tuple[Finding, ...]:
    """All that is said: annotators first, then agreement, what people would say, who may decide, where they part."""
    found = [*_annotators(h), _agreement(h), *_rate(h), *_systems(h), *_removes(h), *_alone(h), *_apart(h)]
    found += [*_requirements(h), *_caveats(h), *_weights(h)]
    return tuple(found)


def _say(key: str, text: str, severity: Any = "info", topic: str = "People", **where: str) -> Finding:
    return Finding(severity, f"humans.{key}", text, topic, where)


def _of(limits: Limits, what: str) -> str:
    """86% of cases [80, 91]"""
    share, _, interval = percent_ci(*limits).partition(" ")
    return f"{share} of {what} {interval}"


def _limits(row: Any, measure: str) -> Limits:
    return float(row[measure]), float(row[measure + "_low"]), float(row[measure + "_high"])


def _lead(h: Humans, frame: pd.DataFrame, first: bool = True) -> Any:
    """The row over all languages and systems of the judge that is asked about."""
    rows = frame[frame["judge"] == h.sides_.lead]
    return rows.iloc[0] if first else rows


def who(h: Humans) -> str:
    """How the judge that is asked about is called in a sentence."""
    return "the judge" if len(h.panel_.judges) == 1 else "the panel"


def _unit(h: Humans) -> str:
    return "percentage points" if h.sides_.verdicts else h.panel_.unit_name


def _factor(h: Humans) -> float:
    return 100.0 if h.two_valued else h.panel_.factor if h.sides_.same else 1.0


def _annotators(h: Humans) -> list[Finding]:
    a, found = h.alpha, []
    people = [x for x in h.sides_.found.annotators if x]
    if not missing(a[0]):
        value = f"alpha = {number(a[0])}" + ("" if missing(a[1]) else f" [{number(a[1])}, {number(a[2])}]")
        if not missing(a[1]) and a[2] < AGREE:
            text = f"The {len(people)} annotators hardly agree with each other ({value}): what follows is no better."
            found.append(_say("annotators", text, "warning"))
        elif not missing(a[1]) and a[1] > AGREE:
            found.append(_say("annotators", f"The {len(people)} annotators agree with each other ({value})."))
        else:
            text = f"Too few answers have labels by two annotators to tell whether they agree ({value})."
            found.append(_say("annotators", text, topic=""))
    sure = h.annotators[h.annotators["low"] > 0].sort_values("harsher", ascending=False, kind="stable")
    if len(sure):
        row = sure.iloc[0]
        d, low, high = (_factor(h) * float(row[c]) for c in ("harsher", "low", "high"))
        size = ci(d, low, high, _label_unit(h))
        others = "the other" if len(h.annotators[h.annotators["language"] == row["language"]]) == 2 else "the others"
        where = f" in {name(row['language'])}" if len(h.panel_.languages) > 1 else ""
        more = f" {count(len(sure) - 1, 'more annotator')} differ too." if len(sure) > 2 else ""
        text = f"Annotator {name(row['annotator'])} is harsher than {others}{where}, by {size}.{more}"
        found.append(_say("harsher", text, "notice", topic="People" if len(h.panel_.languages) < 5 else ""))
    return found


def _label_unit(h: Humans) -> str:
    if h.two_valued:
        return "percentage points"
    return h.panel_.unit_name if h.sides_.same else "points on their own scale"


def _agreement(h: Humans) -> Finding:
    row = _lead(h, h.judges)
    subject = who(h).capitalize()
    labelled = int(row["labelled"])
    if not h.sides_.verdicts:
        r, d = _limits(row, "r"), _limits(row, "difference")
        if missing(r[0]):
            text = (
                f"Labels or scores are all the same on {count(labelled, 'labelled answer')}: nothing can be correlated."
            )
            return _say("agreement", text, "notice")
        text = f"{subject}'s scores correlate with people's labels at r = {number(r[0])}"
        if missing(r[1]):
            return _say("agreement", f"{text} (no interval: {count(labelled, 'labelled answer')}).")
        text += f" [{number(r[1])}, {number(r[2])}]"
        if not missing(d[1]) and (d[1] > 0 or d[2] < 0):
            low, high = (d[1], d[2]) if d[0] >= 0 else (-d[2], -d[1])
            side = "higher" if d[0] >= 0 else "lower"
            text += f"; on average they are {ci(abs(d[0]), low, high, h.panel_.unit_name)} {side}"
        elif not missing(d[1]):
            text += f"; on average they differ by {ci(*d, h.panel_.unit_name, sign=True)}"
        return _say("agreement", f"{text}.{_single(h)}")
    text = f"{subject} agrees with people on {_of(_limits(row, 'accuracy'), 'cases')}"
    text += "" if missing(row["kappa"]) else f" (kappa {number(row['kappa'])})"
    passes, fails = 1 - float(row["specificity"]), 1 - float(row["sensitivity"])
    parts = [] if missing(passes) else [f"passes {percent(passes, 0)} of what people fail"]
    parts += [] if missing(fails) else [f"fails {percent(fails, 0)} of what {'they' if parts else 'people'} pass"]
    tail = f" It {', and '.join(parts)}." if parts else ""
    return _say("agreement", f"{text}.{tail}{_single(h)}")


def _single(h: Humans) -> str:
    """Each judge by itself, where there are a few."""
    judges = h.panel_.judges
    if not 2 <= len(judges) <= 6:
        return ""
    measure = "accuracy" if h.sides_.verdicts else "r"
    rows = h.judges[(h.judges["language"] == h.judges["language"].iloc[0]) & (h.judges["judge"] != h.sides_.lead)]
    rows = rows[rows[measure].notna()]
    if len(rows) < 2:
        return ""
    values = [percent(v, 0) if measure == "accuracy" else number(v) for v in rows[measure]]
    shown = [f"{name(x, 30)} {v}" for x, v in zip(rows["judge"], values, strict=True)]
    return f" Single judges: {', '.join(shown)}."


def _rate(h: Humans) -> list[Finding]:
    """What people would give all answers, beside what the judge gives."""
    row = _lead(h, h.frame)
    people, low, high = (float(row[c]) for c in ("people", "people_low", "people_high"))
    if missing(people) or missing(low):
        return []
    whole = row["labelled"] >= row["answers"]
    share, _, interval = percent_ci(people, low, high).partition(" ")
    if h.sides_.verdicts:
        said = percent(row["panel"], 0 if high - low >= 0.02 else None)
        if whole:
            return [_say("rate", f"People pass {share} of the answers {interval}; {who(h)} passes {said}.")]
        return [_say("rate", f"Corrected for that, {share} of answers pass {interval}; {who(h)} says {said}.")]
    if h.sides_.found.two_valued:
        verb, every = ("pass", "the") if whole else ("would pass", "all")
        return [_say("rate", f"People {verb} {share} of {every} answers {interval}.")]
    verb, every = ("give", "the") if whole else ("would give", "all")
    text = f"People {verb} {every} answers {ci(people, low, high)} on average"
    if h.sides_.same:
        text += f"; {who(h)} gives {number(row['panel'], digits_of((high - low) / 2))}"
    return [_say("rate", text + ".")]


def _systems(h: Humans) -> list[Finding]:
    """Which system people would put first, where that is sure, and whether the panel says the same."""
    if not len(h.pairs):
        return []
    p, f = h.pairs, _factor(h)
    systems = h.panel_.systems
    ahead: dict[str, set[str]] = {x: set() for x in systems}
    for a, b, low, high in zip(p["system"], p["other"], p["low"], p["high"], strict=True):
        if low > 0:
            ahead[a].add(b)
        elif high < 0:
            ahead[b].add(a)
    unit = _label_unit(h)
    wrong = p[(p["panel"] * p["people"] < 0) & ((p["low"] > 0) | (p["high"] < 0))]
    found = []
    first = [x for x in systems if len(ahead[x]) == len(systems) - 1]
    if first:
        rows = [x for x in (_pair(p, first[0], x) for x in systems if x != first[0]) if x is not None]
        other, (d, low, high), says = min(rows, key=lambda x: x[1][0])
        size = ci(f * d, f * low, f * high, unit)
        text = f"By people's labels {name(first[0])} wins: ahead of {name(other)} by {size}"
        more = f"; {who(h)} says {number(says * f, digits_of(f * (high - low) / 2))}" if h.sides_.same else ""
        found.append(_say("systems", f"{text}{more}."))
    elif len(systems) == 2 and not missing(p["low"].iloc[0]):
        row = p.iloc[0]
        a, b, d, low, high = row["system"], row["other"], row["people"], row["low"], row["high"]
        if d < 0:
            a, b, d, low, high = b, a, -d, -high, -low
        size = ci(f * d, f * low, f * high, unit)
        text = f"By people's labels it is too close to call: {name(a)} is ahead of {name(b)} by {size}."
        found.append(_say("systems", text))
    elif any(ahead.values()):
        pairs = sum(len(x) for x in ahead.values())
        text = (
            f"By people's labels no system is ahead of all others; {pairs} of {count(len(p), 'pair')} of them differ."
        )
        found.append(_say("systems", text, topic=""))
    if len(wrong):
        row = wrong.iloc[0]
        a, b = (row["system"], row["other"]) if row["people"] > 0 else (row["other"], row["system"])
        more = f" So do {len(wrong) - 1} other pairs of systems." if len(wrong) > 1 else ""
        text = f"{who(h).capitalize()} puts {name(b)} ahead of {name(a)}; people put {name(a)} ahead.{more}"
        found.append(_say("order", text, "warning"))
    return found


def _pair(p: pd.DataFrame, a: str, b: str) -> tuple[str, Limits, float] | None:
    for sign, one, two in ((1, a, b), (-1, b, a)):
        rows = p[(p["system"] == one) & (p["other"] == two)]
        if len(rows):
            r = rows.iloc[0]
            limits = (r["people"], r["low"], r["high"]) if sign > 0 else (-r["people"], -r["high"], -r["low"])
            return b, (float(limits[0]), float(limits[1]), float(limits[2])), sign * float(r["panel"])
    return None


def _removes(h: Humans) -> list[Finding]:
    """What correcting by these labels does to the comparison of languages."""
    c, panel = h.calibrator_, h.panel_
    if c is None:
        return []
    n = c.n_[c.known_]
    each = f"{n.min()}" if n.min() == n.max() else f"{n.min()} to {n.max()}"
    labels = f"{each} labels per {panel.noun}"
    if h.removes is not None and h.removes[1] > 0:
        share = percent_ci(*h.removes)
        text = f"Corrected by {labels}, the panel loses {share} of its squared error between {panel.nouns}."
        return [_say("removes", text)]
    text = f"Whether correcting by {labels} brings the {panel.nouns} nearer to people cannot be told yet"
    more = "" if n.min() >= 50 else f": label {20 if n.min() < 20 else 50} per {panel.noun}"
    return [_say("removes", f"{text}{more}.", "notice")]


def _alone(h: Humans) -> list[Finding]:
    found, t = [], h.alone
    both = t[t["part"].isin(["all judges agree", "judges differ"])]
    if len(both) == 2:
        a, b = both.iloc[0], both.iloc[1]
        judges = len(h.panel_.judges)
        every = "both judges" if judges == 2 else f"all {judges} judges"
        inside, outside = (percent_ci(x["agreement"], x["low"], x["high"]) for x in (a, b))
        text = f"When {every} agree ({percent(a['share'], 0)} of cases) they match people in {inside}"
        if judges == 2 and not missing(a["low"]):
            found.append(_say("unanimous", text + "."))
        elif not missing(a["low"]) and not missing(b["low"]) and _above(a, b):
            found.append(_say("unanimous", f"{text}; elsewhere in {outside}."))
    allow = h.options_["allow"]
    if allow is not None:
        found.append(_decides(h, t[t["part"] == "beyond the cuts"], allow))
    stand = t[t["part"].str.startswith("instead of")]
    if len(stand):
        won = float(stand[stand["decides"] == h.sides_.lead]["agreement"].iloc[0])
        verb = "may" if won >= 0.5 else "may not"
        text = f"{who(h).capitalize()} {verb} stand in for one annotator: it wins against {percent(won, 0)} of them"
        found.append(_say("stand-in", f"{text} (alternative annotator test).", topic=""))
    return found


def _above(a: Any, b: Any) -> bool:
    """Whether one share is surely higher than another (Newcombe)."""
    return bool(a["agreement"] - b["agreement"] > math.hypot(a["agreement"] - a["low"], b["high"] - b["agreement"]))


def _decides(h: Humans, rows: pd.DataFrame, allow: float) -> Finding:
    subject, errors = who(h), percent(allow)
    if not len(rows):
        need = fewest_to_decide(allow, h.options_["level"])
        labelled = int(_lead(h, h.judges)["labelled"])
        text = f"Nowhere can {subject} be shown to make at most {errors} errors: people decide all cases."
        if labelled < need:
            text = f"To show that {subject} makes at most {errors} errors takes at least {need} labelled cases"
            text += f"; there are {labelled}."
        return _say("alone", text, "notice")
    row = rows.iloc[0]
    start = f"With at most {errors} errors {subject} may decide"
    if row["share"] > 1 - 1e-9:
        return _say("alone", f"{start} all cases alone.")
    rest = f"{percent(1 - row['share'], 0)} of cases go to people"
    if h.panel_.two_valued:
        part = f"where at least {percent(row['passes_above'], 0)} of the judges agree"
    else:
        low, high = (f"{row[c]:.4g}" for c in ("fails_below", "passes_above"))
        part = f"up to {low} (fail) and from {high} on (pass)"
    return _say("alone", f"{start} alone {part}; {rest}.")


def _apart(h: Humans) -> list[Finding]:
    d = h.disagreements
    if not len(d):
        return []
    if h.sides_.verdicts:
        out = [(kind, int((d["kind"] == kind).sum())) for kind in ("false pass", "false fail")]
        parts = [count(n, kind) for kind, n in out if n]
        worst = ", worst first" if len(d) > 1 and not h.panel_.two_valued else ""
        return [_say("apart", f"{' and '.join(parts)}{worst}: {_list(h, d, 4)}.")]
    row = d.iloc[0]
    text = f"Farthest apart: {_where(h, row)} ({who(h)} {row['score']:.4g}, people {row['people']:.4g})"
    rest = f", then {names_of(h, d.iloc[1:4])}" if len(d) > 1 else ""
    return [_say("apart", f"{text}{rest}.")]


def _where(h: Humans, row: Any) -> str:
    axes = (("system", h.panel_.systems), ("language", h.panel_.languages))
    more = [name(row[c], 30) for c, have in axes if len(have) > 1]
    return f"{name(row['task'], 30)}{' (' + ', '.join(more) + ')' if more else ''}"


def names_of(h: Humans, d: pd.DataFrame) -> str:
    """Names of answers, in a sentence."""
    return ", ".join(_where(h, row) for _, row in d.iterrows())


def _list(h: Humans, d: pd.DataFrame, most: int) -> str:
    return names_of(h, d.head(most)) + (f" and {len(d) - most:,} more" if len(d) > most else "")


def _requirements(h: Humans) -> list[Finding]:
    out = []
    for _, row in h.requirements.iterrows():
        ends = "" if missing(row["low"]) else f" [{number(row['low'])}, {number(row['high'])}]"
        verdict = "is met" if row["met"] else "is not met" if row["surely_not"] else "is not shown by these labels"
        text = f"{name(row['rule'])} {verdict}: {number(row['value'])}{ends}."
        out.append(_say("required", text, "info" if row["met"] else "serious", topic="Required"))
    return out


def _caveats(h: Humans) -> list[Finding]:
    found, sides, panel = [], h.sides_, h.panel_
    if abs(h.not_random) > UNEVEN:
        side = "higher" if h.not_random > 0 else "lower"
        z = number(abs(h.not_random), 1)
        text = (
            f"{who(h).capitalize()} scores the labelled answers {side} than the others (z = {z}): they are not like a "
        )
        text += "random draw, and what is said of all answers may be off."
        found.append(_say("not-random", text, "notice"))
    if sides.found.lost:
        one = sides.found.lost == 1
        text = f"{count(sides.found.lost, 'label')} {'belongs' if one else 'belong'} to no answer of the scores and "
        text += "is left out." if one else "are left out."
        found.append(_say("lost", text, "warning"))
    k, who_ = len(panel.languages), sides.found
    if k > 1 and len(who_.annotators) > 1:
        per = [len(np.unique(who_.who[who_.language == i])) for i in range(k)]
        if max(per) == 1:
            text = (
                f"Each {panel.noun} has one annotator: a strict annotator and a weak {panel.noun} cannot be told apart."
            )
            found.append(_say("one-annotator", text, "notice"))
    split = int((np.isfinite(sides.y) & ~np.isfinite(sides.people)).sum()) if sides.verdicts else 0
    if split:
        text = f"On {count(split, 'answer')} annotators split evenly: agreement is counted without them."
        found.append(_say("split", text, topic=""))
    if not sides.verdicts and sides.found.two_valued:
        text = "Labels are pass or fail and scores are not: with --threshold both are compared as verdicts."
        found.append(_say("threshold", text, "notice", topic=""))
    return found


def _weights(h: Humans) -> list[Finding]:
    w = h.weights
    if not len(w):
        return []
    if np.ptp(w["weight"].to_numpy(dtype=float)) < 1e-9:
        text = "Weighting the judges by these labels gains nothing that can be shown: equal weights stay."
        return [_say("weights", text, topic="")]
    top = w.sort_values("weight", ascending=False, kind="stable")
    shown = [f"{name(r['judge'], 30)} {percent(r['weight'], 0)}" for _, r in top.head(4).iterrows()]
    rest = "" if len(top) <= 4 else f" and {count(len(top) - 4, 'other')}"
    return [_say("weights", f"Weights by which the panel agrees best with people: {', '.join(shown)}{rest}.", topic="")]


# --- the report ---


def report(h: Humans) -> Report:
    """Facts, findings, tables."""
    panel, found = h.panel_, h.sides_.found
    people = [x for x in found.annotators if x]
    by = f" by {count(len(people), 'annotator')}" if people else ""
    whole = int(np.isfinite(panel.scores).any(3).sum())
    facts = (panel.facts, f"{count(len(found.label), 'label')}{by} on {found.answers:,} of {count(whole, 'answer')}.")
    o = h.options_
    sections = (_judges_section(h), _rates_section(h), _apart_section(h), _people_section(h), _panel_section(h))
    return Report(
        command="humans",
        title="Judges and people",
        facts=facts,
        findings=h.findings,
        next=_next(h),
        sections=tuple(s for s in sections if s.tables),
        about={
            "level": o["level"],
            "seed": o["seed"],
            "threshold": o["threshold"] or "",
            "scores": panel.source,
            "polyjudge": __version__,
        },
    )


def _next(h: Humans) -> tuple[Step, ...]:
    panel, steps = h.panel_, []
    scores = shell(panel.source or "scores.csv")
    found = h.sides_.found
    k = len(panel.languages)
    each = h.calibrator_.n_.min() if h.calibrator_ is not None else found.answers / k
    left = int((np.isfinite(panel.scores).any(3) & ~np.isfinite(found.y)).sum((0, 1)).max())
    if each < 50 and left:
        n = min(20 if each < 20 else 50, left)
        what = f"label {n} answers" + (f" per {panel.noun}" if k > 1 else "")
        steps.append(Step(f"polyjudge label make {scores} --items ITEMS -n {n}", what))
    if len(h.weights) and np.ptp(h.weights["weight"].to_numpy(dtype=float)) > 1e-9:
        given = h.options_["given"]
        labels = f" {shell(given)}" if isinstance(given, str) else ""
        steps.append(Step(f"polyjudge humans {scores}{labels} -o people", "writes weights.csv"))
        steps.append(Step(f"polyjudge audit {scores} --weights people/weights.csv", "weight the judges by them"))
    return tuple(steps)


SHARES = ("accuracy", "sensitivity", "specificity")


def _judges_section(h: Humans) -> Section:
    columns = {} if len(h.panel_.languages) < 2 else {"language": "name"}
    columns |= {"judge": "name", "labelled": "count"}
    if h.sides_.verdicts:
        columns |= {m: f"percent {m}_low {m}_high" for m in SHARES} | {"kappa": "points kappa_low kappa_high"}
    else:
        columns |= {"r": "points r_low r_high"}
    if h.sides_.verdicts or h.sides_.same:
        columns["difference"] = "+points difference_low difference_high"
    note = f"difference: judge less people, in {_unit(h)}" if "difference" in columns else ""
    if h.sides_.verdicts:
        note += "; sensitivity: passed by the judge, of what people pass; specificity: failed, of what people fail"
    table = Table("judges", "Each judge and people", h.judges, columns, {}, note)
    lead = h.judges[h.judges["language"] == h.judges["language"].iloc[0]]
    m = "accuracy" if h.sides_.verdicts else "r"
    bars = lead[["judge", m, m + "_low", m + "_high"]].set_axis(["label", "value", "low", "high"], axis=1)
    chart = Chart("judges", "intervals", "Agreement with people", bars, f"{m} of each judge with its interval", x=m)
    charts = (*_confusion(h, lead), *((chart,) if len(bars) > 1 else ()))
    return Section("agreement", "Do the judges agree with people?", tables=(table,), charts=charts)


def _confusion(h: Humans, frame: pd.DataFrame) -> tuple[Chart, ...]:
    """What becomes of answers that people pass, and of those that they fail."""
    at = frame[frame["judge"].isin([h.sides_.lead, "panel"])].head(1)
    if not h.sides_.verdicts or not len(at) or not at[["sensitivity", "specificity"]].notna().all(axis=None):
        return ()
    import pandas as pd

    s, p = float(at["sensitivity"].iloc[0]), float(at["specificity"].iloc[0])
    cells = [("people pass", "passes", s), ("people pass", "fails", 1 - s)]
    cells += [("people fail", "passes", 1 - p), ("people fail", "fails", p)]
    rows = [(row, f"{who(h)} {does}", share, percent(share)) for row, does, share in cells]
    made = pd.DataFrame(rows, columns=["row", "column", "value", "text"])
    alt = f"{who(h)[0].upper()}{who(h)[1:]} passes {percent(s)} of what people pass and {percent(1 - p)} of what they fail."
    return (Chart("confusion", "matrix", f"What {who(h)} makes of people's verdicts", made, alt),)


def _rates_section(h: Humans) -> Section:
    panel = h.panel_
    kind = "percent" if h.two_valued else "points"
    frame = h.frame if len(panel.judges) == 1 else h.frame[h.frame["judge"] == h.sides_.lead]
    columns = {} if len(panel.languages) < 2 else {"language": "name"}
    columns |= {"system": "name"} if panel.has_systems else {}
    columns |= {"panel": "percent" if h.sides_.verdicts else "points", "people": f"{kind} people_low people_high"}
    columns |= {"labels": f"{kind} labels_low labels_high"}
    shown = frame
    if h.sides_.verdicts or h.sides_.same:
        f = _factor(h)
        shown = frame.assign(**{c: f * frame[c] for c in ("difference", "low", "high")})
        columns["difference"] = "+points low high"
    columns["labelled"] = "count"
    titles = {"panel": who(h), "people": "people would give", "labels": "labels alone"}
    note = f"difference: {who(h)} less people, in {_label_unit(h)}" if "difference" in columns else ""
    tables = [Table("frame", "What people would give", shown, columns, titles, note)]
    if len(h.pairs):
        f = _factor(h)
        numbers = [c for c in h.pairs.columns if c not in ("system", "other")]
        pairs = h.pairs.assign(**{c: f * h.pairs[c].astype(float) for c in numbers})
        kinds = {"system": "name", "other": "name", "panel": "+points", "people": "+points low high"}
        kinds |= {"labels": "+points labels_low labels_high"}
        heads = {"panel": who(h), "labels": "labels alone"}
        tables.append(Table("pairs", f"Differences of systems, {_label_unit(h)}", pairs, kinds, heads))
    return Section("rates", "What would people say of all answers?", tables=tuple(tables))


def _apart_section(h: Humans) -> Section:
    d = h.disagreements
    if not len(d):
        return Section("apart", "Where they part")
    columns = {"kind": "name", "task": "name"}
    columns |= {"system": "name"} if h.panel_.has_systems else {}
    columns |= {"language": "name"} if len(h.panel_.languages) > 1 else {}
    columns |= {"score": "points", "people": "points"}
    columns |= {c: "text" for c in ("prompt", "response", "reason") if c in d}
    title = "False passes first, then false fails" if h.sides_.verdicts else "Farthest apart first"
    titles = {"score": f"{who(h)}'s score", "people": "people's label"}
    return Section("apart", "Where they part", tables=(Table("disagreements", title, d, columns, titles),))


def _people_section(h: Humans) -> Section:
    tables = []
    a = h.annotators
    if len(a) > 1:
        f = _factor(h)
        shown = a.assign(**{c: f * a[c].astype(float) for c in ("harsher", "low", "high")})
        columns = {} if len(h.panel_.languages) < 2 else {"language": "name"}
        columns |= {"annotator": "name", "labels": "count", "harsher": "+points low high"}
        note = f"harsher: how much lower than the others' labels at the same score, in {_label_unit(h)}"
        tables.append(Table("annotators", "Annotators", shown, columns, note=note))
    return Section("people", "Do people agree with each other?", tables=tuple(tables))


def _panel_section(h: Humans) -> Section:
    tables = []
    if len(h.weights):
        tables.append(Table("weights", "Weights of the judges", h.weights, {"judge": "name", "weight": "percent"}))
    t = h.alone[~h.alone["part"].str.startswith("instead of")]
    if len(t):
        kinds = {"part": "name", "share": "percent", "labelled": "count", "agreement": "percent low high"}
        tables.append(Table("alone", "Who may decide alone", t, kinds, {"share": "of the cases"}))
    s = h.alone[h.alone["part"].str.startswith("instead of")]
    if len(s):
        kinds = {"decides": "name", "agreement": "percent", "high": "percent"}
        heads = {"decides": "judge", "agreement": "annotators it wins against", "high": "as near to the others"}
        note = "May stand in from 50% on (epsilon 0.15, Benjamini-Yekutieli at 5%)."
        tables.append(Table("stand_in", "May a judge stand in for one annotator?", s, kinds, heads, note))
    c = h.calibrator_
    if c is not None and h.removes is not None and h.removes[1] > 0:
        kinds = {"task": "name", "system": "name", "language": "name", "panel": "points", "corrected": "points"}
        tables.append(Table("corrected", "Answers as people would score them", corrected(h), kinds, most=20))
    return Section("panel", "What labels do for the panel", tables=tuple(tables))


def corrected(h: Humans) -> pd.DataFrame:
    """Every answer: what the panel says and, corrected by the labels, what people would."""
    import pandas as pd

    from polyjudge.calibrate.labelled import panel_mean

    panel = h.panel_
    assert h.calibrator_ is not None
    mean, made = panel_mean(panel), h.calibrator_.transform(panel)
    r, s, i = np.nonzero(np.isfinite(mean))
    frame = pd.DataFrame({"task": np.array(panel.tasks, dtype=object)[r]})
    if panel.has_systems:
        frame["system"] = np.array(panel.systems, dtype=object)[s]
    frame["language"] = np.array(panel.languages, dtype=object)[i]
    return frame.assign(panel=mean[r, s, i], corrected=made[r, s, i])
