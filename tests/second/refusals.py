"""What an error tells its reader, in any words: its class, and the file, row, column, label, value or option."""

from __future__ import annotations

import re
from types import TracebackType


def lacks(text: str, *named: object) -> list[str]:
    """Those of `named` that do not stand in `text` as words of their own, in capitals or not. Of a path the last part
    counts alone: folders of tests are named after them."""
    flat = re.sub(r"(?<![\w.])/\S*/", "", " ".join(text.split()))
    return [w for w in map(str, named) if not re.search(rf"(?<!\w)(?<!\d[.,]){re.escape(w)}(?!\w|[.,]\d)", flat, re.I)]


class refused:
    """`with refused(PanelError, "scores.csv", 7):` an error of this very class comes, and names all of these."""

    def __init__(self, kind: type[Exception], *named: object) -> None:
        assert named, "say what the message must name"
        self.kind, self.named, self.message = kind, named, ""

    def __enter__(self) -> refused:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        assert kind is not None, f"no {self.kind.__name__} came"
        if kind is not self.kind:
            return False
        self.message = str(error)
        absent = lacks(self.message, *self.named)
        assert not absent, f"{absent} not in: {self.message}"
        return True
