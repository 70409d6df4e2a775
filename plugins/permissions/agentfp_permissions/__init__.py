"""Decides which tool calls may run: roles, capabilities, rules of order, and checkers of your own."""

from agentfp_permissions.calls import PastCall
from agentfp_permissions.errors import PolicyError, UnknownRoleError
from agentfp_permissions.events import PermissionChecked, PermissionHalted, PermissionRole
from agentfp_permissions.gate import Permissions
from agentfp_permissions.ledger import Check, HaltReport
from agentfp_permissions.requests import Capability, Decision, PermissionChecker, PermissionRequest
from agentfp_permissions.roles import Role, RolePolicy
from agentfp_permissions.sequence import AtMost, Forbid, OnlyAfter, SequenceRule

__all__ = [
    "AtMost",
    "Capability",
    "Check",
    "Decision",
    "Forbid",
    "HaltReport",
    "OnlyAfter",
    "PastCall",
    "PermissionChecked",
    "PermissionChecker",
    "PermissionHalted",
    "PermissionRequest",
    "PermissionRole",
    "Permissions",
    "PolicyError",
    "Role",
    "RolePolicy",
    "SequenceRule",
    "UnknownRoleError",
]
