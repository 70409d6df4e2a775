"""Says at import whether the framework that is installed has the interface that an adapter was written for."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from typing import ClassVar

from agentfp import AgentfpError


class AdapterVersionError(AgentfpError, ImportError):
    """A framework is missing, or of a version whose interface is another one than the adapter needs."""

    code: ClassVar[str] = "ERR_ADAPTER_VERSION"


@dataclass(frozen=True, slots=True)
class Needs:
    """What an adapter needs of a framework.

    Args:
        distribution: its name on the package index.
        versions: those that the adapter was written for.
        extra: the extra that installs them.
    """

    distribution: str
    versions: str
    extra: str

    def unmet(self, what: object) -> AdapterVersionError:
        """The error that says what is needed, what was found and what to install.

        Args:
            what: what is missing, or the error that an import ended with.
        """
        install = f"pip install -U 'agentfp-adapters[{self.extra}]'"
        try:
            found = importlib.metadata.version(self.distribution)
        except importlib.metadata.PackageNotFoundError:
            msg = f"{self.distribution} is not installed, and this adapter needs {self.versions} of it: {install}"
            return AdapterVersionError(msg, name=self.distribution)
        needed = f"this adapter needs {self.distribution} {self.versions}; found {found}, which does not fit ({what})"
        return AdapterVersionError(f"{needed}. {install} brings one that does", name=self.distribution)

    def check(self, owner: type, *names: str) -> None:
        """Check that a class has the methods and fields that the adapter uses.

        Args:
            owner: the class.
            *names: what it must have.

        Raises:
            AdapterVersionError: it lacks one.
        """
        fields = getattr(owner, "__dataclass_fields__", {})
        missing = [name for name in names if name not in fields and not hasattr(owner, name)]
        if missing:
            raise self.unmet(f"{owner.__name__} lacks {', '.join(missing)}")
