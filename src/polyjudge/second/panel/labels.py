"""Names of judges and languages as text that can be shown anywhere: one line, visible, short, and still distinct; and
whose models they name."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from zlib import crc32

ALL = "(all)"
"""Stands for every language or every judge in a table."""
BUILT_IN = {
    "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf",
    "__proto__", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__",
}  # fmt: skip
"""Names that every JavaScript object answers to: a chart that looks one up finds a function. They get a mark."""


def visible(text: str, keep: str = "") -> str:
    r"""Text whose every character is seen: control, direction and zero-width characters as their codes, but `keep`.

    >>> visible("a\x1b]52;c\u202e"), visible("one\ntwo", keep="\n") == "one\ntwo"
    ('a\\x1b]52;c\\u202e', True)
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


def tell(text: object) -> None:
    """Say something on standard error, in one line of which a terminal sees letters alone; nobody may be listening."""
    with suppress(OSError, ValueError):
        print(f"polyjudge: {visible(str(text))}", file=sys.stderr, flush=True)


def shell(text: object) -> str:
    r"""A word of a command line to be pasted: quoted, and without any character that cannot be seen.

    >>> shell("it's"), shell("a\x1b]52;c")
    ('\'it\'"\'"\'s\'', "$'a\\x1b]52;c'")
    """
    word = str(text)
    if word.isprintable():
        return shlex.quote(word)
    codes = (c if c.isprintable() and c not in "'\\" else _code(c) for c in word)
    return f"$'{''.join(codes)}'"


def _code(c: str) -> str:
    return f"\\x{ord(c):02x}" if ord(c) < 128 else f"\\U{ord(c):08x}"


def shell_line(words: Iterable[object]) -> str:
    """Words as one command line."""
    return " ".join(map(shell, words))


def clean(text: object, width: int = 60) -> str:
    """A label as one line of plain visible text: control and direction characters escaped, long ones cut."""
    # Escapes only lengthen: more would be cut, and a label may have a billion characters.
    shown = visible(str(text)[: width + 1])
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
    """A message without the passwords and keys that addresses in it carry: nothing before the last @ is shown."""
    text = re.sub(r"://\S*@", "://", text)
    return re.sub(
        r"(?i)\b(\w*(?:password|passwd|pwd|secret|token|private_key|api_?key)\w*\s*[=:]\s*)[^&\s]+", r"\1...", text
    )


def redact_address(text: str) -> str:
    """One argument of a command line likewise; a password in it may hold spaces, @ and slashes.

    >>> redact_address("postgres://me:a b@c/d@host/db::t")
    'postgres://host/db::t'
    """
    head, parted, rest = text.partition("://")
    return redact(f"{head}{parted}{rest.rpartition('@')[2]}" if parted else text)


# --- families of judges and systems: models of one maker ---

MAKERS = {
    "Anthropic": ("claude", "sonnet", "opus", "haiku"),
    "OpenAI": ("gpt", "chatgpt", "davinci", "dav", "turbo", "o1", "o3", "o4", "openai"),
    "Google": ("gemini", "gemma", "palm", "bard", "google"),
    "Meta": ("llama", "meta"),
    "Mistral": ("mistral", "mixtral", "ministral", "codestral"),
    "Alibaba": ("qwen", "qwq"),
    "DeepSeek": ("deepseek",),
    "Cohere": ("command", "cohere", "aya"),
    "xAI": ("grok",),
    "Microsoft": ("phi", "microsoft"),
    "Amazon": ("nova", "titan", "amazon"),
    "Moonshot": ("kimi", "moonshot"),
    "Zhipu": ("glm", "chatglm", "zhipu"),
    "NVIDIA": ("nemotron", "nvidia"),
}
"""Words in names of models, by maker. A name without any is a family of its own."""
ALONE = {"chat": "OpenAI"}
"""Words that point to a maker only where they are the whole name."""


def families(names: Iterable[str], given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The family of each name: as given, else by the maker its words point to, else the name itself.

    >>> families(["GPT-4o", "claude-3-opus", "Online-W"], {"Online-W": "OpenAI"})
    {'GPT-4o': 'OpenAI', 'claude-3-opus': 'Anthropic', 'Online-W': 'OpenAI'}
    """
    given = given or {}
    return {name: given[name] if name in given else _maker(name) for name in names}


def _maker(name: str) -> str:
    words = re.findall(r"[a-z]+", name.lower())
    if len(words) == 1 and words[0] in ALONE:
        return ALONE[words[0]]
    words += re.findall(r"o[134]\b", name.lower())
    found = {maker for maker, marks in MAKERS.items() if any(word in marks for word in words)}
    return found.pop() if len(found) == 1 else name
