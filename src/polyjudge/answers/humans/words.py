"""What `humans` says: sentences for the first screen (topic "People"), and the report."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyjudge._version import __version__
from polyjudge.answers.humans.board import board_findings, board_section, board_table
from polyjudge.base.numbers import ci, digits_of, missing, number, percent, percent_ci
from polyjudge.base.text import count, name, names, shell
from polyjudge.calibrate.consensus import taken_off
from polyjudge.report.model import Chart, Finding, Report, Section, Step, Table
from polyjudge.stats.labels import Limits, apart, fewest_to_decide

if TYPE_CHECKING:
    import pandas as pd

    from polyjudge.answers.humans.compare import Humans

AGREE = 0.3
"""Krippendorff's alpha above (below) which annotators agree (hardly agree): the mark of judges' agreement."""
UNEVEN = 2.0  # z of labelled against other answers from which it is said


def findings(h: Humans) -> tuple[Finding, ...]:
    """All that is said: people's board, annotators, agreement, what people would say, where both differ."""
    left = ~np.isfinite(h.sides_.y[np.isfinite(h.sides_.guide)]).all()  # answers that are yet to be corrected
    removes = h.calibrator_.findings() if h.calibrator_ is not None and left else ()
    board = board_findings(h.board_) if h.board_ is not None else []
    systems = _systems(h) if h.board_ is None else []
    details = [*_rate(h), *_languages(h), *systems, *removes]
    apart_ = _apart(h)
    if board:  # it says who is first and how sure that is: the screen has no room for more
        details, apart_ = ([replace(finding, topic="") for finding in part] for part in (details, apart_))
    found = [*board, *_annotators(h), _agreement(h), *details, *_alone(h), *apart_]
    return (*found, *_requirements(h), *_caveats(h), *_weights(h), *_consensus(h))


def _say(key: str, text: str, severity: Any = "info", topic: str = "People") -> Finding:
    return Finding(severity, f"humans.{key}", text, topic)


def _who(h: Humans) -> str:
    """How the judge that is asked about is called in a sentence."""
    return "the judge" if len(h.panel_.judges) == 1 else "the panel"


def _lead(h: Humans, frame: pd.DataFrame) -> Any:
    """The row of the judge that is asked about, over all languages and systems."""
    return frame[frame["judge"] == h.sides_.lead].iloc[0]


def _unit(h: Humans) -> tuple[float, str]:
    """What labels and differences are multiplied by to be shown, and their unit."""
    if h.two_valued:
        return 100.0, "percentage points"
    return 1.0, h.panel_.unit_name if h.sides_.same else "points on their own scale"


def _limits(row: Any, measure: str) -> Limits:
    return float(row[measure]), float(row[measure + "_low"]), float(row[measure + "_high"])


def _bracket(low: float, high: float) -> str:
    return "" if missing(low) else f" [{number(low)}, {number(high)}]"


def _away(d: float, low: float, high: float, unit: str) -> str:
    """How much higher or lower the judge is than people."""
    return f"{ci(d, low, high, unit)} higher" if d >= 0 else f"{ci(-d, -high, -low, unit)} lower"


def _annotators(h: Humans) -> list[Finding]:
    (alpha, low, high), found = h.alpha, []
    people = f"The {sum(bool(x) for x in h.sides_.found.annotators)} annotators"
    if not missing(alpha):
        value = f"alpha = {number(alpha)}{_bracket(low, high)}"
        text, how = f"Too few answers have labels by two annotators to tell whether they agree ({value}).", ("info", "")
        if high < AGREE:
            text = f"{people} hardly agree with each other ({value}): comparing judges with them tells little."
            how = ("warning", "People")
        elif low > AGREE:
            text, how = f"{people} agree with each other ({value}).", ("info", "People")
        found.append(_say("annotators", text, *how))
    harsh = h.annotators[h.annotators["low"] > 0].sort_values("harsher", ascending=False, kind="stable")
    if len(harsh):
        row, (f, unit) = harsh.iloc[0], _unit(h)
        size = ci(f * row["harsher"], f * row["low"], f * row["high"], unit)
        other = "the other" if (h.annotators["language"] == row["language"]).sum() == 2 else "the others"
        where = f" in {name(row['language'])}" if len(h.panel_.languages) > 1 else ""
        more = f" {len(harsh) - 1} more differ too." if len(harsh) > 2 else ""
        text = f"Annotator {name(row['annotator'])} is harsher than {other}{where}, by {size}.{more}"
        found.append(_say("harsher", text, "notice"))
    return found


def _agreement(h: Humans) -> Finding:
    row, who = _lead(h, h.judges), _who(h).capitalize()
    if h.sides_.verdicts:
        share, _, interval = percent_ci(*_limits(row, "accuracy")).partition(" ")
        split = (np.isfinite(h.sides_.y) & ~np.isfinite(h.sides_.people)).any()
        cases = f"the {row['labelled']:,} cases on which annotators do not split evenly" if split else "cases"
        text = f"{who} agrees with people on {share} of {cases}{_in_labelled(h)} {interval}"
        kappa, *ends = _limits(row, "kappa")
        text += "." if missing(kappa) else f" (kappa {number(kappa)}{_bracket(*ends)})."
        parts: list[str] = []
        for does, measure, other in (("passes", "specificity", "fail"), ("fails", "sensitivity", "pass")):
            right, low, high = _limits(row, measure)
            if not missing(right):
                wrong, _, interval = percent_ci(1 - right, 1 - high, 1 - low).partition(" ")
                parts.append(f"{does} {wrong} of what {'they' if parts else 'people'} {other} {interval}")
        return _say("agreement", text + (f" It {', and '.join(parts)}." if parts else "") + _single(h))
    (r, *ends), (d, low, high) = _limits(row, "r"), _limits(row, "difference")
    labelled, unit = count(int(row["labelled"]), "labelled answer"), h.panel_.unit_name
    if missing(r):
        text = f"Labels or scores are all the same on {labelled}: nothing can be correlated."
        return _say("agreement", text, "notice")
    text = f"{who}'s scores correlate with people's labels at r = {number(r)}"
    text += _bracket(*ends) or f" (no interval: {labelled})"
    if low > 0 or high < 0:
        text += f"; on average they are {_away(d, low, high, unit)}"
    elif not missing(low):
        text += f"; on average the difference is {ci(d, low, high, unit, sign=True)}"
    return _say("agreement", f"{text}.{_single(h)}")


def _single(h: Humans) -> str:
    """Each judge by itself, where there are a few."""
    measure = "accuracy" if h.sides_.verdicts else "r"
    rows = h.judges[(h.judges["language"] == h.judges["language"].iloc[0]) & (h.judges["judge"] != h.sides_.lead)]
    values = [percent(v, 0) if h.sides_.verdicts else number(v) for v in rows[measure]]
    shown = ", ".join(f"{name(x, 30)} {v}" for x, v in zip(rows["judge"], values, strict=True))
    return f" Single judges: {shown}." if 2 <= len(rows) <= 6 else ""


def _in_labelled(h: Humans) -> str:
    """ "in en and de", where other languages have no labels at all."""
    languages, some = h.panel_.languages, set(h.sides_.found.language.tolist())
    return f" in {names([languages[i] for i in sorted(some)])}" if len(some) < len(languages) else ""


def _languages(h: Humans) -> list[Finding]:
    """The two languages between which the judge is surely not alike beside people; languages without labels."""
    rows, m, found = h.judges[h.judges["judge"] == h.sides_.lead], "accuracy" if h.sides_.verdicts else "difference", []
    rows = rows[rows["language"].isin(h.panel_.languages)]
    if lacking := [name(x) for x in rows.loc[rows["labelled"] == 0, "language"]] * (h.board_ is None):
        text = f"{names(lacking)} {'has' if len(lacking) == 1 else 'have'} no labels: nothing here is about "
        found.append(_say("lacking", f"{text}{'it' if len(lacking) == 1 else 'them'}.", "notice"))
    rows = rows[rows[m + "_low"].notna()].assign(at=rows[m].round(9)).sort_values("at", kind="stable")
    if len(rows) < 2:
        return found
    (a, b), level, (f, unit) = (rows.iloc[0], rows.iloc[-1]), h.options_["level"], _unit(h)
    if not apart(_limits(b, m), _limits(a, m), len(rows), level):
        return found
    up, down = (_away(f * x, f * low, f * high, unit) for x, low, high in (_limits(b, m), _limits(a, m)))
    text = f"Compared with people, {_who(h)} scores {up} in {name(b['language'])} and {down} in {name(a['language'])}."
    if h.sides_.verdicts:
        share, _, interval = percent_ci(*_limits(a, m)).partition(" ")
        text = f"In {name(a['language'])} {_who(h)} agrees with people on {share} of cases {interval}, in "
        text += f"{name(b['language'])} on {percent_ci(*_limits(b, m))}."
    return [*found, _say("languages", text, "notice")]


def _rate(h: Humans) -> list[Finding]:
    """What people would give all answers, beside what the judge gives."""
    row = _lead(h, h.frame)
    people, low, high = _limits(row, "people")
    if missing(low):
        return []
    whole = row["labelled"] >= row["answers"]
    share, _, interval = percent_ci(people, low, high).partition(" ")
    where = _in_labelled(h)
    every = f"of the answers{where}" if whole or where else "of all answers"
    if h.sides_.verdicts:
        said = percent(row["panel"], 0 if high - low >= 0.02 else None)
        text = f"People pass {share} {every} {interval}; {_who(h)} passes {said}."
        if not whole:
            text = f"Corrected for that, {share} of answers{where} pass {interval}; {_who(h)} says {said}."
    elif h.two_valued:
        text = f"People {'pass' if whole else 'would pass'} {share} {every} {interval}."
    else:
        said = f"; {_who(h)} gives {number(row['panel'], digits_of((high - low) / 2))}" if h.sides_.same else ""
        text = f"People {'give' if whole else 'would give'} {every[3:]} {ci(people, low, high)} on average{said}."
    return [_say("rate", text)]


def _systems(h: Humans) -> list[Finding]:
    """Which system people would put first, where that is sure, and whether the panel says the same."""
    p, found = h.pairs, []
    f, unit = _unit(h)
    both = [(r["system"], r["other"], r["panel"], r["people"], r["low"], r["high"]) for _, r in p.iterrows()]
    both += [(b, a, -says, -d, -high, -low) for a, b, says, d, low, high in both]
    for first in h.panel_.systems if len(p) else ():
        ahead = [x for x in both if x[0] == first and x[4] > 0]
        if len(ahead) == len(h.panel_.systems) - 1:
            _, other, says, d, low, high = min(ahead, key=lambda x: x[3])
            text = f"By people's labels {name(first)} wins: ahead of {name(other)} by "
            text += ci(f * d, f * low, f * high, unit)
            more = f"; {_who(h)} says {number(says * f, digits_of(f * (high - low) / 2))}" if h.sides_.same else ""
            found.append(_say("systems", f"{text}{more}."))
    if len(p) == 1 and not found and not missing(p["low"].iloc[0]):
        a, b, _, d, low, high = max(both, key=lambda x: x[3])
        size, zero = ci(f * d, f * low, f * high, unit), round(f * d, digits_of(f * (high - low) / 2)) == 0
        how = f"{name(a)} and {name(b)} are level ({size})" if zero else f"{name(a)} is ahead of {name(b)} by {size}"
        found.append(_say("systems", f"By people's labels it is too close to call: {how}."))
    wrong = [x for x in both if x[4] > 0 > x[2]]
    if wrong:
        a, b = wrong[0][:2]
        more = f" The same holds for {count(len(wrong) - 1, 'other pair')}." if len(wrong) > 1 else ""
        text = f"{_who(h).capitalize()} puts {name(b)} ahead of {name(a)}; people put {name(a)} ahead.{more}"
        found.append(_say("order", text, "warning"))
    return found


def _alone(h: Humans) -> list[Finding]:
    found, t, who = [], h.alone, _who(h)
    parts = {r["part"]: r for _, r in t.iterrows()}
    if "all judges agree" in parts:
        a, b = parts["all judges agree"], parts["judges differ"]
        judges = len(h.panel_.judges)
        inside, outside = (percent_ci(x["agreement"], x["low"], x["high"]) for x in (a, b))
        text = f"When {'both' if judges == 2 else f'all {judges}'} judges agree ({percent(a['share'], 0)} of cases)"
        surely = a["agreement"] - b["agreement"] > math.hypot(a["agreement"] - a["low"], b["high"] - b["agreement"])
        if surely or (judges == 2 and not missing(a["low"])):
            more = "" if judges == 2 else f"; elsewhere in {outside}"
            found.append(_say("unanimous", f"{text} they match people in {inside}{more}."))
    if h.options_["allow"] is not None:
        found.append(_decides(h, parts.get("beyond the cuts"), h.options_["allow"]))
    stand = t[t["part"].str.startswith("instead of") & (t["decides"] == h.sides_.lead)]
    if len(stand):
        won = float(stand["agreement"].iloc[0])
        text = f"{who.capitalize()} {'may' if won >= 0.5 else 'may not'} replace one annotator: it wins against "
        found.append(_say("stand-in", f"{text}{percent(won, 0)} of them (alternative annotator test).", topic=""))
    return found


def _decides(h: Humans, row: Any, allow: float) -> Finding:
    who, errors = _who(h), percent(allow)
    if row is None:
        need = fewest_to_decide(allow, h.options_["level"])
        labelled = int(_lead(h, h.judges)["labelled"])
        text = f"Nowhere can {who} be shown to make at most {errors} errors: people decide all cases."
        if labelled < need:
            text = f"To show that {who} makes at most {errors} errors takes at least {need} labelled cases; "
            text += f"there are {labelled}."
        return _say("alone", text, "notice")
    start = f"With at most {errors} errors {who} may decide"
    if row["share"] > 1 - 1e-9:
        return _say("alone", f"{start} all cases alone.")
    ends = [f"up to {row['fails_below']:.4g} (fail)"] if row["fails_below"] >= h.panel_.scale[0] else []
    ends += [f"from {row['passes_above']:.4g} on (pass)"] if row["passes_above"] <= h.panel_.scale[1] else []
    part = " and ".join(ends)
    if h.panel_.two_valued:
        share = percent(row["passes_above"], 0)
        part = "where all judges agree" if share == "100%" else f"where at least {share} of the judges agree"
    return _say("alone", f"{start} alone {part}; {percent(1 - row['share'], 0)} of cases go to people.")


def _apart(h: Humans) -> list[Finding]:
    d = h.disagreements
    if not len(d):
        return []
    shown = [_where(h, row) for _, row in d.head(4).iterrows()]
    number_alone = shown[0][0].isdigit()  # reads as a count
    if h.sides_.verdicts:
        parts = " and ".join(
            count(n, kind) for kind in ("false pass", "false fail") if (n := (d["kind"] == kind).sum())
        )
        worst = ", worst first" if len(d) > 1 and not h.panel_.two_valued else ""
        more = f" and {len(d) - 4:,} more" if len(d) > 4 else ""
        bare = ("tasks " if len(d) > 1 else "task ") if number_alone else ""
        return [_say("apart", f"{parts}{worst}: {bare}{', '.join(shown)}{more}.")]
    both = f"with {d['score'].iloc[0]:.4g} by {_who(h)} and {d['people'].iloc[0]:.4g} by people"
    text = f"Farthest apart: {'task ' * number_alone}{shown[0]}, {both}"
    return [_say("apart", f"{text}{'; then ' if shown[1:] else ''}{', '.join(shown[1:])}.")]


def _where(h: Humans, row: Any) -> str:
    axes = (("system", h.panel_.systems), ("language", h.panel_.languages))
    more = [name(row[c], 30) for c, have in axes if len(have) > 1]
    return f"{name(row['task'], 30)}{' (' + ', '.join(more) + ')' if more else ''}"


def _requirements(h: Humans) -> list[Finding]:
    out = []
    for _, row in h.requirements.iterrows():
        verdict = "is met" if row["met"] else "is not met" if row["surely_not"] else "is not shown by these labels"
        text = f"{name(row['rule'])} {verdict}: {number(row['value'])}{_bracket(row['low'], row['high'])}."
        out.append(_say("required", text, "info" if row["met"] else "serious", topic="Required"))
    return out


def _caveats(h: Humans) -> list[Finding]:
    out, sides, panel, found = [], h.sides_, h.panel_, h.sides_.found
    if abs(h.not_random) > UNEVEN:
        side, z = "higher" if h.not_random > 0 else "lower", number(abs(h.not_random), 1)
        text = f"{_who(h).capitalize()} scores the labelled answers {side} than the others (z = {z}): they are not like"
        out.append(_say("not-random", f"{text} a random draw, and what is said of all answers may be off.", "notice"))
    if found.lost:
        verbs = ("belongs", "is") if found.lost == 1 else ("belong", "are")
        text = f"{count(found.lost, 'label')} {verbs[0]} to no answer that has a score and {verbs[1]} left out."
        out.append(_say("lost", text, "warning"))
    if found.unscored:
        what = f"{'verdict' if sides.verdicts else 'score'} of {'the' if len(panel.judges) == 1 else 'any'} judge"
        text = f"{count(found.unscored, 'case')} {'has' if found.unscored == 1 else 'have'} a label and no {what}."
        out.append(_say("unscored", text, "warning"))
    tied = (np.abs(sides.guide - 0.5) < 1e-9)[np.isfinite(sides.guide)].mean()
    if panel.two_valued and len(panel.judges) > 1 and tied > 0:
        text = f"On {percent(tied)} of answers the judges split evenly: the panel counts these as failed."
        out.append(_say("tie", text))
    pairs = np.unique(np.stack([found.language, found.who]), axis=1)
    if len(panel.languages) > 1 and len(found.annotators) > 1 and np.bincount(pairs[0]).max() == 1:
        text = f"Each {panel.noun} has one annotator: a strict one cannot be told from a weak {panel.noun}."
        out.append(_say("one-annotator", text, "notice"))
    if not sides.verdicts and found.two_valued:
        text = "Labels are pass or fail and scores are not: with --threshold both are compared as verdicts."
        out.append(_say("threshold", text, "notice"))
    return out


def _weighted(h: Humans) -> bool:
    return len(h.weights) > 0 and float(np.ptp(h.weights["weight"].to_numpy(dtype=float))) > 1e-9


def _weights(h: Humans) -> list[Finding]:
    top = h.weights.sort_values("weight", ascending=False, kind="stable")
    shown = ", ".join(f"{name(r['judge'], 30)} {percent(r['weight'], 0)}" for _, r in top.head(4).iterrows())
    text = f"Weights by which the panel agrees best with people: {shown}"
    text += f" and {count(len(top) - 4, 'other')}." if len(top) > 4 else "."
    if not _weighted(h):
        text = "Weighting the judges by these labels gains nothing that can be shown: equal weights stay."
    return [_say("weights", text, topic="")] if len(top) else []


def _consensus(h: Humans) -> list[Finding]:
    """What calibrating without labels does to single judges, against these labels (METHODS 13)."""
    f, k, m = h.frame[h.frame["judge"] == h.sides_.lead], len(h.panel_.languages), len(h.panel_.judges)
    f = f[(f["language"] != "all") & (f["system"] == f["system"].iloc[0])]
    if k < 3 or m < 2 or h.sides_.verdicts or len(f) < k or f["low"].isna().any():
        return []
    error, half = f["difference"].to_numpy(float), (f["high"] - f["low"]).to_numpy(float) / 2
    (share, low, high), nearer = taken_off(h.panel_, error, half / 2)
    if not high - low < 0.5:
        return []
    text = f"Calibrating without labels (CBC) takes off {percent_ci(share, low, high)} of single judges' squared error "
    text += f"between {h.panel_.nouns}; {nearer} of {m} judges come nearer to people."
    return [_say("consensus", text, topic="")]


# --- the report ---


def report(h: Humans) -> Report:
    """Facts, findings, tables."""
    panel, o = h.panel_, h.options_
    board = board_section(h)
    sections = (
        *((board,) if board is not None else ()),
        Section("agreement", "Do the judges agree with people?", tables=(_judges(h),), charts=_charts(h)),
        Section("rates", "What would people say of all answers?", tables=_rates(h)),
        Section("apart", "Where judges and people disagree", tables=_disagreements(h)),
        Section("people", "Do people agree with each other?", tables=_people(h)),
        Section("panel", "What labels do for the panel", tables=tuple(_panel(h))),
    )
    about = {"level": o["level"], "seed": o["seed"], "threshold": o["threshold"] or "", "scores": panel.source}
    about["polyjudge"] = __version__
    shown = tuple(s for s in sections if s.tables)
    read = next((t for t in _disagreements(h) if "text" in t.columns.values()), None)  # with texts, on the first screen
    facts = (*panel.read_facts, counted(h))
    return Report(
        "humans", "Judges and people", facts, h.findings, board_table(h) or read, _next(h), shown, about=about
    )


def counted(h: Humans) -> str:
    """How many labels there are."""
    found = h.sides_.found
    people = sum(bool(x) for x in found.annotators)
    by = f" by {count(people, 'annotator')}" if people else ""
    whole = int(np.isfinite(h.panel_.scores).any(3).sum())
    on = f"{'all' if found.answers == whole > 1 else f'{found.answers:,} of'} {count(whole, 'answer')}"
    return f"{count(len(found.label), 'label')}{by} on {on}."


def _files(h: Humans) -> tuple[str, str]:
    """The scores as they are read, and the labels where they are a file of their own, as words of a command."""
    given = getattr(h.options_["given"], "folder", h.options_["given"])
    scores = " ".join(map(shell, (h.panel_.source or "scores.csv", *h.panel_.read)))
    return scores, f" {shell(str(given))}" if isinstance(given, (str, Path)) else ""


def more_labels(h: Humans) -> list[Step]:
    """The command for labels that are lacking."""
    panel, found, k = h.panel_, h.sides_.found, len(h.panel_.languages)
    ask = 20 * (found.answers < 20 * k) if h.calibrator_ is None else h.calibrator_.ask_
    left = int((np.isfinite(panel.scores).any(3) & ~np.isfinite(found.y)).sum((0, 1)).max())
    if not ask or not left:
        return []
    n, (scores, given) = min(ask, left), _files(h)
    what = f"label {count(n, 'more answer' if ask > 20 else 'answer')}" + (f" per {panel.noun}" if k > 1 else "")
    more = " --items ITEMS" * (panel.texts is None) + (given and f" --labels{given}")
    return [Step(f"polyjudge label make {scores}{more} -n {n}", what)]


def _next(h: Humans) -> tuple[Step, ...]:
    steps, (scores, given) = more_labels(h), _files(h)
    if _weighted(h) and h.panel_.has_systems:
        steps.append(Step(f"polyjudge humans {scores}{given} -o people", "writes weights.csv"))
        steps.append(Step(f"polyjudge audit {scores} --weights people/weights.csv", "weight the judges by them"))
    return tuple(steps)


def _axes(h: Humans, *axes: str) -> dict[str, str]:
    """Columns of names: language and system only where there are several."""
    many = {"language": len(h.panel_.languages) > 1, "system": h.panel_.has_systems}
    return {x: "name" for x in axes if many.get(x, True)}


def _judges(h: Humans) -> Table:
    columns = {**_axes(h, "language", "judge"), "labelled": "count"}
    m, note = "kappa" if h.sides_.verdicts else "r", ""
    if h.sides_.verdicts:
        columns |= {m: f"percent {m}_low {m}_high" for m in ("accuracy", "sensitivity", "specificity")}
        note = "sensitivity: passed by the judge, of what people pass; specificity: failed, of what people fail"
    columns[m] = f"points {m}_low {m}_high"
    if h.sides_.same and not h.sides_.verdicts:
        columns["difference"] = "+points difference_low difference_high"
        note = f"difference: judge less people, in {h.panel_.unit_name}"
    return Table("judges", "Each judge and people", h.judges, columns, {}, note)


def _times(frame: pd.DataFrame, f: float, *columns: str) -> pd.DataFrame:
    return frame.assign(**{c: f * frame[c].astype(float) for c in columns})


def _charts(h: Humans) -> tuple[Chart, ...]:
    """What becomes of answers that people pass, and of those that they fail; each judge's agreement."""
    import pandas as pd

    rows = h.judges[h.judges["language"] == h.judges["language"].iloc[0]]
    m, who, charts = "accuracy" if h.sides_.verdicts else "r", _who(h), []
    at = _lead(h, h.judges)
    s, p = float(at["sensitivity"]), float(at["specificity"])
    if not missing(s) and not missing(p):
        cells = [("people pass", "passes", s), ("people pass", "fails", 1 - s)]
        cells += [("people fail", "passes", 1 - p), ("people fail", "fails", p)]
        texts = [(row, does, share, percent(share, 0)) for row, does, share in cells]
        made = pd.DataFrame(texts, columns=["row", "column", "value", "text"])
        alt = f"Passed by {who}: {percent(s, 0)} of what people pass and {percent(1 - p, 0)} of what they fail."
        charts.append(Chart("confusion", "matrix", f"What {who} makes of people's verdicts", made, alt))
    if len(rows) > 1:
        bars = rows[["judge", m, m + "_low", m + "_high"]].set_axis(["label", "value", "low", "high"], axis=1)
        charts.append(Chart("judges", "intervals", "Agreement with people", bars, f"{m} of each judge", x=m))
    return tuple(charts)


def _rates(h: Humans) -> tuple[Table, ...]:
    kind, (f, unit) = "percent" if h.two_valued else "points", _unit(h)
    frame = _times(h.frame[h.frame["judge"] == h.sides_.lead], f, "difference", "low", "high")
    columns = {**_axes(h, "language", "system"), "panel": "percent" if h.sides_.verdicts else "points"}
    columns |= {"people": f"{kind} people_low people_high", "labels": f"{kind} labels_low labels_high"}
    # where all answers have labels, the difference of scores is in the table of the judges
    differ = h.sides_.same and (h.sides_.verdicts or bool((frame["labelled"] < frame["answers"]).any()))
    columns |= {"difference": "+points low high"} if differ else {}
    titles = {"panel": _who(h), "people": "people would give", "labels": "labels alone"}
    note = f"all: the answers{_in_labelled(h)}" if _in_labelled(h) else ""
    note += f"{'; ' * bool(note)}difference: {_who(h)} less people, in {unit}" if differ else ""
    table = Table("frame", "What people would give", frame, {**columns, "labelled": "count"}, titles, note)
    if not len(h.pairs):
        return (table,)
    pairs = _times(h.pairs, f, *h.pairs.columns[2:])
    kinds = {"system": "name", "other": "name", "panel": "+points", "people": "+points low high"}
    kinds["labels"] = "+points labels_low labels_high"
    return table, Table("pairs", f"Differences of systems, {unit}", pairs, kinds, titles)


def _disagreements(h: Humans) -> tuple[Table, ...]:
    d = h.disagreements
    columns = _axes(h, "kind", "task", "system", "language")
    if not (h.panel_.two_valued and len(h.panel_.judges) == 1):  # else the kind says it all
        columns |= {"score": "points"} if h.sides_.verdicts else {"score": "points", "people": "points"}
    columns |= {c: "text" for c in ("prompt", "response", "reason") if c in d}
    title = f"Disagreements, {'false passes first' if h.sides_.verdicts else 'farthest apart first'}"
    titles = {"score": f"{_who(h)}'s score", "people": "people's label"}
    return (Table("disagreements", title, d, columns, titles),) if len(d) else ()


def _people(h: Humans) -> tuple[Table, ...]:
    f, unit = _unit(h)
    columns = {**_axes(h, "language", "annotator"), "labels": "count", "harsher": "+points low high"}
    note = f"harsher: how much lower than the others label at the same score, in {unit}; no interval: few differ"
    shown = _times(h.annotators, f, "harsher", "low", "high")
    return (Table("annotators", "Annotators", shown, columns, note=note),) if len(h.sides_.found.annotators) > 1 else ()


def _panel(h: Humans) -> list[Table]:
    tables = []
    if len(h.weights):
        tables.append(Table("weights", "Weights of the judges", h.weights, {"judge": "name", "weight": "percent"}))
    stand = h.alone["part"].str.startswith("instead of")
    if not stand.all():
        kinds = {"part": "name", "share": "percent", "labelled": "count", "agreement": "percent low high"}
        tables.append(Table("alone", "Who may decide alone", h.alone[~stand], kinds, {"share": "of the cases"}))
    if stand.any():
        kinds = {"decides": "name", "agreement": "percent", "high": "percent"}
        heads = {"decides": "judge", "agreement": "annotators it wins against", "high": "as near to the others"}
        note = "May replace one from 50% on (epsilon 0.15, Benjamini-Yekutieli at 5%)."
        title = "Can a judge replace one annotator?"
        tables.append(Table("stand_in", title, h.alone[stand], kinds, heads, note))
    if h.calibrator_ is not None and h.removes is not None and h.removes[1] > 0:
        kinds = {**_axes(h, "task", "system", "language"), "panel": "points", "corrected": "points"}
        made, title = h.calibrator_.corrected(h.panel_), "Answers as people would score them"
        tables.append(Table("corrected", title, made, kinds, most=20))
    return tables
