"""Identify discs: row and column of every blob, then its position in the pattern."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from scipy.signal import correlate
from scipy.spatial import cKDTree

from napari_dpdeblur.calibration.target.blobs import Blobs

MOVES = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)])
TOLERANCE = 0.28  # of a step
MEMORY = 0.6  # weight of the previous step when the next one is measured
SEEDS = 12


@dataclass(frozen=True, eq=False)
class Lattice:
    """``index`` (N, 2): column and row of the blobs numbered ``blob`` (N,); origin arbitrary."""

    index: np.ndarray
    blob: np.ndarray


def grow_lattice(centres: np.ndarray, steps: np.ndarray, middle: np.ndarray) -> Lattice:
    """Grow a lattice from blob to blob, with steps that adapt to perspective and distortion.

    ``steps`` (2, 2) are the typical steps along columns and rows. Starts near ``middle`` from
    several blobs and keeps the largest lattice.
    """
    tree = cKDTree(centres)
    _, near = tree.query(middle, k=min(SEEDS, len(centres)))
    walks: list[dict[tuple[int, int], int]] = []
    seen: set[int] = set()
    for seed in np.atleast_1d(near):
        if int(seed) not in seen:
            walks.append(_walk(centres, tree, steps, int(seed)))
            seen |= set(walks[-1].values())
    best = max(walks, key=len)
    return Lattice(np.array(list(best)), np.array(list(best.values())))


def _walk(
    centres: np.ndarray, tree: cKDTree, steps: np.ndarray, seed: int
) -> dict[tuple[int, int], int]:
    """Breadth-first search: column and row to index of the blob."""
    place, owner = {(0, 0): seed}, {seed: (0, 0)}
    queue = deque([((0, 0), steps)])
    while queue:
        here, local = queue.popleft()
        start = centres[place[here]]
        moves = MOVES @ local
        distances, blobs = tree.query(start + moves)
        near = distances <= TOLERANCE * np.hypot(*moves.T)
        for move, blob in zip(MOVES[near].tolist(), blobs[near].tolist(), strict=True):
            there = (here[0] + move[0], here[1] + move[1])
            if there in place or blob in owner:
                continue
            place[there], owner[blob] = blob, there
            axis = 0 if move[0] else 1
            adapted = local.copy()
            adapted[axis] = MEMORY * local[axis] + (1 - MEMORY) * move[axis] * (
                centres[blob] - start
            )
            queue.append((there, adapted))
    return place


@dataclass(frozen=True, eq=False)
class Match:
    """Position of a lattice in the pattern.

    ``disc`` (N, 2): column and row in the pattern; ``score`` and ``runner_up``: correlation of
    the sizes with the pattern there and at the second best position.
    """

    disc: np.ndarray
    score: float
    runner_up: float


def match_code(lattice: Lattice, blobs: Blobs, code: np.ndarray) -> Match:
    """Find the offset and rotation (in quarter turns) at which the sizes match ``code``.

    ``code`` (rows, cols) bool: large discs.
    """
    size = _relative_size(lattice, blobs)
    found = [
        (*place, turn)
        for turn in range(4)
        for place in _best_places(_turned(lattice.index, turn), size, code)
    ]
    found.sort(key=lambda candidate: -candidate[0])
    score, offset, turn = found[0]
    return Match(_turned(lattice.index, turn) + offset, score, found[1][0])


def _turned(index: np.ndarray, quarters: int) -> np.ndarray:
    """Columns and rows after quarter turns, starting at 0."""
    for _ in range(quarters):
        index = np.stack([-index[:, 1], index[:, 0]], axis=1)
    return np.asarray(index - index.min(axis=0))


def _relative_size(lattice: Lattice, blobs: Blobs) -> np.ndarray:
    """Size relative to the neighbours, which makes it robust to uneven illumination: (N,)."""
    size = np.sqrt(blobs.light[lattice.blob])
    tree = cKDTree(lattice.index)
    _, near = tree.query(lattice.index, k=min(25, len(size)))
    around = size[near]
    return np.asarray((size - np.median(around, axis=1)) / np.maximum(around.std(axis=1), 1e-9))


def _best_places(
    index: np.ndarray, size: np.ndarray, code: np.ndarray
) -> list[tuple[float, np.ndarray]]:
    """The two best offsets (column, row) with their correlation."""
    grid = np.zeros(tuple(index.max(axis=0)[::-1] + 1))
    centred = size - size.mean()
    grid[index[:, 1], index[:, 0]] = centred
    # A disc outside the pattern counts as a mismatch.
    score = correlate(np.where(code, 1.0, -1.0), grid, mode="full", method="fft")
    score /= np.sqrt((centred**2).sum() * len(size)) + 1e-12
    best = np.argsort(score, axis=None)[-2:][::-1]
    rows, cols = np.unravel_index(best, score.shape)
    shape = np.array(grid.shape)
    return [
        (float(score[r, c]), np.array([c - shape[1] + 1, r - shape[0] + 1]))
        for r, c in zip(rows, cols, strict=True)
    ]
