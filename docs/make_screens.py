"""Write docs/screens.md: the first screen of an audit of five panels, as the terminal shows it.

    python docs/make_screens.py

DevAI and GEMBA are read from ../shared/data; where they are absent their screens stay as they are in the page.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

import polyjudge as pj
from polyjudge.report import report_of, terminal

HERE = Path(__file__).parent
DATA = HERE.parents[1] / "shared" / "data"
LANGUAGES = ["English", "Arabic", "Turkish", "Chinese", "Hindi", "Japanese", "Spanish", "Swahili"]
JUDGES = ["Ash", "Birch", "Cedar", "Ember", "Fir", "Holly"]
INTRO = """# First screens

What `polyjudge audit` says first, for five panels. This page is made by `python docs/make_screens.py`.
"""


def simulated(fault: float = 0.0, **more: float) -> pj.Panel:
    """An additive panel, but for Birch in Spanish."""
    off = np.zeros((8, 6))
    off[6, 1] = fault
    return pj.simulate_panel(400 if not fault else 55, LANGUAGES, JUDGES, interaction=off, seed=1, **more)[0]


def blind() -> pj.Panel:
    """Judges that answer without looking at the task."""
    return pj.Panel.from_array(np.random.default_rng(3).normal(60, 9, (150, 8, 6)), None, LANGUAGES, JUDGES)


def screen(panel: pj.Panel) -> str:
    report = report_of(pj.audit(panel), panel)
    assert report is not None
    return terminal.text(report).replace(str(DATA) + "/", "").replace("../shared/data/", "")


def main() -> None:
    page = HERE / "screens.md"
    old = dict(re.findall(r"^## (.*?)\n\n```text\n(.*?)```$", page.read_text(), re.M | re.S)) if page.exists() else {}
    devai, gemba = DATA / "devai" / "run_level_scores.csv", DATA / "gemba" / "wmt22_da.csv.gz"
    panels = {
        "DevAI: blind, and one broken place": (lambda: pj.read_panel(devai)) if devai.exists() else None,
        "GEMBA WMT22: everything is clear of noise, nothing matters": (
            (lambda: pj.read_panel(gemba, task="segment")) if gemba.exists() else None
        ),
        "Nothing wrong": simulated,
        "One broken place": lambda: simulated(-20.0),
        "Blind": blind,
    }
    parts = [INTRO]
    for title, make in panels.items():
        text = old.get(title, "").rstrip() if make is None else screen(make())
        parts.append(f"## {title}\n\n```text\n{text}\n```\n")
    page.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
