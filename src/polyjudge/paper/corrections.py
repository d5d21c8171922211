"""What in the paper does not hold or is arithmetic, with what can be said instead (docs/methods.md, section 16).

The texts are in data/corrections.json. Under "published" stands only what the paper says. Beside it stands what the
paper concedes itself, and what its authors say in their later manuscript and notes (their repository, commit 63acdc8),
both in their words.
"""

from __future__ import annotations

import pandas as pd

from polyjudge.panel.numbers import p_words
from polyjudge.paper.ablations import JUDGES_IDENTITY
from polyjudge.paper.devai import FULL_FIT, MANY, SEVERITY, Findings, Types, gain_text
from polyjudge.paper.human_labels import LabelCheck
from polyjudge.paper.reproduction import Correction, correction
from polyjudge.paper.top_judge import TARGET
from polyjudge.questions.compare.held_out import GAIN_SCOPE


def corrections(found: Findings, types: Types) -> tuple[Correction, ...]:
    """Of the DevAI part, without labels."""
    u, rev = found.uncertainty, found.reversals
    lost = rev.pairs[(rev.pairs["p_published"] <= rev.alpha) & ~rev.pairs["reverses"]]
    turned = rev.pairs[rev.pairs["delta"] > 0]
    gemini = (turned["judge_i"] == "Gemini") | (turned["judge_j"] == "Gemini")
    sizes = {"pairs": len(rev.pairs), "p": p_words(rev.p_global, rev.p_floor)}
    tasks = found.tasks_for(u.sigma_noise, found.largest / 2)
    given = types.dawid_skene
    asked = "" if given is None else f"; on single requirements, as the text has it, Dawid-Skene has tau {given:.3f}"
    return (
        correction("reversals", rev=rev, lost=_pairs(lost) or "none", **sizes),
        correction("uncertainty", u=u, radius=found.radius(u.sigma_noise), tasks=tasks, cells=len(u.cells)),
        correction("upper-end", high=float(found.many.table.set_index("method")["high"]["cbc"]), many=MANY),
        correction("dawid-skene", asked=asked),
        correction("agree", full_fit=FULL_FIT),
        correction("right-judge", target=str(TARGET)),
        correction("consistency", gain=gain_text(found), scope=GAIN_SCOPE),
        correction("more-judges", identity=str(JUDGES_IDENTITY)),
        correction("order", severity=SEVERITY),
        correction("which-pairs", seven=_pairs(turned), gemini=int(gemini.sum())),
        correction("zeros"),
    )


def _pairs(table: pd.DataFrame) -> str:
    return "; ".join(f"{a} / {b}" for a, b in zip(table["judge_i"], table["judge_j"], strict=True))


def seen(check: LabelCheck | None) -> tuple[Correction, ...]:
    """What the panel knows about the work, with labels."""
    if check is None:
        return ()
    return correction("measured", s=check.signal, r=check.panel, check=check), correction("helped", check=check)
