"""Keys: where they come from, where they may go, and how they stay out of everything that is stored or shown."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from urllib.parse import parse_qsl, quote, urlsplit

from polyjudge.second.panel.errors import CollectError
from polyjudge.second.panel.labels import clean

HIDDEN = "[key]"
SHORTEST = 8
"""Shorter values are words such as EMPTY or ollama, which servers without keys are given."""
_ENVIRONMENT = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)", re.IGNORECASE)
_NAME = re.compile(r"(api[-_]?key|authorization|secret|password|access[-_]?token|bearer|credential)", re.IGNORECASE)
_KEY = re.compile(
    r"(?:^|[\s=:\"'])(?:sk-[\w-]{3,}|(?:sk|rk|pk)_\w{8,}|gsk_\w{8,}|xai-\w{8,}|hf_\w{8,}|AIza[\w-]{20,}|AKIA[A-Z0-9]{12,}|"
    r"gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|ya29\.[\w-]{16,}|eyJ[\w-]{10,}\.[\w-]{4,}|"
    r"(?:Bearer|Basic)\s+[\w.+/=-]{6,})",
)
_RANDOM = re.compile(r"[A-Za-z0-9_+/=.-]{24,}")


def looks_secret(value: str, where: str = "") -> bool:
    """Whether a value of a plan is a key: one of the environment's, one by its form, or anything under such a name."""
    if any(secret in value for secret in known_secrets()) or _KEY.search(value):
        return True
    place = where.replace("[", ".").split(".")
    last = place[-1]
    if _NAME.search(last) and value.strip() and last != value:
        return True
    if "model_args" in place or "settings" in place or last == "base_url":
        parts = urlsplit(value) if "://" in value else None
        tokens = [v for _, v in parse_qsl(parts.query)] + parts.path.split("/") if parts else [value]
        if parts and any(_NAME.search(k) or k in ("key", "token", "sig") for k, _ in parse_qsl(parts.query)):
            return True
        return any(_RANDOM.fullmatch(t) is not None and _entropy(t) > 3.5 and _mixed(t) for t in tokens)
    return False


def _entropy(text: str) -> float:
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def _mixed(text: str) -> bool:
    return any(c.isdigit() for c in text) and any(c.isalpha() for c in text) and not re.search(r"[a-z]{9}", text)


@cache
def known_secrets() -> tuple[str, ...]:
    """Values of environment variables that look like keys, longest first; read anew with every plan and every run."""
    values = [v for k, v in os.environ.items() if _ENVIRONMENT.search(k) and len(v) >= SHORTEST]
    forms = {form for v in values for form in (v, quote(v, safe=""), v.strip()) if len(form) >= SHORTEST}
    return tuple(sorted(forms, key=len, reverse=True))


def redact(text: str) -> str:
    """Text without the keys in the environment, whoever put them there (some services send the key back)."""
    for secret in known_secrets():
        if secret in text:
            text = text.replace(secret, HIDDEN)
    return text


def host_of(url: str) -> str:
    """Host and port of an address, in small letters."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".").lower()
        port = parts.port
    except ValueError:
        raise CollectError(f"{clean(url, 200)} is not an address.") from None
    return f"{host}:{port}" if port is not None else host


def is_loopback(url: str) -> bool:
    """Whether an address is this machine."""
    host = (urlsplit(url).hostname or "").lower()
    return host == "localhost" or host == "::1" or re.fullmatch(r"127(\.\d{1,3}){3}", host) is not None


def allowed(variable: str, url: str, own: str | None, named: Iterable[str]) -> bool:
    """Whether the key in an environment variable may go to an address: the provider's own, one in NAME_BASE_URL, or one
    that the user named (`VARIABLE=host`, or `host` for every key)."""
    host = host_of(url)
    homes = {host_of(own)} if own else set()
    base = os.environ.get(variable.removesuffix("_API_KEY") + "_BASE_URL")
    if base:
        homes.add(host_of(base))
    for entry in named:
        name, _, place = entry.rpartition("=")
        if not name or name == variable:
            homes.add(place.strip().lower())
    bare = (urlsplit(url).hostname or "").lower()
    return host in homes or bare in homes
