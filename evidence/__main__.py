"""`python -m evidence DATA`, as `make evidence` runs it."""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import pandas as pd

from evidence import agree
from evidence.answers import study
from evidence.page import charts, markdown, sources, terminal
from evidence.readers import SOURCES, read_all
from polyjudge.panel.errors import PolyjudgeError, PolyjudgeWarning


def main(given: list[str] | None = None) -> int:
    """Print the tables of the sets that a folder holds, and what it does not hold; 2 where it holds none."""
    parser = argparse.ArgumentParser(prog="python -m evidence", description="polyjudge held against people.")
    parser.add_argument("data", type=Path, help="folder with sets, or with clones of their repositories")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the page, and its charts into data/ beside it")
    options = parser.parse_args(given)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PolyjudgeWarning)
            sets, absent = read_all(options.data)
            answers = study(sets) if sets else []
    except PolyjudgeError as problem:
        print(f"evidence: {problem}", file=sys.stderr)
        return 2
    print(terminal(answers, absent))
    if not sets:
        return 2
    if options.page:
        text = markdown(sets, answers, absent) + "\n".join(sources(SOURCES))
        options.page.write_text(text, encoding="utf-8")
        languages = pd.concat([agree.by_language(e) for e in sets], ignore_index=True)
        for name, picture in charts(answers, languages).items():
            path = options.page.parent / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(picture, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
