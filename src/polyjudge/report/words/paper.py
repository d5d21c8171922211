"""Words of a reproduction of the paper."""

from __future__ import annotations

WORDS = {
    "paper.read": "{title}: {rows:count} values of the paper and of its released results",
    "paper.count": "{computed:count} of the {rows:count} values can be computed and could come out otherwise: "
    "{reproduced:count} print as published, {artefact:count} do too but are not what they are taken for, "
    "{differs:count} "
    "differ. The rest is arithmetic, names, settings, a check of the file, or needs data that is not here.",
    "paper.labels": "Beside human labels: the judges' mean has a correlation of {r/low/high:.2f} with the humans. "
    "Calibration brings {helped:count} of {cells:count} cells nearer to them and {hurt:count} further away.",
    "paper.differs": "{count:count} values differ from the paper.",
    "paper.needs": "{count:count} values ({places:text}): {reading:text}",
    "paper.correction": "{claim:text}. Published: {published:text}. Instead: {correct:text}. Why: {why:text}",
    "paper.conceded": "{claim:text}. Published: {published:text}. The paper concedes: {conceded:text}. Instead: "
    "{correct:text}. Why: {why:text}",
}
