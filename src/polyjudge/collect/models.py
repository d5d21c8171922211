"""Judges behind inspect-ai's model layer: building a model, asking it once, and telling errors apart.

The model layer has retries of its own, and so has the provider's client under it. Both are switched off, so that each
attempt is seen, counted and stored here; the runner alone repeats. In batch mode the layer keeps its retries (a batch
of calls hangs on them) and the runner does not repeat.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from dataclasses import dataclass
from typing import Any

from polyjudge.collect.plan import Judge
from polyjudge.core.errors import CollectError
from polyjudge.core.labels import clean

FATAL = (401, 402, 404)
"""Statuses that will not change by asking again or asking something else: no key, no money, no such model."""


@dataclass(frozen=True)
class Reply:
    """One answer of a model."""

    text: str
    model: str
    stop: str
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    latency: float


@dataclass(eq=False)
class Problem(Exception):
    """One attempt that failed. `retry`: worth asking again; `fatal`: no call to this judge can work."""

    kind: str
    message: str
    retry: bool
    fatal: bool
    retry_after: float | None
    latency: float


class Drop:
    """A sink for the model layer's events. It keeps them all otherwise, and a long run would fill the memory."""

    def on_pending(self, event: Any) -> None:
        """Forget it."""

    def on_complete(self, event: Any) -> None:
        """Forget it."""


class Asker:
    """A judge's model. Build it inside the event loop that asks it."""

    def __init__(self, judge: Judge) -> None:
        try:
            from inspect_ai.model import GenerateConfig, get_model
        except ImportError:
            raise CollectError(
                "Collecting needs inspect-ai and the provider's client: pip install 'polyjudge[collect]'."
            ) from None
        settings = {k: v for k, v in judge.settings.items() if v is not None}
        unknown = sorted(set(settings) - set(GenerateConfig.model_fields))
        if unknown:
            raise CollectError(f"Judge {judge.name}: unknown settings {', '.join(unknown)}.")
        try:
            self._config = GenerateConfig(
                **settings,
                max_retries=judge.retries if judge.batch else 0,
                max_connections=1_000_000,  # the runner alone limits how many are asked at once
                batch=True if judge.batch else None,
            )
            self._model = get_model(
                judge.model, base_url=judge.base_url, config=self._config, memoize=False, **judge.model_args
            )
        except Exception as error:  # a missing key or package, an unknown provider, a bad setting
            raise Problem("setup", redact(_words(error)), False, True, None, 0.0) from None
        if not judge.batch:
            _ask_once(self._model.api)
        self._timeout = judge.timeout

    async def ask(self, prompt: str) -> Reply:
        """Ask once. Raises Problem."""
        started = time.monotonic()
        try:
            async with asyncio.timeout(self._timeout):
                output = await self._model.generate(prompt)
        except Exception as error:
            raise self._problem(error, time.monotonic() - started) from None
        usage = output.usage
        cached = None if usage is None else (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
        return Reply(
            redact(output.completion or ""),
            output.model,
            str(output.stop_reason) if output.choices else "none",
            None if usage is None else usage.input_tokens + (cached or 0),
            None if usage is None else usage.output_tokens,
            cached,
            time.monotonic() - started,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._model.api.aclose()

    def _problem(self, error: Exception, latency: float) -> Problem:
        if isinstance(error, TimeoutError):
            return Problem("timeout", f"no answer within {self._timeout:g} s", True, False, None, latency)
        cause = _cause(error)
        status = next((s for a in ("status_code", "code") if isinstance(s := getattr(cause, a, None), int)), None)
        decision = self._model.api.should_retry(cause)
        retry = bool(decision) or isinstance(cause, (json.JSONDecodeError, ConnectionError, UnicodeDecodeError))
        kind = (
            "rate limit" if status == 429 else
            f"http {status}" if status is not None else
            "unreadable reply" if isinstance(cause, ValueError) else
            "connection" if retry else type(cause).__name__
        )  # fmt: skip
        return Problem(
            kind, redact(_words(cause)), retry, status in FATAL, getattr(decision, "retry_after", None), latency
        )


def _ask_once(api: Any) -> None:
    """Switch off the retries of the provider's client, now and whenever the layer makes a new one (for vLLM, late)."""

    def switch_off() -> None:
        client: Any = getattr(api, "client", None)
        if client is not None and hasattr(client, "max_retries"):
            client.max_retries = 0

    initialize = api.initialize

    def initialize_and_switch_off() -> None:
        initialize()
        switch_off()

    api.initialize = initialize_and_switch_off
    switch_off()


def _cause(error: Exception) -> Exception:
    """The provider's own error inside the model layer's wrappings."""
    last = getattr(error, "last_attempt", None)  # tenacity's RetryError
    inner = last.exception() if last is not None else None
    if inner is None and type(error).__name__ == "ModelGenerateError":
        inner = error.__cause__
    return _cause(inner) if isinstance(inner, Exception) else error


def quiet_events() -> None:
    """Have the model layer drop its events in this context."""
    try:
        from inspect_ai.model import _model

        _model._model_event_sink.set(Drop())
    except (ImportError, AttributeError):  # another version of it: more memory, nothing else
        return


def secrets() -> list[str]:
    """Values of environment variables that look like keys, longest first."""
    name = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)", re.IGNORECASE)
    return sorted({v for k, v in os.environ.items() if name.search(k) and len(v) >= 8}, key=len, reverse=True)


def redact(text: str) -> str:
    """Text without the keys in the environment, whoever put them there (some services send the key back)."""
    for secret in secrets():
        if secret in text:
            text = text.replace(secret, "[key]")
    return text


def _words(error: BaseException, most: int = 400) -> str:
    text = clean(" ".join(re.sub(r"\[/?[a-z ]+\]", "", str(error)).split()), most)
    return f"{type(error).__name__}: {text}"
