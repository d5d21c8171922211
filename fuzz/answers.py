"""Fuzz the parser of judges' answers: any text, pieces of real answers, and very long runs of one piece.

It must never raise, never take long, and never give a score outside the scale.
"""

import atheris

with atheris.instrument_imports(include=["polyjudge"]):
    from polyjudge.collect.parse import parse_checklist, parse_rating, parse_verdict

from harness import fuzz

PIECES = [
    '{"score": 4, "reason": "fine"}',
    '{"score":',
    "4",
    "٤/٥",
    "Score: ",
    "评分：",
    "５",
    "[satisfied]",
    "<unsatisfied/>",
    "1. ",
    "\n",
    " ",
    "```json\n",
    "```",
    "{",
    "}",
    "[",
    '"',
    ",",
    ":",
    "<think>",
    "</think>",
    "NaN",
    "1e999",
    "-",
    ".",
    "/",
    "満たす",
    "not met",
    "\u202e",
    "\x00",
    "\ud800",
    "不满足",
    "Puan = 3",
    '"score": "7"',
    "10/10",
    "4.5",
    "٣٫٥",
    "\u00a0",
    "**",
    "(",
    "%",
]


def text(data: atheris.FuzzedDataProvider) -> str:
    out = []
    for _ in range(data.ConsumeIntInRange(0, 12)):
        piece = data.PickValueInList(PIECES) if data.ConsumeIntInRange(0, 4) else data.ConsumeUnicode(20)
        out.append(piece * (5_000 if data.ConsumeIntInRange(0, 30) == 30 else data.ConsumeIntInRange(1, 3)))
    return "".join(out)


def target(data: atheris.FuzzedDataProvider) -> None:
    answer = text(data)
    rated = parse_rating(answer, (1, 5), data.PickValueInList([1, 0.5, None]))
    assert rated.score is None or 1 <= rated.score <= 5, answer
    verdict = parse_verdict(answer)
    assert verdict.score in (None, 0.0, 1.0, 100.0), answer
    listed = parse_checklist(answer, data.ConsumeIntInRange(1, 6))
    assert listed.score is None or 0 <= listed.score <= 100, answer


fuzz(target, ())
