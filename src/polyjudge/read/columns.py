"""Which column holds what: by a short list of usual names, and by what the user says (DESIGN, Reading).

A role that is not there has a safe meaning: no language is one language, no judge is one judge, no task is the row,
no system is none. What could be two things is refused, with the flag that decides it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.text import name, names, shell

NAMES: dict[str, tuple[str, ...]] = {
    "task": (
        "task_id", "taskid", "question_id", "questionid", "qid", "item_id", "itemid", "item", "prompt_id", "promptid",
        "example_id", "sample_id", "case_id", "caseid", "test_id", "segment_id", "seg_id", "segment", "instance_id",
        "instance", "instruction_id", "query_id", "record_id", "problem_id", "input_id", "source_id", "task", "example",
        "sample", "case", "id", "idx", "question", "query", "prompt", "instruction", "input", "source", "problem",
        "doc_id", "task_name",
    ),
    "system": (
        "system", "system_id", "system_name", "system_model", "candidate", "candidate_model", "evaluated_model",
        "model_under_test", "target_model", "response_model", "answer_model", "generator", "generator_model",
        "framework", "submission", "participant", "contestant", "team", "agent", "assistant", "engine", "provider",
    ),
    "judge": (
        "judge", "judge_model", "judge_name", "judge_id", "grader", "grader_model", "grader_name", "evaluator",
        "evaluator_model", "evaluator_name", "scorer", "scorer_name", "critic", "reviewer", "assessor", "autorater",
        "backbone", "rater", "rater_id", "judge_llm", "llm_judge", "evaluation_model",
    ),
    "model": ("model", "model_name", "model_id", "llm", "models"),
    "language": (
        "language", "lang", "locale", "language_code", "lang_code", "language_id", "lang_id", "language_name", "lp",
        "langpair", "lang_pair", "language_pair", "target_language", "target_lang", "tgt_lang", "languages",
    ),
    "score": (
        "score", "rating", "grade", "points", "mark", "judge_score", "judge_rating", "judge_grade", "scores", "ratings",
        "llm_score", "model_score", "overall_score", "final_score", "judgment_score",
    ),
    "weak score": (
        "judge_label", "judge_verdict", "judgment", "judgement", "value", "correct", "is_correct", "passed", "pass",
        "verdict", "judge_correct", "judge_pass", "label", "result", "overall", "quality", "success", "outcome",
    ),
    "human": (
        "human", "human_label", "human_score", "human_rating", "human_grade", "human_judgment", "human_judgement",
        "human_verdict", "human_annotation", "gold", "gold_label", "gold_score", "expert", "expert_label",
        "expert_score", "expert_rating", "annotation", "annotator_label", "annotator_score", "human_mean",
        "ground_truth_label", "humans", "human_pass", "human_correct",
    ),
    "annotator": ("annotator", "annotator_id", "annotator_name", "labeler", "labeller", "human_id", "expert_id"),
    "criterion": ("criterion", "criteria", "aspect", "dimension", "metric", "metric_name", "criterion_name"),
    "cluster": ("cluster", "cluster_id"),
    "replicate": ("replicate", "replicate_id", "repeat", "rep", "run", "run_id", "trial", "epoch", "seed", "iteration"),
}  # fmt: skip
"""Usual names of the roles; the first that is there is taken. Case, spaces and punctuation do not matter."""
TEXTS = {
    "prompt": ("prompt", "question", "input", "instruction", "query", "source", "user_input", "source_text"),
    "response": (
        "response", "answer", "output", "completion", "translation", "hypothesis", "candidate_text", "prediction",
        "generation", "model_output", "actual_output", "mt", "response_text", "answer_text",
    ),
    "reason": (
        "reason", "explanation", "rationale", "comment", "justification", "feedback", "critique", "judge_reason",
    ),
}  # fmt: skip
PAIR = {
    "winner": ("winner", "preference", "preferred", "preferred_model", "choice", "chosen", "verdict", "outcome"),
    "first": ("model_a", "system_a", "model_1", "system_1", "candidate_a", "model_left", "first_model", "a"),
    "second": ("model_b", "system_b", "model_2", "system_2", "candidate_b", "model_right", "second_model", "b"),
}  # fmt: skip
ERRORS = (
    "status", "error", "errors", "error_message", "error_msg", "error_type", "parse_ok", "parsed", "parse_success",
    "is_parsed", "parse_error", "parse_failed", "is_error", "has_error", "failed", "is_failed", "exception", "failure",
    "valid", "is_valid", "ok", "judge_status", "judge_error", "score_status", "parse_status", "timed_out", "refused",
)  # fmt: skip
"""Columns by which a row says that its score stands for nothing."""
NO_SCORE = re.compile(
    r"(^|_)(id|idx|index|no|nr|num|number|len|length|tokens?|chars?|words?|count|n|cost|price|usd|latency|time|times|"
    r"timestamp|seconds?|ms|duration|date|day|month|year|hour|seed|split|fold|difficulty|level|weight|temperature|"
    r"version|position|pos|order|rank|page|turn|turns|round|step|threshold|std|sd|var|ci|se|age|size|offset|"
    r"start|end|line|row|column|is|has|confidence|prob|logprob|probability|entropy|perplexity|unnamed)(_|$|\d)|"
    r"^(n|num|max|min|is|has)_|^(score_)?(max|min)$"
)
"""Names of columns that are no judge, unless the user says so."""
HUMANS = re.compile(
    r"^(humans?|gold|experts?|annotators?|annotation|ground_?truth|people)"
    r"([_\- ]?(\d+|mean|avg|average|label|score|rating|judge|annotator|expert|[a-z]))?$"
)
"""Judges with such a name are people: what they say are labels."""
SUMMARY = {
    "mean", "average", "avg", "total", "all", "overall", "sum", "median", "macro_avg", "macro_average", "micro_avg",
    "grand_total", "mean_score", "score_mean", "average_score", "score_average", "avg_score", "score_avg",
    "total_score", "score_total", "ensemble", "panel_mean",
}  # fmt: skip
"""Names of rows and columns that summarise the others."""
SCORE_WORDS = {
    "score", "scores", "rating", "ratings", "grade", "grades", "value", "points", "label", "judge", "judgment",
    "judgement", "by", "feedback",
}  # fmt: skip


@lru_cache(maxsize=65536)
def norm(text: str) -> str:
    """A name as names are compared.

    >>> norm(" Judge Model "), norm("Rating (0-100)"), norm("taskId")
    ('judge_model', 'rating_0_100', 'task_id')
    """
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(text).strip())
    return re.sub(r"\W+", "_", text.lower()).strip("_")


@dataclass(frozen=True)
class Asked:
    """What the user said about the columns and what to read of them."""

    task: str | None = None
    system: str | None = None
    language: str | None = None
    judge: str | None = None
    score: str | None = None
    human: str | None = None
    criterion: str | None = None
    cluster: str | None = None
    replicate: str | None = None
    by: str | None = None
    languages: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    range: tuple[float, float] | None = None
    drop: tuple[str, ...] = ()
    engine: str | None = None

    def words(self) -> tuple[str, ...]:
        """The options that were given, as words of the command line."""
        out: list[str] = []
        for option, value in vars(self).items():
            if isinstance(value, str) and value:
                out += [f"--{option}", value]
            elif value and option != "range":
                out += [f"--{option}", ",".join(value)]
        return tuple(out + ([] if self.range is None else ["--range", f"{self.range[0]:g}:{self.range[1]:g}"]))


@dataclass
class Roles:
    """Column of each role; `wide` are score columns whose names are labels of `axis`."""

    of: dict[str, str] = field(default_factory=dict)
    wide: dict[str, dict[str, str]] = field(default_factory=dict)
    """Column -> the labels that its name holds, by axis."""
    texts: dict[str, str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    humans: list[str] = field(default_factory=list)
    """Columns of human labels."""
    notes: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)

    def used(self) -> set[str]:
        """Columns that hold a role."""
        return {*self.of.values(), *self.wide, *self.errors, *self.humans, *self.texts.values()}


def usual(role: str, columns: Iterable[str]) -> list[str]:
    """Columns with a usual name of a role, the most usual first. A dotted name counts by its last parts."""
    listed = NAMES.get(role) or TEXTS.get(role) or PAIR.get(role) or ()
    found: dict[str, str] = {}
    for column in columns:
        parts = column.split(".")
        for short in ("_".join(parts), parts[-1], "_".join(parts[-2:])):
            found.setdefault(norm(short), column)
    hits = [found[n] for n in listed if n in found]
    if role == "score":  # Rating (0-100)
        hits += [c for n, c in found.items() if re.fullmatch(r"(score|rating|grade)(_\d+)+", n)]
    return list(dict.fromkeys(hits))


def find_roles(columns: Sequence[str], asked: Asked, where: str, tool: bool = False) -> Roles:
    """Roles by name alone; what needs a look at the values comes later (`panels.settle`).

    tool : the columns are those that the readers of tools make
    """
    roles = _said(list(columns), asked, where, tool)
    taken = list(roles.of.values())
    free = [c for c in columns if c not in taken and not (norm(c).startswith("unnamed") or norm(c) == "column_1")]
    roles.errors = [c for c in free if norm(c.split(".")[-1]) in ERRORS]
    free = [c for c in free if c not in roles.errors]
    if asked.human and asked.human in columns:
        roles.humans = [asked.human]
        free.remove(asked.human)
    pair = {part: _usual(part, free) for part in PAIR}
    if all(pair.values()) and "score" not in roles.of:
        roles.of |= {part: str(column) for part, column in pair.items()}
        roles.errors = [c for c in roles.errors if c not in pair.values()]
    else:
        _scores(roles, free, asked, where)
    free = [c for c in free if c not in roles.used()]
    if not asked.human:
        called = set(usual("human", free))
        people = {c for c in free if HUMANS.match(norm(c)) and norm(c) not in NAMES["annotator"]} | called
        roles.humans += [c for c in free if c in people and c not in roles.humans]
        free = [c for c in free if c not in people]
    for role in ("criterion", "judge", "system", "language", "cluster", "replicate", "annotator", "model", "task"):
        hit = _usual(role, free)
        if hit and role == "model":
            role = _role_of_model(roles, hit)
        if hit and role not in roles.of:
            roles.of[role] = hit
            free.remove(hit)
    for part in TEXTS:
        hit = _usual(part, [*free, *([roles.of["task"]] if part == "prompt" and "task" in roles.of else [])])
        if hit:
            roles.texts[part] = hit
            free = [c for c in free if c != hit]
    roles.unused = free
    return roles


def _said(columns: list[str], asked: Asked, where: str, tool: bool) -> Roles:
    """The columns that the user names, and those of a tool's reader."""
    roles = Roles()
    for role in ("task", "system", "language", "judge", "score", "criterion", "cluster", "replicate"):
        said = asked.by if role == "language" and asked.by else getattr(asked, role)
        if said and not (role == "replicate" and said in ("row", "rows")):
            roles.of[role] = find(said, columns, "by" if said == asked.by else role, where)
        exact = "metric" if role == "criterion" else role
        taken = [getattr(asked, r, None) for r in (*NAMES, "by")]
        if tool and not said and exact in columns and exact not in taken:
            roles.of[role] = exact
    if asked.by and asked.language:
        raise UsageError("--by and --language name the same thing: what judges are compared by. Give one.")
    taken = list(roles.of.values())
    if len(set(taken)) < len(taken):
        twice = next(c for c in taken if taken.count(c) > 1)
        raise UsageError(f"The column {name(twice)} is named for two roles. Name another column for one of them.")
    return roles


def _usual(role: str, columns: Iterable[str]) -> str | None:
    return next(iter(usual(role, columns)), None)


def _role_of_model(roles: Roles, column: str) -> str:
    """`model` beside a judge is the system; alone, or beside a system, it judges."""
    about_judge = "score" in roles.of and norm(roles.of["score"]).startswith(("judge", "llm", "grader"))
    role = "judge" if "judge" not in roles.of and ("system" in roles.of or not about_judge) else "system"
    if role == "judge" and "system" not in roles.of:
        roles.notes.append(f"{name(column)} is read as the judge. If it is what is judged: --system {shell(column)}.")
    return role


def find(said: str, columns: Sequence[str], option: str, where: str) -> str:
    """The column that the user names; case does not matter where one fits."""
    if said in columns:
        return said
    close = [c for c in columns if c.strip().lower() == said.strip().lower()]
    if len(close) == 1:
        return close[0]
    raise UsageError(f"{where} has no column {name(said)} (--{option}). Its columns: {names(columns, 20)}.")


def _scores(roles: Roles, free: list[str], asked: Asked, where: str) -> None:
    if "score" in roles.of or (asked.criteria and all(c in free for c in asked.criteria)):
        return
    strong, weak = usual("score", free), usual("weak score", free)
    humans = [c for c in usual("human", free) if c not in strong]
    hits = strong or [c for c in weak if c not in humans]
    if not strong and len(hits) > 1 and norm(hits[-1]) == "label" and not humans:
        hits = hits[:-1]
    if len(hits) > 1:
        flags = " or ".join(f"--score {shell(c)}" for c in hits[:4])
        several = "two" if len(hits) == 2 else "several"
        raise PanelError(f"{where} has {several} columns that could be the score: {names(hits)}. Say which: {flags}.")
    if hits:
        roles.of["score"] = hits[0]
        label = next((c for c in free if norm(c) == "label" and c != hits[0]), None)
        if label and not humans and not asked.human:
            roles.humans.append(label)


# --- names of score columns ---


@cache
def _languages() -> tuple[frozenset[str], frozenset[str]]:
    listed = Path(__file__).with_name("languages.txt").read_text(encoding="ascii").split()
    words = [word.split(":") for word in listed]
    return frozenset(w[-1] for w in words), frozenset(w[0] for w in words if len(w) > 1)


def is_language(text: str) -> bool:
    """Whether a text is the code, locale or English name of a language.

    >>> [is_language(t) for t in ("en", "pt-BR", "zho_Hans", "German", "Chinese (Simplified)", "gpt-4")]
    [True, True, True, True, True, False]
    """
    plain = re.sub(r"\s*\(.*\)$", "", text.strip()).lower()
    code = re.fullmatch(r"([a-z]{2,3})(?:[-_][a-z]{4})?(?:[-_](?:[a-z]{2}|[0-9]{3}))?", plain)
    codes, aliases = _languages()
    return plain in aliases or (code is not None and (code[1] in codes or code[1] in aliases))


def spread(columns: Sequence[str], axis: str, with_language: bool) -> dict[str, dict[str, str]]:
    """What the names of score columns say: the judge, or the language, or both (`gpt-4o_de`)."""
    core = strip_words(columns)
    if with_language and len(columns) > 1:
        if all(is_language(c) for c in core.values()):
            return {column: {"language": core[column]} for column in columns}
        for separator in ("__", "::", "/", "|", ":", ".", "_", "-", " "):
            for side in (0, 1):
                cuts = {n: (c.split(separator, 1) if side == 0 else c.rsplit(separator, 1)) for n, c in core.items()}
                if any(len(p) != 2 or not all(p) for p in cuts.values()):
                    continue
                judges, tongues = {p[1 - side] for p in cuts.values()}, {p[side] for p in cuts.values()}
                enough = len(tongues) > 1 and len(columns) >= len(judges) * len(tongues) / 2
                if enough and all(map(is_language, tongues)):
                    short = strip_words(sorted(judges))
                    return {n: {"language": p[side], axis: short[p[1 - side]]} for n, p in cuts.items()}
    return {column: {axis: core[column]} for column in columns}


def strip_words(columns: Sequence[str]) -> dict[str, str]:
    """Names without the words for scores that all of them begin or end with.

    >>> strip_words(["score_gpt-4o", "score_claude"]), strip_words(["judge_label"])
    ({'score_gpt-4o': 'gpt-4o', 'score_claude': 'claude'}, {'judge_label': 'judge'})
    """
    out = {c: c for c in columns}
    while True:
        parts = {c: re.split(r"([_\-./:| ]+)", n) for c, n in out.items()}
        if any(len(p) < 3 for p in parts.values()):
            return out
        fronts, backs = ({p[i].lower() for p in parts.values()} for i in (0, -1))
        if len(backs) == 1 and backs <= SCORE_WORDS:
            out = {c: "".join(p[:-2]) for c, p in parts.items()}
        elif len(fronts) == 1 and fronts <= SCORE_WORDS:
            out = {c: "".join(p[2:]) for c, p in parts.items()}
        else:
            return out


def is_human(label: str) -> bool:
    """Whether a judge is called as people are."""
    return bool(HUMANS.match(norm(label)))


def summaries(labels: Iterable[str]) -> list[str]:
    """Labels of rows that summarise the others."""
    labels = list(labels)
    found = [x for x in labels if norm(x) in SUMMARY]
    return found if len(found) < len(labels) else []


def spellings(axis: str, labels: Sequence[str], times: Sequence[int] = ()) -> dict[str, str]:
    """Labels that may be another spelling of one: other -> the one that is kept. 3.0 is 3, openai/gpt-4o is gpt-4o."""

    def key(label: str) -> str:
        import unicodedata

        if axis == "task":
            return re.sub(r"^(-?\d+)\.0+$", r"\1", label)
        plain = unicodedata.normalize("NFC", label).casefold()
        plain = re.sub(r"^(-?\d+)\.0+$", r"\1", re.sub(r"[\s_\u200b]+", " ", plain).strip())
        return plain.rsplit("/", 1)[-1] if axis in ("judge", "system") else plain

    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(key(label), []).append(label)
    often = dict(zip(labels, times, strict=False))
    out: dict[str, str] = {}
    for group in groups.values():
        if len(group) > 1:
            kept = min(group, key=lambda x: ("/" in x, ".0" in x, -often.get(x, 0), x))
            out |= {x: kept for x in group if x != kept}
    return out


def natural(label: str) -> tuple[object, ...]:
    """The order of labels: q2 before q10.

    >>> sorted(["q10", "q2", "Q1", "q"], key=natural)
    ['q', 'Q1', 'q2', 'q10']
    """
    parts = re.split(r"(\d{1,18})", label.casefold())
    return tuple((i % 2, int(p) if i % 2 else p) for i, p in enumerate(parts)), label
