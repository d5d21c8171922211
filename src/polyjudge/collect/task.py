"""The collection as an ordinary Inspect task, and a scorer for other people's evals; both are called polyjudge/judge.

inspect eval polyjudge/judge -T plan=plan.yaml --model openai/gpt-4o-mini      one judge of a plan, under Inspect
scorer=[judge(model="openai/gpt-4o"), judge(model="google/gemini-2.5-pro")]     in an eval of your own
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from pathlib import Path
from typing import Any

import anyio
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ChatMessageUser, GenerateConfig, Model, get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import EarlyStop
from pydantic import ValidationError

from polyjudge.base.errors import CollectError
from polyjudge.base.files import check_apart, check_new
from polyjudge.base.text import name as shown
from polyjudge.base.text import names
from polyjudge.calibrate.saved import load_calibrator
from polyjudge.collect.damage import make_probes
from polyjudge.collect.items import load_items
from polyjudge.collect.languages import phrases, shipped
from polyjudge.collect.parse import REFUSED, Parsed, parse
from polyjudge.collect.plan import Judge, Plan, Rubric, explain, hide_keys, load_plan
from polyjudge.collect.prompts import Call, bullets, calls_of, fence, fill, layout, load_templates, render

FIRST = 8  # calls that go ahead until one is answered, and after which a judge that answers none is stopped
LATER = 40  # failed calls in a row after which a judge is stopped that did answer before
ASKED = 2  # how often an answer is asked for at most: once more where it cannot be read
TRIES = 4  # how often a call is tried that fails
STOPPED, CUT = "the judge was stopped", "the answer was cut off (max_tokens)"
TIMEOUT = 300  # seconds that a call may take where the plan does not say (attempt_timeout); a batch may take a day


class Guard:
    """Stops a judge that fails everything: an early-stopping manager of Inspect's. The samples it holds back are not
    in the log, so the next sitting asks for them."""

    def __init__(self, tick: Callable[[bool], None] = lambda ok: None, careful: bool = True) -> None:
        self.tick, self.alive, self.going = tick, not careful, 0
        self.why, self.dead, self.event, self.held = "", False, anyio.Event(), False
        self.seen: set[str | int] = set()
        self.before: Container[str | int] = ()  # ids of calls of earlier sittings: that they fail again is no news
        self.row: list[str | int] = []  # of failed calls
        self.lost: dict[str | int, BaseException] = {}  # calls given up: a later slice does not try them again

    async def start_task(self, task: Any, samples: list[Sample], epochs: int) -> str:
        self.event = anyio.Event()  # in the loop of this sitting
        return "polyjudge"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        """Let a call go, hold it until another was answered, or drop it."""
        if not self.alive and not self.dead and id not in self.lost:
            self.going += 1
            if self.going > FIRST:
                await self.event.wait()
        if self.dead and self.held:
            return EarlyStop(id=id, epoch=epoch, reason=STOPPED)
        self.held = self.dead  # the first one goes on and ends as an error, or the log would look complete
        self.seen.add(id)
        return None

    async def settled(self) -> None:
        """Wait until one of the first calls was answered, or all were tried once."""
        while not self.alive and not self.dead and len(self.row) < min(self.going, FIRST):
            await anyio.sleep(0.05)

    async def complete_sample(self, id: str | int, epoch: int, scores: Mapping[str, Any]) -> None:
        if id in self.seen:  # else it was counted in an earlier sitting
            self.tick(True)

    async def complete_task(self) -> dict[str, Any]:
        return {"stopped": self.dead, "failed": len(self.row)}

    def answered(self) -> None:
        self.alive, self.row = True, self.row if self.dead else []
        self.event.set()

    def fail(self, id: str | int, error: BaseException) -> BaseException:
        """A call failed after the retries of its request, or no score could be read from any answer so far."""
        last = getattr(error, "last_attempt", None)  # tenacity's RetryError says nothing by itself
        cause = error.__cause__ if hasattr(error, "provider_message") else None  # Inspect puts the request before it
        error = (last.exception() if last is not None else cause) or error
        self.why = f"{type(error).__name__}: {error}"
        self.tick(False)
        if not (self.dead or id in self.row or (self.alive and id in self.before)):
            self.row.append(id)
        if len(self.row) >= (LATER if self.alive else FIRST):
            self.dead = True
            self.event.set()
        return error


def judge_task(plan: Plan, judge: Judge, model: Model | None, asked: Iterable[tuple[Call, str]], guard: Guard) -> Task:
    """One judge's calls, as Inspect runs them."""
    reminders = {language: template.reminder for (language, _), template in load_templates(plan).items()}
    samples = [Sample(id=call.id, input=prompt, metadata=about(plan, judge.name, call)) for call, prompt in asked]
    solver, scorer, named = (
        _ask(plan.rubric, reminders, guard),
        _verdict(plan.rubric),
        MemoryDataset(samples, plan.name),
    )
    return Task(named, solver=solver, scorer=scorer, model=model, name=judge.name, early_stopping=guard)


def about(plan: Plan, judge: str, call: Call) -> dict[str, Any]:
    """The metadata of a sample."""
    kind = plan.rubric.kind
    where = {"pair": "part", "compare": "order", "checklist": "criterion"}.get(kind, "")
    found: dict[str, Any] = {"task": call.item.task, "language": call.language, "judge": judge, where: call.part}
    found |= {"system": call.item.system, "wording": call.wording, "version": call.item.version}
    found |= {"replicate": call.replicate} if plan.replicates > 1 else {}
    return {k: v for k, v in found.items() if k and v != ""}


def _ask(rubric: Rubric, reminders: Mapping[str, str], guard: Guard) -> Solver:
    """Ask, and ask again with a reminder of the form where the answer cannot be read."""

    @solver(name="polyjudge/ask")  # type: ignore[untyped-decorator]
    def ask() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            call = state.sample_id
            if guard.dead or call in guard.lost:
                raise guard.lost.get(call) or RuntimeError(f"{STOPPED}: {guard.why}")
            for again in range(ASKED):
                if again:
                    text = f"{state.input_text}\n{reminders.get(state.metadata['language'], '')}\n"
                    state.messages = [ChatMessageUser(content=text)]
                for left in reversed(range(TRIES)):
                    try:
                        state = await generate(state)
                        break
                    except Exception as error:
                        why = guard.fail(call, error)
                    await guard.settled()
                    if guard.dead or not left:
                        if again:
                            return state  # an answer was paid for: it stays, unreadable
                        guard.lost[call] = why
                        raise why
                found = _parsed(state, rubric)
                if found.score is not None or found.how == REFUSED:
                    guard.answered()
                    return state
            if not guard.alive:
                said = CUT if found.how == "cut" else "no score can be read from its answers"
                guard.fail(call, ValueError(f"{said}: {hide_keys(state.output.completion)[:200]}"))
            return state

        return solve

    return ask()


def _parsed(state: TaskState, rubric: Rubric) -> Parsed:
    stop = state.output.stop_reason if state.output.choices else "stop"
    return parse(state.output.completion, rubric, str(stop))


def _verdict(rubric: Rubric) -> Scorer:
    @scorer(metrics=[mean(), stderr()], name="verdict")  # type: ignore[untyped-decorator]
    def verdict() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:
            asked = 1 + (state.user_prompt.text != state.input_text)
            made = as_score(_parsed(state, rubric), state.output.completion, asked=asked)
            made.explanation = (made.explanation or "")[:1000]  # Inspect's summary cuts what is longer by words
            return made

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
    if unknown := sorted(set(settings) - set(GenerateConfig.model_fields)):
        raise CollectError(f"{shown(judge.name)}: Inspect has no setting {names(unknown)} (see its GenerateConfig).")
    try:
        return GenerateConfig(**settings)
    except ValidationError as error:
        raise CollectError(f"{shown(judge.name)}, settings: {explain(error)}") from None


def model_of(judge: Judge) -> Model:
    """The model of a judge, with the plan's settings."""
    return get_model(judge.model, base_url=judge.base_url, config=config_of(judge), memoize=False, **judge.model_args)


def ready(plan: Plan) -> tuple[list[tuple[Call, str]], list[str]]:
    """All calls of a plan with their prompts, and the items left out."""
    items, dropped = load_items(plan)
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
    made = judge_task(read, own, model_of(found) if found else None, ready(read)[0], Guard())
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
