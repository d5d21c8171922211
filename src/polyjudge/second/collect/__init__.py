"""Running the judges: plan, rubrics, prompts, items, calls, runner, batches, store, cost."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polyjudge.second.collect.plan import Judge, Plan, load_plan, parse_plan
    from polyjudge.second.collect.runner import collect
    from polyjudge.second.collect.summary import Summary, read_summary

__all__ = ["Judge", "Plan", "Summary", "collect", "load_plan", "parse_plan", "read_summary"]
_WHERE = {"collect": "runner", "Summary": "summary", "read_summary": "summary"}


def __getattr__(name: str) -> Any:
    """Names are fetched when they are used: reading a run needs only its store, not what asks the judges."""
    if name not in __all__:
        raise AttributeError(name)
    return getattr(import_module(f"polyjudge.second.collect.{_WHERE.get(name, 'plan')}"), name)
