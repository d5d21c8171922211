"""polyjudge tested against known answers: panels with planted truth through the public analyses."""

from polyjudge.validate.scenarios import SCENARIOS, Scenario
from polyjudge.validate.suite import Validation, validate

__all__ = ["SCENARIOS", "Scenario", "Validation", "validate"]
