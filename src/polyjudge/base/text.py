"""Names and texts of users made harmless: one function for each place where they are shown.

`name` for sentences, terminal and tables; `shell` for commands to paste; `markdown` for Markdown; `spreadsheet` for
CSV. HTML is escaped by the templates (Jinja's autoescape), XML by the standard library, on top of `name`.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress


def visible(text: str, keep: str = "") -> str:
    r"""Text whose every character is seen: control, direction and zero-width characters as their codes, but `keep`.

    >>> visible("a\x1b]52;c\u202e"), visible("one\ntwo", keep="\n") == "one\ntwo"
    ('a\\x1b]52;c\\u202e', True)
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


def name(text: object, width: int = 60) -> str:
    r"""A name as one line of visible text, cut where it is long.

    >>> name("GPT-4o"), name(""), name("a\nb"), name("x" * 70, 5)
    ('GPT-4o', '(empty)', 'a\\nb', 'xxxx…')
    """
    shown = visible(str(text)[: width + 1])  # escapes only lengthen, and a name may have a billion characters
    if not shown:
        return "(empty)"
    return shown if len(shown) <= width else shown[: width - 1] + "…"


def names(items: Iterable[object], most: int = 4) -> str:
    """A list of names in a sentence.

    >>> names(["a", "b", "c"]), names("abcdefg"), names([])
    ('a, b and c', 'a, b, c, d and 3 more', 'none')
    """
    every = list(items)
    shown = [name(x, 40) for x in every[:most]]
    if len(every) > most:
        return f"{', '.join(shown)} and {len(every) - most:,} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown) or "none"


def count(number: int, one: str, many: str = "") -> str:
    """A count with its noun.

    >>> count(1, "task"), count(2100, "task"), count(0, "reply", "replies")
    ('1 task', '2,100 tasks', '0 replies')
    """
    return f"{number:,} {one if number == 1 else many or plural(one)}"


def plural(noun: str) -> str:
    """The plural of a regular noun.

    >>> plural("language"), plural("category"), plural("box")
    ('languages', 'categories', 'boxes')
    """
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def shell(text: object) -> str:
    r"""A word of a command line to be pasted: quoted, and without any character that cannot be seen.

    >>> shell("it's"), shell("a\x1b]52;c")
    ('\'it\'"\'"\'s\'', "$'a\\x1b]52;c'")
    """
    word = str(text)
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(c if c.isprintable() and c not in "'\\" else _code(c) for c in word) + "'"


def _code(c: str) -> str:
    return f"\\x{ord(c):02x}" if ord(c) < 128 else f"\\U{ord(c):08x}"


def markdown(text: object) -> str:
    r"""Text that Markdown shows as it is.

    >>> markdown("a|b <i> [x](y)")
    'a\\|b &lt;i> \\[x\\](y)'
    """
    return re.sub(r"([\\`*_\[\]|~#])", r"\\\1", visible(str(text))).replace("&", "&amp;").replace("<", "&lt;")


def spreadsheet(value: object) -> object:
    """A cell of a CSV that a spreadsheet will not take for a formula.

    >>> spreadsheet("=1+1"), spreadsheet(-3.5), spreadsheet("-")
    ("'=1+1", -3.5, '-')
    """
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") and len(value) > 1:
        return "'" + value
    return value


def redact(text: str) -> str:
    """A message without the passwords and keys that addresses in it carry.

    >>> redact("postgres://me:a@b@host/db token=abc")
    'postgres://host/db token=...'
    """
    text = re.sub(r"://\S*@", "://", text)
    return re.sub(
        r"(?i)\b(\w*(?:password|passwd|pwd|secret|token|private_key|api_?key)\w*\s*[=:]\s*)[^&\s]+", r"\1...", text
    )


def tell(text: object) -> None:
    """Say something on standard error in one harmless line; nobody may be listening."""
    with suppress(OSError, ValueError):
        print(f"polyjudge: {visible(redact(str(text)))}", file=sys.stderr, flush=True)


# --- families: judges and systems of one maker ---

MAKERS = {
    "Anthropic": ("claude", "sonnet", "opus", "haiku"),
    "OpenAI": ("chatgpt", "davinci", "dav", "turbo", "o1", "o3", "o4", "openai"),
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


def families(labels: Iterable[str], given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The family of each name: as given, else by the maker its words point to, else the name itself.

    >>> families(["GPT-4o", "claude-3-opus", "Online-W", "GPT-Pilot"], {"Online-W": "DeepL"})
    {'GPT-4o': 'OpenAI', 'claude-3-opus': 'Anthropic', 'Online-W': 'DeepL', 'GPT-Pilot': 'GPT-Pilot'}
    """
    return {x: (given or {}).get(x) or _maker(x) for x in labels}


def _maker(label: str) -> str:
    words = re.findall(r"[a-z]+", label.lower()) + re.findall(r"o[134]\b", label.lower())
    if words == ["chat"]:
        return "OpenAI"
    if re.search(r"(?<![a-z])gpt(?![-_ ]?[a-z])|(?<![a-z])gpt[-_ ]?(oss|turbo)", label.lower()):  # not GPT-Pilot
        words.append("openai")
    found = {maker for maker, marks in MAKERS.items() if any(word in marks for word in words)}
    return found.pop() if len(found) == 1 else label
