"""Which client asks a judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from polyjudge.collect.functions import make_function
from polyjudge.collect.models import SERVICES, AnthropicAsker, Asker, ChatAsker, InspectAsker, unusable
from polyjudge.collect.plan import Judge, Plan
from polyjudge.collect.secrets import redact
from polyjudge.panel.errors import CollectError

if TYPE_CHECKING:
    import aiohttp


def make_asker(judge: Judge, plan: Plan | None, session: aiohttp.ClientSession | None, hosts: Sequence[str]) -> Asker:
    """The asker of a judge; without a plan one that answers in words. Raises Problem when it cannot be asked at all,
    before anything is sent; without a session it only tells that."""
    provider, _, name = judge.model.partition("/")
    try:
        if judge.code:
            return make_function(judge, plan)
        if provider == "anthropic":
            return AnthropicAsker(judge, plan, session, hosts)
        if provider == "openai-api" or (provider in SERVICES and not name.startswith(("azure/", "bedrock/"))):
            return ChatAsker(judge, plan, session, hosts)
        return InspectAsker(judge, plan, hosts)
    except CollectError as error:
        raise unusable(redact(str(error))) from None
