"""Results that are too large for a conversation are kept in a store, and the model gets a ticket."""

from agentfp_artifacts.stores.file import FileStore, file_artifacts
from agentfp_artifacts.stores.memory import MemoryStore, memory_artifacts
from agentfp_artifacts.stores.s3 import S3Store, s3_artifacts
from agentfp_artifacts.stores.sqlite import SQLiteStore, sqlite_artifacts

__all__ = [
    "FileStore",
    "MemoryStore",
    "S3Store",
    "SQLiteStore",
    "file_artifacts",
    "memory_artifacts",
    "s3_artifacts",
    "sqlite_artifacts",
]
