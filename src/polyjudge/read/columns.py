"""Which column holds what: by a short list of usual names, and by what the user says (DESIGN, Reading)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.text import name, names, shell

NAMES = {
    "task": "task_id question_id item_id prompt_id example_id sample_id case_id test_id segment_id seg_id instance_id "
            "query_id record_id instruction_id problem_id input_id source_id qid id idx task item segment instance "
            "example sample case question query prompt instruction input problem source doc_id",
    "system": "system candidate generator system_id candidate_id generator_id system_name candidate_name system_model "
              "candidate_model generator_model model_under_test framework team evaluated_model target_model "
              "response_model answer_model submission participant agent assistant",
    "judge": "judge grader evaluator scorer critic rater autorater reviewer judge_model grader_model evaluator_model "
             "judge_name grader_name evaluator_name rater_name judge_id evaluator_id rater_id judge_llm llm_judge "
             "evaluation_model backbone",
    "model": "model model_name model_id llm",
    "language": "language lang language_code lang_code language_id lang_id language_name lang_name language_pair "
                "lang_pair locale lp target_language target_lang tgt_lang prompt_language response_language",
    "score": "score rating grade points mark judge_score llm_score overall_score final_score judge_rating final_rating",
    "weak score": "judge_label judge_verdict judgment judgement value correct is_correct passed pass verdict label "
                  "result overall quality success outcome",
    "annotator": "annotator annotator_id annotator_name labeler labeller human_id expert_id",
    "criterion": "criterion criteria aspect dimension metric metric_name",
    "cluster": "cluster cluster_id",
    "replicate": "replicate repeat rep run run_id epoch",
    "prompt": "prompt question input instruction query source user_input",
    "response": "response answer output completion translation hypothesis prediction generation model_output "
                "actual_output mt response_text answer_text",
    "reason": "reason explanation rationale comment justification feedback judge_reason",
    "winner": "winner preference preferred choice verdict outcome",
    "first": "model_a model_a_name system_a candidate_a generator_a model_1 system_1 candidate_1 generator_1",
    "second": "model_b model_b_name system_b candidate_b generator_b model_2 system_2 candidate_2 generator_2",
}  # fmt: skip
"""Usual names of the roles; the first that is there is taken. Case, spaces and punctuation do not matter."""
CRITERIA = re.compile(
    "fluency|adequacy|accuracy|coherence|consistency|relevanc[ey]|helpfulness|correctness|completeness|tone|clarity|style|"
    "faithfulness|factuality|groundedness|conciseness|creativity|depth|detail|safety|harmlessness|honesty|grammar|"
    "readability|informativeness|usefulness|truthfulness|answer_relevancy|context_precision"
)
"""Names of columns that are criteria, and no judges."""
MEANS = "mean|average|avg|total|median|sum|overall|all|grand|macro|micro|aggregated?"
SUMMARY = re.compile(
    f"(?=.*({MEANS}|ensemble|majority|combined|consensus|final))"
    f"(({MEANS}|ensemble|majority|maj|combined|consensus|final|weighted|vote|panel|points|scores?|ratings?|grade|judges?|of)(_|$))+"
)
"""Names of columns and judges that summarise the others; `MEANS` of tasks, systems and languages."""
SPREADS = re.compile("(std|sd|se|var|min|max|stdev|std_dev|minimum|maximum|n|count)")
"""Names of tasks beside a mean."""
SCORE_WORDS = "(scores?|ratings?|grades?|value|points|label|judge|judgment|by|feedback)"
TEXTS = ("prompt", "response", "reason")
PAIR = ("winner", "first", "second")
ERRORS = re.compile(
    r"((judge|score|parse|is|has|json|http)_)?(status|status_code|state|errors?|errored|error_(message|msg|code)|"
    r"failed|failure|exception|ok|"
    r"valid(_json|_score)?|parsed|timed_out|refused|skipped)|parse_success"
)
"""Columns by which a row says that its score stands for nothing."""
NO_SCORE = re.compile(
    r"(^|_)(id|idx|index|no|nr|num|number|len|length|tokens?|chars?|words?|count|n|cost|price|usd|latency|time|times|"
    r"timestamp|tstamp|seconds?|ms|duration|date|day|month|year|hour|seed|split|fold|difficulty|level|weight|temperature|"
    r"version|position|pos|order|rank|page|turns?|round|step|threshold|std|stdev|stddev|variance|sd|var|ci|se|k|sample|samples|topp|topk|age|size|offset|start|end|line|"
    r"row|column|is|has|complexity|priority|hops|batch|group|section|tier|attempts?|retries|agreement|consensus|kappa|confidence|prob|logprob|probability|entropy|perplexity|unnamed)(_|$|\d)|"
    r"^(n|num|max|min|is|has)_|^(score_)?(max|min)$"
)
"""Names of columns that are no judge, unless the user says so."""
HUMANS = re.compile(
    r"(?=(.*_)?(human|annotat|people))((humans?|annotators?|annotations?|people|experts?|\d+|[a-z]|mean|avg|average|"
    r"labels?|scores?|ratings?|grades?|judge?ments?|verdicts?|pass|correct|correctness|quality|overall|preference|gold|majority|individual|"
    r"judge)(_|$))+|(human|annotator)\d+"
)
"""Columns and judges with such a name are people: what they say are labels."""
COULD_BE_PEOPLE = re.compile(
    r"((experts?|gold|ground_?truth|truth|expected|reference|y_true|labels?|true|target|answer|key|score|rating|"
    r"verdict|\d+)(_|$))*(experts?|gold|ground_?truth|truth|expected|reference|y_true|labels?)((_|$)"
    r"(\d+|score|rating|verdict|labels?|answer|grade|value))*|(humans?|annotators?|people)_.+"
)
"""Columns with such a name may be people's labels, or an answer key: only the user can tell."""


@lru_cache(maxsize=65536)
def norm(text: str) -> str:
    """A name as names are compared."""
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(text).strip())
    return re.sub(r"\W+", "_", text.lower()).strip("_")


LISTS = ("languages", "judges", "systems", "criteria", "drop", "human_judges")
OPTIONS = (
    "task", "system", "language", "judge", "score", "human", "criterion", "cluster", "replicate", "by", "languages",
    "judges", "systems", "criteria", "range", "drop", "engine", "verdict", "favours", "human_judges",
)  # fmt: skip


class Asked(SimpleNamespace):
    """What the user said about the columns and what to read of them."""

    def __init__(self, **said: Any) -> None:
        super().__init__(**dict.fromkeys(OPTIONS) | dict.fromkeys(LISTS, ()) | said)

    def words(self) -> tuple[str, ...]:
        """The options that were given, as words of the command line."""
        out: list[str] = []
        for option, value in vars(self).items():
            if value:
                listed = f"{value[0]:g}:{value[1]:g}" if option == "range" else ",".join(value)
                out += [f"--{option.replace('_', '-')}", value if isinstance(value, str) else listed]
        return tuple(out)


@dataclass
class Roles:
    """Column of each role. `wide`: score columns -> the labels that their names hold, by axis. `humans`: labels."""

    of: dict[str, str] = field(default_factory=dict)
    wide: dict[str, dict[str, str]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    humans: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)

    def used(self) -> set[str]:
        """Columns that hold a role."""
        return {*self.of.values(), *self.wide, *self.errors, *self.humans, *self.texts.values()}


def usual(role: str, columns: Iterable[str]) -> list[str]:
    """Columns with a usual name of a role, the most usual first. A dotted name counts by its last parts; for a score
    where no other has the same: gpt.score and claude.score are scores of two judges."""
    found: dict[str, list[str]] = {}
    for column in columns:
        parts = column.split(".")
        for short in {norm("_".join(parts)), norm(parts[-1]), norm("_".join(parts[-2:]))}:
            found.setdefault(short, []).append(column)
    if role == "human":
        hits = [c for n, c in found.items() if HUMANS.fullmatch(n) and n not in ("annotator", "annotators")]
    else:
        plain = {n.replace("_", ""): c for n, c in reversed(found.items())}  # taskid
        hits = [plain[n] for n in NAMES[role].replace("_", "").split() if n in plain]
    if role in ("score", "weak score"):
        ranged = [c for n, c in found.items() if re.fullmatch(r"(score|rating|grade)(_\d+)+", n)]
        hits += ranged if len(ranged) == 1 else []  # Rating (0-100)
        hits = [c for c in hits if len(c) == 1 or not all("." in x for x in c)]
    elif role != "human":
        hits = [c[:1] for c in hits]
    return list(dict.fromkeys(x for c in hits for x in c))


def find_roles(columns: Sequence[str], asked: Asked, where: str, notes: list[str], tool: bool = False) -> Roles:
    """Roles by name alone (in a tool's table, first those that its reader made); `shape.settle` looks at values."""
    roles = _said(columns, asked, where, tool)
    codes = _languages_with_id(columns)
    free = [
        c
        for c in columns
        if c not in roles.of.values() and c not in codes and not re.match(r"unnamed|column_1$", norm(c))
    ]
    roles.errors = [c for c in free if ERRORS.fullmatch(norm(c.split(".")[-1]))]
    people = [c for c in free if c == asked.human] if asked.human else usual("human", free)
    roles.humans = [c for c in people if not re.search("(^|_)(mean|avg|average)(_|$)", norm(c))] or people
    free = [c for c in free if c not in {*roles.errors, *people}]
    pair = {part: next(iter(usual(part, free)), "") for part in PAIR}
    if pair["first"] and pair["second"] and "score" not in roles.of:
        if not pair["winner"]:
            raise PanelError(
                f"{where} has pairs of systems ({name(pair['first'])}, {name(pair['second'])}) and no column `winner`, "
                "which says model_a, model_b or tie. Make it; or name the column of scores: --score COLUMN."
            )
        roles.of |= pair
    elif "score" not in roles.of and not (asked.criteria and set(asked.criteria) <= set(columns)):
        _score(roles, free, asked, where, notes)
    free = [c for c in free if c not in roles.used()]
    for role in ("criterion", "judge", "system", "language", "cluster", "replicate", "annotator", "model", "task"):
        hits = usual(role, free)
        if hits and role == "model":
            role = _role_of_model(roles, hits[0], notes, bool(usual("response", free)))
        if hits and role not in roles.of:
            roles.of[role] = hits[0]
            free.remove(hits[0])
    for part in TEXTS:
        hits = usual(part, [*free, *([roles.of["task"]] if part == "prompt" and "task" in roles.of else [])])
        if hits:
            roles.texts[part] = hits[0]
            free = [c for c in free if c != hits[0]]
    roles.unused = [*free, *codes]
    counted = [[str(i + first) for i in range(len(columns))] for first in (0, 1)]
    if not roles.of and any(re.fullmatch(r"-?\d+([.,]\d+)?", c) for c in columns) and list(columns) not in counted:
        raise PanelError(f"{where} seems to have no header: its first line is {names(columns, 8)}. Put one above it.")
    return roles


def _languages_with_id(columns: Sequence[str]) -> list[str]:
    """Columns of languages in a table of a task and languages, where `id` is Indonesian; else none."""
    codes = [c for c in columns if is_language(c)]
    others = [c for c in columns if c not in codes]
    has_id = any(c.lower() == "id" for c in codes)
    return codes if has_id and len(codes) > 2 and len(others) <= 2 and usual("task", others) else []


def _said(columns: Sequence[str], asked: Asked, where: str, tool: bool) -> Roles:
    """The columns that the user names, and those of a tool's reader."""
    if asked.by and asked.language:
        raise UsageError("--by and --language name the same thing: what judges are compared by. Give one.")
    roles = Roles()
    for role in ("task", "system", "language", "judge", "score", "criterion", "cluster", "replicate"):
        option = "by" if role == "language" and asked.by else role
        said, made = getattr(asked, option), "metric" if role == "criterion" else role
        if said in roles.of.values():
            raise UsageError(f"The column {name(said)} is named for two roles. Name another column for one of them.")
        if said in columns:
            roles.of[role] = said
        elif said and not (role == "replicate" and said in ("row", "rows")):
            listed = names(columns, 20)
            raise UsageError(f"{where} has no column {name(said)} (--{option}). Its columns: {listed}.")
        elif tool and not said and made in columns and made not in vars(asked).values():
            roles.of[role] = made
    return roles


def _role_of_model(roles: Roles, column: str, notes: list[str], answered: bool) -> str:
    """`model` beside a judge, a response, or scores that are called a judge's, is the system; else it judges."""
    about_judge = norm(roles.of.get("score", "")).startswith(("judge", "llm", "grader"))
    if "judge" in roles.of or ((about_judge or answered) and "system" not in roles.of):
        return "system"
    if "system" not in roles.of:
        notes.append(f"{name(column)} is read as the judge. If it is what is judged: --system {shell(column)}.")
    return "judge"


def _score(roles: Roles, free: list[str], asked: Asked, where: str, notes: list[str]) -> None:
    hits = usual("score", free) or usual("weak score", free)
    label = [c for c in free if norm(c) == "label"]
    if hits != label:  # beside another score it is a key, or people's
        hits = [c for c in hits if c not in label]
    if len(hits) > 1:
        flags = " or ".join(f"--score {shell(c)}" for c in hits[:8])
        raise PanelError(f"In {where} {names(hits)} could all be the score. Say which one is: {flags}.")
    if hits:
        roles.of["score"] = hits[0]
        if "calibrated" in free:  # of `polyjudge calibrate`
            notes.append(f"{name(hits[0])} is read, not the column calibrated: for that --score calibrated.")


# --- names of score columns ---


@cache
def _languages() -> dict[str, str]:
    """Codes and English names of languages -> their shortest code."""
    words = Path(__file__).with_name("languages.txt").read_text(encoding="ascii").split()
    return {word.split(":")[0]: word.split(":")[-1] for word in words}


def is_language(text: str) -> bool:
    """Whether a text is the code, locale or English name of a language."""
    plain = re.sub(r"\s*\(.*\)$", "", text.strip()).lower()
    code = re.fullmatch(r"([a-z]{2,3})(?:[-_][a-z]{4})?(?:[-_](?:[a-z]{2}|[0-9]{3}))?", plain)
    return plain in _languages() or (code is not None and code[1] in _languages())


def _part(texts: Iterable[str]) -> str | None:
    """What all of these texts are: languages, criteria or repeats."""
    texts = list(texts)
    if all(map(is_language, texts)):
        return "language"
    if {norm(text) for text in texts} == {"chosen", "rejected"}:
        return "system"
    if all(CRITERIA.fullmatch(norm(text)) for text in texts):
        return "criterion"
    repeats = all(re.fullmatch(r"(run|repeat|rep|trial|seed|attempt)_?\d+", norm(text)) for text in texts)
    return "replicate" if repeats else None


def spread(columns: Sequence[str], axis: str, with_language: bool) -> dict[str, dict[str, str]]:
    """What the names of score columns say: the judge, the language, the criterion, or two of them (`gpt-4o_de`)."""
    core = strip_words(columns)
    whole = _part(core.values()) if len(columns) > 1 else None
    if whole and (with_language or whole != "language"):
        return {column: {whole: core[column]} for column in columns}
    for separator, side in product(("__", "::", "/", "|", ":", ".", "_", "-", " "), (0, 2)):
        cuts = {c: x.rpartition(separator) if side else x.partition(separator) for c, x in core.items()}
        judges, others = ({cut[at] for cut in cuts.values()} for at in (2 - side, side))
        enough = "" not in judges and 1 < len(others) <= 2 * len(columns) / len(judges)
        part = _part(others) if enough else None
        if part and (with_language or part != "language"):
            short = strip_words(sorted(judges))
            return {c: {part: cut[side], axis: short[cut[2 - side]]} for c, cut in cuts.items()}
    return {column: {axis: core[column]} for column in columns}


def strip_words(columns: Sequence[str]) -> dict[str, str]:
    """Names without the words for scores that all of them begin or end with."""
    out = {c: re.sub(r"\s*\([\d\s.,/–-]+\)$", "", c) for c in columns}  # (1-5)
    out = out if len(set(out.values())) == len(out) and all(out.values()) else {c: c for c in columns}
    inner = {c: x.split(".", 1)[-1] for c, x in out.items()}
    if len({x.partition(".")[0] for x in out.values()}) == 1 < len(set(inner.values())) == len(columns):
        out = inner  # judges.gpt and judges.claude are fields of one record
    for pattern in (rf"(?i)([_\-./:| ]+{SCORE_WORDS})+$", rf"(?i)^({SCORE_WORDS}[_\-./:| ]+)+"):
        short = {c: re.sub(pattern, "", x) for c, x in out.items()}
        if len(set(short.values())) == len(columns) and all(short[c] != out[c] for c in columns):
            out = short
    return out


def key(axis: str, label: str) -> str:
    """A label as its spellings are compared: 3.0 is 3, openai/gpt-4o is gpt-4o, English is en."""
    plain = re.sub(r"[\u00ad\u200b-\u200d\u2060\ufeff]", "", unicodedata.normalize("NFC", label).casefold())
    plain = re.sub(r"[\s_]+", " ", plain).strip()
    if axis != "task":
        plain = re.sub(r"(?<=\w)-(?=\w)", " ", plain)  # gpt-4o is gpt_4o; -1 stays
    plain = re.sub(r"^(-?)0*(\d+)(\.0+)?$", r"\1\2", plain)
    plain = _languages().get(plain, plain) if axis == "language" else plain
    return plain.rsplit("/", 1)[-1] if axis in ("judge", "system") else plain


def spellings(axis: str, labels: Sequence[str], times: Sequence[int]) -> dict[str, str]:
    """Labels that may be another spelling of one: other -> the one that is kept."""
    often = dict(zip(labels, times, strict=True))
    kept: dict[str, str] = {}
    for label in sorted(labels, key=lambda x: ("/" in x, ".0" in x, -often.get(x, 0), x)):
        kept.setdefault(key(axis, label), label)
    return {x: kept[key(axis, x)] for x in labels if kept[key(axis, x)] != x}


def natural(label: str) -> tuple[object, ...]:
    """The order of labels: q2 before q10."""
    parts = re.split(r"(\d{1,18})", label.casefold())
    return tuple((i % 2, int(p) if i % 2 else p) for i, p in enumerate(parts)), label
