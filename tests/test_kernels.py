"""The same sentences on every processor and any number of threads, and the same numbers to 1e-9 of the scale."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from common import SHARED

ROOT = Path(__file__).resolve().parents[1]
CODE = """
import json, sys
import numpy as np
import polyjudge as pj
from polyjudge.report.text import to_json
g = np.random.default_rng(0)
ties = pj.Panel.from_array(g.integers(1, 4, (24, 3, 4, 4)) * 25.0, scale=(0, 100))  # many exact ties
twins = ties.scores.copy(); twins[:, 1] = twins[:, 0]; twins[..., 1] = twins[..., 0]; twins[:, :, 2] = twins[:, :, 1]
holes = np.where(g.random(ties.scores.shape) < 0.2, np.nan, ties.scores)
panels = [pj.sample_panel(), ties, *(pj.Panel.from_array(y, scale=(0, 100)) for y in (twins, holes))]
if len(sys.argv) > 1:
    panels.append(pj.read_panel(sys.argv[1]))
print(json.dumps([json.loads(to_json(pj.audit(p))) for p in panels]))
"""


def _answers(**env: str) -> Any:
    scores = SHARED / "data/devai/run_level_scores.csv"
    given = [sys.executable, "-c", CODE, *([str(scores)] if scores.exists() else [])]
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OPENBLAS", "OMP_", "MKL_", "NPY_"))}
    done = subprocess.run(given, capture_output=True, text=True, timeout=200, env=clean | env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def leaves(found: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """Every word and number, and where it stands."""
    if isinstance(found, dict | list):
        for key, x in found.items() if isinstance(found, dict) else enumerate(found):
            yield from leaves(x, f"{where}.{key}")
    else:
        yield where, found


@pytest.fixture(scope="module")
def here() -> Any:
    return _answers(OPENBLAS_NUM_THREADS="4", OMP_NUM_THREADS="4")


@pytest.mark.parametrize("kernel", ["old processor", "NumPy's baseline", "one thread"])
def test_sentences_do_not_hang_on_the_last_bit(here: Any, kernel: str) -> None:
    if kernel == "old processor":
        other = _answers(OPENBLAS_CORETYPE="Prescott")
    elif kernel == "one thread":
        other = _answers(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    else:
        listed = subprocess.run(
            [sys.executable, ROOT / "tools/features.py"], capture_output=True, text=True, check=True
        )
        other = _answers(NPY_DISABLE_CPU_FEATURES=listed.stdout.strip())
    pairs = zip(leaves(here), leaves(other), strict=True)
    for (place, one), (there, two) in pairs:
        assert place == there
        assert one == (pytest.approx(two, rel=1e-9, abs=1e-7) if isinstance(one, float) else two), place  # 100 wide
