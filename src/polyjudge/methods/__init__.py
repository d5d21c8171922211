"""The methods that `compare` sets side by side, each one function of one signature, in a registry."""

from polyjudge.methods import btl, consensus  # registers their methods
from polyjudge.methods.base import REGISTRY, Block, Method, find_methods, method

__all__ = ["REGISTRY", "Block", "Method", "btl", "consensus", "find_methods", "method"]
