"""Claims of first screens beyond the band: one planted panel each, as METHODS 24 lists them.

Makers of judges and systems are read from their names, so that these have names of makers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from polyjudge.calibrate.anchored import AnchoredCalibrator
from polyjudge.estimate.bands import uncertainty
from polyjudge.estimate.kernels import double_centre
from polyjudge.estimate.powered import ppi_mean
from polyjudge.panel.arrays import Array
from polyjudge.panel.gold import Gold
from polyjudge.panel.panel import Panel
from polyjudge.paper.methods.btl import fit_btl
from polyjudge.paper.preferences import pairwise
from polyjudge.questions.audit.explanation import explain
from polyjudge.questions.audit.pass_rates import gates
from polyjudge.questions.judges.choose import choose
from polyjudge.questions.judges.swap import swap_judges
from polyjudge.questions.plan.planning import label_budget, plan
from polyjudge.questions.plan.separate import separate
from polyjudge.questions.plan.sequential import replay
from polyjudge.questions.probe.reaction import probe
from polyjudge.questions.systems.favour import favour
from polyjudge.questions.systems.leaderboard import leaderboard
from polyjudge.questions.systems.signal import signal
from validation.scenarios import Found, Scenario

LEVEL = 0.95
BOOTSTRAPS = 199
JUDGES = ("gpt-a", "gpt-b", "claude-a", "gemini-a", "llama-a", "mistral-a", "qwen-a", "deepseek-a")
"""The first two are of one maker."""
RANGE = (0.0, 100.0)


def _scored(rng: np.random.Generator, scenario: Scenario, systems: int, sees: float = 1.0) -> Array:
    """(n, s, k, m) scores: tasks, systems of the same mean quality that differ from task to task, and noise."""
    n, k, m = scenario.tasks, scenario.languages, scenario.judges
    quality = rng.normal(0, 8, (n, systems, 1, 1))
    return 50 + rng.normal(0, 8, (n, 1, 1, 1)) + sees * quality + rng.normal(0, 8, (n, systems, k, m))


def _panel(scores: Array) -> Panel:
    systems = tuple(f"system{i + 1}" for i in range(scores.shape[1]))
    return Panel.from_array(scores, judges=JUDGES[: scores.shape[3]], systems=systems, declared_range=RANGE)


# --- agreement and who favours whom ---


def makers(scenario: Scenario, seed: int) -> Found:
    """Blind judges, some of which share an error: agreement must not be said of the panel."""
    rng = np.random.default_rng(seed)
    scores = _scored(rng, scenario, 4, sees=scenario.ask.get("sees", 0.0))
    shared = scenario.ask.get("shared", 0)
    scores[..., :shared] += rng.normal(0, 8, (*scores.shape[:3], 1))
    names = {name: "one" if scenario.ask.get("family") and i < shared else name for i, name in enumerate(JUDGES)}
    found = signal(_panel(scores), families=names, level=LEVEL, resamples=BOOTSTRAPS, seed=seed)
    out: Found = {}
    if not shared:
        out["consistency across languages, coverage"] = _consistent(found.languages, scenario)
    if shared:
        out["a shared error is called agreement"] = found.verdict == "agree"
    if not scenario.ask.get("family"):
        together = {" + ".join(JUDGES[:shared])} if shared else set()
        out["judges on their own called a group"] = bool(set(found.groups["judges"]) - together)
        if shared:
            out["the group is named"] = together <= set(found.groups["judges"])
    return out


def _consistent(table: pd.DataFrame, scenario: Scenario) -> float:
    """Intervals of the correlation of a language's panel mean with that of the others, quality and noise of one sd."""
    k, m = scenario.languages, scenario.judges
    true = 1 / np.sqrt((1 + 1 / m) * (1 + 1 / (m * (k - 1))))
    return float(((table["consistency_low"] <= true) & (true <= table["consistency_high"])).mean())


def constant(scenario: Scenario, seed: int) -> Found:
    """Nearly all scores are one: nothing can be told, and nothing is."""
    rng = np.random.default_rng(seed)
    shape = scenario.tasks, 3, scenario.languages, scenario.judges
    scores = np.where(rng.random(shape) < scenario.ask.get("other", 0.0), 4.0, 5.0)
    panel = Panel.from_array(scores, judges=JUDGES[: shape[3]], systems=("a", "b", "c"), declared_range=(1.0, 5.0))
    found = signal(panel, level=LEVEL, resamples=BOOTSTRAPS, seed=seed)
    return {"a verdict from constant scores": found.verdict != "cannot tell"}


def own_family(scenario: Scenario, seed: int) -> Found:
    """Judges with tastes of their own, with or without a liking for their family."""
    rng = np.random.default_rng(seed)
    m = scenario.judges
    scores = _scored(rng, scenario, m) + np.linspace(-3, 3, m)[:, None, None]
    kin = np.eye(m)
    likes = scenario.ask.get("own", 0.0)
    taste = double_centre(rng.normal(0, scenario.ask.get("taste", 0.0), (m, m))) + likes * kin
    scores += taste[None, :, None, :]
    systems = tuple(f"{name}-system" for name in JUDGES[1 : m + 1])
    judges = JUDGES[1 : m + 1]
    names = {name: name.split("-")[0] for name in (*systems, *judges)}
    panel = Panel.from_array(scores, judges=judges, systems=systems, declared_range=RANGE)
    whole = favour(panel, families=names, level=LEVEL, resamples=BOOTSTRAPS, seed=seed)
    found = whole.self_preference
    assert found is not None
    centred = double_centre(taste)
    true = centred[kin > 0].mean() - centred[kin == 0].mean()
    out: Found = {"own-family interval, coverage": found.low <= true <= found.high}
    if not likes and not scenario.ask.get("taste"):
        clear = whole.effects.groupby("kind")["clear"].any()
        out["a judge and a system called off, none is"] = clear["judge:system"]
        out["a system and a language called off, none is"] = clear["system:language"]
    out["own family is favoured, said" if likes else "own family is favoured, none is"] = found.clear
    return out


def one_maker(scenario: Scenario, seed: int) -> Found:
    """Two judges of one maker favour a system: nothing may be ranked by that."""
    rng = np.random.default_rng(seed)
    scores = _scored(rng, scenario, 4)
    scores[:, 0, :, :2] += scenario.ask["likes"]
    names = {name: name.split("-")[0] for name in JUDGES}
    board = leaderboard(_panel(scores), families=names, level=LEVEL, resamples=BOOTSTRAPS, seed=seed).systems
    whole = board[board["language"] == "(all)"]
    return {"ranked by the taste of one maker": bool((whole["rank_high"] - whole["rank_low"] < 3).any())}


def kept_judges(scenario: Scenario, seed: int) -> Found:
    """Judges that follow quality equally well: the reliability of every panel of some of them."""
    rng = np.random.default_rng(seed)
    found = choose(_panel(_scored(rng, scenario, 4)), level=LEVEL, resamples=BOOTSTRAPS, seed=seed)
    rows = found.subsets[found.subsets["language"] == "(all)"]
    true = rows["size"] / (1 + rows["size"])  # quality and noise have one sd
    held = found.best[found.best["language"] == "(all)"]
    apart = held["size"] / (1 + held["size"])
    return {
        "reliability of kept judges, coverage": ((rows["low"] <= true) & (true <= rows["high"])).mean(),
        "reliability held out, coverage": ((held["low"] <= apart) & (apart <= held["high"])).mean(),
    }


def strengths(scenario: Scenario, seed: int) -> Found:
    """Bradley-Terry strengths of judges: those that the chances of scoring higher have in all tasks."""
    rng = np.random.default_rng(seed)
    n, k, m = scenario.tasks, scenario.languages, scenario.judges
    means = np.linspace(-4, 4, m)
    scores = 60 + rng.normal(0, 8, (n, 1, 1)) + means + rng.normal(0, 6, (n, k, m))
    found = pairwise(Panel.from_array(scores), resamples=BOOTSTRAPS, seed=seed).table
    i, j = np.triu_indices(m, 1)
    chance = ndtr((means[i] - means[j]) / (6 * np.sqrt(2)))[None, None]
    true = np.tile(fit_btl(1e6 * chance, np.full_like(chance, 1e6))[0][0], k)
    return {"Bradley-Terry strength, coverage": ((found["low"] <= true) & (true <= found["high"])).mean()}


# --- planning, buying, swapping ---


def planned(scenario: Scenario, seed: int) -> Found:
    """Tasks planned from a pilot: do all cells stay within the radius, and does the band of an audit?"""
    rng = np.random.default_rng(seed)
    n, k, m = scenario.tasks, scenario.languages, scenario.judges
    radius = 3.0
    own = double_centre(rng.normal(0, 3, (k, m)))
    pilot = Panel.from_array(50 + own + rng.normal(0, 8, (n, k, m)), declared_range=RANGE)
    enough = plan(pilot, radius=radius, level=LEVEL, draws=20, seed=seed).enough
    assert enough is not None
    after = Panel.from_array(50 + own + rng.normal(0, 8, (enough, k, m)), declared_range=RANGE)
    cells = uncertainty(after, level=LEVEL, resamples=BOOTSTRAPS, seed=seed).cells
    return {
        "planned tasks keep the radius": np.abs(cells["interaction"] - own.ravel()).max() <= radius,
        "planned tasks bring the band down to it": ((cells["band_high"] - cells["band_low"]) / 2).max() <= radius,
    }


def separated(scenario: Scenario, seed: int) -> Found:
    """A plan from a pilot: with the tasks it names, are the two best told apart as often as it says?"""
    rng = np.random.default_rng(seed)
    s, points = scenario.ask["systems"], 5.0
    better = np.array([points, 0.0, *[-15.0] * (s - 2)])
    pilot = _scored(rng, scenario, s) + better[:, None, None]
    needed = separate(_panel(pilot), points, power=0.8, level=LEVEL, seed=seed).needed
    if needed is None:
        return {}
    size = Scenario("", "", tasks=needed, languages=scenario.languages, judges=scenario.judges)
    panel = _panel(_scored(rng, size, s) + better[:, None, None])
    board = leaderboard(panel, level=LEVEL, resamples=BOOTSTRAPS, seed=seed).systems
    first = board[(board["language"] == "(all)") & (board["system"] == "system1")]
    return {"planned tasks tell the systems apart": int(first["rank_high"].iloc[0]) == 1}


def _failing(rng: np.random.Generator, scenario: Scenario) -> tuple[Panel, float]:
    """Judges that tie while no call fails; the calls of the second fail now and then. And its mean loss."""
    share, by = scenario.ask["fails"], scenario.ask.get("by", 60.0)
    scores = 70 + rng.normal(0, 6, (scenario.tasks, 1, 1)) + rng.normal(0, 2, (scenario.tasks, scenario.languages, 3))
    lost = rng.random(scores.shape[:2]) < share
    lost[:, scenario.ask.get("where", scenario.languages) :] = False  # in so many of the languages
    scores[..., 1] -= by * lost
    scores[..., 1] += scenario.ask.get("better", 0.0)
    return Panel.from_array(np.clip(scores, 0, 100), declared_range=RANGE), share * by


def swapping(scenario: Scenario, seed: int) -> Found:
    """The stand-in fails now and then: with the guard a swap that moves more than matters is seldom accepted."""
    rng = np.random.default_rng(seed)
    panel, _ = _failing(rng, scenario)
    moved = panel.scores.copy()
    moved[:, 0, 1] -= scenario.ask.get("off", 0.0)  # in one language alone
    panel = panel.with_scores(moved)
    found = swap_judges(panel, "judge1", "judge2", matters=scenario.ask["matters"], alone=True, level=LEVEL,
                        guard=scenario.ask.get("guard", False))  # fmt: skip
    return {"a swap that matters is accepted": found.answer == "accepted"}


def failing(scenario: Scenario, seed: int) -> Found:
    """Adaptive collection while calls of one judge fail: does it claim an order that is not so?"""
    rng = np.random.default_rng(seed)
    panel, loss = _failing(rng, scenario)
    better = scenario.ask.get("better", 0.0) - loss  # of judge2 over the others, failures counted
    found = replay(panel, matters=1.0, level=LEVEL, guard=True, resamples=BOOTSTRAPS, seed=seed).to_frame()
    second = np.where(found["second"] == "judge2", -1.0, np.where(found["first"] == "judge2", 1.0, 0.0))
    true = second * better
    said = found["verdict"].map({"above": 1.0, "below": -1.0}).fillna(0.0).to_numpy()
    return {"a guarded look claims what is not so": bool(((said != 0) & (np.sign(true) != said)).any())}


# --- near the ends of the scale, few clusters, few labels ---


def ceiling(scenario: Scenario, seed: int) -> Found:
    """Additive on a latent scale, scores pile up at an end: nothing is off, and nothing is named."""
    rng = np.random.default_rng(seed)
    n, k, m = scenario.tasks, scenario.languages, scenario.judges
    latent = rng.normal(0, 1.5, (n, 1, 1)) + np.linspace(-1, 1, m) + np.linspace(-1, 1, k)[:, None]
    noisy = latent + scenario.ask["mean"] + rng.logistic(0, 1, (n, k, m))
    levels = (noisy[..., None] > np.asarray(scenario.ask["cuts"])).sum(axis=-1).astype(float)
    found = explain(Panel.from_array(levels), level=LEVEL, resamples=20, seed=seed)
    return {"explained though nothing is off": found.kind != "none"}


def unequal(scenario: Scenario, seed: int) -> Found:
    """Few clusters of unequal size: single intervals."""
    rng = np.random.default_rng(seed)
    k, m = scenario.languages, scenario.judges
    sizes = np.round(np.linspace(2, 20, 12)).astype(int)
    code = np.repeat(np.arange(12), sizes)
    n = len(code)
    scores = rng.normal(0, 4, (12, k, m))[code] + rng.normal(0, 8, (n, k, m)) + rng.normal(0, 10, (n, 1, 1))
    panel = Panel.from_array(50 + scores, clusters=tuple(f"c{i}" for i in range(12)), cluster=code)
    found = uncertainty(panel, level=LEVEL, resamples=BOOTSTRAPS, seed=seed).cells
    return {"interval coverage, unequal clusters": ((found["low"] <= 0) & (found["high"] >= 0)).mean()}


def gated(scenario: Scenario, seed: int) -> Found:
    """Pass rates: the contrast of one language with the others, and how far the best and the worst are apart."""
    rng = np.random.default_rng(seed)
    n, k, m = scenario.tasks, scenario.languages, scenario.judges
    rate = scenario.ask["rate"] + scenario.ask.get("apart", 0.0) * np.linspace(-0.5, 0.5, k)
    luck = 0.5 * rng.normal(size=(n, 1, 1)) + np.sqrt(0.75) * rng.normal(size=(n, k, m))
    scores = (luck < ndtri(rate)[:, None]).astype(float)
    found = gates(Panel.from_array(scores), 0.5, base="language1", resamples=BOOTSTRAPS, seed=seed, level=LEVEL)
    table, sweep = found.contrast, found.sweep.iloc[0]
    assert table is not None
    true = 100 * (rate[0] - rate[1:].mean())
    low, high = sweep["spread_raw_low"], sweep["spread_raw_high"]
    return {
        "gate contrast, coverage": ((table["raw_low"] <= true) & (table["raw_high"] >= true)).mean(),
        "gate spread, coverage": low <= 100 * np.ptp(rate) <= high,
        "gate spread, width": high - low,
    }


def skewed_labels(scenario: Scenario, seed: int) -> Found:
    """Lognormal labels and a panel that follows them."""
    rng = np.random.default_rng(seed)
    count = scenario.ask["labels"]
    human = np.exp(rng.normal(0, 1.0, scenario.tasks))
    guess = human * np.exp(rng.normal(0, 0.5, scenario.tasks))
    found = ppi_mean(human[:count], guess[:count], guess[count:], level=LEVEL)
    true = float(np.exp(0.5))
    return {"PPI interval of skewed labels, coverage": found.low <= true <= found.high}


def budget(scenario: Scenario, seed: int) -> Found:
    """Labels planned from a pilot: is the half-width met with them?"""
    rng = np.random.default_rng(seed)
    n, k, pilot, target = scenario.tasks, 2, scenario.ask["pilot"], 3.0
    human = rng.normal(60, 12, (n, k))
    scores = human[..., None] + 5 + rng.normal(0, 8, (n, k, 3))
    panel = Panel.from_array(scores, declared_range=RANGE)
    known = np.zeros((n, k), bool)
    known[:pilot] = True
    gold = Gold("score", np.where(known, human, np.nan), panel.languages)
    needed = label_budget(panel, gold, target, level=LEVEL).table["with_panel"].to_numpy(float)
    met = []
    for at, size in enumerate(needed):
        if np.isfinite(size) and size <= n:
            use = int(size)
            guess = scores[:, at].mean(axis=1)
            found = ppi_mean(human[:use, at], guess[:use], guess[use:], level=LEVEL)
            met.append((found.high - found.low) / 2 <= target)
    return {"planned labels meet the target": float(np.mean(met))} if met else {}


def anchored(scenario: Scenario, seed: int) -> Found:
    """Shifts of languages from few labels, shrunk to their mean: are they nearer than the labels alone, and held?"""
    rng = np.random.default_rng(seed)
    n, k, count = scenario.tasks, scenario.languages, scenario.ask["labels"]
    shift = rng.normal(5, scenario.ask["tau"], k)
    human = rng.normal(60, 12, (n, k))
    scores = np.clip(human[..., None] + shift[:, None] + rng.normal(0, 10, (n, k, 3)), -200, 300)
    panel = Panel.from_array(scores)
    rows = [
        (panel.tasks[i], x, human[i, at])
        for at, x in enumerate(panel.languages)
        for i in rng.choice(n, count, replace=False)
    ]
    labels = pd.DataFrame(rows, columns=["task", "language", "score"])
    pooled = AnchoredCalibrator(map="shift").fit(panel, labels)
    alone = AnchoredCalibrator(pool=False, map="shift").fit(panel, labels)
    far = [float(np.square(cal.shift_.to_numpy() - shift).mean()) for cal in (pooled, alone)]
    half = 1.96 * pooled.shift_se_.to_numpy()
    fall, off = pooled.fall_, scores.mean(axis=2) - human
    assert fall is not None
    known = {language: set(part["task"]) for language, part in labels.groupby("language")}
    rest = np.array([off[[t not in known[x] for t in panel.tasks], at].mean() for at, x in enumerate(panel.languages)])
    errors = float(np.std(rest)), float(np.std(rest - pooled.shift_.to_numpy()))
    removed = max(1 - (errors[1] / errors[0]) ** 2, -1.0)
    return {
        "stated fall of the language error, coverage": fall.removed[1] - 1e-9 <= removed <= fall.removed[2] + 1e-9,
        "stated language error, coverage": fall.before[1] <= errors[0] <= fall.before[2],
        "anchored shift, coverage": (np.abs(pooled.shift_.to_numpy() - shift) <= half).mean(),
        "error of shrunk shifts over unshrunk": far[0] / far[1],
    }


# --- probes ---


VERSIONS = ("clean", "damage-1", "damage-2", "damage-3", "placebo-1", "plea-own", "plea-english", "padding")


def probes(scenario: Scenario, seed: int) -> Found:
    """Damage that some judges notice and others do not; a lenient judge at the ceiling; pleas that do nothing."""
    rng = np.random.default_rng(seed)
    n, k, m, ask = scenario.tasks, scenario.languages, scenario.judges, scenario.ask
    steps = np.array([0.0, 1, 2, 3, 0, 0, 0, 0])[:, None, None]
    sees = np.ones(m)
    sees[m - ask.get("blind", 0) :] = 0.0
    lenient = np.zeros(m)
    lenient[0] = ask.get("lenient", 0.0)
    scores = 60 + rng.normal(0, 10, (n, 1, 1, 1)) - 8 * steps * sees + lenient
    noise = ask.get("noise", 8.0)
    scores = scores + rng.normal(0, noise, (n, 8, k, m))
    found = probe(Panel.from_array(np.clip(scores, 0, 100), systems=VERSIONS, declared_range=RANGE), level=LEVEL)
    sight = found.cells["sight"].to_numpy().reshape(k, m)
    out: Found = {
        "a blind cell is said to see": bool((sight[:, sees == 0] == "sees").any()) if (sees == 0).any() else None,
        "a seeing cell is called blind": bool((sight[:, sees > 0] == "blind").any()),
        "blind cells found": (sight[:, sees == 0] == "blind").mean() if (sees == 0).any() and noise < 10 else None,
        "a plea is said to help, none does": bool(found.susceptibility["rises"].any()),
    }
    if not ask.get("lenient"):
        low, high = (found.cells[x].to_numpy().reshape(k, m) for x in ("reaction_low", "reaction_high"))
        out["reaction, coverage"] = ((low <= 8 * sees) & (8 * sees <= high)).mean()
    return out


CLAIMS: dict[str, Callable[[Scenario, int], Found]] = {
    "makers": makers,
    "constant": constant,
    "own_family": own_family,
    "one_maker": one_maker,
    "kept": kept_judges,
    "strengths": strengths,
    "plan": planned,
    "separate": separated,
    "swap": swapping,
    "failing": failing,
    "ceiling": ceiling,
    "unequal": unequal,
    "gates": gated,
    "skewed_labels": skewed_labels,
    "budget": budget,
    "anchored": anchored,
    "probes": probes,
}
