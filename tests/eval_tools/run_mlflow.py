"""Trace mock systems with MLflow, log what mock judges say, and export the traces as users do.

python run_mlflow.py FOLDER
"""

import os

import planted

FOLDER = planted.target()
os.environ |= {"MLFLOW_ENABLE_ASYNC_TRACE_LOGGING": "false", "MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
os.environ["MLFLOW_TRACKING_URI"] = (FOLDER / "store").as_uri()
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"

import mlflow
from mlflow.entities import AssessmentError, AssessmentSource

mlflow.set_experiment("judging")
for task, system, language in planted.items():
    with mlflow.start_span("answer") as span:
        span.set_inputs({"question": planted.question(task, language)})
        span.set_outputs(planted.answer(task, system, language))
        mlflow.update_current_trace(tags={"origin": task, "language": language, "system": system})
    for judge in planted.JUDGES:
        # One feedback is an error of the judge.
        failed = (task, system, language) == ("q2", "base", "de")
        mlflow.log_feedback(
            trace_id=span.trace_id,
            name="quality",
            source=AssessmentSource(source_type="LLM_JUDGE", source_id=judge),
            **(
                {"error": AssessmentError(error_code="RATE_LIMIT", error_message="slow down")}
                if failed
                else {"value": planted.score(task, system, language, judge) / 10}
            ),
        )
    mlflow.log_expectation(
        trace_id=span.trace_id,
        name="expected",
        value="an answer",
        source=AssessmentSource(source_type="HUMAN", source_id="annotator"),
    )

traces = mlflow.search_traces(return_type="list")
(FOLDER / "traces.jsonl").write_text("".join(trace.to_json() + "\n" for trace in traces))
frame = mlflow.search_traces()
frame.to_csv(FOLDER / "traces.csv", index=False)
frame.to_json(FOLDER / "frame.jsonl", orient="records", lines=True)
frame.drop(columns=["trace"], errors="ignore").to_json(FOLDER / "frame.json", orient="records")
