"""Put the output of `polyjudge demo` into the README."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"

done = subprocess.run([sys.executable, "-m", "polyjudge", "demo"], capture_output=True, text=True, check=True)
lines = [line.rstrip() for line in done.stdout.strip().splitlines()]
block = "<!-- demo: begin -->\n```text\n" + "\n".join(lines) + "\n```\n<!-- demo: end -->"
text = README.read_text("utf-8")
README.write_text(re.sub(r"<!-- demo: begin -->.*<!-- demo: end -->", lambda _: block, text, flags=re.DOTALL), "utf-8")
