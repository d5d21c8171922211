"""Does the win stand? Rows B1 and H1 to H11 of scenarios.csv (METHODS 29, 35, 36).

scores = task (sd 12) + task:language (sd 3) + answer (sd 4) + noise (sd 5) + what is planted + 50: all judges see how
good an answer is. Likert and pass/fail are cut from that. A row about wins that fall counts panels with a certain lead;
a row about wins that must not pass counts all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge.answers.audit.boards import settle
from polyjudge.answers.audit.stands import Stands
from polyjudge.answers.audit.systems import Systems, systems
from polyjudge.answers.audit.threats import Threat
from polyjudge.panel import Panel
from polyjudge.read import read_panel
from validation.designs import draw, happened

Array = NDArray[np.float64]
Rows = list[tuple[str, bool]]
MAKERS = ("gpt4", "claude", "gemini", "mistral", "qwen", "deepseek", "grok", "llama")
SCALES = {"Likert": (1.0, 5.0), "pass/fail": (0.0, 1.0)}
ANSWER = 4.0
"""Sd of how good an answer is, of which all judges know."""
LEAD = 5.0
"""What makes the win, in points of 100: certain in most panels."""


def generator(seed: int) -> np.random.Generator:
    """The numbers of the panel; those of the design come from another one."""
    return np.random.default_rng([seed, 36])


def draw_scores(g: np.random.Generator, design: dict[str, Any]) -> Array:
    """Equal systems, (tasks, systems, languages, judges)."""
    n, s, k, m = design["tasks"], design["systems"], design["languages"], design["judges"]
    task = 50 + g.normal(0, 12, (n, 1, 1, 1)) + g.normal(0, 3, (n, 1, k, 1))
    return np.asarray(task + g.normal(0, ANSWER, (n, s, 1, 1)) + g.normal(0, 5, (n, s, k, m)))


def cut(y: Array, noise: str) -> Array:
    """The scores as judges give them."""
    if noise == "Likert":
        return np.where(np.isfinite(y), np.clip(np.round((y - 10) / 20) + 1, 1, 5), np.nan)
    return np.where(np.isfinite(y), y > 35, np.nan) if noise == "pass/fail" else y


def ask(y: Array, design: dict[str, Any], **more: Any) -> Systems:
    """What an audit says of the systems."""
    noise = design.get("noise", "normal")
    names = {key: more.pop(key) for key in ("judges", "systems") if key in more}
    panel = Panel.from_array(cut(y, noise), scale=SCALES.get(noise, (0.0, 100.0)), **names)
    panel = replace(panel, two_valued=noise == "pass/fail", **more)
    return systems(panel, matters=panel.matters, level=0.95)


def stands_of(y: Array, design: dict[str, Any], **more: Any) -> Stands:
    """The threats to the leader's lead."""
    found = ask(y, design, **more).stands
    assert found is not None
    return found


def threat_of(found: Stands, name: str) -> Threat | None:
    """The row of one threat."""
    return next((threat for threat in found.threats if threat.name == name), None)


def passes(found: Stands, *names: str) -> bool:
    """Whether there is a certain lead and these threats leave it standing."""
    if not found.is_certain:
        return False
    threats = [threat for name in names if (threat := threat_of(found, name)) is not None]
    return all(threat.verdict in ("stands", "does not apply") for threat in threats)


def falls(found: Stands) -> bool:
    """Whether some threat is said to take the win."""
    return any(threat.verdict in ("depends", "does not stand") for threat in found.threats)


def rare_failures(seed: int) -> Rows:
    """B1: one system fails in 5% of tasks and is better in the others, so that its true mean is equal."""
    design = draw(seed, tasks=(20, 40, 160))
    g = generator(seed)
    y = draw_scores(g, design | {"systems": 3, "languages": 1, "judges": 3})
    y[:, 0] += 0.05 * 50 / 0.95
    y[g.random(design["tasks"]) < 0.05, 0] = 0.0
    winner = next(f for f in ask(y, design).findings if f.topic == "Winner")
    return happened(design, winner.key == "winner" and "unless it fails" not in winner.text)


def one_judge(seed: int) -> Rows:
    """H1."""
    design = draw(
        seed, tasks=(40, 100, 200), languages=(1, 4, 6), judges=(3, 6), systems=(3, 8), noise=("normal", "Likert")
    )
    y = draw_scores(generator(seed), design)
    culprit = seed % design["judges"]
    y[:, 0, :, culprit] += LEAD * design["judges"]
    found = stands_of(y, design)
    if not found.is_certain:
        return []
    threat = threat_of(found, "one judge")
    judges = getattr(threat, "judges", ())
    return happened(design, threat is not None and threat.verdict == "depends" and judges == (culprit,))


def _maker_names(design: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Judges of different makers, systems of the first makers in turn."""
    judges = tuple(f"{MAKERS[b]}-judge" for b in range(design["judges"]))
    systems_ = tuple(f"{MAKERS[s % design['judges']]}-{s}" for s in range(design["systems"]))
    return {"judges": judges, "systems": systems_}


def own_maker_makes_the_win(seed: int) -> Rows:
    """H2: the favour is what makes the lead."""
    design = draw(
        seed, tasks=(60, 100, 200), languages=(1, 4), judges=(4, 6), systems=(4, 8), noise=("normal", "Likert")
    )
    y = draw_scores(generator(seed), design)
    own = [s for s in range(design["systems"]) if s % design["judges"] == 0]
    y[:, own, :, 0] += LEAD * design["judges"] / 2
    found = stands_of(y, design, **_maker_names(design))
    return happened(design, 0 in found.own.favouring)


def no_own_maker(seed: int) -> Rows:
    """H3: judges that react more, that have tastes for makers or for styles of answers, and no favour."""
    design = draw(
        seed,
        tasks=(60, 100, 200),
        languages=(1, 4),
        judges=(4, 6),
        systems=(4, 8),
        noise=("normal", "Likert"),
        innocent=("nothing", "slope 1.5", "tastes", "styles"),
    )
    g = generator(seed)
    n_systems, n_judges = design["systems"], design["judges"]
    y = draw_scores(g, design)
    y += g.normal(0, 3, n_systems)[:, None, None]
    if design["innocent"] == "slope 1.5":
        y[..., 0] = 50 + 1.5 * (y[..., 0] - 50)
    elif design["innocent"] == "tastes":
        maker_of = np.arange(n_systems) % n_judges
        y += g.normal(0, 3, (n_judges, n_judges))[maker_of][:, None, :]
    elif design["innocent"] == "styles":
        has_style = g.random(n_systems) < 0.5
        y += np.where(has_style[:, None], g.normal(0, 3, n_judges), 0.0)[:, None, :]
    found = stands_of(y, design, **_maker_names(design))
    return happened(design, bool(found.own.favouring))


def length(seed: int) -> Rows:
    """H4: the leader's answers are 1.5 times as long, and judges like that; or longer answers are truly better."""
    design = draw(
        seed,
        tasks=(60, 100),
        languages=(1, 4),
        judges=(3, 5),
        noise=("normal", "Likert"),
        inside=(1.0, 0.5, 0.0),
        cause=("judges", "quality"),
    )
    g = generator(seed)
    y = draw_scores(g, design | {"systems": 4})
    doublings = g.normal(8, 0.7, (design["tasks"], 4, 1)) + np.zeros((1, 1, design["languages"]))
    longer = np.log2(1.5)
    gain = np.full(design["judges"], LEAD / longer)
    if design["cause"] == "judges":  # some like length more than others
        gain = gain * (np.ones(design["judges"]) + np.linspace(-0.5, 0.5, design["judges"]))
    y += design["inside"] * gain * (doublings - 8)[..., None]
    y[:, 0] += gain * longer
    doublings[:, 0] += longer
    found = stands_of(y, design, length=doublings * np.log(2))
    return happened(design, passes(found, "length"))


def position(seed: int) -> Rows:
    """H5: judges pick the first of two equal answers in 75%."""
    design = draw(
        seed, tasks=(100, 200), languages=(1, 2), judges=(3, 5), schedule=("80% first", "always first", "random")
    )
    g = generator(seed)
    share = {"80% first": 0.8, "always first": 1.0, "random": 0.5}[design["schedule"]]
    shape = (design["tasks"], design["languages"], design["judges"])
    x_is_first = np.broadcast_to((g.random(shape[0]) < share)[:, None, None], shape)
    better = g.normal(0, 0.6, (shape[0], 1, 1))
    first_wins = 1.1 + np.where(x_is_first, better, -better) + g.logistic(size=shape) > 0
    task, language, judge = (axis.ravel() for axis in np.indices(shape))
    x_first = x_is_first.ravel()
    frame = pd.DataFrame(
        {
            "task": [f"t{i}" for i in task],
            "language": [f"l{i}" for i in language],
            "judge": [f"{MAKERS[i]}-judge" for i in judge],
            "model_a": np.where(x_first, "X", "Y"),
            "model_b": np.where(x_first, "Y", "X"),
            "winner": np.where(first_wins.ravel(), "model_a", "model_b"),
        }
    )
    panel = read_panel(frame.drop(columns="language") if design["languages"] == 1 else frame)
    found = systems(panel, matters=panel.matters, level=0.95).stands
    assert found is not None
    return happened(design, passes(found, "position"))


def copies_win(seed: int) -> Rows:
    """H6.1: three copies outvote the others; or only they favour the leader."""
    design = draw(seed, tasks=(60, 100), languages=(1, 4), judges=(5, 6), planted=("make the win", "own favour"))
    g = generator(seed)
    y = draw_scores(g, design | {"systems": 4})
    y[..., 1:3] = y[..., :1] + g.normal(0, 1.0, (*y.shape[:3], 2))
    n_others = design["judges"] - 3
    y[:, 0, :, :3] += 2 * LEAD
    if design["planted"] == "make the win":
        y[:, 0, :, 3:] -= 2 * LEAD / n_others  # as one judge the copies and the others are level
    found = stands_of(y, design)
    return happened(design, passes(found, "copies", "one judge"))


def no_copies(seed: int) -> Rows:
    """H6.2: judges with little noise, or with noise that all of them share."""
    design = draw(seed, tasks=(60, 100), languages=(1, 4), judges=(5, 6), innocent=("very reliable", "shared noise"))
    g = generator(seed)
    y = draw_scores(g, design | {"systems": 4})
    if design["innocent"] == "very reliable":
        truth = y.mean(3, keepdims=True)
        y = truth + 0.2 * (y - truth)
    else:
        y = y + g.normal(0, 5, (*y.shape[:3], 1))
    return happened(design, bool(stands_of(y, design).copies))


def one_language(seed: int) -> Rows:
    """H7.1."""
    design = draw(seed, tasks=(60, 100), languages=(4, 6))
    y = draw_scores(generator(seed), design | {"systems": 4, "judges": 4})
    culprit = seed % design["languages"]
    y[:, 0, culprit] += LEAD * design["languages"]
    found = stands_of(y, design)
    if not found.is_certain:
        return []
    threat = threat_of(found, "one language")
    language = getattr(threat, "language", -1)
    return happened(design, threat is not None and threat.verdict == "depends" and language == culprit)


def varying_leads(seed: int) -> Rows:
    """H7.2: the lead differs between languages, and none makes it."""
    design = draw(seed, tasks=(60, 100), languages=(4, 6))
    g = generator(seed)
    y = draw_scores(g, design | {"systems": 4, "judges": 4})
    y[:, 0] += LEAD * g.uniform(0.4, 1.6, design["languages"])[:, None]
    threat = threat_of(stands_of(y, design), "one language")
    return happened(design, threat is not None and threat.verdict == "depends")


def missing(seed: int) -> Rows:
    """H8: the leader's failures are lost; or 15% of its tasks, whatever they are."""
    design = draw(seed, tasks=(60, 100), planted=("failures", "outage"))
    g = generator(seed)
    y = draw_scores(g, design | {"systems": 4, "languages": 4, "judges": 4})
    y[:, 0] += LEAD
    is_lost = g.random(design["tasks"]) < 0.15
    y[is_lost, 0] = np.nan
    threat = threat_of(found := stands_of(y, design), "missing")
    if threat is None or not found.is_certain:
        return happened(design, False)
    drop = getattr(threat, "drop", np.inf)
    usual = float(np.nanmean(y[:, 0]))
    return happened(design, threat.verdict == "stands" and drop < usual)


def tastes(seed: int) -> Rows:
    """H11: judges like systems more or less, by .3 to .6 of a sound lead."""
    design = draw(seed, tasks=(40, 100, 200), languages=(1, 4), judges=(4, 6), systems=(4, 6), taste=(0.3, 0.6))
    g = generator(seed)
    y = draw_scores(g, design)
    y[:, 0] += LEAD
    y += g.normal(0, design["taste"] * LEAD, (design["systems"], 1, design["judges"]))
    found = stands_of(y, design)
    return happened(design, any(threat.verdict == "does not stand" for threat in found.threats))


def sound(seed: int) -> Rows:
    """H9."""
    design = draw(
        seed,
        tasks=(40, 100, 200),
        languages=(1, 4, 6),
        judges=(3, 6),
        systems=(3, 8),
        noise=("normal", "Likert", "pass/fail"),
    )
    y = draw_scores(generator(seed), design)
    y[:, 0] += LEAD
    return happened(design, falls(stands_of(y, design)))


def tasks_needed(seed: int) -> Rows:
    """H10: a pilot that cannot tell says how many tasks would show its lead; a study of that size, with that lead."""
    design = draw(seed, noise=("normal", "Likert"))
    g = generator(seed)
    shape = {"tasks": 40, "languages": 3, "judges": 4, "systems": 4}
    steps = g.uniform(0.5, 2.5) * np.array([1.0, 0.0, -1.0, -2.0])
    y = draw_scores(g, shape)
    board = ask(y + steps[:, None, None], design).board
    first, second = board.order[:2]
    lead = board.gap[first, second]
    if board.ahead[first, second] or lead <= board.tiny:
        return []
    needed = settle(board.need[first, second], board.q[first, second], board.units, lead)
    if needed > 3000:
        return []
    study = draw_scores(g, shape | {"tasks": int(np.ceil(needed))})
    of_points = 20.0 if design["noise"] == "Likert" else 1.0
    study[:, 0] += lead * of_points
    study[:, 2:] -= 3.0
    told = ask(study, design).board
    return happened(design, bool(told.ahead[0, 1]))


CLAIMS: dict[str, Callable[[int], Rows]] = {
    "B1": rare_failures,
    "H1": one_judge,
    "H2": own_maker_makes_the_win,
    "H3": no_own_maker,
    "H4": length,
    "H5": position,
    "H6.1": copies_win,
    "H6.2": no_copies,
    "H7.1": one_language,
    "H7.2": varying_leads,
    "H8": missing,
    "H11": tastes,
    "H9": sound,
    "H10": tasks_needed,
}
