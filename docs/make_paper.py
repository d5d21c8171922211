"""Write the map of docs/paper.md and the README's rows on the paper, from what `paper reproduce` computes.

python docs/make_paper.py run_level_scores.csv instances.jsonl human_anchor_sample.csv [README_ROWS.md]
"""

# ruff: noqa: E501
from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from polyjudge.paper.ledger import reproduce

ROOT = Path(__file__).parents[1]
MAP = """
Eq. 1, Eq. 2 | R2 of the full and the simplified model | cbc.fit | cbc:test_fit | fit > r2_full; fit > r2_simplified
Def. 1, Table 1 | pairs of judges that reverse | cbc.reversals | cbc:test_reversals | rank_reversal > reversing_pairs
Prop. 1, Eq. 3, Figure 1 | beta^, GPT-4o in Spanish | cbc.interaction | cbc:test_interaction_and_calibration | beta_hat > Spanish > GPT-4o
Step 3, Figures 2, 3 | scores less beta^ | cbc.calibrate | cbc:test_identities |
Prop. 2, Eq. 4, Eq. 5 | bound and radius; tasks for half of the largest cell | cbc.radius | cbc:test_proposition_2_on_drawn_noise | bound > radius; bound > tasks_for_half_of_max_beta
Prop. 2, constant | (1 - 1/m)(1 - 1/k) | cbc.variance_constant | cbc:test_proposition_2_on_drawn_noise |
Prop. 3, Figure 4, Table 7 | consistency: error at 10 and 55 tasks | paper.protocols.ablate_tasks | paper_protocols:test_task_subsets_stay_inside | ablation_tasks > mean_abs_beta_error > 0; ablation_tasks > mean_abs_beta_error > 4
Prop. 4 | no bias from gamma(t, l) | cbc.interaction | cbc:test_identities |
Table 2 | held-out tau, raw and CBC | cbc.held_out | cbc:test_held_out_protocols | held_out > methods > raw > 0; held_out > methods > cbc > 0
Table 2, baselines | ComBat-EB; z-score | calibrate.baselines.METHODS | golden:test_held_out_tau | held_out > methods > combat-eb > 0; held_out > methods > z-score > 0
Section 5.3 | language left out, raw and zero-shot | cbc.leave_one_language_out | cbc:test_held_out_protocols | unseen_language > raw > overall; unseen_language > zero_shot > overall
Table 3 | oracle selection, raw and CBC | cbc.decisions | cbc:test_held_out_protocols | decisions > raw > accuracy; decisions > cbc > accuracy
Table 4 | M-RewardBench, raw, CBC, BTL | paper.mrewardbench.table_4 | mrewardbench_panel:test_a_whole_panel | m held_out > raw > 0; m held_out > cbc > 0; m held_out > judge_aware_btl > 0
Table 5 | agreement with people, raw and CBC | paper.mrewardbench.anchor | mrewardbench_panel:test_the_gain_is_rounding | m human_anchor > overall > raw_agreement; m human_anchor > overall > cbc_agreement
Table 6 | tau with 2 and 6 judges | paper.protocols.ablate_judges | paper_protocols:test_all_judges_are_the_plain_protocol | ablation_judges > tau > 0; ablation_judges > tau > 4
Table 8 | calls | paper.devai.requirements_behind | claims:test_requirements_read_off_scores | cost > three_language_extension > 0; cost > mrewardbench_panel > 0
Section 6 | information, nats | paper.protocols.information | paper_protocols:test_information_by_loops | information > debiased
Appendix B.3 | operational and semantic requirements | paper.devai.read_types | claims:test_types_of_requirements | requirement_types > operational > requirements; requirement_types > semantic > requirements
Appendix C | judge-aware BTL | paper.protocols.btl | paper_protocols:test_strata_against_a_general_optimiser |
Appendix D | Dawid-Skene; weighted CBC | calibrate.baselines.dawid_skene | golden:test_held_out_tau | held_out > methods > dawid-skene > 0; held_out > methods > cbc-weighted > 0
"""
README = """
Pairs of judges, of 15, that reverse between languages | rank_reversal > reversing_pairs | paper reproduce devai --data FILE
Held-out rank consistency, raw and after CBC | held_out > methods > raw > 0; held_out > methods > cbc > 0 | paper reproduce devai --data FILE
Choices that agree with the model's own oracle, raw and CBC | decisions > raw > accuracy; decisions > cbc > accuracy | paper reproduce devai --data FILE
A language left out, raw and zero-shot | unseen_language > raw > overall; unseen_language > zero_shot > overall | paper reproduce devai --data FILE
Radius of Prop. 2, in points | bound > radius | paper reproduce devai --data FILE
Agreement with people, raw and CBC (retracted by its authors) | m human_anchor > overall > raw_agreement; m human_anchor > overall > cbc_agreement | paper reproduce mrewardbench --anchor FILE
"""


def _here(printed: str, value: Any) -> str:
    """A computed value with one digit more than the printed one."""
    if value is None or isinstance(value, str):
        return value or ""
    decimals = len(printed.partition(".")[2])
    return f"{value:.{decimals + 1}f}" if decimals else f"{value:,.0f}"


def main() -> None:
    """Compute, and write both."""
    data, instances, anchor, *rows = map(Path, sys.argv[1:])
    claims = reproduce("devai", data=data, instances=instances).claims.set_index("key")
    made = reproduce("mrewardbench", anchor=anchor)
    assert made.anchor is not None
    other, sign = made.claims.set_index("key"), made.anchor.set_index("language").loc["all"]
    ties = f" (bare signs); {sign['raw'] / sign['rows']:.3f}; {sign['cbc'] / sign['rows']:.3f} (ties as ties)"

    def values(keys: str) -> tuple[str, str]:
        found = [(other if k.startswith("m ") else claims).loc[k.removeprefix("m ")] for k in keys.split("; ") if k]
        here = [_here(row["printed"], row["computed"]) for row in found]
        known = "; ".join(here) if all(here) else "needs their panel"
        known += ties if "human_anchor" in keys else ""
        return "; ".join(row["printed"] for row in found), known

    out = ["| the paper | says | function | test | published | here |", "|---|---|---|---|---|---|"]
    for line in MAP.strip().splitlines():
        place, what, function, test, keys = (x.strip() for x in (line + " ").split("|"))
        module, _, name = function.rpartition(".")
        getattr(import_module(f"polyjudge.{module}"), name)
        file, _, case = test.partition(":")
        assert f"def {case}(" in next((ROOT / "tests").rglob(f"test_{file}.py")).read_text(), test
        cells = [place, what, f"`{function}`", f"`{case}`", *(values(keys) if keys else ("", ""))]
        out.append(f"| {' | '.join(cells)} |")
    page = ROOT / "docs" / "paper.md"
    block = "<!-- map: begin -->\n" + "\n".join(out) + "\n<!-- map: end -->"
    page.write_text(re.sub(r"<!-- map: begin -->.*<!-- map: end -->", lambda _: block, page.read_text(), flags=re.S))
    if rows:
        said = ["| claim of the paper | published | computed here | command |", "|---|---|---|---|"]
        for line in README.strip().splitlines():
            what, keys, command = (x.strip() for x in line.split("|"))
            said.append(f"| {what} | {' | '.join(values(keys))} | `polyjudge {command}` |")
        rows[0].write_text("\n".join(said) + "\n")


if __name__ == "__main__":
    main()
