"""numba kernel of the layout of trees: the depth-first order of nodes. It is plain Python, as the other kernels."""

from __future__ import annotations

from skedasis.trees.arrays import Indices


def depth_first(
    left: Indices,
    right: Indices,
    parent: Indices,
    depth: Indices,
    size: Indices,
    is_left: Indices,
    position: Indices,
) -> None:
    """Fill in the depth-first order of nodes that precede their children.

    All are int32 (nodes,): `left` and `right` are negative in leaves, `parent`, `depth`, `size`, `is_left` as in
    `TreeLayout`, but in the given order of nodes, and `position` that in depth-first order; the roots' are given.
    """
    for q in range(len(left)):
        size[q] = 1
        if left[q] >= 0:
            parent[left[q]], parent[right[q]] = q, q
            depth[left[q]], depth[right[q]] = depth[q] + 1, depth[q] + 1
            is_left[left[q]] = 1
    for q in range(len(left) - 1, -1, -1):
        if left[q] >= 0:
            size[q] = 1 + size[left[q]] + size[right[q]]
    for q in range(len(left)):
        if left[q] >= 0:
            position[left[q]] = position[q] + 1
            position[right[q]] = position[q] + 1 + size[left[q]]
