"""Tokens and consents that outlive a process, against a real authorization server; other providers of one store play other processes."""

from __future__ import annotations

import json
import os
import pickle
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentfp import ConfigError
from agentfp.plugin import Identity
from agentfp_credentials import (
    AuthorizationRequired,
    ConsentCallbackError,
    CredentialRequest,
    FolderTokens,
    Issued,
    MemoryTokens,
    OAuth2AuthorizationCode,
    ProviderError,
    oauth,
)
from tests.plugins.credentials.conftest import CLIENT, CLIENT_SECRET

pytestmark = pytest.mark.anyio
ANN = Identity(principal="ann", tenant="acme")
ASKED = CredentialRequest("crm", ("read",), "user", ANN)


def provider(url: str, store: Any) -> OAuth2AuthorizationCode:
    return OAuth2AuthorizationCode(
        "crm",
        authorize_url=url + "/authorize",
        token_url=url + "/token",
        client_id=CLIENT,
        client_secret=CLIENT_SECRET,
        redirect_uri="http://127.0.0.1/callback",
        store=store,
    )


async def begun(made: OAuth2AuthorizationCode) -> AuthorizationRequired:
    answer = await made.get_credential(ASKED)
    assert isinstance(answer, AuthorizationRequired)
    return answer


async def callback(wanted: AuthorizationRequired) -> str:
    async with httpx.AsyncClient() as client:
        return (await client.get(wanted.authorization_url)).headers["Location"]


async def test_a_consent_is_begun_in_one_process_and_finished_in_another_and_outlives_both(server: Any, tmp_path: Path) -> None:
    folder = tmp_path / "tokens"
    first, second = [provider(server.url, FolderTokens(folder)) for _ in range(2)]
    wanted = await begun(first)
    assert (await begun(second)).authorization_url == wanted.authorization_url
    back = await callback(wanted)
    with pytest.raises(ConsentCallbackError, match="somebody else"):
        await second.finish(back, identity=Identity(principal="bob", tenant="acme"))
    assert await second.finish(back, identity=ANN) == wanted.session_id
    with pytest.raises(ConsentCallbackError, match="no consent waits"):
        await first.finish(back, identity=ANN)
    for made in (first, second, provider(server.url, FolderTokens(folder))):
        answer = await made.get_credential(ASKED)
        assert isinstance(answer, Issued)
        token = answer.credential.to_headers()["authorization"].removeprefix("Bearer ")
        assert token in made.secrets()
        assert not [secret for secret in made.secrets() if secret.startswith("http")]
    assert server.grants == ["authorization_code"]
    other = await second.get_credential(CredentialRequest("crm", ("read",), "user", Identity(principal="ann", tenant="other")))
    assert isinstance(other, AuthorizationRequired)


@pytest.mark.skipif(os.name != "posix", reason="modes of files are of POSIX")
async def test_nobody_else_on_the_machine_reads_the_tokens_or_whose_they_are(server: Any, tmp_path: Path) -> None:
    folder = tmp_path / "tokens"
    made = provider(server.url, FolderTokens(folder))
    await made.finish(await callback(await begun(made)))
    files = [path for path in folder.iterdir() if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [path.suffix for path in files if path.suffix != ".lock"] == [".json"]  # the token; nothing is left of the consent
    assert not [path.name for path in files if "ann" in path.name or "acme" in path.name]
    assert "SENTINEL" not in repr(made) + repr(FolderTokens(folder))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"access": "a\\nb", "refresh": null, "expires_at_s": null}', "\udcff"])
async def test_what_is_damaged_is_consented_to_anew(server: Any, tmp_path: Path, text: str) -> None:
    made = provider(server.url, FolderTokens(tmp_path))
    await made.finish(await callback(await begun(made)))
    (path,) = tmp_path.glob("*.json")
    path.write_bytes(text.encode(errors="surrogateescape"))
    await made.finish(await callback(await begun(made)))
    assert isinstance(await made.get_credential(ASKED), Issued)


async def test_a_consent_that_takes_too_long_is_begun_anew_and_leaves_nothing(
    server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = provider(server.url, FolderTokens(tmp_path))
    late = await begun(made)
    kept = {path.name for path in tmp_path.glob("*.json")}
    with monkeypatch.context() as patched:
        patched.setattr(oauth, "PENDING_S", -1)
        with pytest.raises(ConsentCallbackError, match="takes too long"):
            await made.finish(await callback(late), identity=ANN)
        assert (await begun(made)).authorization_url != late.authorization_url
    assert len(kept) == len(list(tmp_path.glob("*.json"))) == 2
    with pytest.raises(ConsentCallbackError, match="no consent waits"):
        await made.finish(await callback(late))


async def test_an_empty_refresh_token_leaves_the_one_before(server: Any, tmp_path: Path) -> None:
    made = provider(server.url, FolderTokens(tmp_path))
    server.rotates, server.expires_in = False, 10
    await made.finish(await callback(await begun(made)))
    grant = server.token
    server.token = lambda *sent: (200, {**grant(*sent)[1], "refresh_token": ""})
    for _ in range(3):
        assert isinstance(await made.get_credential(ASKED), Issued)
    assert server.grants.count("refresh_token") == 3


async def test_a_folder_that_is_none_is_told_without_its_path(server: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ProviderError, match="could not lock one") as raised:
        await provider(server.url, FolderTokens(tmp_path / "file")).get_credential(ASKED)
    assert str(tmp_path) not in str(raised.value)
    store = FolderTokens(tmp_path / "file")
    for asked in (store.load("k"), store.save("k", "v"), store.delete("k")):
        with pytest.raises(ProviderError, match="folder of tokens could not"):
            await asked


@pytest.mark.parametrize("store", ["tokens", FolderTokens, object()])
def test_what_is_no_store_is_refused(store: Any) -> None:
    with pytest.raises(ConfigError, match="a store has load"):
        provider("http://127.0.0.1", store)
    with pytest.raises(ConfigError, match="blank"):
        FolderTokens(" ")


def test_tokens_in_memory_are_neither_shown_nor_pickled() -> None:
    store = MemoryTokens()
    assert repr(store) == "MemoryTokens('memory')"
    with pytest.raises(TypeError, match="holds secrets"):
        pickle.dumps(store)


PROCESS = """
import asyncio, json, sys
from tests.plugins.credentials.test_credentials_tokens import ASKED, provider
from agentfp_credentials import FolderTokens

async def main():
    made = provider(sys.argv[1], FolderTokens(sys.argv[2]))
    answers = [type(await made.get_credential(ASKED)).__name__ for _ in range(6)]
    print(json.dumps(answers))

asyncio.run(main())
"""


def in_processes(count: int, *arguments: str) -> list[Any]:
    """What some processes at once say."""
    command = [sys.executable, "-c", PROCESS, *arguments]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(count)]
    return [json.loads(process.communicate(timeout=120)[0]) for process in started]


async def test_processes_refresh_one_after_the_other(server: Any, tmp_path: Path) -> None:
    made = provider(server.url, FolderTokens(tmp_path))
    server.expires_in = 10  # each asks anew, with a refresh token that is good for one use
    await made.finish(await callback(await begun(made)))
    assert in_processes(3, server.url, str(tmp_path)) == [["Issued"] * 6] * 3
    assert server.grants.count("refresh_token") == 18
