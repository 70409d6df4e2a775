"""The tree of hashes over a segment, so that one of its lines can be shown to belong to it without the others (RFC 6962, 2.1)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence


def leaf_hash(data: bytes) -> bytes:
    """The hash of a leaf; it can be none of an inner node."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of two subtrees.

    Args:
        left: hash of the first, whose size is a power of two.
        right: hash of the other, which is no larger.
    """
    return hashlib.sha256(b"\x01" + left + right).digest()


class Tree:
    """The tree while leaves are added to it: it keeps one hash for each power of two in their number, not the leaves."""

    def __init__(self) -> None:
        self.size = 0
        self._peaks: list[bytes] = []

    def add(self, leaf: bytes) -> None:
        """Put the hash of a leaf behind the others."""
        size, self.size = self.size, self.size + 1
        while size & 1:
            leaf, size = node_hash(self._peaks.pop(), leaf), size >> 1
        self._peaks.append(leaf)

    def root(self) -> bytes:
        """The hash of the whole tree."""
        if not self._peaks:
            return hashlib.sha256().digest()
        *lefts, root = self._peaks
        for left in reversed(lefts):
            root = node_hash(left, root)
        return root


def root_of(leaves: Iterable[bytes]) -> bytes:
    """The hash of the tree of these leaves' hashes."""
    tree = Tree()
    for leaf in leaves:
        tree.add(leaf)
    return tree.root()


def path_of(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """What a leaf must be hashed with to come to the root, from the bottom up.

    Args:
        leaves: hashes of all leaves.
        index: which of them it is, from 0.
    """
    path: list[bytes] = []
    while len(leaves) > 1:
        split = 1 << ((len(leaves) - 1).bit_length() - 1)
        left = index < split
        path.append(root_of(leaves[split:] if left else leaves[:split]))
        leaves, index = (leaves[:split], index) if left else (leaves[split:], index - split)
    return path[::-1]


def root_by(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """The root that a leaf and its path come to; None where a tree of this size has no such path.

    Args:
        leaf: hash of the leaf.
        index: which leaf it is, from 0.
        size: how many leaves there are.
        path: as :func:`path_of` gives it.
    """
    if not 0 <= index < size:
        return None
    last, made = size - 1, leaf
    for other in path:
        if not last:
            return None  # longer than any path of this tree
        if index & 1 or index == last:
            made = node_hash(other, made)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            made = node_hash(made, other)
        index, last = index >> 1, last >> 1
    return made if not last else None
