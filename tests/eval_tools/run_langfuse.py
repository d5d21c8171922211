"""Scores as Langfuse's client serialises them, in the answer of its API.

python run_langfuse.py FOLDER
"""

import json
from datetime import UTC, datetime

import planted
from langfuse.api import Score_Numeric

FOLDER = planted.target()
NOW = datetime(2025, 1, 1, tzinfo=UTC)
data = [
    json.loads(
        Score_Numeric(
            id="-".join((*item, judge)),
            trace_id="-".join(item),
            name=judge,
            source="EVAL",
            timestamp=NOW,
            created_at=NOW,
            updated_at=NOW,
            metadata=dict(zip(("task", "system", "language"), item, strict=True)),
            environment="default",
            data_type="NUMERIC",
            value=planted.score(*item, judge) / 10,
        ).json()
    )
    for item in planted.items()
    for judge in planted.JUDGES
]
meta = {"page": 1, "limit": 50, "totalItems": len(data), "totalPages": 1}
(FOLDER / "scores.json").write_text(json.dumps({"data": data, "meta": meta}), encoding="utf-8")
