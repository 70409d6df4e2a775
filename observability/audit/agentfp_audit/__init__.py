"""A log of what an agent's runs did that cannot be changed unnoticed.

Public: :class:`Audit` (the plugin), :func:`verify_audit` and :class:`AuditVerdict` (checking, offline), :func:`explain_audit` (what a
log tells), :func:`prove_record` and :func:`verify_proof` (one record without the others), the keys of signatures, and
:func:`canonical`, the form of JSON that is hashed.
"""

from agentfp_audit.canonical import canonical
from agentfp_audit.errors import AuditError, ProofError
from agentfp_audit.explaining import RecordingDiffersError, RunAccount, explain_audit
from agentfp_audit.log import AuditLog
from agentfp_audit.plugin import Audit
from agentfp_audit.proving import AuditProof, ProofVerdict, prove_record, verify_proof
from agentfp_audit.signing import Ed25519Checker, Ed25519Signer, HmacKey, checker_of, signer_of
from agentfp_audit.verifying import AuditVerdict, verify_audit
from agentfp_audit.writer import AuditStats

__all__ = [
    "Audit",
    "AuditError",
    "AuditLog",
    "AuditProof",
    "AuditStats",
    "AuditVerdict",
    "Ed25519Checker",
    "Ed25519Signer",
    "HmacKey",
    "ProofError",
    "ProofVerdict",
    "RecordingDiffersError",
    "RunAccount",
    "canonical",
    "checker_of",
    "explain_audit",
    "prove_record",
    "signer_of",
    "verify_audit",
    "verify_proof",
]
