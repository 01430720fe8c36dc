"""Policies: who chooses a placement, from a name or from data."""

from workers.engine.policies.policy import Policy, PolicyValue
from workers.engine.policies.resolve import describe_policies, resolve_policy

__all__ = ["Policy", "PolicyValue", "describe_policies", "resolve_policy"]
