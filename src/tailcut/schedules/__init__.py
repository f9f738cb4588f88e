"""Policies that may stop an algorithm early and start another on the same instance, one per file.

Each is a `tailcut.policies.policy.Policy`, and a `ScheduleRecipe` in the catalogue.
"""

from tailcut.schedules.hazard_schedule import HazardSchedule
from tailcut.schedules.round_robin import RoundRobin

__all__ = ["HazardSchedule", "RoundRobin"]
