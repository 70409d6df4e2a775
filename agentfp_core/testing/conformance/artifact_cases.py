"""The cases that every store of artifacts must hold. Errors are judged by their codes, so that a store may have classes of its own."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

from agentfp_core.artifacts import REF, PutArtifact, Scope, StreamPut
from agentfp_core.testing.conformance.artifacts import Case, Kit, raising

INVALID: Final = "ERR_INVALID_ARTIFACT"
UNKNOWN_PARENT: Final = "ERR_UNKNOWN_PARENT_REF"
INTEGRITY: Final = "ERR_ARTIFACT_INTEGRITY"
NEVER_MINTED: Final = "art_" + "0" * 22
CASES: list[Case] = []
"""All cases, in order."""


def case(*, hooks: tuple[str, ...] = (), members: tuple[str, ...] = ()) -> Callable[[Callable[[Kit], Any]], Callable[[Kit], Any]]:
    """Put a function on the list."""

    def add(function: Callable[[Kit], Any]) -> Callable[[Kit], Any]:
        CASES.append(Case(function.__name__, function, hooks, members))
        return function

    return add


def item(data: Any = "data", **more: Any) -> PutArtifact:
    """Something to put."""
    return PutArtifact(**{"kind": "test/thing", "media_type": "text/plain", "data": data, **more})


async def refs(kit: Kit, scope: Scope) -> list[str]:
    """The refs of a scope, the newest first."""
    return [meta.ref for meta in (await kit.store.list(scope)).artifacts]


@case()
async def put_mints_head_describes_get_redeems(kit: Kit) -> None:
    """A put gives a ref, head what was put, get the data."""
    scope = kit.scope()
    done = await kit.store.put(scope, item("grüße", kind="test/greeting", label="a greeting"))
    meta = done.meta
    assert list(done.swept) == [], "a put into an empty scope swept something"
    assert REF.fullmatch(meta.ref), f"{meta.ref!r} is no ref"
    assert (meta.kind, meta.label, meta.bytes) == ("test/greeting", "a greeting", 7)
    assert math.isfinite(meta.created_at)
    head = await kit.store.head(scope, meta.ref)
    assert head == meta
    assert not hasattr(head, "data"), "head carries data"
    got = await kit.store.get(scope, meta.ref)
    assert got.meta.ref == meta.ref
    assert got.data == "grüße"


@case()
async def payload_shapes_round_trip(kit: Kit) -> None:
    """JSON, texts and bytes come back as they were put."""
    shapes: list[tuple[Any, str]] = [
        ({"rows": [[1, 2.5, None], [True, "ä", {}]], "n": 10**20}, "application/json"),
        ("Ünïcödé 🎈 \n", "text/plain; charset=utf-8"),
        (bytes([0, 255, 10, 13]) * 3, "application/octet-stream"),
        ("", "text/plain"),
        (["a", 1], "application/json"),
    ]
    for data, media_type in shapes:
        meta = await kit.put(kit.scope(), data, media_type=media_type)
        got = await kit.store.get(kit.scope(), meta.ref)
        assert got.data == data, f"a {type(data).__name__} came back as another"
        assert type(got.data) is type(data)
        assert got.meta.media_type == media_type


@case()
async def refs_are_minted_not_derived(kit: Kit) -> None:
    """Equal data has refs of its own each, which do not come of its digest."""
    scope = kit.scope()
    first = await kit.put(scope, "same", digest="sha-256")
    second = await kit.put(scope, "same", digest="sha-256")
    assert first.ref != second.ref
    await kit.store.delete(scope, first.ref)
    assert (await kit.store.get(scope, second.ref)).data == "same"
    assert first.ref[4:14].lower() not in (first.digest or "").lower()


@case()
async def ref_alone_opens_nothing(kit: Kit) -> None:
    """Whoever has a ref and another scope has nothing."""
    own = kit.scope()
    meta = await kit.put(own, "mine")
    for other in (
        dataclasses.replace(own, conversation_id="other-" + kit.token),
        dataclasses.replace(own, tenant="other-" + kit.token),
        dataclasses.replace(own, principal="other-" + kit.token),
    ):
        assert await kit.store.head(other, meta.ref) is None
        assert await kit.store.get(other, meta.ref) is None
        assert await refs(kit, other) == []
        await kit.store.delete(other, meta.ref)
    assert (await kit.store.get(own, meta.ref)).data == "mine"


@case()
async def confusable_scopes_stay_apart(kit: Kit) -> None:
    """Scopes that a careless store would write in one way are two."""
    t = kit.token
    pairs = [
        (Scope("c", f"{t}/a", "b"), Scope("c", t, "a/b")),
        (Scope("c", t, "a/b"), Scope("b/c", t, "a")),
        (Scope(t, None, "p"), Scope(t, "_", "p")),
        (Scope(f"{t}a%2Fb", "t", "p"), Scope(f"{t}a/b", "t", "p")),
        (Scope("c", f"{t}T", "p"), Scope("c", f"{t}t", "p")),
        (Scope("c", t, "P"), Scope("c", t, "p")),
        (Scope("C" + t, "t", "p"), Scope("c" + t, "t", "p")),
    ]
    for left, right in pairs:
        meta = await kit.put(left, "left")
        assert await kit.store.get(right, meta.ref) is None, f"{right} reads what {left} has"
        assert meta.ref not in await refs(kit, right), f"{right} lists what {left} has"
        await kit.store.delete(right, meta.ref)
        assert await kit.store.head(left, meta.ref) is not None, f"{right} deletes what {left} has"


@case(hooks=("advance_time",))
async def one_absence(kit: Kit) -> None:
    """What was never there, is gone, is another's, or is no ref: all the same."""
    scope = kit.scope()
    expired = await kit.put(scope, expires_at=await kit.now() + 60_000)
    assert await kit.store.get(scope, expired.ref) is not None
    foreign = await kit.put(kit.scope("b"))
    await kit.advance(60_001)
    for ref in (NEVER_MINTED, expired.ref, foreign.ref, "", "no ref", "art_short", "../../etc/passwd", "art_" + "!" * 22):
        assert await kit.store.get(scope, ref) is None, f"get({ref!r})"
        assert await kit.store.head(scope, ref) is None, f"head({ref!r})"


@case()
async def expiry_stated_at_mint(kit: Kit) -> None:
    """When it expires stands on the metadata; what has expired already is refused."""
    scope = kit.scope()
    now = await kit.now()
    meta = await kit.put(scope, expires_at=now + 3_600_000)
    assert meta.expires_at is not None
    assert meta.expires_at <= now + 3_600_000
    assert (await kit.store.head(scope, meta.ref)).expires_at == meta.expires_at
    await kit.refused(INVALID, item(expires_at=now - 1000), scope)
    await kit.refused(INVALID, item(expires_at=math.inf), scope)


@case()
async def delete_is_agreement(kit: Kit) -> None:
    """After a delete it is not there, and deleting it again is no fault."""
    scope = kit.scope()
    meta = await kit.put(scope)
    await kit.store.delete(scope, meta.ref)
    assert await kit.store.head(scope, meta.ref) is None
    assert await kit.store.get(scope, meta.ref) is None
    assert await refs(kit, scope) == []
    for ref in (meta.ref, NEVER_MINTED, "no ref"):
        await kit.store.delete(scope, ref)


@case(hooks=("advance_time",))
async def list_pages_newest_first(kit: Kit) -> None:
    """Pages show each artifact once, the newest first, also those of one millisecond and with a put between pages."""
    scope = kit.scope()
    expected: list[str] = []
    for index in range(5):
        if index != 3:  # the fourth has the time of the third
            await kit.advance(10)
        expected.insert(0, (await kit.put(scope, f"data {index}")).ref)
    aside = await kit.put(kit.scope("b"))
    found, cursor, sizes = [], None, []
    while True:
        page = await kit.store.list(scope, cursor=cursor, limit=2)
        assert not any(hasattr(meta, "data") for meta in page.artifacts)
        found += [meta.ref for meta in page.artifacts]
        sizes.append(len(page.artifacts))
        cursor = page.cursor
        if cursor is None:
            break
        assert len(sizes) < 10, "the pages do not end"
        await kit.put(scope, "between pages")
    assert sizes == [2, 2, 1], f"pages of {sizes}"
    assert found == expected, "the order is not that of the puts, the newest first"
    assert await refs(kit, kit.scope("b")) == [aside.ref]


@case()
async def awkward_scope_values_are_names(kit: Kit) -> None:
    """Whatever stands in a scope is a name and nothing else."""
    t = kit.token
    values = [
        "a/b//c/",
        "..",
        ".",
        "näme 🎈",
        "back\\slash \"and\" 'quotes'",
        "'; DROP TABLE artifacts; --",
        "x" * 200,
        "X" * 200,
        "con",
        "%2e%2e",
        "~",
    ]
    for value in values:
        for scope in (Scope(t, value, "p"), Scope(t, "t", value), Scope(f"{value}", t, "p")):
            meta = await kit.put(scope, value)
            assert (await kit.store.get(scope, meta.ref)).data == value
            assert await refs(kit, scope) == [meta.ref]
    for scope in (Scope("", t, "p"), Scope("", t, None)):
        meta = await kit.put(scope)
        assert await refs(kit, scope) == [meta.ref]
    left, right = Scope("c", t + "L" * 190 + "1", None), Scope("c", t + "L" * 190 + "2", None)
    meta = await kit.put(left)
    assert await kit.store.head(right, meta.ref) is None
    assert await refs(kit, right) == []


@case(hooks=("bounded_store",))
async def oversized_refused_before_write(kit: Kit) -> None:
    """What does not fit at all is refused, and makes no room for itself."""
    scope = kit.scope()
    survivor = await kit.put(scope, "small")
    await kit.refused(INVALID, item("x" * 500), scope)
    assert (await kit.store.get(scope, survivor.ref)).data == "small"
    assert await refs(kit, scope) == [survivor.ref]


@case()
async def parents_proven_at_mint(kit: Kit) -> None:
    """A parent is there, in the same scope, when its child is put."""
    scope = kit.scope()
    parent = await kit.put(scope)
    child = await kit.put(scope, parent_refs=[parent.ref])
    assert list(child.parent_refs) == [parent.ref]
    assert list((await kit.store.head(scope, child.ref)).parent_refs) == [parent.ref]
    foreign = await kit.put(kit.scope("b"))
    for unknown in (NEVER_MINTED, foreign.ref, "no ref"):
        await kit.refused(UNKNOWN_PARENT, item(parent_refs=[parent.ref, unknown]), scope)
    assert set(await refs(kit, scope)) == {parent.ref, child.ref}


@case()
async def malformed_puts_refused(kit: Kit) -> None:
    """What cannot be stored as it is, is not stored as something else."""
    scope = kit.scope()
    cycle: dict[str, Any] = {}
    cycle["self"] = cycle
    wrong: list[PutArtifact] = [
        item(kind="  "),
        item(media_type=""),
        item(digest="md5"),
        item(cycle),
        item(print),
        item({1, 2}),
        item([math.nan]),
        item({1: "a"}),
        item([(1, 2)]),
    ]
    for put in wrong:
        await kit.refused(INVALID, put, scope)
    assert await refs(kit, scope) == []


@case()
async def refusals_keep_secrets(kit: Kit) -> None:
    """No message of a refusal holds the data, the tenant or the principal."""
    scope = kit.scope()
    secret = f"secret-{kit.token}"
    provoked = [
        await kit.refused(INVALID, item([secret, print]), scope),
        await kit.refused(INVALID, item(secret, kind=" "), scope),
        await kit.refused(UNKNOWN_PARENT, item(secret, parent_refs=[NEVER_MINTED]), scope),
    ]
    for error in provoked:
        for word in (secret, scope.tenant or "", scope.principal or ""):
            assert word not in f"{error} {error!r}", "a refusal tells what it must not"


@case()
async def digest_on_ticket(kit: Kit) -> None:
    """A digest stands on the metadata where one was asked for."""
    scope = kit.scope()
    first = await kit.put(scope, "same", digest="sha-256")
    second = await kit.put(scope, "same", digest="sha-256")
    other = await kit.put(scope, "other", digest="sha-256")
    none = await kit.put(scope, "same")
    assert first.digest is not None
    assert re.fullmatch(r"sha-256:[0-9a-f]{64}", first.digest)
    assert first.digest == second.digest != other.digest
    assert none.digest is None
    assert (await kit.store.head(scope, first.ref)).digest == first.digest
    assert (await kit.store.get(scope, first.ref)).data == "same"


@case(hooks=("corrupt",))
async def get_refuses_corrupt(kit: Kit) -> None:
    """Data that is not what was put is not given out; head goes on answering."""
    scope = kit.scope()
    meta = await kit.put(scope, "as it was put", digest="sha-256")
    await kit.corrupt(scope, meta.ref)
    await raising(INTEGRITY, kit.store.get(scope, meta.ref))
    assert (await kit.store.head(scope, meta.ref)).digest == meta.digest


@case(hooks=("corrupt",), members=("get_stream",))
async def get_stream_does_not_verify(kit: Kit) -> None:
    """A stream gives what is there, with the digest to check it by."""
    scope = kit.scope()
    meta = await kit.put(scope, "as it was put", digest="sha-256")
    await kit.corrupt(scope, meta.ref)
    stream = await kit.store.get_stream(scope, meta.ref)
    assert b"".join([chunk async for chunk in stream.body]) != b"as it was put"
    assert stream.meta.digest == meta.digest
    await raising(INTEGRITY, kit.store.get(scope, meta.ref))


@case(members=("put_stream", "get_stream"))
async def streamed_put_declares_bytes(kit: Kit) -> None:
    """A stream has the length that was declared, or nothing is stored."""
    scope = kit.scope()
    chunks = [b"first ", b"", b"second"]
    done = await kit.store.put_stream(scope, StreamPut(kind="test/stream", media_type="text/plain", bytes=12), _stream(chunks))
    ref = done.meta.ref
    assert done.meta.bytes == 12
    assert done.meta.digest is None
    stream = await kit.store.get_stream(scope, ref)
    assert b"".join([chunk async for chunk in stream.body]) == b"first second"
    assert (await kit.store.get(scope, ref)).data == b"first second"
    assert (await kit.store.head(scope, ref)) == done.meta
    assert await refs(kit, scope) == [ref]
    for wrong in (9_999, 3):
        put = StreamPut(kind="test/stream", media_type="text/plain", bytes=wrong)
        await raising(INVALID, kit.store.put_stream(scope, put, _stream(chunks)))
    assert await refs(kit, scope) == [ref]


@case()
async def streaming_feature_detected(kit: Kit) -> None:
    """What a store cannot do is not there, rather than failing."""
    for name in ("put_stream", "get_stream", "get_range"):
        member = getattr(kit.store, name, None)
        assert member is None or callable(member), f"{name} is there and cannot be called"
    scope = kit.scope()
    if getattr(kit.store, "get_stream", None) is not None:
        for ref in (NEVER_MINTED, "no ref"):
            assert await kit.store.get_stream(scope, ref) is None
    if getattr(kit.store, "get_range", None) is not None:
        for ref in (NEVER_MINTED, "no ref"):
            assert await kit.store.get_range(scope, ref, 0, 10) is None
        meta = await kit.put(scope, "0123456789")
        for offset, length, expected in ((0, 4, b"0123"), (8, 10, b"89"), (10, 1, b""), (99, 1, b""), (3, 0, b"")):
            part = await kit.store.get_range(scope, meta.ref, offset, length)
            assert part.data == expected, f"the range {offset}, {length} gave {len(part.data)} bytes"


async def _stream(chunks: list[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk
