"""The tester tested: alter the code in known ways and see that `polyjudge validate` notices each.

    python tools/mutate.py                     # every mutant, up to the panels of the full level
    python tools/mutate.py --page docs/validation.md
    python tools/mutate.py --panels 100 "band 8% too narrow"

A mutant is one replacement in a copy of the source. Only the scenario that should notice is run, with 100 panels, then
400, then 2,000, until the quantity named fails by the limits of the full run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "polyjudge"
STAGES = (100, 400, 2000)
BOUNDS = 500
"""Limits of a full run, at least: what a mutant must fail by is what the full run fails by."""
TESTED = "## The tester tested"


@dataclass(frozen=True)
class Mutant:
    """In `file`, `old` (which stands there once) becomes `new`; `scenario` should show it by `quantity`."""

    name: str
    file: str
    old: str
    new: str
    scenario: str
    quantity: str


MUTANTS = (
    Mutant("band 8% too narrow", "analyse/uncertainty.py",
           "band = (critical if panel.complete", "band = 0.92 * (critical if panel.complete",
           "none", "any cell called off, none is"),
    Mutant("intervals at 90% instead of 95%", "analyse/uncertainty.py",
           "half = stdtrit(informing(panel).ravel() - 1, (1 + level) / 2) * safe",
           "half = stdtrit(informing(panel).ravel() - 1, 0.95) * safe", "large", "interval coverage"),
    Mutant("interaction shrunk by a tenth", "analyse/uncertainty.py",
           "deviations = task_interactions(panel)\n", "deviations = 0.9 * task_interactions(panel)\n",
           "certificate", "largest bias (standard errors)"),
    Mutant("clusters ignored", "estimate/incomplete.py",
           "    if not panel.clustered:\n        return whole\n", "    if True:\n        return whole\n",
           "12 clusters of 5", "band coverage"),
    Mutant("gain x 10", "estimate/gain.py", "estimate = float(gain(size, noise))",
           "estimate = 10 * float(gain(size, noise))", "large", "gain interval, coverage"),
    Mutant("gain in sample instead of unbiased", "estimate/gain.py", "2 * keep * (size - noise)", "2 * keep * size",
           "none", "bias of the gain (standard errors)"),
    Mutant("rank sets shifted by one", "analyse/ties.py", "low, high = 1 + better.sum(axis=1)",
           "low, high = 2 + better.sum(axis=1)", "small", "rank sets, coverage"),
    Mutant("swaps without allowing for their choice", "analyse/reversal.py",
           "p_selected = np.maximum(order.p_above, order.p_below)", "p_selected = p_published",
           "one language apart", "false swaps"),
    Mutant("three-way p halved", "analyse/variance.py", "return float(stdtr(even, -mean[0] / se[0]))",
           "return float(stdtr(even, -mean[0] / se[0])) / 2", "none", "three-way test rejects"),
    Mutant("scale-use p halved", "analyse/structure.py", "p = float(2 * stdtr(", "p = float(stdtr(",
           "no scale use", "scale use claimed, none is"),
    Mutant("missing-scores p halved", "analyse/missingness.py",
           "return float((statistic >= statistic[-1] - 1e-9).sum() / (1 + draws))",
           "return float((statistic >= statistic[-1] - 1e-9).sum() / (1 + draws)) / 2",
           "10% missing", "holes at random called dependent"),
    Mutant("holes of one judge called harmless", "analyse/missingness.py",
           "np.count_nonzero(lost.sum(axis=1))) == 1", "np.count_nonzero(lost.sum(axis=1))) == 0",
           "a judge hides its low scores", "holes not at random are said"),
    Mutant("sensitivity to holes left out", "analyse/missingness.py",
           "reach = worst * shift + ", "reach = 0 * shift + ",
           "a cell hides its low scores", "sensitivity range, coverage"),
    Mutant("certificate of the estimate, not of its band", "analyse/matters.py",
           "delta = float(np.maximum(np.abs(low), np.abs(high)).max())", "delta = float(np.abs(low + high).max() / 2)",
           "certificate", "certified bound holds"),
    Mutant("certificate from single intervals", "analyse/matters.py",
           'low, high = cells["band_low"].to_numpy(), cells["band_high"].to_numpy()',
           'low, high = u.cells["low"].to_numpy(), u.cells["high"].to_numpy()',
           "certificate at the edge", "certificate refuted at the edge"),
    Mutant("PPI with z instead of t", "analyse/ppi.py", "half = float(stdtrit(df, (1 + level) / 2)) * se",
           "half = 1.96 * se", "10 labels, scores", "PPI mean, coverage"),
    Mutant("PPI without the labels at the ends", "analyse/ppi.py", "if ends is not None and at_ends(y, ends):",
           "if False:", "10 labels, 98% pass", "PPI interval, coverage"),
    Mutant("shares as if of twice the decisions", "analyse/agreement.py",
           "n = np.where(some, product / np.where(", "n = np.where(some, 2 * product / np.where(",
           "decisions 90% right, 20 tasks", "share of right decisions, coverage"),
    Mutant("shifts by the median judge at 80%", "analyse/effects.py", "(1 + level) / 2) * np.median(drawn",
           "0.9) * np.median(drawn", "language shift", "shift by the median judge, coverage"),
    Mutant("labels of the hardest tasks not compared", "analyse/ppi.py",
           "p = float(2 * stdtr(df, -abs(a - b) / variance**0.5))", "p = 1.0",
           "labels of the hardest tasks", "labels of the hardest tasks noticed"),
    Mutant("drift at 85% instead of 95%", "calibrate/drift.py", "alarms = round(1 - check_level(level), 12) / nights",
           "alarms = 3 * round(1 - check_level(level), 12) / nights",
           "drift, nothing", "drift alarms, nothing changed"),
    Mutant("nights not paid for", "calibrate/drift.py", "alarms = (1 - check_level(level)) / nights",
           "alarms = 1 - check_level(level)", "a year of nights, Gaussian", "drift alarms in a year of nights"),
    Mutant("signal with the wrong sign", "analyse/signal.py", 'out = {"one": ratio(off, on)',
           'out = {"one": ratio(-off, on)', "systems", "signal interval, coverage"),
    Mutant("leaderboard from single comparisons", "estimate/pairs.py", '"largest": np.abs(null).max(axis=2)',
           '"largest": np.abs(null)[..., 0]', "systems, tied", "leaderboard ranks, coverage"),
    Mutant("sequential level not spent over the looks", "analyse/sequential.py",
           "alpha = (1 - self.level) / len(self.looks)", "alpha = 1 - self.level",
           "sequential looks", "a look claims what is not so"),
    Mutant("broken cell named one place off", "analyse/explain.py",
           "cells = _cells(bands, excess, limits, named, matters)\n",
           "cells = _cells(bands, excess, limits, np.roll(named, 1, axis=1), matters)\n",
           "one broken cell", "the broken cell is named"),
    Mutant("size of a broken cell drawn towards 0", "estimate/sparse.py",
           'if reading.kind == "diffuse":\n', "if True:\n", "one broken cell", "how far it is off, coverage"),
    Mutant("near copies not told apart", "analyse/choose.py", "if new[worst] <= COPY:", "if new[worst] <= -9:",
           "no copies", "judges on their own called copies"),
    Mutant("advice not to calibrate is a warning", "analyse/conclusions.py", 'gain = find("info", code',
           'gain = find("info" if c.advice.calibrate else "warning", code',
           "calm, 20 tasks", "audits without a warning"),
)  # fmt: skip

CHILD = """
import json, sys
from validation.scenarios import SCENARIOS
from validation.suite import _batch, judge
from validation.promises import chances
name, quantity, stages, bounds = json.loads(sys.argv[1])
s = next(s for s in SCENARIOS if s.name == name)
trials, row = [], None
for panels in stages:
    own = max(2, round(s.share * panels))
    trials += _batch((s, 7, len(trials), own - len(trials)))
    row = next(r for r in judge(s, trials, chances(bounds)) if r["quantity"] == quantity)
    if row["verdict"] == "fail":
        break
print(json.dumps({k: row[k] for k in ("value", "panels", "verdict", "limit")}))
"""


def alter(mutant: Mutant, folder: Path) -> None:
    """A copy of the package with the alteration, in `folder`."""
    shutil.copytree(SOURCE, folder / "polyjudge", ignore=shutil.ignore_patterns("__pycache__"))
    file = folder / "polyjudge" / mutant.file
    text = file.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise SystemExit(
            f"{mutant.name}: {mutant.old!r} stands {text.count(mutant.old)} times in {mutant.file}, not once"
        )
    file.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")


def run(mutant: Mutant, stages: Sequence[int] = STAGES) -> dict[str, object]:
    """What the validation says of the altered code: value, panels, verdict, limit."""
    with tempfile.TemporaryDirectory() as name:
        alter(mutant, Path(name))
        what = json.dumps([mutant.scenario, mutant.quantity, list(stages), BOUNDS])
        environment = {**os.environ, "PYTHONPATH": name, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, "-c", CHILD, what], env=environment, cwd=name, capture_output=True, text=True, check=False
        )
        if done.returncode:  # an altered program that stops is noticed too
            return {"value": float("nan"), "panels": 0, "verdict": "error", "limit": None, "why": done.stderr[-300:]}
        found: dict[str, object] = json.loads(done.stdout)
        return found


def table(found: Sequence[tuple[Mutant, dict[str, object]]]) -> str:
    """The section of the page."""
    caught = sum(r["verdict"] == "fail" for _, r in found)
    lines = [
        TESTED,
        "",
        f"`tools/mutate.py` alters the code in {len(found)} ways and runs the scenario that should notice, with 100 "
        f"panels, then 400, then 2,000 (a slow check gets its share of them). {caught} of {len(found)} are noticed.",
        "",
        "| alteration | scenario | quantity | sound code keeps to | altered | panels | noticed |",
        "|---|---|---|---|---|---|---|",
    ]
    for m, r in found:
        limit = "–" if r["limit"] is None else f"{r['limit']:.3f}"
        told = "yes" if r["verdict"] == "fail" else "NO"
        lines.append(
            f"| {m.name} | {m.scenario} | {m.quantity} | {limit} | {r['value']:.3f} | {r['panels']} | {told} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="only these mutants")
    parser.add_argument("--panels", type=int, help="only this many panels")
    parser.add_argument("--page", type=Path, help="the page whose section is written anew")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    given = parser.parse_args()
    wanted = [m for m in MUTANTS if not given.names or m.name in given.names]
    stages = (given.panels,) if given.panels else STAGES
    found = []
    with ThreadPoolExecutor(given.workers) as pool:
        for mutant, result in zip(wanted, pool.map(lambda m: run(m, stages), wanted), strict=True):
            found.append((mutant, result))
            print(f"{mutant.name}: {result}", flush=True)
    if given.page:
        text = given.page.read_text(encoding="utf-8")
        head, _, rest = text.partition(TESTED) if TESTED in text else text.partition("## Scenarios")
        tail = rest[rest.index("## Scenarios") :] if "## Scenarios" in rest else "## Scenarios" + rest
        given.page.write_text(head + table(found) + "\n" + tail, encoding="utf-8")
    return int(any(r["verdict"] != "fail" for _, r in found))


if __name__ == "__main__":
    sys.exit(main())
