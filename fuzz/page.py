"""Fuzz the page: names of judges and languages of any text. No element, attribute or script comes from a name.

Most inputs become the page of one analysis, without still pictures; one in eight the whole page of an audit.
"""

from collections import Counter
from html.parser import HTMLParser

import atheris
import numpy as np

with atheris.instrument_imports(include=["polyjudge"]):
    import polyjudge as pj
    from polyjudge.questions.audit.explanation import explain
    from polyjudge.report.page import render

from harness import fuzz

SCORES = np.random.default_rng(0).uniform(0, 100, (6, 2, 2))
PIECES = [
    "<script>",
    "</script>",
    "<!--",
    "-->",
    '"',
    "'",
    "onerror=",
    "javascript:",
    "{{",
    "}}",
    "&lt;",
    "\u202e",
    "\x00",
]


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.risky: Counter[str] = Counter()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "iframe", "object", "embed", "link", "base", "form", "meta", "img"):
            self.risky[tag] += 1
        for name, value in attrs:
            if name.startswith("on") or (name in ("href", "src") and not (value or "").startswith(("#", "data:"))):
                self.risky[f"{name}={value}"] += 1


def elements(names: list[str], whole: bool) -> Counter[str]:
    panel = pj.Panel.from_array(SCORES, list("abcdef"), names[:2], names[2:])
    found = Elements()
    render.can_draw = lambda: whole
    result = pj.audit(panel, resamples=100) if whole else explain(panel, resamples=20)
    found.feed(result.to_html() or "")
    return found.risky


PLAIN = {whole: elements(["en", "de", "x", "y"], whole) for whole in (True, False)}


def target(data: atheris.FuzzedDataProvider) -> None:
    names, whole = [], data.ConsumeIntInRange(0, 7) == 7
    for place in range(4):
        text = "".join(data.PickValueInList(PIECES) for _ in range(data.ConsumeIntInRange(0, 4)))
        names.append(text + data.ConsumeUnicodeNoSurrogates(12) + str(place))
    assert elements(names, whole) == PLAIN[whole], names


fuzz(target, (pj.PolyjudgeError,))
