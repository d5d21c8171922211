"""The end of the demo: how close the estimate came to what was planted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyjudge.report.older.base import heading, number, say, show

if TYPE_CHECKING:
    from rich.console import Console

    from polyjudge.analyse.recovery import Recovery


def show_recovery(console: Console, result: Recovery) -> None:
    """The largest planted cells beside their estimates, and the errors over all cells."""
    heading(console, "How close the estimate came to the planted truth")
    cells = result.cells.reindex(result.cells["planted"].abs().sort_values(ascending=False).index).head(6)
    signed = {name: (lambda x: number(x, 2, sign=True)) for name in ("planted", "estimated", "error")}
    show(console, cells[["language", "judge", "planted", "estimated", "error"]], signed)
    total = len(result.cells)
    say(
        console,
        f"Root mean square error {result.root_mean_square_error:.2f} points where the planted interaction has "
        f"{result.root_mean_square_planted:.2f}; the largest error is {result.largest_error:.2f}. {result.inside} of "
        f"{total} intervals hold the planted value (at {result.level:.0%} about {result.level * total:.0f} should); "
        f"the band {'holds' if result.in_band else 'does not hold'} all {total} at once. "
        "This is one simulated panel: `polyjudge validate` repeats it over many.",
    )
