"""ragas results (`result.to_pandas()` saved as CSV, JSON lines or Parquet): a table whose metrics are columns."""

from __future__ import annotations

from collections.abc import Iterable

from polyjudge.second.read.formats.names import words

METRICS = words(
    "faithfulness answer_relevancy answer_correctness answer_similarity semantic_similarity context_precision "
    "context_recall context_utilization context_entity_recall context_relevancy factual_correctness noise_sensitivity "
    "noise_sensitivity_relevant response_relevancy nv_accuracy nv_context_relevance nv_response_groundedness "
    "bleu_score rouge_score llm_context_precision_with_reference aspect_critic rubrics_score"
)
"""Names that are metrics and no judges."""


def fits(names: Iterable[str]) -> bool:
    """A table with ragas' own columns."""
    names = set(names)
    return {"user_input", "response"} <= names or {"question", "answer", "contexts"} <= names


def metrics(names: Iterable[str]) -> list[str]:
    """The metrics among the names of columns."""
    return [n for n in names if n.split("(")[0].strip() in METRICS]
