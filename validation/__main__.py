"""Every claim of scenarios.csv on simulated panels: how often the event happened, beside its limit.

    python -m validation --panels 1000 --page docs/validation.md

Rows up to D6 try every variant on every seed: each must lie within two Monte Carlo errors of the limit. From O10 on a
seed draws one design (designs.py): the whole row must lie within two errors, each single entry within four of its own.
A row with two measures has two claims, ID.1 and ID.2. Seeds are 0, 1, 2, ...
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from validation.designs import ALL_DESIGNS  # noqa: E402  (NumPy reads the settings above when it is loaded)

Claim = Callable[[int], Sequence[tuple[str, float]]]
"""A seed -> for every size and noise of the row: its name, and whether the event happened; or how large it was (L3)."""
HERE = Path(__file__).parent


def claims() -> dict[str, Claim]:
    """Every claim that can be simulated, by its id."""
    out: dict[str, Claim] = {}
    for path in sorted(HERE.glob("*.py")):
        if re.search(r"^CLAIMS\b", path.read_text(encoding="utf-8"), re.MULTILINE):
            out |= import_module(f"validation.{path.stem}").CLAIMS
    return out


def scenarios() -> list[dict[str, str]]:
    """The rows of scenarios.csv; a row with two measures is two rows, ID.1 and ID.2."""
    text = (HERE / "scenarios.csv").read_text(encoding="utf-8")
    rows: list[dict[str, str]] = []
    for row in csv.DictReader(line for line in text.splitlines() if not line.startswith("#")):
        limits = row["limit"].split("; ")
        if len(limits) == 1:
            rows.append(row)
            continue
        measures = row["measured"].split("; ")
        for number, limit in enumerate(limits, start=1):
            measured = measures[min(number, len(measures)) - 1]
            rows.append(row | {"id": f"{row['id']}.{number}", "measured": measured, "limit": limit})
    return rows


class Measured(NamedTuple):
    """What came out of the panels of one variant."""

    mean: float
    """Share of the panels in which the event happened, or the mean of a size."""
    error: float
    """Standard error of a mean size; NaN for shares, whose error follows from the limit."""
    panels: int


def holds(limit: str, variant: str, measured: Measured, has_drawn_designs: bool) -> bool:
    """Whether a share lies within two Monte Carlo errors of its limit, four at a single entry of a drawn design.

    >>> [holds("<=0.07", "", Measured(share, math.nan, 1000), False) for share in (0.085, 0.09)]
    [True, False]
    >>> holds("<=0.07", "tasks 20", Measured(0.09, math.nan, 1000), True)
    True
    """
    bound = float(limit[2:])
    is_single_entry = has_drawn_designs and variant != ALL_DESIGNS
    error = measured.error
    if math.isnan(error):
        error = math.sqrt(max(bound * (1 - bound), 0.01 * 0.99) / measured.panels)
    slack = (4 if is_single_entry else 2) * error
    return measured.mean <= bound + slack if limit.startswith("<=") else measured.mean >= bound - slack


def _one(name: str, seed: int) -> Sequence[tuple[str, float]]:
    return claims()[name](seed)


def measure(name: str, seeds: Iterable[int], pool: ProcessPoolExecutor | None = None) -> dict[str, Measured]:
    """What happened in the panels of a claim, by variant."""
    seeds = list(seeds)
    outcomes: dict[str, list[float]] = defaultdict(list)
    run = map if pool is None else partial(pool.map, chunksize=max(1, len(seeds) // 20))
    for rows in run(partial(_one, name), seeds):
        for variant, event in rows:
            outcomes[variant].append(float(event))
    return {variant: _summary(values) for variant, values in outcomes.items()}


def _summary(values: list[float]) -> Measured:
    mean = sum(values) / len(values)
    if set(values) <= {0.0, 1.0}:
        return Measured(mean, math.nan, len(values))
    squares = sum((value - mean) ** 2 for value in values)
    error = math.sqrt(squares / max(len(values) - 1, 1) / len(values))
    return Measured(mean, error, len(values))


def main() -> None:
    """Print the table, write the page, exit 1 where a claim does not hold."""
    parser = argparse.ArgumentParser(prog="python -m validation", description=__doc__)
    parser.add_argument("--panels", type=int, default=200, help="simulated panels for each variant")
    parser.add_argument("--only", default="", help="ids separated by commas")
    parser.add_argument("--page", type=Path, help="write a page of Markdown")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    lines = [
        "| id | claim | measured | limit | variants: lowest to highest share | holds |",
        "|---|---|---|---|---|---|",
    ]
    failed, begun = [], time.monotonic()
    known = claims()
    with ProcessPoolExecutor(given.workers) as pool:
        for row in scenarios():
            if given.only and row["id"] not in given.only.split(","):
                continue
            if row["id"] not in known:
                failed.append(row["id"])
                print(f"{row['id']:4} not simulated", flush=True)
                continue
            measures = measure(row["id"], range(given.panels), pool)
            is_drawn = ALL_DESIGNS in measures
            bad = [v for v, x in measures.items() if not holds(row["limit"], v, x, is_drawn)]
            shares = {variant: x.mean for variant, x in measures.items()}
            span = f"{min(shares.values()):.3f} to {max(shares.values()):.3f} ({len(shares)})"
            if is_drawn:
                span = f"{shares[ALL_DESIGNS]:.3f}; single entries {span}"
            lines.append(
                f"| {row['id']} | {row['claim']} | {row['measured']} | {row['limit']} | {span} | "
                f"{'yes' if not bad else 'no: ' + '; '.join(f'{v} {shares[v]:.3f}' for v in bad)} |"
            )
            failed += [row["id"]] if bad else []
            print(
                f"{row['id']:4} {row['limit']:7} {span:28} {'; '.join(f'{v} {shares[v]:.3f}' for v in bad)}", flush=True
            )
    print(f"{len(failed)} of {len(lines) - 2} claims fail; {time.monotonic() - begun:.0f} s")
    if given.page:
        given.page.write_text(PAGE.format(panels=given.panels, table="\n".join(lines)), encoding="utf-8")
    sys.exit(1 if failed else 0)


PAGE = """# Validation: what is claimed, on planted truth

Each row is a claim of [methods](methods.md). A panel is simulated whose truth is known, and the share of panels where
the event happened is held against a limit. Rows up to C1 and from O8 to D6 try each size and kind of noise on every
seed: each lies within two Monte Carlo errors of the limit. From O10 on a seed draws one design, one entry of every
list: the whole row lies within two errors, each single entry within four of its own. {panels} panels; `make validate`
makes this page.

{table}
"""

if __name__ == "__main__":
    main()
