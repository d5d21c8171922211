"""Families of judges and systems: models of one maker, found from their names or given."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

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
