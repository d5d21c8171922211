"""Does a judge give an answer the same score when it is asked again? Test and retest (METHODS 31a)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyjudge.answers.audit.boards import Board
from polyjudge.answers.audit.off_words import round_up
from polyjudge.base.later import framed
from polyjudge.base.numbers import ci, percent_ci
from polyjudge.base.text import name, names
from polyjudge.panel import Panel
from polyjudge.report.model import Finding
from polyjudge.stats.repeats import Repeats, estimate_repeats

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
COLUMNS = ["judge", "sd", "low", "high", "named"]


@dataclass(frozen=True)
class Retest:
    """frame : judge, sd (of repeats of one answer, in points), low, high (all judges together), named (noisier)"""

    frame: pd.DataFrame
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class _LeadNoise:
    """error : standard error of the lead that repeats alone make, in scores, with limits. share : of the lead; NaN
    where nobody is certainly ahead"""

    leader: str
    error: tuple[float, float, float]
    share: tuple[float, float, float]


def retest(panel: Panel, board: Board | None, *, matters: float, level: float) -> Retest | None:
    """How much each judge's scores of one answer differ; None where no answer was scored twice by a judge."""
    if panel.replicates is None or not (np.isfinite(panel.replicates).sum(-1) > 1).any():
        return None
    repeats = estimate_repeats(panel.replicates, panel.unit, width=panel.width, least=matters, level=level)
    frame = framed(
        {"judge": list(panel.judges), "sd": repeats.sd, "low": repeats.low, "high": repeats.high,
         "named": repeats.named}
    )[COLUMNS]  # fmt: skip
    noise = None if board is None else _lead_noise(panel, board, repeats)
    findings = (*_noisier_finding(panel, repeats), _spread_finding(panel, repeats, noise))
    return Retest(frame, findings)


def _lead_noise(panel: Panel, board: Board, repeats: Repeats) -> _LeadNoise | None:
    """How much of the lead repeats alone could move; None where the first two systems cannot be compared."""
    first, second = board.order[:2]
    if not board.joined[second] or panel.replicates is None:
        return None
    variances = [
        _variance_of_lead(panel.replicates, (first, second), x) for x in (repeats.sd, repeats.low, repeats.high)
    ]
    error, low, high = (float(np.sqrt(variance)) for variance in variances)
    lead, lead_low, lead_high = (float(x[first, second]) for x in (board.gap, board.low, board.high))
    share = (np.nan, np.nan, np.nan)
    if board.ahead[first, second]:
        # Both limits at once: each alone holds at the stated level, so this is on the safe side.
        share = (error / lead, low / lead_high, high / lead_low)
    return _LeadNoise(board.systems[first], (error, low, high), share)


def _variance_of_lead(replicates: Array, pair: Sequence[int], sd: Array) -> float:
    """Variance of the difference of two systems' means that repeats alone make, by each judge's sd."""
    number_of_runs = np.isfinite(replicates[:, list(pair)]).sum(-1)
    is_scored = number_of_runs > 0
    part = np.where(is_scored, np.nan_to_num(sd) ** 2 / np.maximum(number_of_runs, 1), 0.0)
    n_answers = np.maximum(is_scored.sum((0, 2, 3)), 1)
    return float((part.sum((0, 2, 3)) / n_answers**2).sum())


def _noisier_finding(panel: Panel, repeats: Repeats) -> list[Finding]:
    """Judges that certainly repeat themselves less than the others do."""
    noisier = np.flatnonzero(repeats.named)
    if not len(noisier):
        return []
    worst = noisier[np.argmax(repeats.sd[noisier])]
    judges = [panel.judges[judge] for judge in noisier]
    verb = "gives" if len(judges) == 1 else "give"
    subject = "repeats" if len(judges) == 1 else f"repeats of {name(panel.judges[worst])}"
    text = (
        f"Asked again, {names(judges)} {verb} answers other scores: {subject} differ by "
        f"{_describe(panel, repeats, worst)} (standard deviation), {_describe_others(panel, repeats)}. Average several "
        f"runs of {'it' if len(judges) == 1 else 'them'}."
    )
    return [Finding("warning", "judges.retest", text, "Judges", {"judge": judges[0]})]


def _describe_others(panel: Panel, repeats: Repeats) -> str:
    """How much the judges differ at most that are not named."""
    high = repeats.high[~repeats.named & (repeats.sd > 0)]
    if not len(high):
        return "while the other judges repeat themselves exactly"
    return f"those of the other judges by at most {round_up(panel, float(high.max()))}"


def _describe(panel: Panel, repeats: Repeats, judge: int) -> str:
    """A judge's sd with its limits, in points."""
    sd, low, high = (panel.factor * float(x[judge]) for x in (repeats.sd, repeats.low, repeats.high))
    return ci(sd, low, high, panel.unit_name)


def _spread_finding(panel: Panel, repeats: Repeats, noise: _LeadNoise | None) -> Finding:
    """How much repeats differ, and what that means for the lead; not for the first screen."""
    known = np.flatnonzero(np.isfinite(repeats.sd))
    least, most = known[np.argmin(repeats.sd[known])], known[np.argmax(repeats.sd[known])]
    subject = "a judge" if len(known) > 1 or len(panel.judges) == 1 else name(panel.judges[most])
    text = f"Asked again, {subject}'s score of the same answer differs by {_describe(panel, repeats, least)}"
    if least != most:
        text += f" ({name(panel.judges[least])}) to {_describe(panel, repeats, most)} ({name(panel.judges[most])})"
    text += ", standard deviation."
    if noise is not None:
        text += f" {_lead_sentence(panel, noise)}"
    if len(known) < len(panel.judges):
        text += f" {_asked_once_sentence(panel, repeats)}"
    return Finding("info", "retest", text, "", {"judge": panel.judges[most]})


def _asked_once_sentence(panel: Panel, repeats: Repeats) -> str:
    """Whose repeats are unknown, and so counted as none."""
    judges = [judge for judge, sd in zip(panel.judges, repeats.sd, strict=True) if not np.isfinite(sd)]
    verb = "was" if len(judges) == 1 else "were"
    return f"{names(judges)} {verb} asked once, so what chance adds to their scores is not in this."


def _lead_sentence(panel: Panel, noise: _LeadNoise) -> str:
    """What part of the lead repeats alone could make."""
    middle, low, high = (panel.factor * x for x in noise.error)
    error = ci(middle, low, high, panel.unit_name)
    text = f"By itself that moves the lead of {name(noise.leader)} by {error} (standard error)"
    if not np.isfinite(noise.share[0]):
        return f"{text}."
    return f"{text}: {percent_ci(*noise.share)} of it."
