"""What holds against people's labels: RTP-LX, PARIKSHA, DevAI and WMT23 (METHODS 19, 20, 22), and the page of it.

    python -m validation.evidence [DATA] [--draws N] [--page docs/evidence.md]

DATA is the folder of the released scores (../shared/data). Each part returns a frame; `numbers` makes of them what the
template `evidence.md.tmpl` says, and what must hold for its words to be true: else no page is written. Seeds are fixed;
references (ppi_py, plain means) do not use polyjudge's answers.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import polyjudge as pj
from polyjudge import cbc
from polyjudge.answers.humans.board import on_scale_of_labels
from polyjudge.calibrate.labelled import panel_mean
from polyjudge.panel import Panel
from polyjudge.stats import labels as st
from polyjudge.stats.agreement import agreement
from polyjudge.stats.anchored import draw_people, judge_means, limit_differences, measure_errors
from polyjudge.stats.cells import mean_seen
from polyjudge.stats.resample import bootstrap
from validation import people

Array = NDArray[np.float64]
Sets = dict[str, tuple[Panel, Array]]
RTP = ("RTP-LX Violence", "RTP-LX IdentityAttack")
PARIKSHA = ("PARIKSHA linguistic", "PARIKSHA task_quality")
LABELLED = (*RTP, *PARIKSHA, "WMT23")
SIZES = (10, 20, 50, 100)
WEIGHTED = (50, 100, 200)
PANELS = {"cv": (RTP[0], ""), "ci": (RTP[1], ""), "cw": ("WMT23", "panel"), "cj": ("WMT23", "judge")}
TEMPLATE = Path(__file__).with_name("evidence.md.tmpl")
MARKS = {RTP[0]: ">=50", RTP[1]: ">=50", PARIKSHA[0]: ">=1.5", PARIKSHA[1]: ">=1.5"}
"""Pass marks: of scores from 0 to 100, and from 0 to 2."""


def sets() -> Sets:
    """Panels with the mean label of every answer that people labelled; scores of other answers are left out."""
    out = dict(people.sets())
    runs = pd.read_csv(people.DATA / "devai" / "run_level_scores.csv")
    panel = Panel.from_frame(runs.rename(columns={"backbone": "judge", "framework": "system"}), scale=(0, 100))
    said = pd.read_csv(people.DATA / "devai" / "human_labels.csv").rename(columns={"framework": "system"})
    said = said.groupby(["task", "system"])["satisfied"].mean().mul(100).rename("label").reset_index()
    every = pd.concat([said.assign(language=x) for x in panel.languages])  # people judged the work, in no language
    out["DevAI"] = panel, people._y(panel, every)
    for name, (panel, y) in out.items():
        y = np.where(np.isfinite(panel.scores).any(3), y, np.nan)
        out[name] = replace(panel, scores=np.where(np.isfinite(y)[..., None], panel.scores, np.nan)), y
    return out


def with_people(panel: Panel, y: Array) -> Panel:
    """The panel with people as one more judge, where people and all judges scored."""
    both = np.concatenate([panel.scores, y[..., None]], axis=3)
    both = np.where(np.isfinite(both).all(3, keepdims=True), both, np.nan)
    return replace(panel, scores=both, judges=(*panel.judges, "people"))


def agree(data: Sets) -> pd.DataFrame:
    """r of two judges, and of the panel with people, centred alike: all languages, and each."""
    rows = []
    for name, (panel, y) in data.items():
        both = with_people(panel, y).scores
        m, k = len(panel.judges), len(panel.languages)
        s = np.concatenate([both[..., :m], both[..., :m].mean(3, keepdims=True), both[..., m:]], axis=3)
        for i in (None, *range(k)):
            x = s if i is None else s[:, :, [i]]
            x = x[np.isfinite(x).any((1, 2, 3))]
            a = agreement(x, np.arange(len(x)), np.ones(len(x)))
            among = a.pairs[:m, :m][np.triu_indices(m, 1)].mean() if m > 1 else np.nan
            own = [np.nanmean(np.delete(a.pairs[b, :m], b)) if m > 1 else np.nan for b in range(m)]
            limits = a.pairs[m, m + 1], a.pairs_low[m, m + 1], a.pairs_high[m, m + 1]
            rows.append((name, "all" if i is None else panel.languages[i], among, *limits, own, a.pairs[:m, m + 1]))
    return pd.DataFrame(rows, columns=["set", "language", "judges", "people", "low", "high", "own", "each"])


def own_agreement() -> tuple[float, float]:
    """Krippendorff's alpha of the annotators of RTP-LX IdentityAttack in Swahili, and the median of all languages."""
    said = pd.read_csv(people.DATA / "rtplx" / "human_labels.csv.gz")
    said = said[said["category"] == "IdentityAttack"]
    tables = {x: g.pivot_table(index="task", columns="annotator", values="label") for x, g in said.groupby("language")}
    found = {x: st.alpha(t.to_numpy(dtype=float))[0] for x, t in tables.items()}
    return found["SW"], float(np.median(list(found.values())))


def laid(y: Array, f: Array, spread: str = "panel") -> Array:
    """People's MQM on the scale of the judges: the mean of the panel f, and the spread of its mean, of one judge
    (15), of ranks, or of the straight line from people to panel, or from panel to people."""
    at = np.isfinite(y) & np.isfinite(f)
    out = np.full(y.shape, np.nan)
    g = f[at]
    v: Any = pd.Series(y[at]).rank().to_numpy() if spread == "ranks" else y[at]
    r = float(np.corrcoef(v, g)[0, 1])
    sd = {"panel": g.std(), "judge": 15, "ranks": 15, "people to panel": r * g.std(), "panel to people": g.std() / r}
    out[at] = g.mean() + sd[spread] * (v - v.mean()) / v.std()
    return out


def errors(scores: Array, y: Array) -> Array:
    """Language error of each judge (k, m): its mean less people's in each language, less the mean over languages."""
    d = scores - y[..., None]
    e = np.stack([np.nanmean(d[:, :, i].reshape(-1, d.shape[3]), axis=0) for i in range(d.shape[2])])
    return np.asarray(e - e.mean(0))


def removed_interval(panel: Panel, y: Array, draws: int) -> tuple[float, float]:
    """Bootstrap of tasks: the share of single judges' squared error that is the interaction's (METHODS 13, I7)."""
    v = with_people(panel, y).values().v
    cells = np.einsum("bu,ukm->bkm", bootstrap(len(v), draws, 0) / len(v), v)
    beta = cbc.double_centre(cells[..., :-1])
    beta2, e2 = (beta**2).mean((1, 2)), (cells[..., :-1].mean(2) - cells[..., -1]).var(1)
    low, high = np.quantile(beta2 / (beta2 + e2), [0.025, 0.975])
    return float(low), float(high)


def consensus(data: Sets, draws: int = 400, subsets: bool = True) -> pd.DataFrame:
    """For each panel: what calibrating removes of single judges' squared language error, and how many came nearer."""
    rows = []
    for name in (*RTP, "WMT23"):
        panel, y = data[name]
        for spread in ("panel", "judge", "ranks", "people to panel", "panel to people") if name == "WMT23" else ("",):
            h = laid(y, panel_mean(panel), spread) if spread else y
            limits = removed_interval(panel, h, draws)
            whole = len(panel.judges)
            for m in range(2, whole + 1) if spread in ("panel", "judge") and subsets else (whole,):
                for judges in combinations(panel.judges, m):
                    part = panel.select(judges=judges)
                    made = pj.ConsensusCalibrator().fit(part).transform(part)
                    before, after = ((errors(x.scores, h) ** 2).mean(0) for x in (part, made))
                    gone = 1 - after.mean() / before.mean()
                    each = dict(zip(judges, 1 - after / before, strict=True))
                    nearer = int((after < before).sum())
                    rows.append((name, spread, m, gone, nearer, *(limits if m == whole else (np.nan,) * 2), each))
    return pd.DataFrame(rows, columns=["set", "spread", "judges", "removed", "nearer", "low", "high", "each"])


def drawn(there: Any, n: int, rng: np.random.Generator) -> Any:
    """n answers of each language at random."""
    out = np.zeros(there.shape, dtype=bool)
    for i in range(there.shape[2]):
        at = rng.permutation(np.flatnonzero(there[:, :, i].ravel()))[:n]
        r, s = np.divmod(at, there.shape[1])
        out[r, s, i] = True
    return out


def ppi(y: Array, f: Array, rest: Array) -> tuple[float, float, float]:
    """PPI++ of a mean, power tuned, with its own interval."""
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate  # type: ignore[import-untyped]

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        low, high = ppi_mean_ci(y, f, rest, alpha=0.05)
        return float(ppi_mean_pointestimate(y, f, rest)[0]), float(np.ravel(low)[0]), float(np.ravel(high)[0])


def by_labels(data: Sets, draws: int) -> pd.DataFrame:
    """Share of the squared language error that labels remove on the other answers, by three corrections of the same
    draws; and whether what `LabelCalibrator` stated held."""
    rows = []
    for name, (panel, every) in data.items():
        there = np.isfinite(every)
        for n in SIZES:
            for seed in range(draws):
                some = drawn(there, n, np.random.default_rng([seed, n]))
                y = np.where(some, every, np.nan)
                made = pj.LabelCalibrator(seed=seed).fit(panel, people._labelled(panel, y))
                f, rest = made.line_[0] + made.line_[1] * panel_mean(panel), there & ~some
                shift = np.zeros((2, f.shape[2]))
                for i in range(f.shape[2]):
                    a, b = some[:, :, i], rest[:, :, i]
                    fi, yi = f[:, :, i], every[:, :, i]
                    whole = (fi[a].sum() + fi[b].sum()) / (a.sum() + b.sum())
                    shift[:, i] = whole - ppi(yi[a], fi[a], fi[b])[0], (fi[a] - yi[a]).mean()
                got = {"polyjudge": made.transform(panel), "PPI++": f - shift[0], "means": f - shift[1], "": f}
                e = {x: [(v - every)[..., i][rest[..., i]].mean() for i in range(f.shape[2])] for x, v in got.items()}
                gone = {x: 1 - float(np.var(v) / np.var(e[""])) for x, v in e.items() if x}
                held = bool(made.removes_[1] <= gone["polyjudge"] <= made.removes_[2]) if made.removes_ else None
                rows.append({"set": name, "labels": n, **gone, "held": held})
    return pd.DataFrame(rows)


def table(panel: Panel, y: Array) -> pd.DataFrame:
    """Labels as a table."""
    r, s, i = np.nonzero(np.isfinite(y))
    out = pd.DataFrame({"task": np.array(panel.tasks, dtype=object)[r], "label": y[r, s, i]})
    for axis, at, known in (("system", s, panel.systems), ("language", i, panel.languages)):
        out[axis] = np.array(known, dtype=object)[at]
    return out


PEER, R = "ppi_py: rate by language", "correlation with people"


def _within(found: pd.DataFrame, true: pd.DataFrame, keys: list[str], low: str, high: str, value: str) -> list[bool]:
    both = found[[*keys, low, high]].merge(true[[*keys, value]], on=keys)
    both = both[np.isfinite(both[[low, high, value]].to_numpy(dtype=float)).all(1)]
    return list((both[low] - 1e-9 <= both[value]) & (both[value] <= both[high] + 1e-9))


def held(found: Any, true: Any) -> Iterator[tuple[str, bool]]:
    """Whether each interval of `humans` from some labels has the value that all labels give."""
    kind = "rate" if found.sides_.verdicts else "mean"
    lead, keys = found.sides_.lead, ["language", "system", "judge"]
    every = found.frame["system"].isin(["all", ""])
    by_language, by_system = every & (found.frame["language"] != "all"), ~every & (found.frame["language"] == "all")
    for part, chosen in (("by language", by_language), ("by system", by_system)):
        rows = found.frame[chosen & (found.frame["judge"] == lead)]
        inside = _within(rows, true.frame, keys, "people_low", "people_high", "people")
        yield from ((f"{kind} that people would give, {part}", x) for x in inside)
    if found.sides_.same:
        inside = _within(found.frame[by_language], true.frame, keys, "low", "high", "difference")
        yield from (("judge less people", x) for x in inside)
    if len(found.pairs):
        inside = _within(found.pairs, true.pairs, ["system", "other"], "low", "high", "labels")
        yield from [(f"differences of systems' {kind}s, all at once", all(inside))] if inside else []
    for x in ("accuracy", "kappa", "sensitivity", "specificity") if kind == "rate" else ("r",):
        inside = _within(found.judges, true.judges, ["language", "judge"], x + "_low", x + "_high", x)
        yield from ((R if x == "r" else "accuracy, kappa, sensitivity, specificity", ok) for ok in inside)
    if len(found.alone):
        inside = _within(found.alone, true.alone, ["decides", "part", "language"], "low", "high", "agreement")
        yield from (("agreement where judges are unanimous, and elsewhere", ok) for ok in inside)


def coverage(data: Sets, draws: int) -> pd.DataFrame:
    """Interval, set, labels, held: one row an interval."""
    rows: list[tuple[str, str, int, bool]] = []
    for name, (panel, every) in data.items():
        there = np.isfinite(every)
        for mark in (None, MARKS[name]) if name in MARKS else (None,):
            true = pj.humans(panel, table(panel, every), threshold=mark)
            for n in SIZES[1:]:
                for seed in range(draws):
                    some = drawn(there, n, np.random.default_rng([seed, n, 1]))
                    found = pj.humans(panel, table(panel, np.where(some, every, np.nan)), threshold=mark, seed=seed)
                    rows += [(what, name, n, ok) for what, ok in held(found, true)]
                    y, f = true.sides_.y, true.sides_.guide
                    for i in range(y.shape[2]) if mark else ():
                        a, rest = some[:, :, i], there[:, :, i] & ~some[:, :, i]
                        _, low, high = ppi(y[:, :, i][a], f[:, :, i][a], f[:, :, i][rest])
                        rows.append((PEER, name, n, bool(low - 1e-9 <= np.nanmean(y[:, :, i]) <= high + 1e-9)))
    return pd.DataFrame(rows, columns=["interval", "set", "labels", "held"])


def annotators(data: Sets, draws: int) -> pd.DataFrame:
    """The same of what is said of annotators, on RTP-LX: three natives a language label the same answers."""
    rows = []
    every = pd.read_csv(people.DATA / "rtplx" / "human_labels.csv.gz")
    for part in RTP:
        panel, y = data[part]
        said = every[every["category"] == part.split()[1]].drop(columns="category")
        true = pj.humans(panel, said)
        for n in SIZES[1:]:
            for seed in range(draws):
                some = table(panel, np.where(drawn(np.isfinite(y), n, np.random.default_rng([seed, n, 2])), y, np.nan))
                found = pj.humans(panel, said.merge(some[["task", "language"]]), seed=seed)
                ok = found.alpha[1] <= true.alpha[0] <= found.alpha[2]
                rows.append(("annotators' agreement (alpha)", part, n, bool(ok)))
                inside = _within(found.annotators, true.annotators, ["language", "annotator"], "low", "high", "harsher")
                rows.append(("how much harsher an annotator is, all at once", part, n, all(inside)))
    return pd.DataFrame(rows, columns=["interval", "set", "labels", "held"])


def weights(boards: int) -> pd.DataFrame:
    """board, pairs, labels, equal, weighted, gain: the share of pairs that the panel orders as people do."""
    rows = [r for n in WEIGHTED for x in range(boards) for w in (False, True) for r in people.weight_accuracy(n, x, w)]
    frame = pd.DataFrame(rows, columns=["board", "pairs", "labels", "equal", "weighted"])
    return frame.assign(gain=frame["weighted"] - frame["equal"])


def ranks(data: Sets) -> pd.DataFrame:
    """One row a board, each language a board of its own: how the audit's rank ranges hold the ranks of people's means.

    inside : systems whose rank by people lies in the range; apart : whose ranges by judges and by people (as one judge)
    do not meet; told : pairs whose ranges by judges do not meet; same : those that people order alike
    """
    rows = []
    for name in (*PARIKSHA, "WMT23", "DevAI"):
        panel, y = data[name]
        for i, language in enumerate(panel.languages):
            seen: Any = np.isfinite(y[:, :, i])
            some = [x for x, there in zip(panel.systems, seen.any(0), strict=True) if there]
            part = panel.select(languages=[language], systems=some, rows=seen.any(1))
            h = y[:, :, [i]][seen.any(1)][:, seen.any(0)]
            alone = Panel.from_array(h[..., None], tasks=part.tasks, systems=some, judges=["people"])
            mine, theirs = (pj.audit(x).systems for x in (part, alone))
            b = mine[mine["language"] == mine["language"].iloc[0]].merge(theirs, on="system", suffixes=("", "_people"))
            v = b["system"].map(dict(zip(some, np.nanmean(h[:, :, 0], axis=0), strict=True))).to_numpy(dtype=float)
            low, high, p_low, p_high = (b[f"rank_{x}"].to_numpy() for x in ("low", "high", "low_people", "high_people"))
            best, worst = (v[:, None] < v - 1e-9).sum(1) + 1, len(v) - (v[:, None] > v + 1e-9).sum(1)
            inside, told = (low <= worst) & (high >= best), high[:, None] < low
            rows.append({
                "set": name, "language": language, "systems": len(v), "steps": len(v) * (len(v) - 1),
                "inside": int(inside.sum()), "whole": int(inside.all()), "open": int((high - low).sum()),
                "apart": int(((low > p_high) | (high < p_low)).sum()), "open_people": int((p_high - p_low).sum()),
                "first": int(b["may_be_best"].to_numpy()[int(v.argmax())]), "told": int(told.sum()),
                "same": int((told & (v[:, None] > v)).sum()), "boards": 1,
            })  # fmt: skip
    return pd.DataFrame(rows)


def hanna() -> tuple[Panel, Array]:
    """HANNA: stories of ten generators and of people, the mean of six criteria, four prompts as languages; and people's
    mean label. Scores below the scale are runs that could not be read, averaged in upstream: they are missing."""
    rows = pd.read_csv(people.DATA / "hanna" / "judge_scores.csv.gz")
    rows = rows[rows["score"] >= 1]
    means = rows.groupby(["task", "system", "judge", "prompt"], as_index=False)[["score", "words"]].mean()
    panel = Panel.from_frame(means.rename(columns={"prompt": "language"}), scale=(1, 5), noun="prompt")
    words = means.groupby(["task", "system"])["words"].mean().unstack()
    index = pd.Index(panel.tasks).astype(words.index.dtype)
    length = np.log(words.reindex(index=index, columns=list(panel.systems)).to_numpy(dtype=float))
    panel = replace(panel, length=np.repeat(length[:, :, None], len(panel.languages), axis=2))
    labels = pd.read_csv(people.DATA / "hanna" / "human_labels.csv.gz").groupby(["task", "system"])["label"].mean()
    label = labels.unstack().reindex(index=index, columns=list(panel.systems)).to_numpy(dtype=float)
    return panel, np.repeat(label[:, :, None], len(panel.languages), axis=2)


def single_boards(data: Sets) -> Iterator[tuple[str, Panel, Array]]:
    """Boards whose winners people have judged too: name, panel, people's labels (tasks, systems)."""
    panel, y = data["WMT23"]
    yield ("WMT23", *_labelled_board(panel, y, range(len(panel.languages))))
    for i, language in enumerate(panel.languages):
        yield (f"WMT23 {language}", *_labelled_board(panel, y, [i]))
    yield ("DevAI", *_labelled_board(*data["DevAI"], range(len(data["DevAI"][0].languages))))
    panel, y = hanna()
    every = range(len(panel.languages))
    yield ("HANNA", *_labelled_board(panel, y, every))
    generators = [s for s, system in enumerate(panel.systems) if system != "Human"]
    part = panel.select(systems=[panel.systems[s] for s in generators])
    yield ("HANNA, generators", *_labelled_board(part, y[:, generators], every))


def _labelled_board(panel: Panel, y: Array, languages: Iterable[int]) -> tuple[Panel, Array]:
    """The part in these languages with the systems and tasks that people labelled; and their labels."""
    chosen = list(languages)
    # People judge the answer, whichever prompt or language the judge was asked in; or a task is in one language only.
    labels = mean_seen(y[:, :, chosen], axis=2)
    seen = np.isfinite(labels)
    rows, columns = np.flatnonzero(seen.any(1)), np.flatnonzero(seen.any(0))
    part = panel.select(
        languages=[panel.languages[i] for i in chosen], systems=[panel.systems[s] for s in columns], rows=rows
    )
    return part, np.asarray(labels[np.ix_(rows, columns)])


def wins(data: Sets) -> pd.DataFrame:
    """One row a board: what the audit says of the winner and of what it rests on, and whom people put first.

    Single boards: panels that are drawn again and again from one board would share its answers.
    """
    rows = []
    for name, panel, labels in single_boards(data):
        found = pj.audit(panel)
        says = next(f.text for f in found.findings if f.topic == "Winner")
        alone = Panel.from_array(labels[:, :, None, None], tasks=panel.tasks, systems=panel.systems, judges=["people"])
        board = pj.audit(alone).systems
        first, second = board["system"].iloc[0], board["system"].iloc[1]
        lead = -board[["behind_leader", "high", "low"]].iloc[1].to_numpy(dtype=float)
        verdicts = (found.stands["threat"] + ": " + found.stands["verdict"]).tolist()
        rows.append({
            "board": name, "systems": len(panel.systems), "judges": len(panel.judges), "tasks": len(panel.tasks),
            "leader": found.systems["system"].iloc[0], "is_certain": not says.startswith("Too"), "says": says,
            "verdicts": "; ".join(verdicts), "people_first": first, "people_second": second,
            "people_lead": lead[0], "people_low": lead[1], "people_high": lead[2],
        })  # fmt: skip
    return pd.DataFrame(rows)


def win_rows(found: pd.DataFrame) -> str:
    """The table of the page."""
    lines = []
    for row in found.to_dict("records"):
        lead = f"{row['people_lead']:.2f} [{row['people_low']:.2f}, {row['people_high']:.2f}]"
        by_people = f"{row['people_first']} ahead of {row['people_second']} by {lead}"
        lines.append(f"| {row['board']} | {row['says']} | {by_people} |")
    return "\n".join(lines)


# --- people's board, with languages left out ---


BOARD_SETS = {"WMT23": (2, 3), **dict.fromkeys(PARIKSHA, (3, 5)), **dict.fromkeys(RTP, (3, 9))}
"""Of each set, in how many languages labels are known; people's other labels are hidden, and checked against."""
BOARD_LABELS = (20, 50)


def board_of(name: str, n: int, k: int, seed: int, whole_tasks: bool) -> Iterator[dict[str, Any]]:
    """Each language of a board made of n labels in k languages, against all of people's labels there.

    sure, wrong : statements that one system is ahead, and those that people's means contradict
    inside, systems : ranks of people's means inside the ranges; held, cells : means of people inside their limits
    judges_sure, judges_wrong : the same statements by the judges alone, by their own limits
    """
    panel, every = people.sets()[name]
    scores = panel_mean(panel)
    there = np.isfinite(scores) & np.isfinite(every)
    rng = np.random.default_rng([seed, n, k])
    languages = sorted(rng.permutation(len(panel.languages))[:k])
    some = np.zeros(there.shape, dtype=bool)
    for language in languages:
        if whole_tasks:
            chosen = rng.permutation(np.flatnonzero(there[:, :, language].any(axis=1)))[:n]
            some[chosen, :, language] = there[chosen, :, language]
        else:
            some[:, :, language] = drawn(there[:, :, [language]], n, rng)[:, :, 0]
    labels = np.where(some, every, np.nan)
    scores = on_scale_of_labels(np.where(there, scores, np.nan), labels, name in RTP)
    judged = judge_means(scores, panel.unit, panel.weight)
    measured = measure_errors(scores, labels, panel.unit, judged)
    if measured is None:
        return
    known = list(map(int, measured.languages))
    others = [language for language in range(len(panel.languages)) if language not in known]
    said = draw_people(judged, measured, seed=seed)
    limits = limit_differences(said.differences, [known, others])
    alone = rng.normal(size=(1000, len(judged.influence))) @ judged.influence.reshape(len(judged.influence), -1)
    by_judges = limit_differences(judged.mean + alone.reshape(1000, *judged.mean.shape), [known, others])
    low, high = np.quantile(said.means, [0.025, 0.975], axis=0)
    true = judge_means(np.where(there, every, np.nan), panel.unit, panel.weight).mean
    for language in range(len(panel.languages)):
        mean = true[language]
        gap = mean[:, None] - mean
        is_known = limits.known[language] & np.isfinite(mean)
        both = is_known[:, None] & is_known
        ahead, behind = limits.ahead[language] & both, both & (gap < -1e-9)
        best, worst = behind.sum(axis=1) + 1, is_known.sum() - (both & (gap > 1e-9)).sum(axis=1)
        inside = (ahead.sum(axis=0) + 1 <= worst) & (is_known.sum() - ahead.sum(axis=1) >= best)
        has_level = np.isfinite(low[language]) & np.isfinite(mean)
        held = (low[language] <= mean) & (mean <= high[language])
        yield {
            "set": name.split()[0], "labelled": language in known, "labels": n,
            "sure": int(ahead.sum()), "wrong": int((ahead & behind).sum()),
            "inside": int(inside[is_known].sum()), "systems": int(is_known.sum()),
            "held": int(held[has_level].sum()), "cells": int(has_level.sum()),
            "judges_sure": int((by_judges.ahead[language] & both).sum()),
            "judges_wrong": int((by_judges.ahead[language] & behind).sum()),
        }  # fmt: skip


def boards(draws: int) -> pd.DataFrame:
    """set, labelled, labels and counts: one row a language of a board."""
    rows = [
        row
        for name, numbers in BOARD_SETS.items()
        for n in BOARD_LABELS
        for k in numbers
        for seed in range(draws)
        for whole_tasks in ((False, True) if name == "WMT23" else (False,))
        for row in board_of(name, n, k, seed, whole_tasks)
    ]
    return pd.DataFrame(rows)


def board_numbers(found: pd.DataFrame) -> dict[str, Any]:
    """Sums by set and labelled or not, as rows of a table; and over all sets."""
    rows = []
    for (name, is_labelled), part in found.groupby(["set", "labelled"], sort=False):
        total = part.sum(numeric_only=True)
        if not total["cells"]:
            continue
        ranks = "–" if not total["systems"] else f"{total['inside'] / total['systems']:.1%}"
        where = "with labels" if is_labelled else "without"
        rows.append(
            f"| {name} | {where} | {total['sure']:,.0f} | {total['wrong']:,.0f} | {total['judges_sure']:,.0f} | "
            f"{total['judges_wrong']:,.0f} | {ranks} | {total['held'] / total['cells']:.1%} |"
        )
    every = found.sum(numeric_only=True)
    return {
        "board_rows": "\n".join(rows), "board_sure": int(every["sure"]), "board_wrong": int(every["wrong"]),
        "board_inside": every["inside"] / every["systems"], "board_share": every["wrong"] / max(every["sure"], 1),
        "board_judges": every["judges_wrong"] / max(every["judges_sure"], 1),
    }  # fmt: skip


# --- the page ---


def measure(draws: int) -> dict[str, Any]:
    """All parts, as frames. Below ten draws no subsets of judges, and what labels cover on PARIKSHA alone."""
    data, out, quick = sets(), {}, draws < 10
    some = {x: data[x] for x in LABELLED}
    parts: dict[str, Callable[[], Any]] = {
        "agree": lambda: agree(data),
        "alpha": own_agreement,
        "consensus": lambda: consensus(data, subsets=not quick),
        "labels": lambda: by_labels(some, draws),
        "coverage": lambda: (
            coverage({x: data[x] for x in PARIKSHA}, 1)
            if quick
            else pd.concat([coverage(some, draws // 5), annotators(data, draws // 5)])
        ),
        "weights": lambda: weights(3 * draws),
        "ranks": lambda: ranks(data),
        "wins": lambda: wins(data),
        "boards": lambda: boards(max(draws // 5, 1)),
    }
    for name, part in parts.items():
        begun = time.process_time()
        out[name] = part()
        print(f"{name}: {time.process_time() - begun:.0f} s", file=sys.stderr, flush=True)
    return out


def numbers(found: dict[str, Any], draws: int) -> tuple[dict[str, Any], dict[str, bool]]:
    """What the template says, by name; and what must hold for its words to be true."""
    v: dict[str, Any] = {"draws": draws, "half": max(draws // 5, 1), "boards": 3 * draws}
    a = found["agree"].set_index(["set", "language"])
    for short, name in zip(("v", "i", "pl", "pt", "w", "d"), (*LABELLED, "DevAI"), strict=True):
        each = a.loc[name].drop(index="all")
        v[short] = a.loc[name].loc["all"].to_dict()
        v[short] |= {f"{x}_{f}": each[x].agg(f) for x in ("judges", "people") for f in ("min", "median", "max")}
        if name in RTP:
            v[short]["r"] = st.correlation(each["judges"].to_numpy(), each["people"].to_numpy())
            v[short]["sw"] = each.loc["SW"].to_dict()
    own, true = (np.array(v["w"][x]) for x in ("own", "each"))
    names = [x.removesuffix("-src").removesuffix("-Ensemble") for x in people.sets()["WMT23"][0].judges]
    for short, at in (("most", own.argmax()), ("best", true.argmax()), ("least", own.argmin())):
        v[short] = {"name": names[at], "own": own[at], "true": true[at]}
    v["alpha"] = found["alpha"]
    c = found["consensus"]
    for short, (name, spread) in PANELS.items():
        part = c[(c["set"] == name) & (c["spread"] == spread)]
        v[short] = part.loc[part["judges"].idxmax()].to_dict()
        v[short]["of"] = part.groupby("judges")["removed"].agg(["mean", "min", "max"]).to_dict("index")
    whole = c[(c["set"] == "WMT23") & (c["judges"] == 8)]["removed"]
    v["cx"] = {"low": whole.min(), "high": whole.max()}
    ways = ["polyjudge", "PPI++", "means"]
    x = found["labels"].groupby(["labels", "set"])[ways].median()
    v["sets"] = len(x.loc[20])
    v["labels"] = {n: {"low": x.loc[n, "polyjudge"].min(), "high": x.loc[n, "polyjudge"].max()} for n in SIZES}
    for n, y in product(SIZES, ways[1:]):
        at = x.loc[n]
        v["labels"][n] |= {f"{y}_less": int((at["polyjudge"] > at[y]).sum()), f"{y}_worse": int((at[y] < 0).sum())}
    v["worse"] = (found["labels"].query("labels == 20")["polyjudge"] < 0).mean()
    w = found["weights"]
    by = w.groupby(["pairs", "board", "labels"])["gain"]
    gains, noise = by.mean(), by.sem()
    boards = w[w["pairs"] == people.PAIRS[0]].groupby("board")
    v["equal"], v["noise"] = boards["equal"].mean()[list(people.BOARDS)].tolist(), noise[people.PAIRS[0]].max()
    v["gain"] = [", ".join(f"{gains[people.PAIRS[0], b, n]:+.2%}" for n in WEIGHTED) for b in people.BOARDS]
    stated = found["labels"].dropna(subset=["held"]).assign(interval="share of language error removed")
    cover = pd.concat([found["coverage"], stated[["interval", "set", "labels", "held"]]]).astype({"held": float})
    cells = cover.groupby(["interval", "labels", "set"])["held"].mean().groupby(level=[0, 1]).agg(["mean", "min"])
    order = cells["mean"].groupby(level=0).min().sort_values(ascending=False).index
    v["rows"] = "\n".join(
        f"| {s} | {' | '.join('{:.0f} ({:.0f})'.format(*100 * cells.loc[(s, n)]) for n in SIZES[1:])} |" for s in order
    )
    few = cells["mean"].loc[:, 50]
    v["short"] = ", ".join(f"{s} ({100 * few[s]:.0f})" for s in order if few[s] < 0.92 and "ppi_py" not in s)
    v["rate"], v["rate_ppi"] = few["rate that people would give, by language"], few[PEER]
    b = found["ranks"].assign(set=found["ranks"]["set"].str.split().str[0]).drop(columns="language")
    for name, row in b.groupby("set").sum().to_dict("index").items():
        v[str(name)] = row | {x: row[x] / row["steps"] for x in ("open", "open_people")}
    v["wins"] = win_rows(found["wins"])
    told = found["wins"].set_index("board")
    v |= board_numbers(found["boards"])
    i, wmt, devai, some = v["i"], v["WMT23"], v["DevAI"], v["labels"]
    return v, {
        "by people Swahili is the worst language": i["sw"]["people"] == i["people_min"],
        "judges agree there nearly as elsewhere": i["judges_median"] - i["sw"]["judges"] < 0.05,
        "agreement does not tell the languages of identity attack": i["r"][1] < 0,
        "the judge nearest the others is not nearest people": v["most"]["name"] != v["best"]["name"],
        "the judge farthest from the others is farthest from people": v["least"]["true"] == true.min(),
        "on identity attack one judge gains and one loses": v["ci"]["each"]["ACS"] > 0 > v["ci"]["each"]["GPT-4"],
        "labels remove most of it at 100": some[100]["low"] > 0.5,
        "more labels remove more": some[10]["low"] < some[100]["low"],
        "weights by labels gain little": abs(w["gain"].mean()) < 0.01,
        "ranges do not hold all ranks on WMT23": wmt["inside"] < wmt["systems"],
        "on HANNA people and judges put the stories of people first": (
            told.loc["HANNA", ["leader", "people_first"]].tolist() == ["Human", "Human"]
        ),
        "scores cannot tell them from longer ones": "length: cannot be told" in told.loc["HANNA", "verdicts"],
        "WMT23's win is that of one language pair": "one language: depends" in told.loc["WMT23", "verdicts"],
        "the board of people is wrong in at most 1% of what it is sure of": v["board_share"] <= 0.01,
        "ranks by people lie in the ranges of the board": v["board_inside"] >= 0.97,
        "the judges alone are wrong more often": v["board_judges"] > 2 * v["board_share"],
        "nothing is told apart on DevAI": devai["told"] == 0 and devai["inside"] == devai["systems"],
    }


def figures(found: dict[str, Any], folder: Path) -> None:
    """The three pictures."""
    import altair as alt

    from polyjudge.report.charts import COLOURS

    a = found["agree"][["set", "language", "judges", "people"]].dropna()
    a = a[a["language"] != "all"].round(4).assign(name=lambda x: np.where(x["language"] == "SW", "Swahili", ""))
    x, y = alt.X("judges:Q", title="r of two judges"), alt.Y("people:Q", title="r of the panel with people")
    base = alt.Chart(a).encode(x=x, y=y)
    shades, shape = alt.Scale(range=list(COLOURS)), alt.Shape("set:N", legend=None)
    colour = alt.Color("set:N", title=None, sort=list(dict.fromkeys(a["set"])), scale=shades)
    one = base.mark_point(filled=True, size=45, opacity=0.8).encode(color=colour, shape=shape)
    words = base.mark_text(dx=28).encode(text="name")
    c = found["consensus"].query("spread in ('', 'panel')")[["set", "judges", "removed"]].round(4)
    x = alt.X("judges:O", title="judges in the panel", axis=alt.Axis(labelAngle=0))
    y = alt.Y("removed:Q", title="removed of squared language error", axis=alt.Axis(format="%"))
    dots = alt.Chart(c).mark_point(filled=True, size=25, opacity=0.5).encode(x=x, y=y, color=colour, shape=shape)
    mean = c[c["set"] == "WMT23"].groupby("judges", as_index=False)["removed"].mean()
    line = alt.Chart(mean).mark_line(color=COLOURS[2]).encode(x=x, y=y)
    b = found["labels"].groupby(["set", "labels"])[["polyjudge", "PPI++", "means"]].median().round(4).reset_index()
    b = b.melt(["set", "labels"], var_name="by", value_name="removed")
    three = alt.Chart(b, width=110, height=150).mark_line(point=True, clip=True).encode(
        x=alt.X("labels:O", title="labels per language", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("removed:Q", title="removed", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[-1, 1])),
        color=alt.Color("by:N", title=None, scale=shades, sort=["polyjudge", "PPI++", "means"]),
        facet=alt.Facet("set:N", title=None, columns=5),
    )  # fmt: skip
    first, second = ((x + y).properties(width=420, height=300) for x, y in ((one, words), (dots, line)))
    for name, chart in (("agreement", first), ("calibrating", second), ("labels", three)):
        chart.configure(background="#ffffff", aria=False).save(folder / f"evidence-{name}.svg")


def main() -> None:
    """Measure, print the numbers, and write the page where all its words are true."""
    parser = argparse.ArgumentParser(prog="python -m validation.evidence", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("data", nargs="?", type=Path, default=people.DATA)
    parser.add_argument("--draws", type=int, default=60, help="of labels, for each set and number of them")
    parser.add_argument("--page", type=Path, help="write the page and its pictures")
    given = parser.parse_args()
    people.DATA = given.data
    found = measure(given.draws)
    values, ok = numbers(found, given.draws)
    for name, value in values.items():
        print(f"{name}: {value}")
    wrong = [name for name, true in ok.items() if not true]
    if wrong:
        sys.exit("The page would not be true: " + "; ".join(wrong) + ".")
    if given.page:
        given.page.write_text(TEMPLATE.read_text(encoding="utf-8").format(**values), encoding="utf-8")
        figures(found, given.page.parent)


if __name__ == "__main__":
    main()
