"""Judges as HTTP services: what is sent, what comes back, and which failures are worth another attempt.

Services that speak the chat API of OpenAI (nearly all do) and Anthropic's messages API are asked by the small client
here: one request, no retries underneath, nothing patched. Any other model name goes to inspect-ai, through the
interface its providers implement (`ModelAPI.generate`), which has no retries and keeps no events either.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from polyjudge.second.collect.plan import Judge, Plan
from polyjudge.second.collect.prompts import answer_schema
from polyjudge.second.collect.secrets import allowed, host_of, is_loopback, redact
from polyjudge.second.panel.errors import CollectError
from polyjudge.second.panel.labels import clean

FATAL = (401, 402, 404)
"""Statuses that will not change by asking again or asking something else: no key, no money, no such model."""
RETRIED = (408, 409, 425, 429, *range(500, 600))
PAID = (408, 502, 504, 524)
"""Statuses of a gateway that gave up waiting: who stands behind it may have answered, and charges for it."""
LARGEST_REPLY = 16_000_000
SERVICES = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "openrouter": "https://openrouter.ai/api/v1",
    "together": "https://api.together.xyz/v1",
    "groq": "https://api.groq.com/openai/v1",
    "fireworks": "https://api.fireworks.ai/inference/v1",
    "deepseek": "https://api.deepseek.com/v1",
    "mistral": "https://api.mistral.ai/v1",
    "xai": "https://api.x.ai/v1",
    "vllm": "http://localhost:8000/v1",
    "sglang": "http://localhost:30000/v1",
    "ollama": "http://localhost:11434/v1",
}
"""Provider -> address; the key is in PROVIDER_API_KEY. `openai-api/NAME/...`: NAME_BASE_URL, NAME_API_KEY."""
_SENT = {
    "temperature": "temperature", "top_p": "top_p", "seed": "seed", "stop_seqs": "stop", "max_tokens": "max_tokens",
    "frequency_penalty": "frequency_penalty", "presence_penalty": "presence_penalty", "top_k": "top_k",
    "reasoning_effort": "reasoning_effort", "verbosity": "verbosity", "logit_bias": "logit_bias",
}  # fmt: skip
_OWN = ("system_message", "extra_body", "extra_headers")
_TOO_LONG = re.compile(r"context|too long|too large|too many tokens|max(imum)? (input|prompt|request)|exceed", re.I)
_STRUCTURE = re.compile(r"response_format|json_schema|structured|output_config|guided|grammar", re.IGNORECASE)
_UNKNOWN = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|not permitted|extra inputs|deprecated|only the default", re.I
)


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One answer of a model. `input_tokens` are all of the input, of which `cached_tokens` came from a cache and
    `written` went into one; `output_tokens` all of the output, of which `reasoning` was not shown; None where the
    service does not say. `tokens`: the tokens of the answer with the log-probabilities of their alternatives."""

    text: str
    model: str
    stop: str
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    latency: float
    written: int = 0
    reasoning: int = 0
    tokens: tuple[tuple[str, tuple[tuple[str, float], ...]], ...] = ()


@dataclass(eq=False, kw_only=True)
class Problem(Exception):
    """One attempt that failed. `retry`: worth asking again; `fatal`: no call to this judge can work; `paid`: it may
    have been charged all the same; `without`: what the service does not know and can be left out ("structured", or a
    setting); `unreachable`: nobody is there; `item`: the fault of what was asked, such as a text that is too long."""

    kind: str
    message: str
    retry: bool = False
    fatal: bool = False
    retry_after: float | None = None
    latency: float = 0.0
    paid: bool = False
    without: str | None = None
    unreachable: bool = False
    item: bool = False


def unusable(message: str) -> Problem:
    """A judge that cannot be asked at all as it is set up."""
    return Problem(kind="setup", message=message, fatal=True)


def _unreadable(message: str, latency: float = 0.0) -> Problem:
    """A reply that makes no sense: it may have been charged, and another may be better."""
    return Problem(kind="unreadable reply", message=message, retry=True, latency=latency, paid=True)


@dataclass(frozen=True)
class Ask:
    """One question: the text, how much of its beginning all items share, how often it was asked in vain before, what it
    is made of, for judges that are functions; and its prompt without any reminder, and that prompt's hash."""

    prompt: str
    shared: int = 0
    again: int = 0
    item: Mapping[str, str] = field(default_factory=dict)
    plain: str = ""
    hash: str = ""


class Asker(ABC):
    """A judge's model. `structured` is switched off during a run, and settings are left out (`omitted`), when the
    service refuses them."""

    def __init__(self, judge: Judge, plan: Plan | None) -> None:
        self.judge = judge
        self.schema = None if plan is None else answer_schema(plan.rubric)
        self.expected = plan is not None and plan.rubric.expected
        self.structured = self.schema is not None and judge.structured is not False
        self.omitted: set[str] = set()

    def leave_out(self, what: str) -> bool:
        """Ask without structure or a setting from now on. False: it is not known, or the plan insists."""
        if what == "structured":
            self.structured = False
            return self.judge.structured is not True
        self.omitted.add(what)
        return what in self.judge.settings

    @abstractmethod
    async def ask(self, ask: Ask) -> Reply:
        """Ask once. Raises Problem."""

    async def close(self) -> None:  # noqa: B027  # most hold nothing
        """Let go of what it holds."""

    def sampling(self, again: int) -> dict[str, Any]:
        """The judge's settings; for an answer asked for again at temperature 0, another temperature and seed."""
        settings = {k: v for k, v in self.judge.settings.items() if v is not None and k not in self.omitted}
        if again and settings.get("temperature") == 0:
            settings["temperature"] = min(1.0, 0.2 + 0.2 * again)
            settings["seed"] = int(settings.get("seed", 0)) + again
        return settings

    def late(self, started: float) -> Problem:
        """No answer came in time."""
        message = f"no answer within {self.judge.timeout:g} s"
        return Problem(kind="timeout", message=message, retry=True, latency=_since(started), paid=True)


class HttpAsker(Asker):
    """A judge behind an HTTP address."""

    def __init__(self, judge: Judge, plan: Plan | None, session: Any, hosts: Sequence[str]) -> None:
        super().__init__(judge, plan)
        unknown = sorted(set(judge.settings) - set(_SENT) - set(_OWN))
        if unknown:
            raise CollectError(f"unknown settings {clean(', '.join(unknown))}; known are {', '.join([*_SENT, *_OWN])}")
        if judge.model_args:
            raise CollectError(
                "model_args are arguments of an inspect-ai provider: put inspect/ before the model, or use settings "
                "(extra_body, extra_headers)"
            )
        self.session = session
        self.base, self.model, key = address(judge, hosts)
        self.proxy = _proxy(self.base)
        self.headers = {str(k): str(v) for k, v in judge.settings.get("extra_headers", {}).items()}
        self.authorise(key)

    def authorise(self, key: str | None) -> None:
        """Put the key into the headers."""
        if key:
            self.headers["Authorization"] = f"Bearer {key}"

    @abstractmethod
    def body(self, ask: Ask) -> dict[str, Any]:
        """What is sent for a question."""

    @abstractmethod
    def read(self, found: dict[str, Any], latency: float) -> Reply:
        """What came back. Raises Problem."""

    path = ""

    def reply(self, found: Any, latency: float) -> Reply:
        """The answer in a body of any form. Raises Problem."""
        if not isinstance(found, dict):
            raise _unreadable(f"not an object but {type(found).__name__}", latency)
        return self.read(found, latency)

    async def ask(self, ask: Ask) -> Reply:
        started = time.monotonic()
        found = await self.send("POST", self.path, data=json.dumps(self.body(ask)).encode())
        return self.reply(found, _since(started))

    async def send(self, method: str, path: str, data: Any = None, raw: bool = False) -> Any:
        """One request; the reply as JSON (or as bytes). Raises Problem."""
        import aiohttp

        started = time.monotonic()
        sent = {**self.headers, **({"Content-Type": "application/json"} if isinstance(data, bytes) else {})}
        try:
            async with (
                asyncio.timeout(self.judge.timeout),
                self.session.request(
                    method, self.base + path, data=data, headers=sent, allow_redirects=False, proxy=self.proxy
                ) as response,
            ):
                body = await _read(response, None if raw else LARGEST_REPLY)
                status, reply_headers = response.status, response.headers
        except TimeoutError:
            raise self.late(started) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            odd = isinstance(error, ValueError) and not isinstance(error, aiohttp.ClientPayloadError)
            if odd or isinstance(error, aiohttp.ClientSSLError):
                raise unusable(told(error)) from None
            away = isinstance(error, aiohttp.ClientConnectorError)
            raise Problem(
                kind="connection", message=told(error), retry=True, latency=_since(started), paid=not away,
                unreachable=away,
            ) from None  # fmt: skip
        if status != 200:
            raise _refused(status, body, reply_headers, _since(started))
        try:
            return body if raw else json.loads(body)
        except (ValueError, RecursionError):
            raise _unreadable(f"no JSON: {_shown(body)}", _since(started)) from None


class ChatAsker(HttpAsker):
    """The chat API of OpenAI and of everybody who speaks it."""

    path = "/chat/completions"

    def body(self, ask: Ask) -> dict[str, Any]:
        settings = self.sampling(ask.again)
        messages = [{"role": "user", "content": ask.prompt}]
        if settings.get("system_message"):
            messages.insert(0, {"role": "system", "content": settings["system_message"]})
        body: dict[str, Any] = {"model": self.model, "messages": messages}
        body |= {_SENT[k]: v for k, v in settings.items() if k in _SENT}
        most = self.judge.settings.get("max_tokens")
        if most is not None and (self.judge.model.startswith("openai/") or "max_tokens" in self.omitted):
            body.pop("max_tokens", None)
            body["max_completion_tokens"] = most  # what others call max_tokens
        if self.structured:
            schema = {"name": "verdict", "schema": self.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        if self.expected:
            body |= {"logprobs": True, "top_logprobs": 20 if not self.judge.model.startswith("fireworks/") else 5}
        return {**body, **settings.get("extra_body", {})}

    def read(self, found: dict[str, Any], latency: float) -> Reply:
        choices = found.get("choices")
        if found.get("error") and not choices:  # some routers answer 200 and say inside that it failed
            raise Problem(kind="error in reply", message=_message(found["error"]), retry=True, latency=latency)
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise _unreadable(f"no choices: {_shown(json.dumps(found))}", latency)
        message, usage = _object(choices[0].get("message")), _object(found.get("usage"))
        text, stop = _content(message.get("content")), str(choices[0].get("finish_reason") or "stop")
        if not text and isinstance(message.get("refusal"), str):
            text, stop = message["refusal"], "refusal"
        return Reply(
            text=redact(text), model=redact(str(found.get("model") or "")), stop=stop, latency=latency,
            tokens=_tokens(choices[0]), **_chat_usage(usage),
        )  # fmt: skip


class AnthropicAsker(HttpAsker):
    """Anthropic's messages API. The beginning that all items share is marked for its cache when it is long enough."""

    path = "/v1/messages"

    def __init__(self, judge: Judge, *rest: Any) -> None:
        super().__init__(judge, *rest)
        self.structured = self.schema is not None and judge.structured is True
        if self.expected:
            raise CollectError("expected scores need log-probabilities, which Anthropic's API does not give")

    def authorise(self, key: str | None) -> None:
        self.headers |= {"anthropic-version": "2023-06-01"}
        if key:
            self.headers["x-api-key"] = key

    def body(self, ask: Ask) -> dict[str, Any]:
        settings = self.sampling(ask.again)
        content: Any = ask.prompt
        if ask.shared > 4000:
            content = [
                {"type": "text", "text": ask.prompt[: ask.shared], "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": ask.prompt[ask.shared :]},
            ]
        messages = [{"role": "user", "content": content}]
        body: dict[str, Any] = {"model": self.model, "max_tokens": 1024, "messages": messages}
        body |= {k: settings[k] for k in ("max_tokens", "temperature", "top_p", "top_k") if k in settings}
        if "stop_seqs" in settings:
            body["stop_sequences"] = settings["stop_seqs"]
        if settings.get("system_message"):
            body["system"] = settings["system_message"]
        if self.structured:
            body["output_config"] = {"format": {"type": "json_schema", "schema": self.schema}}
        return {**body, **settings.get("extra_body", {})}

    def read(self, found: dict[str, Any], latency: float) -> Reply:
        if found.get("type") == "error" or ("error" in found and "content" not in found):
            raise Problem(kind="error in reply", message=_message(found.get("error")), retry=True, latency=latency)
        usage, read, wrote = _object(found.get("usage")), "cache_read_input_tokens", "cache_creation_input_tokens"
        return Reply(
            text=redact(_content(found.get("content"))), model=redact(str(found.get("model") or "")),
            stop=str(found.get("stop_reason") or "end_turn"), written=_total(usage, wrote), latency=latency,
            input_tokens=_total(usage, "input_tokens", read, wrote) or None, cached_tokens=as_count(usage.get(read)),
            output_tokens=_total(usage, "output_tokens") or None,
        )  # fmt: skip


class InspectAsker(Asker):
    """Any other provider of inspect-ai (Google, Bedrock, Azure, ...)."""

    def __init__(self, judge: Judge, plan: Plan | None, hosts: Sequence[str]) -> None:
        super().__init__(judge, plan)
        try:
            from inspect_ai.model import GenerateConfig, ResponseSchema, get_model
            from inspect_ai.util import JSONSchema
        except ImportError:
            raise CollectError("this provider needs inspect-ai: pip install 'polyjudge[collect]'") from None
        self.model = judge.model.removeprefix("inspect/")
        unknown = sorted(set(judge.settings) - set(GenerateConfig.model_fields))
        if unknown:
            raise CollectError(f"unknown settings {clean(', '.join(unknown))}")
        _no_strangers(judge, self.model, hosts)
        self._config = GenerateConfig
        self.structured = self.structured and judge.structured is True
        self._schema = None
        if self.schema is not None:
            self._schema = ResponseSchema(name="verdict", json_schema=JSONSchema.model_validate(dict(self.schema)))
        arguments = {"base_url": judge.base_url, "config": GenerateConfig(max_retries=0), "memoize": False}
        try:
            self._api = get_model(self.model, **arguments, **judge.model_args).api
        except Exception as error:  # a missing key or package, an unknown provider, a bad argument
            raise unusable(told(error)) from None
        client = getattr(self._api, "client", None)
        if client is not None and hasattr(client, "max_retries"):  # clients that repeat by themselves are told not to
            client.max_retries = 0

    async def ask(self, ask: Ask) -> Reply:
        from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageUser

        settings = self.sampling(ask.again)
        messages: list[ChatMessage] = [ChatMessageUser(content=ask.prompt)]
        if settings.get("system_message"):  # the provider's own call does not put it in
            messages.insert(0, ChatMessageSystem(content=settings["system_message"]))
        config = self._config(
            **settings, response_schema=self._schema if self.structured else None,
            **({"logprobs": True, "top_logprobs": 20} if self.expected else {}),
        )  # fmt: skip
        if config.max_tokens is None:  # some providers cannot do without
            config.max_tokens = self._api.max_tokens_for_config(config) or self._api.max_tokens()
        started = time.monotonic()
        try:
            async with asyncio.timeout(self.judge.timeout):
                found = await self._api.generate(messages, [], "none", config)
            output = found[0] if isinstance(found, tuple) else found
            if isinstance(output, Exception):
                raise output
        except TimeoutError:
            raise self.late(started) from None
        except Exception as error:
            raise self._problem(error, _since(started)) from None
        usage = output.usage.model_dump() if output.usage is not None else {}
        read, wrote = "input_tokens_cache_read", "input_tokens_cache_write"
        whole = _total(usage, "input_tokens", read, wrote)
        logprobs = output.choices[0].logprobs if output.choices else None
        return Reply(
            text=redact(output.completion or ""), model=redact(output.model or ""), latency=_since(started),
            stop=str(output.stop_reason) if output.choices else "none", input_tokens=whole or None,
            output_tokens=max(_total(usage, "output_tokens"), _total(usage, "total_tokens") - whole) or None,
            cached_tokens=as_count(usage.get(read)), written=_total(usage, wrote),
            reasoning=_total(usage, "reasoning_tokens"),
            tokens=tuple(
                (entry.token, tuple((t.token, t.logprob) for t in entry.top_logprobs or []))
                for entry in (logprobs.content if logprobs is not None else [])
            ),
        )  # fmt: skip

    async def close(self) -> None:
        await self._api.aclose()

    def _problem(self, error: Exception, latency: float) -> Problem:
        status = next((s for a in ("status_code", "code") if isinstance(s := getattr(error, a, None), int)), None)
        decision = self._api.should_retry(error)
        away = status is None and re.search("Connect|ServiceRequest", type(error).__name__) is not None
        retry = away or bool(decision) or isinstance(error, (json.JSONDecodeError, UnicodeDecodeError))
        kind = _kind(status) if status else "connection" if retry else type(error).__name__
        return Problem(
            kind=kind, message=told(error), retry=retry, fatal=status in FATAL, latency=latency,
            retry_after=getattr(decision, "retry_after", None), paid=retry and status is None, unreachable=away,
        )  # fmt: skip


def address(judge: Judge, hosts: Sequence[str]) -> tuple[str, str, str | None]:
    """Address, model name and key of a judge. A key goes only to the service it belongs to, to the address the user set
    for it in the environment, or to a host the user named; a server on this machine is asked without a key."""
    name, _, model = judge.model.partition("/")
    if name == "openai-api":
        name, _, model = model.partition("/")
        if not model or not re.fullmatch(r"[A-Za-z0-9_-]{1,60}", name):
            raise CollectError("the model must be openai-api/NAME/model")
    home, prefix = SERVICES.get(name.lower()), name.upper().replace("-", "_")
    variable = f"{prefix}_API_KEY"
    base = judge.base_url or os.environ.get(f"{prefix}_BASE_URL") or home
    if base is None:
        raise CollectError(f"it has no address: give base_url in the plan, or set {prefix}_BASE_URL")
    key = os.environ.get(variable) or None
    if allowed(variable, base, home, hosts):
        if key is None and not is_loopback(base):
            raise CollectError(f"there is no key: set {variable}")
        return base.rstrip("/"), model, key
    if key is not None and not is_loopback(base):
        raise _stranger(base, variable, f", or set {prefix}_BASE_URL")
    return base.rstrip("/"), model, None


def _proxy(url: str) -> str | None:
    """The proxy that the environment names for an address (HTTPS_PROXY, NO_PROXY), looked up once for all calls."""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    return None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)


def _no_strangers(judge: Judge, model: str, hosts: Sequence[str]) -> None:
    """Refuse addresses in a plan that the user did not name: the provider's client would send its key there."""
    variable = f"{model.split('/')[1 if model.startswith('openai-api/') else 0].upper().replace('-', '_')}_API_KEY"
    found = re.findall(r"https?://[^\s\"'\\]+", json.dumps([judge.base_url, judge.model_args, judge.settings]))
    for url in found:
        if not allowed(variable, url, None, hosts):
            raise _stranger(url, variable)


def _stranger(url: str, variable: str, more: str = "") -> CollectError:
    host = clean(host_of(url), 100)
    return CollectError(
        f"the plan sends it to {host}, which you did not name for {variable}. If you trust that host with the key: "
        f"--send-key {variable}={host}{more}"
    )


async def _read(response: Any, most: int | None) -> bytes:
    chunks, size = [], 0
    async for chunk in response.content.iter_any():
        chunks.append(chunk)
        size += len(chunk)
        if most is not None and size > most:
            raise _unreadable(f"more than {most // 10**6} MB")
    return b"".join(chunks)


def _refused(status: int, body: bytes, headers: Mapping[str, str], latency: float) -> Problem:
    text, code = _shown(body), ""
    with suppress(ValueError, RecursionError):
        found = json.loads(body)
        inner = found.get("error", found) if isinstance(found, dict) else found
        text, code = _message(inner), str(_object(inner).get("code") or _object(inner).get("type") or "")
    message = clean(redact(f"Error code: {status}: {text}"), 400)
    broke = code == "insufficient_quota"
    long = status in (400, 413, 422) and _TOO_LONG.search(text) is not None
    without = None
    if status in (400, 404, 422, 500, 501) and not long:
        named = next((name for name in _SENT if re.search(rf"\b{name}\b", text)), None)
        without = "structured" if _STRUCTURE.search(text) else named if _UNKNOWN.search(text) else None
    return Problem(
        kind=_kind(status), message=message, latency=latency, retry_after=_retry_after(headers),
        retry=status in RETRIED and not broke, fatal=status in FATAL or broke, without=without, item=long,
        paid=status in PAID,
    )  # fmt: skip


def _kind(status: int) -> str:
    return "rate limit" if status == 429 else f"http {status}"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait. A date is compared with the server's own clock where it tells it."""
    if (wait := headers.get("retry-after-ms", "")).replace(".", "", 1).isdigit():
        return float(wait) / 1000
    text = headers.get("retry-after", "").strip()
    with suppress(ValueError):
        return max(0.0, min(float(text), 1e9))
    with suppress(ValueError, TypeError, IndexError, OverflowError):
        until = parsedate_to_datetime(text).timestamp()
        now = parsedate_to_datetime(headers["date"]).timestamp() if headers.get("date") else time.time()
        return max(0.0, until - now)
    return None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _content(content: Any) -> str:
    """Text of an answer: a string, or a list of parts."""
    if isinstance(content, list):
        return "".join(
            part if isinstance(part, str) else part["text"]
            for part in content
            if isinstance(part, str) or (isinstance(part, dict) and isinstance(part.get("text"), str))
        )
    return content if isinstance(content, str) else ""


def as_count(value: Any) -> int | None:
    """A number of tokens, also one that is written as a float or a text."""
    if value is None or type(value) is int:  # nearly always
        return value if value is not None and 0 <= value < 2**40 else None
    try:
        value = value.replace(",", "") if isinstance(value, str) else value
        number = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        return None
    return math.ceil(number) if 0 <= number < 2**40 else None


def _total(usage: Mapping[str, Any], *names: str) -> int:
    """Tokens of these classes together."""
    return sum([as_count(usage.get(name)) or 0 for name in names])


def _chat_usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Every class of tokens that a chat completion names. Zero is not known. Reasoning that stands beside the output is
    part of it, and what the total has more than both belongs to it too."""
    tokens_in, tokens_out = _total(usage, "prompt_tokens"), _total(usage, "completion_tokens")
    of_output = _object(usage.get("completion_tokens_details"))
    reasoning = max(_total(part, "reasoning_tokens") for part in (usage, of_output))
    beside = tokens_out + (reasoning if reasoning > tokens_out else 0)
    left = _total(usage, "total_tokens") - tokens_in if tokens_in else 0
    cached = as_count(_object(usage.get("prompt_tokens_details")).get("cached_tokens"))
    known = {"input_tokens": tokens_in or None, "output_tokens": max(beside, left) or None}
    return {**known, "cached_tokens": cached, "reasoning": reasoning}


def _tokens(choice: Mapping[str, Any]) -> tuple[tuple[str, tuple[tuple[str, float], ...]], ...]:
    """The answer's tokens with their alternatives, where the service sent log-probabilities."""
    content = _object(choice.get("logprobs")).get("content")
    out = []
    for entry in content if isinstance(content, list) else []:
        if not isinstance(entry, dict) or not isinstance(entry.get("token"), str):
            return ()
        top = [
            (t["token"], float(t["logprob"]))
            for t in entry.get("top_logprobs") or []
            if isinstance(t, dict) and isinstance(t.get("token"), str) and isinstance(t.get("logprob"), (int, float))
        ]
        out.append((entry["token"], tuple(top)))
    return tuple(out)


def _message(error: Any) -> str:
    """The provider's own words about a failure."""
    if isinstance(error, dict):
        for key in ("message", "detail", "error"):
            if error.get(key):
                return clean(redact(_message(error[key])), 400)
    return clean(redact(error if isinstance(error, str) else json.dumps(error)), 400)


def _shown(body: bytes | str) -> str:
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    return clean(redact(" ".join(text[:2000].split())), 300)


def _since(started: float) -> float:
    return time.monotonic() - started


def told(error: BaseException) -> str:
    """What an error says, without keys and markup."""
    text = clean(redact(" ".join(re.sub(r"\[/?[a-z ]+\]", "", str(error)).split())), 400)
    return f"{type(error).__name__}: {text}"
