"""Do the judges agree with each other, and does language change their order? (METHODS 5 and 20)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyjudge import cbc
from polyjudge.answers.amounts import spelled, tiny_of
from polyjudge.answers.audit.boards import Board
from polyjudge.base.later import framed
from polyjudge.base.numbers import number, percent, points
from polyjudge.base.text import MAKERS, families, name, names
from polyjudge.panel import Panel
from polyjudge.report.model import Finding
from polyjudge.stats.agreement import AGREE, Agreement
from polyjudge.stats.cells import Values

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
REVERSALS = ["judge_i", "judge_j", "language_a", "gap_a", "language_b", "gap_b", "delta", "p_published", "p"]


# --- agreement ---


def findings(
    panel: Panel, a: Agreement | None, board: Board | None, given: Mapping[str, str] | None, people: bool = False
) -> list[Finding]:
    """Whether the judges agree; what no panel can tell is said in the same breath, unless people have labelled it."""
    m = len(panel.judges)
    if m < 2 or a is None:
        text = "There is one judge. Whether it is right only people can tell."
        return [Finding("info", "judges.one", text, "Judges", head="One judge")]
    what = "which system is better" if panel.has_systems else "which answers score high"
    out = []
    varied = [b for b in range(m) if b not in a.constant]
    if a.constant:
        flat = [panel.judges[b] for b in a.constant]
        text = f"{names(flat)} {'gives' if len(flat) == 1 else 'give'} every answer the same score."
        out.append(Finding("serious", "judges.constant", text, "Judges", {"judge": flat[0]}))
    if a.verdict == "none":
        if len(varied) < 2:
            return [*out, Finding("notice", "judges.none", "Agreement needs two judges whose scores vary.", "Judges")]
        does = "tell the systems apart" if panel.has_systems else "vary"
        text = f"No two judges both {does} on answers that both score, so their agreement cannot be told."
        return [*out, Finding("warning", "judges.none", text, "Judges")]
    r = f"r = {_r(a.r, a.r_low, a.r_high)}"
    panel_r = _r(a.reliability, a.reliability_low, a.reliability_high)
    turned = [b for b in (*a.odd, *a.alone) if a.own_high[b] < 0]
    if a.groups:
        out.append(_split(panel, a, [b for b in a.alone if b not in turned], people))
    elif a.verdict == "agree":
        both = len(varied) == 2
        text = f"They agree on {what} ({r} between {'the two' if both else 'two judges'}, {panel_r} for "
        text += f"{'their mean' if both else 'the panel'})"
        text += "" if people else ". Whether they are right only people can tell"
        if not people and (maker := one_maker(panel.judges, given)):
            who = "both" if m == 2 else f"all {spelled(m)}"
            text += f"; {who} are {name(maker)} models, and an error they share cannot show here"
        out.append(Finding("info", "judges.agree", text + ".", "Judges", head=f"They agree (r = {a.r:.2f})"))
    elif a.verdict == "unclear":
        tasks = "clusters" if panel.clustered else "tasks"
        least = f", {panel_r} for the panel, whose lower limit should be above {AGREE:g}" if "[" in panel_r else ""
        text = f"Too few {tasks} to tell whether they agree on {what} ({r} between two judges{least})."
        out.append(Finding("notice", "judges.unclear", text, "Judges", head="Too few tasks to tell"))
    elif a.r_high < 0:
        key = "judges.hardly" if board is None or board.ahead.any() else "judges.blind"
        text = f"They run against each other on {what} ({r}): is the scale of one reversed?"
        out.append(Finding("serious", key, text, "Judges", head="They run against each other"))
    elif board is not None and board.ahead.any():
        out.append(_hardly(panel, board, r))
    elif panel.has_systems:
        text = f"They do not agree on {what} ({r}): a ranking by this panel would be noise."
        out.append(Finding("serious", "judges.blind", text, "Judges", head="They do not agree"))
    else:
        text = f"They hardly agree on {what} ({r})."
        out.append(Finding("warning", "judges.hardly", text, "Judges", head="They hardly agree"))
    for key, which, does, do in (
        ("odd", [b for b in a.odd if b not in turned], "agrees less with", "agree less with"),
        ("turned", turned, "runs against", "run against"),
    ):
        if which:
            rs = " and ".join(_r(a.own[b], a.own_low[b], a.own_high[b]) for b in which)
            text = f"{names([panel.judges[b] for b in which])} {does if len(which) == 1 else do} the others (r = {rs})"
            text += ": is a scale reversed?" if key == "turned" else "."
            out.append(Finding("notice", f"judges.{key}", text, "Judges", {"judge": panel.judges[which[0]]}))
    return out


def _r(value: float, low: float, high: float) -> str:
    """A correlation with its interval, where there is one."""
    return number(value) + (f" [{number(low)}, {number(high)}]" if np.isfinite(low) else "")


def _hardly(panel: Panel, b: Board, r: str) -> Finding:
    """Single answers are not agreed on, yet some system is surely ahead."""
    first, second = b.order[0], next((s for s in b.order[1:] if b.joined[s]), b.order[0])
    if b.ahead[first, second]:
        who = name(b.systems[first])
        f, half = panel.factor, (b.high - b.low)[first, second] / 2
        lead = f"{points(f * b.gap[first, second], f * half)} {panel.unit_name}"
        said = f"{who}{chr(39) if who.endswith('s') else chr(39) + 's'} lead of {lead} shows"
    else:
        said = "what differs between systems shows"
    text = f"They hardly agree on single answers ({r}); {said} only in the mean over tasks."
    return Finding("warning", "judges.hardly", text, "Judges", head="They hardly agree")


def _split(panel: Panel, a: Agreement, alone: Sequence[int], people: bool) -> Finding:
    """Groups that agree among themselves, and those who agree with nobody."""
    said = []
    for group in a.groups:
        r = float(np.nanmean([a.pairs[i, j] for i in group for j in group if i < j]))
        said.append(f"{names([panel.judges[b] for b in group], 6)} agree with each other (r = {r:.2f}).")
    if alone:
        said.append(f"{names([panel.judges[b] for b in alone], 6)} agree{'s' * (len(alone) == 1)} with nobody.")
    said += [] if people else ["Scores alone cannot tell who is right."]
    return Finding("serious", "judges.split", " ".join(said), "Judges", head="The judges split")


def one_maker(judges: Sequence[str], given: Mapping[str, str] | None) -> str:
    """The maker of all judges; "" where there are several, or names do not tell."""
    found = set(families(judges, given).values())
    return found.pop() if len(found) == 1 and not unknown(judges, given) else ""


def unknown(who: Sequence[str], given: Mapping[str, str] | None) -> list[str]:
    """Judges or systems whose maker neither their names nor the user tells."""
    made = families(who, given)
    return [x for x in made if made[x] == x and x not in MAKERS and x not in (given or {})]


def lacking(panel: Panel) -> list[Finding]:
    """Whether missing scores hang on the judge and the language: then they may be failures, not chance."""
    seen = np.isfinite(panel.scores)
    rate = 1 - np.average(seen.mean(1), axis=0, weights=panel.weight)
    if seen.all() or rate.size < 2:
        return []
    rest = (rate.sum() - rate) / (rate.size - 1)
    sure = (rate - rest) / np.sqrt(np.maximum(rest * (1 - rest), 1e-4) / panel.units) > 4
    hit = np.where(sure & (rate - rest > 0.02) & (rate < 1), np.round(rate - rest, 9), -1.0)
    x, b = np.unravel_index(int(hit.argmax()), hit.shape)
    if hit[x, b] < 0:
        return []
    who = name(panel.judges[b]) + (f" in {name(panel.languages[x])}" if len(panel.languages) > 1 else "")
    lack, others = percent(float(rate[x, b]), 0), percent(float(rest[x, b]), 0)
    text = f"Missing scores are spread unevenly: {who} lacks {lack} of its scores, the others {others} on average."
    where = {"language": panel.languages[x], "judge": panel.judges[b]}
    return [Finding("notice", "missing", text, "", where)]


# --- frames ---


def frame(
    panel: Panel, values: Values, a: Agreement | None, slopes: pd.DataFrame | None, named: Sequence[tuple[str, str]]
) -> pd.DataFrame:
    """language, judge ("panel"), r, low, high, mean, slope, slope_low, slope_high, named."""
    k, mean = len(panel.languages), values.mean
    per = dict(slopes.set_index("judge").T.items()) if slopes is not None and len(slopes) else {}
    none = (np.nan, np.nan, np.nan)
    rows: list[tuple[object, ...]] = []
    every = float(np.nanmean(mean)) if np.isfinite(mean).any() else np.nan
    whole = none if a is None else (a.r, a.r_low, a.r_high)
    rows.append(("all", "panel", *whole, every, *none, False))
    for b, judge in enumerate(panel.judges):
        own = none if a is None else (a.own[b], a.own_low[b], a.own_high[b])
        column = mean[:, b][np.isfinite(mean[:, b])]
        s = per.get(judge)
        slope = none if s is None else (s["slope"], s["low"], s["high"])
        odd = a is not None and (b in a.odd or b in a.constant)
        rows.append(("all", judge, *own, column.mean() if len(column) else np.nan, *slope, odd))
    if k > 1:
        for x, language in enumerate(panel.languages):
            for b, judge in enumerate(panel.judges):
                rows.append((language, judge, *none, mean[x, b], *none, (language, judge) in named))
    columns = ["language", "judge", "r", "low", "high", "mean", "slope", "slope_low", "slope_high", "named"]
    return framed(rows, columns=columns)


def pairs(panel: Panel, a: Agreement | None, given: Mapping[str, str] | None) -> pd.DataFrame:
    """row, column, value (r of two judges, none with itself), low, high, group (maker of the row)."""
    makers = families(panel.judges, given)
    rows = []
    if a is not None:
        for i, x in enumerate(panel.judges):
            for j, y in enumerate(panel.judges):
                rows.append((x, y, a.pairs[i, j], a.pairs_low[i, j], a.pairs_high[i, j], makers[x]))
    return framed(rows, columns=["row", "column", "value", "low", "high", "group"])


def reversals(panel: Panel, values: Values) -> pd.DataFrame:
    """Pairs of judges that change places between two languages (Definition 1), with both p-values of METHODS 5."""
    found = _reversals(panel, values)
    if found is None:
        return framed(columns=REVERSALS)
    here = np.flatnonzero(found.delta > 0)
    here = here[np.lexsort((-found.delta[here].round(9), found.p[here].round(12)))]
    judges, languages = np.array(panel.judges, dtype=object), np.array(panel.languages, dtype=object)
    made = (
        judges[found.i[here]], judges[found.j[here]], languages[found.language_a[here]], found.gap_a[here],
        languages[found.language_b[here]], found.gap_b[here], found.delta[here], found.p_published[here], found.p[here],
    )  # fmt: skip
    return framed(dict(zip(REVERSALS, made, strict=True)))


def _reversals(panel: Panel, values: Values) -> cbc.Reversals | None:
    """None where gaps of judges cannot be told in every language."""
    if min(len(panel.languages), len(panel.judges)) < 2 or not values.present.all() or values.units < 2:
        return None
    k, m = len(panel.languages), len(panel.judges)
    if values.null.shape[1] and np.abs(_gaps(k, m) @ values.null).max() > 1e-6:
        return None
    return cbc.reversals(values.v, tiny_of(panel))


def _gaps(k: int, m: int) -> Array:
    """Contrasts of every two judges inside each language, (k (m-1), k m)."""
    out = np.zeros((k, m - 1, k, m))
    for x in range(k):
        for b in range(m - 1):
            out[x, b, x, b], out[x, b, x, b + 1] = 1.0, -1.0
    return out.reshape(k * (m - 1), k * m)


def reversal_finding(panel: Panel, values: Values, level: float) -> list[Finding]:
    """How many pairs of judges clearly reverse; the clearest is named."""
    found = _reversals(panel, values)
    sure = np.zeros(0, dtype=int) if found is None else np.flatnonzero((found.delta > 0) & (found.p <= 1 - level))
    if found is None or not len(sure):
        return []
    x, m = sure[np.lexsort((-found.delta[sure].round(9), found.p[sure].round(12)))[0]], len(panel.judges)
    high, low = (found.i[x], found.j[x]) if found.gap_a[x] > 0 else (found.j[x], found.i[x])
    total = m * (m - 1) // 2
    one = "s" if len(sure) == 1 else ""
    who = "The two judges reverse" if total == 1 else f"{len(sure)} of {total} pairs of judges reverse{one}"
    text = (
        f"{who} between {panel.nouns}: {name(panel.judges[high])} gives more than {name(panel.judges[low])} in "
        f"{name(panel.languages[found.language_a[x]])}, and less in {name(panel.languages[found.language_b[x]])}."
    )
    return [Finding("notice", "judges.reversals", text)]


def ranks(panel: Panel, values: Values) -> pd.DataFrame:
    """panel ("Before", "After calibrating"), group (language), label (judge), rank: the highest mean is 1."""
    columns = ["panel", "group", "label", "rank"]
    k, m = len(panel.languages), len(panel.judges)
    if min(k, m) < 2 or not values.present.all():
        return framed(columns=columns)
    tiny = tiny_of(panel)
    mean = values.mean
    rows = []
    for title, cells in (("Before", mean), ("After calibrating", mean - cbc.double_centre(mean))):
        order = np.argsort(np.argsort(-np.round(cells / tiny), axis=1, kind="stable"), axis=1, kind="stable") + 1
        for x, language in enumerate(panel.languages):
            rows += [(title, language, judge, int(order[x, b])) for b, judge in enumerate(panel.judges)]
    return framed(rows, columns=columns)
