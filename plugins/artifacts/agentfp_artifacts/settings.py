"""What can be set, and what is refused."""

from __future__ import annotations

from typing import Any

import pydantic

from agentfp.artifacts import ArtifactStore
from agentfp.plugin import Plugin, nearest
from agentfp_artifacts.stores.file import file_artifacts
from agentfp_artifacts.stores.memory import memory_artifacts
from agentfp_artifacts.stores.s3 import s3_artifacts
from agentfp_artifacts.stores.sqlite import sqlite_artifacts

STORES = ("memory", "file", "sqlite", "s3")
_PLACES = {"path": ("file", "sqlite"), "bucket": ("s3",), "prefix": ("s3",)}
_LIMITS = ("ttl_s", "max_bytes_per_scope", "max_count_per_scope")


class ArtifactsSettings(Plugin.Settings):
    """Settings of the artifacts plugin."""

    store: Any = "memory"
    """Where artifacts are kept: ``memory``, ``file``, ``sqlite``, ``s3``, or a store."""
    path: str | None = None
    """Of ``file`` the folder, of ``sqlite`` the file."""
    bucket: str | None = None
    """Of ``s3``."""
    prefix: str | None = None
    """Of ``s3``: what all keys begin with."""
    ttl_s: float | None = pydantic.Field(None, gt=0, allow_inf_nan=False)
    """Seconds after which an artifact expires."""
    max_bytes_per_scope: int | None = pydantic.Field(None, gt=0)
    """Most bytes of one conversation; 32 MiB for ``memory`` where it is not set."""
    max_count_per_scope: int | None = pydantic.Field(None, gt=0)
    """Most artifacts of one conversation; 256 for ``memory`` where it is not set."""
    max_inline_chars: int | None = pydantic.Field(None, gt=0, strict=True)
    """Characters that a result may have; of a longer one the model reads a ticket. Not set: results stay as they are."""
    preview_chars: int = pydantic.Field(0, ge=0, strict=True)
    """How much of a result's beginning stands in its ticket."""
    read_bytes: int = pydantic.Field(4000, ge=64, le=1_000_000, strict=True)
    """Most bytes that the model reads of an artifact at once."""

    @pydantic.field_validator("store")
    @classmethod
    def _a_store(cls, value: Any) -> Any:
        if isinstance(value, str):
            if value not in STORES:
                raise ValueError(f"there is no store {value!r}; {nearest(value, STORES)}")
        elif isinstance(value, type) or not isinstance(value, ArtifactStore):
            raise ValueError(
                f"it is one of {', '.join(STORES)} or a store with put, head, get, delete and list, got a {type(value).__name__}"
            )
        return value

    @pydantic.model_validator(mode="after")
    def _fit(self) -> ArtifactsSettings:
        problems = []
        for name, stores in _PLACES.items():
            if getattr(self, name) is not None and self.store not in stores:
                problems.append(f"{name} is of {' and '.join(stores)}, and the store is {self._store_name()}")
        if self.store in ("file", "sqlite") and not (self.path or "").strip():
            problems.append(f"store {self.store!r} needs a path")
        if self.store == "s3" and not (self.bucket or "").strip():
            problems.append("store 's3' needs a bucket")
        if not isinstance(self.store, str):
            problems += [f"{name} is set on the store itself" for name in _LIMITS if getattr(self, name) is not None]
        if self.preview_chars and self.max_inline_chars is None:
            problems.append("preview_chars needs max_inline_chars, without which there are no tickets")
        elif self.max_inline_chars is not None and self.preview_chars > self.max_inline_chars:
            problems.append("preview_chars is more than max_inline_chars")
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def _store_name(self) -> str:
        return repr(self.store) if isinstance(self.store, str) else "one of your own"

    def open_store(self) -> ArtifactStore:
        """The store that is set; a new one where only its name is."""
        if not isinstance(self.store, str):
            store: ArtifactStore = self.store
            return store
        limits: dict[str, Any] = {name: getattr(self, name) for name in _LIMITS if getattr(self, name) is not None}
        if self.store == "memory":
            return memory_artifacts(**limits)
        if self.store == "s3":
            return s3_artifacts(self.bucket or "", prefix=self.prefix or "", **limits)
        return (file_artifacts if self.store == "file" else sqlite_artifacts)(self.path or "", **limits)
