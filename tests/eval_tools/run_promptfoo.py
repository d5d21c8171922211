"""Run promptfoo with two providers as systems, and grading providers or assertions of our own as judges.

    python run_promptfoo.py FOLDER PROMPTFOO

Of the graded run one answer fails, and one that both graders cannot judge: promptfoo writes a score of 0 for those.
"""

import json
import os
import subprocess
import sys

import planted

SYSTEM = """module.exports = class {
  constructor(options) { this.name = options.config.name; }
  id() { return 'system:' + this.name; }
  async callApi(prompt, context) {
    const output = `<${context.vars.nr}|${this.name}|${context.vars.lang}>`;
    return process.env.FAILS && output === '<q3|tuned|sw>' ? { error: 'the system is down' } : { output };
  }
};
"""
JUDGE = """const scores = require('./scores.json');
module.exports = class {
  constructor(options) { this.name = options.config.name; }
  id() { return 'judge:' + this.name; }
  async callApi(prompt) {
    const found = prompt.match(/<\\w+\\|\\w+\\|\\w+>/g);
    const answer = found[found.length - 1];
    if (answer === '<q2|base|de>') return { output: 'I cannot judge this.' };
    const score = scores[answer + this.name] / 10;
    return { output: JSON.stringify({ pass: score > 0.5, score, reason: 'planted' }) };
  }
};
"""
RULE = "const scores = require('./scores.json'); module.exports = (output, context) => "
RULE += "({ pass: true, score: scores[output + context.config.name] / 10, reason: 'planted' });\n"


def config(asserts: list[dict[str, object]]) -> dict[str, object]:
    """A run over all tasks and languages, which nothing but the variable `nr` joins."""
    return {
        "prompts": ["{{text}}"],
        "providers": [{"id": "file://system.js", "label": name, "config": {"name": name}} for name in planted.SYSTEMS],
        "defaultTest": {"assert": asserts},
        "tests": [
            {"vars": {"nr": task, "lang": lang, "text": planted.question(task, lang)}}
            for task in planted.TASKS
            for lang in planted.LANGUAGES
        ],
    }


def main() -> None:
    folder = planted.target()
    for name, text in (("system.js", SYSTEM), ("judge.js", JUDGE), ("rule.js", RULE), ("scores.json", planted.table())):
        (folder / name).write_text(text)
    graders = [
        {
            "type": "llm-rubric",
            "value": "good",
            "metric": "quality",
            "provider": {"id": "file://judge.js", "label": name, "config": {"name": name}},
        }
        for name in planted.JUDGES
    ]
    rules = [
        {"type": "javascript", "value": "file://rule.js", "metric": name, "config": {"name": name}}
        for name in planted.JUDGES
    ]
    env = {
        **os.environ,
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
        "PROMPTFOO_PASS_RATE_THRESHOLD": "0",  # answers that fail are scores too, no failure of the run
    }
    for name, asserts in (("graders", graders), ("rules", rules)):
        path = folder / f"{name}.config.json"
        path.write_text(json.dumps(config(asserts)))
        out = [part for kind in ("json", "jsonl", "csv") for part in ("-o", f"{name}.{kind}")]
        command = [sys.argv[2], "eval", "-c", path.name, *out, "--no-cache", "--no-progress-bar", "--no-table"]
        own = {**env, "PROMPTFOO_CONFIG_DIR": str(folder / f"state_{name}"), "FAILS": "1" if name == "graders" else ""}
        subprocess.run(command, cwd=folder, env=own, check=True, capture_output=True, timeout=120)


main()
