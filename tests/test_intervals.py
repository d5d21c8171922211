"""Every interval that is printed has a row of validation that holds it, or a reason why it has none."""

from __future__ import annotations

from validation.__main__ import scenarios
from validation.intervals import find_places, read_entries


def test_every_printed_interval_has_its_row() -> None:
    missing = find_places() - {entry.place for entry in read_entries()}
    assert not missing, f"Add to validation/intervals.csv which row holds these: {sorted(missing)}"


def test_no_entry_is_left_of_what_is_gone() -> None:
    gone = {entry.place for entry in read_entries()} - find_places()
    assert not gone, f"Take out of validation/intervals.csv: {sorted(gone)}"


def test_rows_exist_and_what_has_none_says_why() -> None:
    known = {row["id"].partition(".")[0] for row in scenarios()}
    entries = read_entries()
    assert len({entry.place for entry in entries}) == len(entries)
    for entry in entries:
        assert entry.what, entry
        assert entry.rows, entry
        if entry.rows not in (("shown",), ("none",)):
            assert set(entry.rows) <= known, entry


def test_a_new_interval_is_found(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "answers").mkdir()
    code = 'def say(x):\n    return ci(*x)\n\n\ndef make(x):\n    return {"new_low": x, "lower": x}\n'
    (tmp_path / "answers" / "new.py").write_text(code)
    monkeypatch.setattr("validation.intervals.SOURCE", tmp_path)
    assert {(place.module, place.name) for place in find_places()} == {
        ("answers/new.py", n) for n in ("say()", "new_low")
    }
