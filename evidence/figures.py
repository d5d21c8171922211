"""Figures of METHODS 26 and of the data's README that these sets can give, beside what comes out here."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from evidence import agree, error, ranks
from evidence.sets import Evidence

VIOLENCE, IDENTITY, QUALITY = "RTP-LX Violence", "RTP-LX IdentityAttack", "PARIKSHA quality"


def figures(sets: Sequence[Evidence]) -> pd.DataFrame:
    """figure, said, here: one row each, of the sets that are there."""
    known = {e.name: e for e in sets}
    rows: list[tuple[str, str, str]] = []
    for name, sd, severity in ((VIOLENCE, "5.5", "2.7"), (IDENTITY, "12.1", "3.5")):
        if name in known:
            e, found = known[name], error.sizes(known[name])
            rows.append((f"language error of the panel mean, {name}", sd, f"{found['sd']:.1f}"))
            rows.append((f"annotators of a language differ by, {name}", severity, f"{found['annotators']:.1f}"))
            said = "14, 41, 71, 83, 90%" if name == VIOLENCE else "56, 74, 89, 94, 96%"
            removed = ", ".join(f"{100 * x:.0f}" for x in error.labels_remove(e)["shared variance"])
            rows.append((f"10, 20, 50, 100, 200 labels remove, {name}", said, f"{removed}%"))
            rows.append((f"shared by all judges, {name}", "72 to 95%", f"{100 * float(found['shared']):.0f}%"))
            rows.append(
                (f"CBC removes of single judges', {name}", "2 to 16%", f"{100 * float(found['cbc removes']):.0f}%")
            )
    if QUALITY in known:
        found = error.sizes(known[QUALITY])
        rows.append(("language error, PARIKSHA (all scores and labels)", "7.4", f"{found['all scores']:.1f}"))
        rows.append(("annotators of a language differ by, PARIKSHA", "11.2", f"{found['annotators']:.1f}"))
        rows.append(("what that can make of the language error, PARIKSHA", "6.5", f"{found['of it']:.1f}"))
        board = pd.concat([ranks.rank_sets(e) for e in sets if e.name.startswith("PARIKSHA")])
        share = board.groupby("set")["tasks all"].mean()
        rows.append(("boards whose rank sets hold people's ranks of all systems, PARIKSHA", "10 to 33%",
                     f"{100 * share.min():.0f} to {100 * share.max():.0f}%"))  # fmt: skip
    if VIOLENCE in known and IDENTITY in known:
        both = [agree.by_language(known[name]) for name in (VIOLENCE, IDENTITY)]
        names = ["people", "agreement", "consistency"]
        within = pd.concat([t[names] - t[names].mean() for t in both]).corr()["people"]
        rows.append(("consistency and agreement with r with people by language, RTP-LX", "0.49 and 0.17",
                     f"{within['consistency']:.2f} and {within['agreement']:.2f}"))  # fmt: skip
    return pd.DataFrame(rows, columns=["figure", "said", "here"])
