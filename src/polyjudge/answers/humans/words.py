"""What `humans` says: sentences for the first screen (topic "People"), and the report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from polyjudge._version import __version__
from polyjudge.base.numbers import ci, digits_of, missing, number, percent, percent_ci
from polyjudge.base.text import count, name, names, shell
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
        size = ci(*(_factor(h) * row[c] for c in ("harsher", "low", "high")), unit=_label_unit(h))
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
    if not h.sides_.verdicts:
        r = _limits(row, "r")
        if missing(r[0]):
            text = f"Labels or scores do not vary over the {count(int(row['labelled']), 'labelled answer')}, so they cannot be correlated."
            return _say("agreement", text, "notice")
        if missing(r[1]):
            text = f"{subject}'s scores correlate with people's labels at r = {number(r[0])} (no interval: {count(int(row['labelled']), 'label')})."
            return _say("agreement", text)
        text = f"{subject}'s scores correlate with people's labels at r = {number(r[0])} [{number(r[1])}, {number(r[2])}]"
        d = _limits(row, "difference")
        if not missing(d[0]):
            side = "higher" if d[0] >= 0 else "lower"
            size = tuple(sorted((abs(x) if d[0] >= 0 else -x) if i else abs(x) for i, x in enumerate(d)))
            low, high = (d[1], d[2]) if d[0] >= 0 else (-d[2], -d[1])
            if not missing(low) and low > 0:
                text += f"; on average they are {ci(abs(d[0]), low, high, h.panel_.unit_name)} {side}"
            elif not missing(low):
                text += f"; on average they differ by {ci(*d, h.panel_.unit_name, sign=True)}"
            del size
        return _say("agreement", f"{text}.{_single(h)}")
    text = f"{subject} agrees with people on {_of(_limits(row, 'accuracy'), 'cases')}"
    text += "" if missing(row["kappa"]) else f" (kappa {number(row['kappa'])})"
    passes, fails = 1 - float(row["specificity"]), 1 - float(row["sensitivity"])
    parts = [] if missing(passes) else [f"passes {percent(passes, 0)} of what people fail"]
    parts += [] if missing(fails) else [f"fails {percent(fails, 0)} of what they pass" if parts else f"fails {percent(fails, 0)} of what people pass"]
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
    shown = [f"{name(x, 30)} {percent(v, 0) if measure == 'accuracy' else number(v)}" for x, v in zip(rows["judge"], rows[measure], strict=True)]
    return f" Single judges: {', '.join(shown)}."


def _rate(h: Humans) -> list[Finding]:
    """What people would give all answers, beside what the judge gives."""
    row = _lead(h, h.frame)
    people = tuple(float(row[c]) for c in ("people", "people_low", "people_high"))
    if missing(people[0]) or missing(people[1]):
        return []
    whole = row["labelled"] >= row["answers"]
    if h.sides_.verdicts:
        said = percent(row["panel"], 0 if people[2] - people[1] >= 0.02 else None)
        share, _, interval = percent_ci(*people).partition(" ")
        start = "People pass" if whole else "Corrected for that,"
        text = f"{start} {share} of the answers {interval}" if whole else f"{start} {share} of answers pass {interval}"
        return [_say("rate", f"{text}; {who(h)} {'passes' if whole else 'says'} {said}.")]
    if h.sides_.found.two_valued:
        share, _, interval = percent_ci(*people).partition(" ")
        return [_say("rate", f"People would pass {share} of all answers {interval}." if not whole else f"People pass {share} of the answers {interval}.")]
    size = ci(*people)
    text = f"People would give all answers {size} on average" if not whole else f"People give the answers {size} on average"
    if h.sides_.same:
        text += f"; {who(h)} gives {number(row['panel'], digits_of((people[2] - people[1]) / 2))}"
    return [_say("rate", text + ".")]


def _systems(h: Humans) -> list[Finding]:
    """Which system people would put first, where that is sure, and whether the panel says the same."""
    if not len(h.pairs):
        return []
    p, f = h.pairs, _factor(h)
    systems = h.panel_.systems
    ahead = {x: set() for x in systems}  # type: dict[str, set[str]]
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
        rows = [_pair(p, first[0], x) for x in systems if x != first[0]]
        rows = [r for r in rows if r is not None]
        near = min(rows, key=lambda r: r[1][0])
        text = f"By people's labels {name(first[0])} wins: ahead of {name(near[0])} by {ci(*(f * x for x in near[1]), unit)}"
        text += f"; {who(h)} says {number(near[2] * f, digits_of(f * (near[1][2] - near[1][1]) / 2))}." if h.sides_.same else "."
        found.append(_say("systems", text))
    elif len(systems) == 2 and not missing(p["low"].iloc[0]):
        row = p.iloc[0]
        a, b, d, low, high = row["system"], row["other"], row["people"], row["low"], row["high"]
        if d < 0:
            a, b, d, low, high = b, a, -d, -high, -low
        text = f"By people's labels it is too close to call: {name(a)} is ahead of {name(b)} by {ci(f * d, f * low, f * high, unit)}."
        found.append(_say("systems", text))
    elif any(ahead.values()):
        pairs = sum(len(x) for x in ahead.values())
        text = f"By people's labels {count(pairs, 'pair')} of {len(p)} systems differ surely; none is ahead of all others."
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
    c = h.calibrator_
    if c is None or h.removes is None:
        return []
    n = c.n_[c.known_]
    each = f"{n.min()}" if n.min() == n.max() else f"{n.min()} to {n.max()}"
    noun = h.panel_.noun
    if h.removes[1] > 0:
        text = f"Corrected by {each} labels per {noun}, the panel loses {percent_ci(*h.removes)} of its squared error between {h.panel_.nouns}."
        return [_say("removes", text)]
    text = f"Whether correcting by {each} labels per {noun} brings {h.panel_.nouns} nearer to people cannot be told yet"
    return [_say("removes", text + ("." if n.min() >= 50 else f": label {20 if n.min() < 20 else 50} per {noun}."), "notice")]


def _alone(h: Humans) -> list[Finding]:
    found, t = [], h.alone
    both = t[t["part"].isin(["all judges agree", "judges differ"])]
    if len(both) == 2:
        a, b = both.iloc[0], both.iloc[1]
        judges = len(h.panel_.judges)
        every = "both judges" if judges == 2 else f"all {judges} judges"
        text = f"When {every} agree ({percent(a['share'], 0)} of cases) they match people in {percent_ci(a['agreement'], a['low'], a['high'])}"
        if judges == 2 and not missing(a["low"]):
            found.append(_say("unanimous", text + "."))
        elif not missing(a["low"]) and not missing(b["low"]) and _above(a, b):
            found.append(_say("unanimous", f"{text}; elsewhere in {percent_ci(b['agreement'], b['low'], b['high'])}."))
    allow = h.options_["allow"]
    if allow is not None:
        found.append(_decides(h, t[t["part"] == "beyond the cuts"], allow))
    stand = t[t["part"].str.startswith("instead of")]
    if len(stand):
        best = stand[stand["judge" if "judge" in stand else "decides"] == h.sides_.lead].iloc[0]
        verb = "may" if best["agreement"] >= 0.5 else "may not"
        text = f"{who(h).capitalize()} {verb} stand in for one annotator: by the alternative annotator test it wins against {percent(best['agreement'], 0)} of them."
        found.append(_say("stand-in", text, topic=""))
    return found


def _above(a: Any, b: Any) -> bool:
    """Whether one share is surely higher than another (Newcombe)."""
    return bool(a["agreement"] - b["agreement"] > math.hypot(a["agreement"] - a["low"], b["high"] - b["agreement"]))


def _decides(h: Humans, rows: pd.DataFrame, allow: float) -> Finding:
    subject = who(h)
    if not len(rows):
        need = fewest_to_decide(allow, h.options_["level"])
        labelled = int(_lead(h, h.judges)["labelled"])
        if labelled < need:
            text = f"To show that {subject} may decide alone with at most {percent(allow)} errors takes at least {need} labelled cases; there are {labelled}."
        else:
            text = f"Nowhere can {subject} be shown to make at most {percent(allow)} errors: people decide all cases."
        return _say("alone", text, "notice")
    row = rows.iloc[0]
    share = percent(1 - row["share"], 0)
    if row["share"] > 1 - 1e-9:
        text = f"{subject.capitalize()} may decide all cases alone with at most {percent(allow)} errors."
    elif h.panel_.two_valued:
        text = f"{subject.capitalize()} may decide alone where {percent(row['passes_above'], 0)} of the judges or more agree, with at most {percent(allow)} errors; {share} of cases go to people."
    else:
        low, high = (number(row[c], 2).rstrip("0").rstrip(".") for c in ("fails_below", "passes_above"))
        text = f"{subject.capitalize()} may decide alone up to {low} (fail) and from {high} on (pass), with at most {percent(allow)} errors; {share} of cases go to people."
    return _say("alone", text)


def _apart(h: Humans) -> list[Finding]:
    d = h.disagreements
    if not len(d):
        return []
    if h.sides_.verdicts:
        out = [(kind, d[d["kind"] == kind]) for kind in ("false pass", "false fail")]
        parts = [f"{count(len(rows), kind, kind + ('es' if kind.endswith('s') else 's'))}" for kind, rows in out if len(rows)]
        worst = ", worst first" if len(d) > 1 and not h.panel_.two_valued else ""
        return [_say("apart", f"{' and '.join(parts)}{worst}: {_list(h, d, 4)}.")]
    row = d.iloc[0]
    text = f"Farthest apart: {_where(h, row)} ({who(h)} {row['score']:.4g}, people {row['people']:.4g})"
    rest = f", then {names_of(h, d.iloc[1:4])}" if len(d) > 1 else ""
    return [_say("apart", f"{text}{rest}.")]


def _where(h: Humans, row: Any) -> str:
    more = [name(row[c], 30) for c, have in (("system", h.panel_.systems), ("language", h.panel_.languages)) if len(have) > 1]
    return f"{name(row['task'], 30)}{' (' + ', '.join(more) + ')' if more else ''}"


def names_of(h: Humans, d: pd.DataFrame) -> str:
    """Names of answers, in a sentence."""
    return ", ".join(_where(h, row) for _, row in d.iterrows())


def _list(h: Humans, d: pd.DataFrame, most: int) -> str:
    return names_of(h, d.head(most)) + (f" and {len(d) - most:,} more" if len(d) > most else "")


def _requirements(h: Humans) -> list[Finding]:
    out = []
    for _, row in h.requirements.iterrows():
        value = f"{number(row['value'])} [{number(row['low'])}, {number(row['high'])}]" if not missing(row["low"]) else number(row["value"])
        if row["met"]:
            out.append(_say("required", f"{name(row['rule'])} is met: {value}.", topic="Required"))
        else:
            verdict = "is not met" if row["surely_not"] else "is not shown by these labels"
            out.append(_say("required", f"{name(row['rule'])} {verdict}: {value}.", "serious", topic="Required"))
    return out


def _caveats(h: Humans) -> list[Finding]:
    found, sides, panel = [], h.sides_, h.panel_
    if abs(h.not_random) > UNEVEN:
        side = "higher" if h.not_random > 0 else "lower"
        text = f"{who(h).capitalize()} scores the labelled answers {side} than the others (z = {number(abs(h.not_random), 1)}): they are not like a random draw, and what is said of all answers may be off."
        found.append(_say("not-random", text, "notice"))
    if sides.found.lost:
        text = f"{count(sides.found.lost, 'label')} belong to no answer of the scores and are left out." if sides.found.lost > 1 else "1 label belongs to no answer of the scores and is left out."
        found.append(_say("lost", text, "warning"))
    k, who_ = len(panel.languages), sides.found
    if k > 1 and len(who_.annotators) > 1:
        per = [len(np.unique(who_.who[who_.language == i])) for i in range(k)]
        if max(per) == 1:
            text = f"Each {panel.noun} has one annotator, so a strict annotator and a weak {panel.noun} cannot be told apart."
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
    return Report(
        command="humans",
        title="Judges and people",
        facts=facts,
        findings=h.findings,
        next=_next(h),
        sections=tuple(s for s in (_judges_section(h), _rates_section(h), _apart_section(h), _people_section(h), _panel_section(h)) if s.tables),
        about={"level": o["level"], "seed": o["seed"], "threshold": o["threshold"] or "", "scores": panel.source, "polyjudge": __version__},
    )  # fmt: skip


def _next(h: Humans) -> tuple[Step, ...]:
    panel, steps = h.panel_, []
    scores = shell(panel.source or "scores.csv")
    found = h.sides_.found
    k, whole = len(panel.languages), int(np.isfinite(panel.scores).any(3).sum())
    each = h.calibrator_.n_.min() if h.calibrator_ is not None else found.answers / k
    if each < 50 and found.answers < whole:
        n = 20 if each < 20 else 50
        what = f"label {n} answers" + (f" per {panel.noun}" if k > 1 else "")
        steps.append(Step(f"polyjudge label make {scores} --items ITEMS -n {n}", what))
    if len(h.weights) and np.ptp(h.weights["weight"].to_numpy(dtype=float)) > 1e-9:
        given = h.options_["given"]
        labels = f" {shell(given)}" if isinstance(given, str) else ""
        steps.append(Step(f"polyjudge humans {scores}{labels} -o people", "writes weights.csv"))
        steps.append(Step(f"polyjudge audit {scores} --weights people/weights.csv", "weight the judges as people would"))
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
    return Section("agreement", "Do the judges agree with people?", tables=(table,), charts=(chart,) if len(bars) > 1 else ())


def _rates_section(h: Humans) -> Section:
    panel = h.panel_
    kind = "percent" if h.two_valued else "points"
    frame = h.frame if len(panel.judges) == 1 else h.frame[h.frame["judge"] == h.sides_.lead]
    columns = {} if len(panel.languages) < 2 else {"language": "name"}
    columns |= {"system": "name"} if panel.has_systems else {}
    columns |= {"panel": "percent" if h.sides_.verdicts else "points", "people": f"{kind} people_low people_high", "labels": f"{kind} labels_low labels_high"}
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
        kinds = {"system": "name", "other": "name", "panel": "+points", "people": "+points low high", "labels": "+points labels_low labels_high"}
        tables.append(Table("pairs", f"Differences of systems, {_label_unit(h)}", pairs, kinds, {"panel": who(h), "labels": "labels alone"}))
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
        tables.append(Table("annotators", "Annotators", shown, columns, {"harsher": f"harsher than the others, {_label_unit(h)}"}))
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
        heads = {"decides": "judge", "agreement": "annotators it wins against", "high": "at least as near to the others"}
        note = "May stand in from 50% on (epsilon 0.15, Benjamini-Yekutieli at 5%)."
        tables.append(Table("stand_in", "May a judge stand in for one annotator?", s, kinds, heads, note))
    c = h.calibrator_
    if c is not None and h.removes is not None and h.removes[1] > 0:
        tables.append(Table("corrected", "Answers as people would score them", corrected(h), {"task": "name", "system": "name", "language": "name", "panel": "points", "corrected": "points"}, most=20))
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
