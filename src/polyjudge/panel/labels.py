"""Names of judges and languages as text that can be shown anywhere: one line, visible, short, and still distinct."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from zlib import crc32

BUILT_IN = {
    "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf",
    "__proto__", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__",
}  # fmt: skip
"""Names that every JavaScript object answers to: a chart that looks one up finds a function. They get a mark."""


def clean(text: object, width: int = 60) -> str:
    """A label as one line of plain visible text: control and direction characters escaped, long ones cut."""
    # Escapes only lengthen: more would be cut, and a label may have a billion characters.
    start = str(text)[: width + 1]
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in start)
    return shown if len(shown) <= width else shown[: width - 1] + "…"


def label(name: str, width: int = 40) -> str:
    """A name as text that can be shown. One that had to be changed or cut ends in a mark of its full text."""
    shown = clean(name, width - 6)
    if shown == name != "" and name not in BUILT_IN:
        return shown
    return f"{shown or '(empty)'} #{crc32(name.encode('utf-8', 'surrogatepass')) & 0xFFFF:04x}"


def labels(names: Iterable[str]) -> dict[str, str]:
    """Each name with its label; different names have different labels."""
    out: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys(names):
        shown = base = label(name)
        again = 1
        while shown in taken:
            again += 1
            shown = f"{base} ({again})"
        taken.add(shown)
        out[name] = shown
    return out


def some(names: Iterable[object], most: int = 8, show: Callable[[str], str] = str) -> str:
    """The first of many names in one line, and how many there are."""
    names = list(names)
    shown = ", ".join(show(clean(name)) for name in names[:most])
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"


def short(names: Iterable[str], width: int) -> dict[str, str]:
    """Each name cut to a width, with a mark of its full text where two would look alike."""
    names = list(dict.fromkeys(names))
    cut = {name: clean(name, width) for name in names}
    shown = list(cut.values())
    return {name: text if shown.count(text) == 1 else label(name, width) for name, text in cut.items()}


def redact(text: str) -> str:
    """A message without the passwords and keys that addresses in it carry."""
    text = re.sub(r"://\S*@", "://", text)
    return re.sub(
        r"(?i)\b(\w*(?:password|passwd|pwd|secret|token|private_key|api_?key)\w*\s*[=:]\s*)[^&\s]+", r"\1...", text
    )
