"""Put the output of `polyjudge demo` and its heatmap into the README."""

import re
import subprocess
import sys
from pathlib import Path

import polyjudge as pj
from polyjudge.report import report_of
from polyjudge.report.charts import draw
from polyjudge.report.export import save_chart

README = Path(__file__).parents[1] / "README.md"

done = subprocess.run([sys.executable, "-m", "polyjudge", "demo"], capture_output=True, text=True, check=True)
lines = [line.rstrip() for line in done.stdout.strip().splitlines()]
block = "<!-- demo: begin -->\n```text\n" + "\n".join(lines) + "\n```\n<!-- demo: end -->"
text = README.read_text("utf-8")
README.write_text(re.sub(r"<!-- demo: begin -->.*<!-- demo: end -->", lambda _: block, text, flags=re.DOTALL), "utf-8")
charts = {chart.name: chart for chart in report_of(pj.audit(pj.sample_panel())).charts}
save_chart(draw(charts["heatmap"])[0], Path(__file__).with_name("heatmap.svg"))
