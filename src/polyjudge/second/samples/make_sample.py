"""How the embedded sample panel was made: `python -m polyjudge.second.samples.make_sample` writes it again, byte for byte.

Six judges with invented names score 55 tasks in eight languages, three times each, on a scale of 0 to 100. The planted
effects have the size that is published for the DevAI panel: one cell far off, a few of moderate size, many small, so
that several pairs of judges change places between languages. Scores are rounded to a tenth; none is cut at the ends.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np

from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.panel.files import atomic_path, atomic_write
from polyjudge.second.panel.records import plain
from polyjudge.second.simulate import simulate_panel

LANGUAGES = ("English", "Arabic", "Turkish", "Chinese", "Hindi", "Japanese", "Spanish", "Swahili")
JUDGES = ("Aster", "Borealis", "Cobalt", "Dahlia", "Ember", "Fjord")
REPLICATES = ("first", "second", "third")
SEED = 39
FOLDER = Path(__file__).parent


def planted_interaction() -> np.ndarray:
    """Cells of standard deviation 4, with Aster far too severe in Spanish and too lenient in English."""
    cells = np.random.default_rng(SEED).normal(0, 4.0, (len(LANGUAGES), len(JUDGES)))
    cells[LANGUAGES.index("Spanish"), JUDGES.index("Aster")] = -26.0
    cells[LANGUAGES.index("English"), JUDGES.index("Aster")] = 14.0
    cells[LANGUAGES.index("Arabic"), JUDGES.index("Dahlia")] = 11.0
    cells[LANGUAGES.index("Swahili"), JUDGES.index("Borealis")] = 10.0
    return double_centre(cells)


def main() -> None:
    """Write scores.csv.gz and truth.json beside this file."""
    panel, truth = simulate_panel(
        55,
        LANGUAGES,
        JUDGES,
        replicates=3,
        seed=SEED,
        interaction=planted_interaction(),
        judge_sd=6.0,
        task_sd=8.0,
        task_language_sd=2.0,
        task_judge_sd=4.0,
        noise_sd=6.0,
    )
    frame = panel.to_long()
    frame["replicate"] = frame["replicate"].map(dict(zip(panel.replicates, REPLICATES, strict=True)))
    frame["score"] = frame["score"].round(1)
    if not frame["score"].between(0, 100).all():
        raise SystemExit("a score fell outside 0 to 100: choose other effects")
    text = frame.to_csv(index=False, lineterminator="\n").encode()
    with atomic_path(FOLDER / "scores.csv.gz") as part:
        part.write_bytes(gzip.compress(text, 9, mtime=0))
    with atomic_write(FOLDER / "truth.json") as file:
        json.dump(plain(truth.interaction), file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
