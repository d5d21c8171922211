"""Write docs/screens.md: the first screen of an audit of ten panels, as a terminal of 100 columns shows it.

    python docs/make_screens.py

Real panels are read from ../shared/data; where they are absent their screens stay as they are in the page.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import polyjudge as pj
from polyjudge.report import report_of, terminal

HERE = Path(__file__).parent
DATA = Path(os.environ.get("POLYJUDGE_SHARED", HERE.parents[1] / "shared")) / "data"
LANGUAGES = ["English", "Arabic", "Turkish", "Chinese", "Hindi", "Japanese", "Spanish", "Swahili"]
JUDGES = ["Ash", "Birch", "Cedar", "Ember", "Fir", "Holly"]
WIDTH = 100
INTRO = """# First screens

What `polyjudge audit` says first, for ten panels: what was read; who wins; can the panel be trusted; what is off, and
what to do. This page is made by `python docs/make_screens.py`. The scores of DevAI, GEMBA, RTP-LX and PARIKSHA are
real, the others simulated, so that what is planted in them is known.
"""


def named(panel: pj.Panel) -> pj.Panel:
    """The panel as if it had been read from scores.csv."""
    read = pj.read_panel(panel.to_long())
    assert read.reading is not None
    return replace(read, reading=replace(read.reading, source="scores.csv", format="csv"))


def one_cell() -> pj.Panel:
    """An additive panel, but for Birch in Spanish."""
    off = np.zeros((8, 6))
    off[6, 1] = -20.0
    return named(pj.simulate_panel(55, LANGUAGES, JUDGES, interaction=off, seed=1)[0])


def blind_family() -> pj.Panel:
    """Judges of one maker share an error about the systems; nobody else sees anything."""
    rng = np.random.default_rng(5)
    judges = ["gpt-4o", "gpt-5", "claude-opus", "gemini-pro", "qwen-max"]
    scores = rng.normal(60, 9, (150, 4, 3, 5))
    scores[..., :2] += rng.normal(0, 9, (150, 4, 3, 1))
    rows = pd.MultiIndex.from_product(
        [range(150), ["Aria", "Brio", "Cello", "Duo"], ["English", "Hindi", "Swahili"], judges],
        names=["task", "system", "language", "judge"],
    )
    return named(pj.read_panel(pd.DataFrame({"score": scores.ravel()}, index=rows).reset_index()))


def pass_fail() -> pj.Panel:
    """Most answers pass; Cedar fails half of those in Hindi."""
    rng = np.random.default_rng(7)
    off = np.zeros((5, 4))
    off[4, 2] = -2.5
    quality, skill = rng.normal(0, 1.5, (200, 3, 1, 1)), np.array([0.9, 0.3, 0.0])[:, None, None]
    latent = 1.5 + quality + skill + np.linspace(-0.4, 0.4, 4) + off + rng.logistic(size=(200, 3, 5, 4))
    rows = pd.MultiIndex.from_product(
        [range(200), ["Aria", "Brio", "Cello"], LANGUAGES[:5], JUDGES[:4]],
        names=["task", "system", "language", "judge"],
    )
    return named(pj.read_panel(pd.DataFrame({"score": (latent > 0).astype(int).ravel()}, index=rows).reset_index()))


def one_language() -> pj.Panel:
    return named(pj.simulate_panel(120, ["English"], JUDGES[:4], systems=["Aria", "Brio", "Cello"], seed=3)[0])


def real(path: str, **options: Any) -> Callable[[], pj.Panel] | None:
    """A panel of the shared data, with only the rows that `only` names; None where it is absent."""
    only = options.pop("only", {})

    def read() -> pj.Panel:
        frame = pd.read_csv(DATA / path)
        for column, value in only.items():
            frame = frame[frame[column] == value].drop(columns=column)
        panel = pj.read_panel(frame.reset_index(drop=True), **options)
        assert panel.reading is not None
        return replace(panel, reading=replace(panel.reading, source=Path(path).name, format="csv"))

    return read if (DATA / path).exists() else None


PANELS: dict[str, Callable[[], pj.Panel] | None] = {
    "DevAI: the judges do not agree, and one cell is off": real("devai/run_level_scores.csv", system="framework"),
    "GEMBA on WMT22: a winner, five judges of one maker": real("gemba/wmt22_da.csv.gz", task="segment"),
    "RTP-LX: two judges in 27 languages": real("rtplx/judge_scores.csv.gz", only={"category": "IdentityAttack"}),
    "PARIKSHA: one judge, languages that share no tasks": real(
        "pariksha/judge_scores.csv.gz", only={"criterion": "ling"}
    ),
    "Nothing wrong": lambda: named(pj.simulate_panel(900, LANGUAGES, JUDGES, interaction=0.0, seed=1, noise_sd=4.0)[0]),
    "One cell is off": one_cell,
    "Spread over all judges": lambda: replace(pj.sample_panel()),
    "Agreement of one maker alone": blind_family,
    "Pass or fail": pass_fail,
    "One language": one_language,
}
"""Title -> the panel; None where its data is absent."""


def screen(panel: pj.Panel) -> str:
    """The first screen, 100 columns wide."""
    report = report_of(pj.audit(panel), panel)
    assert report is not None
    return terminal.text(report, width=WIDTH)


def main() -> None:
    page = HERE / "screens.md"
    old = dict(re.findall(r"^## (.*?)\n\n```text\n(.*?)```$", page.read_text(), re.M | re.S)) if page.exists() else {}
    parts = [INTRO]
    for title, make in PANELS.items():
        text = old.get(title, "").rstrip() if make is None else screen(make())
        parts.append(f"## {title}\n\n```text\n{text}\n```\n")
    page.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
