"""Running the judges: plan, rubrics, prompts, items, calls, runner, batches, store, cost."""

from polyjudge.collect.plan import Judge, Plan, load_plan, parse_plan
from polyjudge.collect.runner import collect
from polyjudge.collect.summary import Summary, read_summary

__all__ = ["Judge", "Plan", "Summary", "collect", "load_plan", "parse_plan", "read_summary"]
