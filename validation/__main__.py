"""Every claim of scenarios.csv on simulated panels: how often the event happened, beside its limit.

    python -m validation --panels 1000 --page docs/validation.md

A row holds when every variant of it lies within two Monte Carlo errors of the limit. Seeds are 0, 1, 2, ...
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

Claim = Callable[[int], list[tuple[str, bool]]]
"""A seed -> for every size and noise of the row: its name, and whether the event happened."""
MODULES = ("engine", "systems", "answers", "people")
HERE = Path(__file__).parent


def claims() -> dict[str, Claim]:
    """Every claim that can be simulated, by its id."""
    out: dict[str, Claim] = {}
    for name in MODULES:
        out |= import_module(f"validation.{name}").CLAIMS
    return out


def scenarios() -> list[dict[str, str]]:
    """The rows of scenarios.csv."""
    lines = [x for x in (HERE / "scenarios.csv").read_text(encoding="utf-8").splitlines() if not x.startswith("#")]
    return list(csv.DictReader(lines))


def holds(limit: str, share: float, panels: int) -> bool:
    """Whether a share lies within two Monte Carlo errors of its limit.

    >>> holds("<=0.07", 0.085, 1000), holds("<=0.07", 0.09, 1000), holds(">=0.92", 0.91, 400)
    (True, False, True)
    """
    bound = float(limit[2:])
    slack = 2 * math.sqrt(max(bound * (1 - bound), 0.01 * 0.99) / panels)
    return share <= bound + slack if limit.startswith("<=") else share >= bound - slack


def _one(name: str, seed: int) -> list[tuple[str, bool]]:
    return claims()[name](seed)


def measure(name: str, seeds: Iterable[int], pool: ProcessPoolExecutor | None = None) -> dict[str, float]:
    """Share of panels in which the event happened, by variant."""
    seeds = list(seeds)
    happened: dict[str, list[bool]] = defaultdict(list)
    run = map if pool is None else partial(pool.map, chunksize=max(1, len(seeds) // 20))
    for rows in run(partial(_one, name), seeds):
        for variant, event in rows:
            happened[variant].append(bool(event))
    return {variant: sum(events) / len(events) for variant, events in happened.items()}


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
            shares = measure(row["id"], range(given.panels), pool)
            bad = [v for v, s in shares.items() if not holds(row["limit"], s, given.panels)]
            span = f"{min(shares.values()):.3f} to {max(shares.values()):.3f} ({len(shares)})"
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
the event happened is held against a limit. A row holds when each of its sizes and kinds of noise lies within two Monte
Carlo errors of the limit. {panels} panels for each; `make validate` makes this page.

{table}
"""

if __name__ == "__main__":
    main()
