"""Today: decide about one application, and leave the files that say later how.

Run it as `python decide.py FOLDER`.

FOLDER/bundle is what is archived: the log and the recording. FOLDER/kept is for another place, out of reach of who writes the log: the
public key, the hash of the log's last record, the checksum of the recording. FOLDER/key.pem signs, and stays with the writer.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import anyio
from agent import loan_agent
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agentfp import Identity, Pause, approve


def new_key(folder: Path) -> Path:
    """A key pair: the private key stays, the public one is kept."""
    pair, pem = Ed25519PrivateKey.generate(), serialization.Encoding.PEM
    private = folder / "key.pem"
    private.touch(mode=0o600)
    private.write_bytes(pair.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    public = pair.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    (folder / "kept" / "public.pem").write_bytes(public)
    return private


async def decide(folder: Path) -> None:
    """One decision, in two legs: the agent prepares it, a person signs it."""
    bundle, kept = folder / "bundle", folder / "kept"
    kept.mkdir(parents=True)
    anchors: list[str] = []
    agent = loan_agent(bundle, key_file=new_key(folder), anchor=lambda final_hash, seq: anchors.append(final_hash))
    officer = Identity(principal="officer-9")
    paused = await agent.run("May A-1017 have a loan of 15,000?", identity=officer)
    assert paused.pause is not None
    question = paused.pause.questions[0]
    print(f"to be signed: {question.tool} {dict(question.arguments or {})}")
    answers = {question.id: approve(by="officer-9", note="both rules are not met")}
    result = await agent.resume(Pause.from_json(paused.pause.to_json()), answers, identity=officer)
    print(result.text)
    await agent.shutdown()  # seals and signs the log
    recordings = sorted((bundle / "recordings").iterdir())
    checksums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in recordings}
    (kept / "anchor.json").write_text(json.dumps({"final_hash": anchors[-1], "recordings": checksums}, indent=2) + "\n")


if __name__ == "__main__":
    anyio.run(decide, Path(sys.argv[1]))
