"""Damage that fuzzers do to real input: fields lost, exchanged for strange values, bytes flipped, cut or repeated."""

import copy
from typing import Any

import atheris

STRANGE = (
    None,
    True,
    -1,
    10**400,
    1e308,
    "NaN",
    "",
    "x" * 1000,
    [],
    {},
    [[]],
    [None],
    "\ud800",
    "=cmd()",
    "\u202e",
    "a/../..",
)


def of_data(data: atheris.FuzzedDataProvider, real: Any) -> Any:
    """A copy of JSON-like data with up to four places changed, at any depth."""
    out = copy.deepcopy(real)
    for _ in range(data.ConsumeIntInRange(1, 4)):
        place = out
        for _ in range(data.ConsumeIntInRange(0, 4)):
            inner = _keys(place)
            below = [k for k in inner if isinstance(place[k], (dict, list))]
            if not below:
                break
            place = place[data.PickValueInList(below)]
        keys = _keys(place)
        if not keys:
            continue
        key = data.PickValueInList(keys)
        if data.ConsumeBool():
            place[key] = copy.deepcopy(data.PickValueInList(list(STRANGE)))
        elif data.ConsumeBool():
            place[key] = data.ConsumeUnicode(30)
        else:
            del place[key]
    return out


def _keys(place: Any) -> list[Any]:
    return list(place) if isinstance(place, dict) else list(range(len(place))) if isinstance(place, list) else []


def of_bytes(data: atheris.FuzzedDataProvider, real: bytes) -> bytes:
    """A copy with up to eight runs of bytes overwritten, sometimes cut."""
    out = bytearray(real)
    for _ in range(data.ConsumeIntInRange(1, 8)):
        at = data.ConsumeIntInRange(0, len(out) - 1)
        new = data.ConsumeBytes(data.ConsumeIntInRange(1, 16))
        out[at : at + len(new)] = new
    return bytes(out[: data.ConsumeIntInRange(1, len(out))]) if data.ConsumeProbability() < 0.1 else bytes(out)
