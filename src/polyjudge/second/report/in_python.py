"""Advice to somebody who works in Python: a command of ours as the call that does the same."""

from __future__ import annotations

import shlex

from polyjudge.second.panel.reading import KEPT

ANSWERS = ("audit", "systems", "compare", "judges", "plan", "check")
ARGUMENTS = {
    "--at": "threshold",
    "--matters": "matters",
    "--seed": "seed",
    "--resamples": "resamples",
    "--goal": "goal",
}
READING = {*KEPT, "--engine", "--reading", "--from"}
"""Options that a panel, once read, needs no more."""
METHODS = {"": "Consensus", "cbc": "Consensus", "sparse": "Sparse"}


def in_python(command: str) -> str:
    """The call, or nothing where only the command line can do it.

    >>> in_python("polyjudge compare scores.csv --judge model --seed 3")
    'pj.compare(panel, seed=3)'
    >>> in_python("polyjudge calibrate scores.csv --method sparse -o 'my corrected.csv'")
    "pj.SparseCalibrator().fit_transform(panel).to_frame().to_csv('my corrected.csv')"
    >>> in_python("polyjudge probe make items.jsonl -o probes.jsonl")
    ''
    """
    try:
        _, name, *words = shlex.split(command)
    except ValueError:
        return ""
    given = {}
    for i, word in enumerate(words):
        if word.startswith("-") and word not in READING and word != "-":
            given[word] = words[i + 1] if i + 1 < len(words) else ""
    if name == "calibrate":
        method = METHODS.get(given.pop("--method", ""))
        done = {"--save": "fit(panel).save", "-o": "fit_transform(panel).to_frame().to_csv"}.get("".join(given))
        return f"pj.{method}Calibrator().{done}({given.popitem()[1]!r})" if method and done else ""
    if name not in ANSWERS or not set(given) <= set(ARGUMENTS):
        return ""
    values = "".join(f", {ARGUMENTS[flag]}={_value(text)}" for flag, text in given.items())
    return f"pj.{name}(panel{values})"


def _value(text: str) -> str:
    return text if text.replace(".", "", 1).lstrip("-").isdigit() else repr(text)
