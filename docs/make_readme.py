"""Put the output of `polyjudge demo` into the README: findings, ranks, interaction, held-out gain, planted truth."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
WANTED = ("Audit of", "Findings", "Ranks of", "Interaction", "Held out", "How close")

done = subprocess.run([sys.executable, "-m", "polyjudge", "demo"], capture_output=True, text=True, check=True)
sections = re.split(r"\n\n(?=\S)", done.stdout.strip())
lines = [line.rstrip() for s in sections if s.startswith(WANTED) for line in [*s.splitlines(), "..."]]
block = "<!-- demo: begin -->\n```text\n" + "\n".join(lines[:-1]) + "\n```\n<!-- demo: end -->"
text = README.read_text("utf-8")
README.write_text(re.sub(r"<!-- demo: begin -->.*<!-- demo: end -->", lambda _: block, text, flags=re.DOTALL), "utf-8")
