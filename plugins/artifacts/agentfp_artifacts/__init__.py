"""Results that are too large for a conversation are kept in a store, and the model gets a ticket."""

from agentfp_artifacts.plugin import Artifacts, Kept, scope_of
from agentfp_artifacts.scoped import ScopedArtifacts
from agentfp_artifacts.stores.file import FileStore, file_artifacts
from agentfp_artifacts.stores.memory import MemoryStore, memory_artifacts
from agentfp_artifacts.stores.s3 import S3Store, s3_artifacts
from agentfp_artifacts.stores.sqlite import SQLiteStore, sqlite_artifacts
from agentfp_artifacts.wants import Wants

__all__ = [
    "Artifacts",
    "FileStore",
    "Kept",
    "MemoryStore",
    "S3Store",
    "SQLiteStore",
    "ScopedArtifacts",
    "Wants",
    "file_artifacts",
    "memory_artifacts",
    "s3_artifacts",
    "scope_of",
    "sqlite_artifacts",
]
