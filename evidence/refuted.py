"""What the page refutes, and so no first screen and no advice may say: question -> phrases, in lower case."""

from __future__ import annotations

REFUTED: dict[str, tuple[str, ...]] = {
    "panels": (
        "judges see the systems", "the judges see ", "panel sees", "than it should", "do see ", "hardly sees",
        "to average the judges: do it",
    ),
    "languages": ("the languages agree.", "the languages agree:", "one order holds in every language"),
    "judges": ("leave it out there: it", "the best judge in", "is the best judge"),
    "ranks": ("as people would rank", "the true rank", "truly first", "the true order"),
    "calibrating": ("makes the scores right", "closer to the truth", "closer to people without labels"),
}  # fmt: skip
"""Only questions that the page answers with "No" or "Partly" refute anything."""
