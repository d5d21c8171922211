"""Which client asks a judge; and judges that are code: a function of one's own, and a scorer of inspect-ai.

    model: python:package.module:function     prompt in; text, a score or a mapping out; plain or async
    model: scorer:package.module:factory      what a scorer says of the response; letters count as ends of the scale

The module is looked for beside the plan and where Python looks. So a plan with such a judge runs code: read the plans
of others before you run them. Keys that the code uses are its own affair; what comes back is stored without them.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any

from polyjudge.second.collect.models import (
    SERVICES,
    AnthropicAsker,
    Ask,
    Asker,
    ChatAsker,
    InspectAsker,
    Problem,
    Reply,
    as_count,
    told,
    unusable,
)
from polyjudge.second.collect.plan import Judge, Plan
from polyjudge.second.collect.secrets import redact
from polyjudge.second.panel.errors import CollectError

if TYPE_CHECKING:
    import aiohttp

LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Where on the scale the grades of inspect-ai stand: correct, partly, incorrect, no answer."""


def make_asker(judge: Judge, plan: Plan | None, session: aiohttp.ClientSession | None, hosts: Sequence[str]) -> Asker:
    """The asker of a judge; without a plan one that answers in words. Raises Problem when it cannot be asked at all,
    before anything is sent; without a session it only tells that."""
    provider, _, name = judge.model.partition("/")
    try:
        if judge.code:
            kind, module, name = judge.model.split(":")
            found = _find(module, name, plan)
            if plan is not None and plan.rubric.expected:
                raise unusable("expected scores need log-probabilities, which a function does not give")
            return (ScorerAsker if kind == "scorer" else FunctionAsker)(judge, plan, found)
        if provider == "anthropic":
            return AnthropicAsker(judge, plan, session, hosts)
        if provider == "openai-api" or (provider in SERVICES and not name.startswith(("azure/", "bedrock/"))):
            return ChatAsker(judge, plan, session, hosts)
        return InspectAsker(judge, plan, hosts)
    except CollectError as error:
        raise unusable(redact(str(error))) from None


def _find(module: str, name: str, plan: Plan | None) -> Callable[..., Any]:
    if module.split(".")[0] in sys.stdlib_module_names:
        raise unusable(f"{module} is a part of Python itself and no judge")
    folder = str(plan.folder.resolve()) if plan is not None else ""
    if folder and folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:  # whatever the module does when it is imported
        raise unusable(f"{module}:{name} cannot be imported: {told(error)}") from None
    if not callable(found):
        raise unusable(f"{module}:{name} is not a function")
    return found


class FunctionAsker(Asker):
    """A function. It is given the prompt, the judge's `model_args` by name, and `item` (the fields of the item, its
    task, system, language and part) where it has a parameter of that name."""

    def __init__(self, judge: Judge, plan: Plan | None, function: Callable[..., Any]) -> None:
        super().__init__(judge, plan)
        self.structured = False
        self.plan = plan
        self._takes_item = False
        with suppress(TypeError, ValueError):
            self._takes_item = "item" in inspect.signature(function).parameters
        self._call = partial(function, **judge.model_args)

    async def ask(self, ask: Ask) -> Reply:
        started = time.monotonic()
        try:
            async with asyncio.timeout(self.judge.timeout):
                found = await self.found(ask)
        except TimeoutError:
            raise self.late(started) from None
        except Problem:
            raise
        except ImportError as error:
            raise unusable(told(error)) from None
        except Exception as error:
            raise Problem(
                kind=type(error).__name__, message=told(error), retry=True, paid=True,
                latency=time.monotonic() - started,
            ) from None  # fmt: skip
        more = dict(found) if isinstance(found, Mapping) else {}
        tokens_in, tokens_out = (as_count(more.pop(name, None)) or None for name in ("input_tokens", "output_tokens"))
        text = self.text(more.get("text", more) if more or isinstance(found, Mapping) else found)
        return Reply(
            text=redact(text), model="", stop="stop", input_tokens=tokens_in, output_tokens=tokens_out,
            cached_tokens=None, latency=time.monotonic() - started,
        )  # fmt: skip

    async def found(self, ask: Ask) -> Any:
        """What the function returns."""
        more = {"item": dict(ask.item)} if self._takes_item else {}
        call = partial(self._call, ask.prompt, **more)
        if inspect.iscoroutinefunction(self._call.func) or inspect.iscoroutinefunction(
            getattr(self._call.func, "__call__", None)  # noqa: B004  # an object with an async call
        ):
            return await call()
        found = await _in_thread(call)
        return await found if inspect.isawaitable(found) else found

    def text(self, found: Any) -> str:
        """An answer in the form that the plan's prompts ask for."""
        rubric = None if self.plan is None else self.plan.rubric
        if found is None:
            return ""
        if rubric is not None and rubric.kind == "checklist" and isinstance(found, (bool, Real)):
            return "<satisfied>" if found else "<unsatisfied>"
        if isinstance(found, Real) and not isinstance(found, bool):
            own = rubric is not None and rubric.parser is not None
            return str(float(found)) if own else json.dumps({"score": float(found)})
        if isinstance(found, Mapping):
            return json.dumps(found, default=str)
        return str(found)


class ScorerAsker(FunctionAsker):
    """A scorer of inspect-ai, made by a factory with the judge's `model_args`. It sees the item, not the prompt: the
    request as input, the response as output, and a field `target` where items.fields names one."""

    def __init__(self, judge: Judge, plan: Plan | None, factory: Callable[..., Any]) -> None:
        super().__init__(judge, plan, factory)
        if plan is None or plan.rubric.kind not in ("rating", "pair"):
            raise unusable("a scorer gives one number for a response: use rubric.kind rating or pair")
        self.scale = plan.rubric.scale
        try:
            self._score = factory(**judge.model_args)
        except Exception as error:
            raise unusable(f"the scorer cannot be made: {told(error)}") from None

    async def found(self, ask: Ask) -> Any:
        from inspect_ai.model import ChatMessageUser, ModelName, ModelOutput
        from inspect_ai.scorer import Target
        from inspect_ai.solver import TaskState

        item = dict(ask.item)
        response = item[item["part"]] if item.get("part") in ("chosen", "rejected") else item["response"]
        state = TaskState(
            model=ModelName("none/none"), sample_id=item["task"], epoch=1, input=item["prompt"],
            messages=[ChatMessageUser(content=item["prompt"])],
            output=ModelOutput.from_content("none", response), metadata=item,
        )  # fmt: skip
        score = await self._score(state, Target(item.get("target", "")))
        value = None if score is None else score.value
        low, high = self.scale
        if isinstance(value, str) and value in LETTERS:
            value = low + LETTERS[value] * (high - low)
        if isinstance(value, bool):
            value = high if value else low
        return {"score": value, "reason": str(score.explanation or "")[:2000]} if score is not None else None


async def _in_thread(call: Callable[[], Any]) -> Any:
    """Run a plain function beside the loop. Its thread ends with the process: one that hangs holds nobody up."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()

    def work() -> None:
        try:
            future.set_result(call())
        except BaseException as problem:
            future.set_exception(problem if isinstance(problem, Exception) else RuntimeError(repr(problem)))

    threading.Thread(target=work, daemon=True, name="polyjudge-judge").start()
    return await asyncio.wrap_future(future)
