"""Words of a check."""

from __future__ import annotations

from polyjudge.panel.say import Template

WORDS: dict[str, Template] = {}
