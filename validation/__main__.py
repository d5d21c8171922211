"""`python -m validation`, as `make validate` runs it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd

from polyjudge.panel.errors import PolyjudgeError, UsageError
from validation.mutants import MUTANTS, noticed
from validation.page import DATA, TESTED, markdown, mutant_table, summary
from validation.scenarios import SCENARIOS
from validation.suite import FULL, PANELS, merged, validate


def main(given: list[str] | None = None) -> int:
    """Run the scenarios, print what holds and what does not; 1 where a promise is broken, 2 for bad usage."""
    parser = argparse.ArgumentParser(
        prog="python -m validation", description="polyjudge on simulated panels whose truth is known."
    )
    parser.add_argument("--full", action="store_true", help=f"{FULL:,} panels a scenario instead of {PANELS}")
    parser.add_argument("--panels", type=int, help="another number of panels a scenario")
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help="one scenario, or all of a check; repeat it. A page keeps its other rows",
    )
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--workers", type=int, help="processes; one per core by default")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the page, and its data into data/ beside it")
    parser.add_argument("--mutants", action="store_true", help="spoil the analyses in known ways: is each noticed?")
    options = parser.parse_args(given)
    try:
        return _mutants(options) if options.mutants else _scenarios(options)
    except PolyjudgeError as error:
        print(f"validation: {error}", file=sys.stderr)
        return 2


def _scenarios(options: argparse.Namespace) -> int:
    if options.full and options.panels is not None:
        raise UsageError("--full and --panels both say how many panels: leave out one of them.")
    for name in options.only or ():
        if not any(name in (s.name, s.check) for s in SCENARIOS):
            checks = ", ".join(dict.fromkeys(s.check for s in SCENARIOS))
            raise UsageError(f"There is no scenario {name!r}. Checks are {checks}; scenarios stand in {DATA}.")
    wanted = [s for s in SCENARIOS if not options.only or s.name in options.only or s.check in options.only]
    count = options.panels if options.panels is not None else FULL if options.full else PANELS
    result = validate(count, seed=options.seed, workers=options.workers, scenarios=wanted)
    print(summary(result))
    if options.page:
        before = options.page.read_text(encoding="utf-8") if options.page.exists() else ""
        data = options.page.parent / DATA
        data.parent.mkdir(parents=True, exist_ok=True)
        if options.only and data.exists():
            result = merged(result, pd.read_csv(data))
        options.page.write_text(markdown(result, before), encoding="utf-8")
        result.to_frame().to_csv(data, index=False, float_format="%.4g")
    return int(not result.passed)


def _mutants(options: argparse.Namespace) -> int:
    wanted = [m for m in MUTANTS if not options.only or m.name in options.only]
    found = []
    for mutant in wanted:
        found.append((mutant, noticed(mutant, seed=options.seed)))
        print(mutant_table(found[-1:]).splitlines()[-1], flush=True)
    if options.page:
        text = options.page.read_text(encoding="utf-8")
        head = text.partition(TESTED)[0].rstrip()
        options.page.write_text(f"{head}\n\n{mutant_table(found)}\n", encoding="utf-8")
    return int(any(row["verdict"] != "fail" for _, row in found))


if __name__ == "__main__":
    sys.exit(main())
