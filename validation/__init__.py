"""polyjudge tested against known answers: panels with planted truth through the public analyses."""

from validation.scenarios import SCENARIOS, Scenario
from validation.suite import Validation, validate

__all__ = ["SCENARIOS", "Scenario", "Validation", "validate"]
