"""The expected score of an answer from the log-probabilities of its score token (as in G-Eval)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence

from polyjudge.collect.plan import Rubric

LEAST_MASS = 0.8
"""Probability that the alternatives on the scale must have together."""
AMBIGUOUS = 0.01
"""Probability that may lie on tokens that could begin a longer number, such as 1 for 10."""
_KEY = re.compile(r'"score"\s*:\s*"?')


def expected_score(
    tokens: Sequence[tuple[str, Sequence[tuple[str, float]]]], rubric: Rubric
) -> tuple[float | None, str | None]:
    """The mean of the scale under the probabilities of the score token, and those probabilities as JSON.

    None when the score is not a single token, or when the alternatives do not settle it.
    """
    text = "".join(token for token, _ in tokens)
    found = list(_KEY.finditer(text))
    at = found[0].end() if len(found) == 1 else 0 if re.fullmatch(r"\s*\d+\s*", text) else None
    if at is None:
        return None, None
    start = 0
    for i, (token, alternatives) in enumerate(tokens):
        end = start + len(token)
        if start <= at < end or (start == at == end):
            after = tokens[i + 1][0][:1] if i + 1 < len(tokens) else ""
            head = token[: max(0, at - start)]
            return _expectation(head, token, alternatives, after, rubric)
        start = end
    return None, None


def _expectation(
    head: str, token: str, alternatives: Sequence[tuple[str, float]], after: str, rubric: Rubric
) -> tuple[float | None, str | None]:
    low, high = rubric.scale
    chosen = _value(token, head)
    if chosen is None or after.isdigit() or after == ".":
        return None, None
    mass: dict[int, float] = {}
    for text, logprob in alternatives:
        value = _value(text, head)
        if value is not None and low <= value <= high:
            mass[value] = mass.get(value, 0.0) + math.exp(min(logprob, 0.0))
    total = sum(mass.values())
    scale = range(math.ceil(low), math.floor(high) + 1)
    unsure = sum(p for v, p in mass.items() if v != chosen and _begins(v, scale) and not _begins(v, mass))
    if total < LEAST_MASS or unsure > AMBIGUOUS * total:
        return None, None
    kept = dict(sorted(mass.items()))
    return sum(v * p for v, p in kept.items()) / total, json.dumps({str(v): round(p, 6) for v, p in kept.items()})


def _begins(value: int, numbers: Iterable[int]) -> bool:
    """Whether one of the numbers is longer and has this beginning."""
    return any(other != value and str(other).startswith(str(value)) for other in numbers)


def _value(token: str, head: str) -> int | None:
    if not token.startswith(head):
        return None
    match = re.fullmatch(r"\s*(\d{1,6})\s*[,}\s]*", token[len(head) :])
    return int(match[1]) if match else None
