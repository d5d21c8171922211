"""The collection as an ordinary Inspect task, and a scorer for other people's evals; both are called polyjudge/judge.

inspect eval polyjudge/judge -T plan=plan.yaml --model openai/gpt-4o-mini      one judge of a plan, under Inspect
scorer=[judge(model="openai/gpt-4o"), judge(model="google/gemini-2.5-pro")]     in an eval of your own
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalSample, read_eval_log, write_eval_log
from inspect_ai.model import ChatMessageUser, GenerateConfig, Model, ModelUsage, ResponseSchema, get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import JSONSchema
from pydantic import ValidationError

from polyjudge.base.errors import CollectError
from polyjudge.base.files import check_apart, check_new
from polyjudge.base.text import name as shown
from polyjudge.base.text import names
from polyjudge.calibrate.saved import load_calibrator
from polyjudge.collect.damage import make_probes
from polyjudge.collect.guard import STOPPED, Guard, UnreadableError, cause_of, may_pass, refuses_schema
from polyjudge.collect.items import load_items
from polyjudge.collect.journal import Answer, Journal
from polyjudge.collect.languages import phrases, shipped
from polyjudge.collect.parse import REFUSED, Parsed, parse
from polyjudge.collect.plan import Judge, Plan, Rubric, explain, hide_keys, load_plan
from polyjudge.collect.prompts import Call, bullets, calls_of, fence, fill, layout, load_templates, render

ASKED = 2  # how often an answer is asked for at most: once more where it cannot be read
CUT = "the answer was cut off (max_tokens)"
TIMEOUT = 300  # seconds that a call may take where the plan does not say (attempt_timeout); a batch may take a day
ASKED_KEY = "polyjudge/asked"


def judge_task(plan: Plan, judge: Judge, model: Model | None, asked: Iterable[tuple[Call, str]], guard: Guard) -> Task:
    """One judge's calls, as Inspect runs them."""
    reminders = {language: template.reminder for (language, _), template in load_templates(plan).items()}
    samples = [Sample(id=call.id, input=prompt, metadata=about(plan, judge.name, call)) for call, prompt in asked]
    return Task(
        MemoryDataset(samples, plan.name),
        solver=ask_calls(
            lambda state: _parsed(state, plan.rubric),
            reminders,
            guard,
            schema_of(plan.rubric) if judge.uses_schema else None,
        ),
        scorer=_verdict(plan.rubric),
        model=model,
        name=judge.name,
        early_stopping=guard,
    )


def about(plan: Plan, judge: str, call: Call) -> dict[str, Any]:
    """The metadata of a sample."""
    kind = plan.rubric.kind
    where = {"pair": "part", "compare": "order", "checklist": "criterion"}.get(kind, "")
    found: dict[str, Any] = {"task": call.item.task, "language": call.language, "judge": judge, where: call.part}
    found |= {"system": call.item.system, "wording": call.wording, "version": call.item.version}
    found |= {"replicate": call.replicate} if plan.replicates > 1 else {}
    return {k: v for k, v in found.items() if k and v != ""}


def ask_calls(
    read: Callable[[TaskState], Parsed],
    reminders: Mapping[str, str],
    guard: Guard,
    schema: ResponseSchema | None,
) -> Solver:
    """Ask, and ask again with a reminder of the form where the answer cannot be read. Each answer is written down
    before anything else happens."""

    @solver(name="polyjudge/ask")  # type: ignore[untyped-decorator]
    def ask() -> Solver:
        async def ask_once_or_twice(state: TaskState, generate: Generate) -> TaskState:
            usages: list[ModelUsage | None] = []
            for _ in range(ASKED):
                if usages:
                    text = f"{state.input_text}\n{reminders.get(state.metadata['language'], '')}\n"
                    state.messages = [ChatMessageUser(content=text)]
                try:
                    state = await _ask_until_answered(state, generate, guard, schema)
                except Exception as error:
                    if not usages:
                        guard.give_up(state.sample_id, error)
                        raise
                    break  # an answer was paid for: it stays, unreadable
                usages.append(state.output.usage)
                state.store.set(ASKED_KEY, len(usages))
                parsed = read(state)
                if parsed.score is not None or parsed.how == REFUSED:
                    break
            guard.journal.add_answer(guard.judge, str(state.sample_id), _answer_of(state, usages))
            _report(parsed, state, guard)
            return state

        async def solve(state: TaskState, generate: Generate) -> TaskState:
            try:
                return await ask_once_or_twice(state, generate)
            finally:
                guard.end(state.sample_id)

        return solve

    return ask()


async def _ask_until_answered(
    state: TaskState, generate: Generate, guard: Guard, schema: ResponseSchema | None
) -> TaskState:
    """One answer. A call that fails is made again after a while; one that may have failed for the schema is made at
    once without it."""
    n_tries = 0
    while True:
        if guard.dead:
            raise RuntimeError(f"{STOPPED}: {guard.why}")
        is_plain = schema is None or guard.judge in guard.journal.plain
        try:
            answered = await _generate(state, generate, None if is_plain else schema)
            guard.schema_works |= not is_plain
            return answered
        except Exception as raised:
            error = cause_of(raised)
        if not is_plain and not guard.schema_works and refuses_schema(error):
            try:
                answered = await _generate(state, generate, None)
            except Exception as raised:
                error = cause_of(raised)
            else:
                if guard.judge not in guard.journal.plain:
                    guard.journal.add_plain(guard.judge)
                return answered
        n_tries += 1
        guard.fail(state.sample_id, error)
        if n_tries >= guard.tries or not may_pass(error):
            raise error
        await guard.wait_for_next_try(n_tries, error)


async def _generate(state: TaskState, generate: Generate, schema: ResponseSchema | None) -> TaskState:
    """One request. Inspect would repeat it for minutes without a word: the guard does that."""
    return await generate(state, max_retries=0, response_schema=schema)


def _answer_of(state: TaskState, usages: Sequence[ModelUsage | None]) -> Answer:
    """What is written down of a call: its last answer, and the tokens of all."""
    counts = [usage for usage in usages if usage is not None and usage.output_tokens]
    is_counted = len(counts) == len(usages)
    sent = sum(u.input_tokens + (u.input_tokens_cache_read or 0) + (u.input_tokens_cache_write or 0) for u in counts)
    return Answer(
        text=hide_keys(state.output.completion),
        stop=_stop_of(state),
        asked=len(usages),
        input_tokens=sent if is_counted else None,
        output_tokens=sum(u.output_tokens for u in counts) if is_counted else None,
    )


def old_answer(sample: EvalSample, usages: Sequence[ModelUsage]) -> Answer:
    """The answer in a log of an earlier version."""
    (score,) = (sample.scores or {}).values()
    stop = str(sample.output.stop_reason) if sample.output.choices else "stop"
    sent = sum(u.input_tokens + (u.input_tokens_cache_read or 0) + (u.input_tokens_cache_write or 0) for u in usages)
    received = sum(u.output_tokens for u in usages)
    asked = int((score.metadata or {}).get("asked", 1))
    counts = (sent, received) if received else (None, None)
    return Answer(hide_keys(sample.output.completion), stop, asked, *counts)


def _report(parsed: Parsed, state: TaskState, guard: Guard) -> None:
    """Tell the guard what became of a call."""
    if parsed.score is not None or parsed.how == REFUSED:
        guard.answer()
    elif not guard.alive:
        why = CUT if parsed.how == "cut" else "no score can be read from its answers"
        guard.fail(state.sample_id, UnreadableError(f"{why}: {hide_keys(state.output.completion)[:200]}"))


def schema_of(rubric: Rubric) -> ResponseSchema:
    """The form of an answer, for services that hold a model to it. No ranges: not every service takes them, and the
    parser knows the scale."""
    why = JSONSchema(type="string")
    if rubric.kind == "checklist":
        properties = {"reason": why, "verdict": JSONSchema(type="string", enum=["satisfied", "unsatisfied"])}
    elif rubric.kind == "compare":
        properties = {"winner": JSONSchema(type="string", enum=["A", "B", "tie"]), "reason": why}
    else:
        has_whole_steps = rubric.step == 1 and float(rubric.scale[0]).is_integer()
        properties = {"score": JSONSchema(type="integer" if has_whole_steps else "number"), "reason": why}
    form = JSONSchema(type="object", properties=properties, required=list(properties), additionalProperties=False)
    return ResponseSchema(name="verdict", json_schema=form, strict=True)


def _stop_of(state: TaskState) -> str:
    return str(state.output.stop_reason) if state.output.choices else "stop"


def _parsed(state: TaskState, rubric: Rubric) -> Parsed:
    return parse(state.output.completion, rubric, _stop_of(state))


def _verdict(rubric: Rubric) -> Scorer:
    @scorer(metrics=[mean(), stderr()], name="verdict")  # type: ignore[untyped-decorator]
    def verdict() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:
            asked = state.store.get(ASKED_KEY, 1)
            verdict = as_score(_parsed(state, rubric), state.output.completion, asked=asked)
            verdict.explanation = (verdict.explanation or "")[:1000]  # Inspect's summary cuts what is longer by words
            return verdict

        return score

    return verdict()


def as_score(found: Parsed, answer: str, **metadata: Any) -> Score:
    """What was read, as Inspect keeps it."""
    metadata |= {"how": found.how}
    why = hide_keys(reason_of(answer))  # before Inspect cuts it
    if found.score is not None:
        return Score(value=found.score, explanation=why, metadata=metadata)
    why_not = "refusal" if found.how == REFUSED else "grader_failed"
    return Score.unscored(reason=why_not, explanation=why, metadata=metadata)


def reason_of(answer: str) -> str:
    """The reason that a judge gives: what stands under that name, else all it said."""
    found = re.search(r'"reason"\s*:\s*("(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")', answer)
    return str(json.loads(found[1], strict=False)) if found else answer


def config_of(judge: Judge) -> GenerateConfig:
    """The plan's settings of a judge, as Inspect has them."""
    settings = {**({} if judge.settings.get("batch") else {"attempt_timeout": TIMEOUT}), **judge.settings}
    settings.pop("response_schema", None)  # a switch of ours
    if unknown := sorted(set(settings) - set(GenerateConfig.model_fields)):
        raise CollectError(f"{shown(judge.name)}: Inspect has no setting {names(unknown)} (see its GenerateConfig).")
    try:
        return GenerateConfig(**settings)
    except ValidationError as error:
        raise CollectError(f"{shown(judge.name)}, settings: {explain(error)}") from None


def model_of(judge: Judge) -> Model:
    """The model of a judge, with the plan's settings."""
    args = dict(judge.model_args)
    model = get_model(judge.model, base_url=judge.base_url, config=config_of(judge), memoize=False, **args)
    client: Any = getattr(model.api, "client", None)
    if isinstance(getattr(client, "max_retries", None), int) and "max_retries" not in args:
        client.max_retries = 0  # a client that repeats a call by itself hides what the service says
    return model


def ready(plan: Plan, translations: Mapping[str, str] | None = None) -> tuple[list[tuple[Call, str]], list[str]]:
    """All calls of a plan with their prompts, and the items left out."""
    items, dropped = load_items(plan, translations)
    templates = load_templates(plan)
    items += make_probes(items, 30 if plan.probes is True else plan.probes) if plan.probes else []
    asked = (call for item in items for call in calls_of(plan, item))
    calls = [(call, render(plan, templates[call.language, call.wording], call)) for call in asked]
    ids = Counter(call.id for call, _ in calls)
    if len(ids) != len(calls):
        raise CollectError(f"Two calls have the same name, {shown(ids.most_common(1)[0][0])}. Rename one of the items.")
    return calls, dropped


@task(name="judge")  # type: ignore[untyped-decorator]
def judge_plan(plan: str, judge: str = "") -> Task:
    """The calls of a plan: to one of its judges, or (without `judge`) to the model that Inspect is started with."""
    read = load_plan(plan)
    found = next((x for x in read.judges if x.name == judge), None)
    if judge and found is None:
        raise CollectError(f"The plan has no judge {shown(judge)}. It has {names(x.name for x in read.judges)}.")
    own = found or Judge(name=str(get_model()).rpartition("/")[2], model="any/model", settings=read.settings_of({}))
    guard = Guard(own.name, Journal(), tries=own.tries)
    made = judge_task(read, own, model_of(found) if found else None, ready(read)[0], guard)
    made.config = config_of(own)
    return made


@scorer(metrics=[mean(), stderr()], name="judge")  # type: ignore[untyped-decorator]
def judge(
    model: str | Model | None = None,
    language: str = "language",
    criteria: str | None = None,
    low: float = 1,
    high: float = 5,
    name: str | None = None,
) -> Scorer:
    """A judge of polyjudge in an eval of your own: it rates the answer with our prompt, in the language of the sample.

    model : of the judge; without it the model of the role `grader`
    language : key of a sample's metadata that holds its language (en, Thai, swh_Latn)
    criteria : what counts; without it correct, helpful, clear and harmless
    low, high : ends of the scale
    name : of the judge in the score's metadata, beside the language
    """
    rubric = Rubric(kind="rating", scale=[low, high])

    async def score(state: TaskState, target: Target) -> Score:
        grader = get_model(model) if model else get_model(role="grader")
        spoken = str(state.metadata.get(language, "en"))
        say: Mapping[str, Any] = phrases(shipped(spoken) or "en")
        text = layout(rubric, say)[0]
        fields = {"prompt": state.input_text, "response": state.output.completion}
        fields["fence"] = fence(list(fields.values()))  # a mark that their author cannot know
        fields |= {"low": f"{low:g}", "high": f"{high:g}", "criteria": criteria or bullets(say)}
        output = await grader.generate(fill(text, fields))
        found = parse(output.completion, rubric, str(output.stop_reason))
        return as_score(found, output.completion, judge=name or str(grader), language=spoken)

    return score


def score_log(log: str | Path, calibrator: Any, out: str | Path) -> int:
    """A copy of an Inspect log in which each sample has its calibrated score beside the judge's; how many have one.

    log : written by `polyjudge collect`, or with the scorer polyjudge/judge
    calibrator : fitted, or the path of a saved one; it must know the judges and languages (or wordings) of the log
    out : the copy; the log itself stays as it is
    """
    check_apart({"out": out}, [log])
    check_new(out)
    cal: Any = calibrator if hasattr(calibrator, "transform") else load_calibrator(calibrator)
    found, count = read_eval_log(str(log)), 0
    for sample in found.samples or []:
        scores, made = sample.scores or {}, {}
        if "verdict" in scores and {"part", "order"} & set(sample.metadata):
            raise CollectError(
                f"{shown(log, 200)} holds parts of pairs or comparisons: calibrate the run's scores.csv."
            )
        for key, score in scores.items():
            where, value = {**sample.metadata, **(score.metadata or {})}, score.value
            if {"judge", "language"} <= set(where) and isinstance(value, (int, float)) and value == value:
                at = where.get(getattr(cal, "noun_", "language"), where["language"])
                new = float(cal.transform([value], language=[at], judge=[where["judge"]])[0])
                about = {"polyjudge": "calibrated", "judge": where["judge"]}
                made["calibrated" if len(scores) == 1 else f"calibrated: {key}"] = Score(value=new, metadata=about)
        sample.scores = {**scores, **made}
        count += len(made)
    if not count:
        raise CollectError(f"{shown(log, 200)} has no scores whose metadata names a judge and a language.")
    write_eval_log(found, str(out))
    return count
