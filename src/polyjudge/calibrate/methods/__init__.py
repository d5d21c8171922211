"""The methods that `compare` sets side by side, each one function of one signature, in a registry."""

from polyjudge.calibrate.methods import (  # each registers its methods
    btl,
    combat,
    consensus,
    dawid_skene,
    normalise,
    slopes,
    sparse,
)
from polyjudge.calibrate.methods.base import REGISTRY, Map, Method, MethodCalibrator, find_methods, method, method_of
from polyjudge.calibrate.methods.block import Block

__all__ = [
    "ORDER",
    "REGISTRY",
    "Block",
    "Map",
    "Method",
    "MethodCalibrator",
    "btl",
    "combat",
    "consensus",
    "dawid_skene",
    "find_methods",
    "method",
    "method_of",
    "normalise",
    "slopes",
    "sparse",
]

ORDER = (
    "raw",
    "per-language norm",
    "judge-only norm",
    "z-score",
    "quantile norm",
    "ensemble",
    "combat-eb",
    "dawid-skene",
    "random control",
    "cbc",
    "cbc-weighted",
    "oracle",
)
"""The order in which tables show the methods; all others follow."""

for _name in (*ORDER, *[n for n in REGISTRY if n not in ORDER]):
    REGISTRY[_name] = REGISTRY.pop(_name)
