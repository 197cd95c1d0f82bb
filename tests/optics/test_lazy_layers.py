"""Layers that are computed when they are used behave like arrays."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from napari_dpdeblur.optics import MultiplaneImage
from napari_dpdeblur.optics.lazy_layers import EnlargedLayers, one_ahead


@pytest.fixture
def lazy() -> EnlargedLayers:
    rng = np.random.default_rng(3)
    coarse, detail, share = (
        rng.random(shape).astype(np.float32) for shape in ((4, 3, 6, 8), (3, 12, 16), (4, 1, 6, 8))
    )
    return EnlargedLayers(coarse, (24, 16), detail - 0.5, share, 2.0)


def test_any_index_gives_what_the_whole_array_has_there(lazy: EnlargedLayers) -> None:
    whole = np.asarray(lazy)
    assert whole.shape == lazy.shape == (4, 3, 24, 16)
    assert (lazy.ndim, lazy.dtype, lazy.nbytes) == (4, np.float32, whole.nbytes)
    for index in (1, -1, slice(1, 3), (2, 0), (..., 5, 3), (slice(None), 1), [0, 3]):
        np.testing.assert_array_equal(lazy[index], whole[index])
    np.testing.assert_array_equal(np.stack(list(lazy)), whole)
    np.testing.assert_array_equal(1 - lazy, 1 - whole)
    with pytest.raises(IndexError):
        lazy[4]


def test_no_value_exceeds_the_magnitude(lazy: EnlargedLayers) -> None:
    assert np.abs(np.asarray(lazy)).max() <= lazy.magnitude()
    assert np.asarray(lazy).min() == 0


def test_layers_survive_the_way_to_another_process(lazy: EnlargedLayers) -> None:
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(lazy)), np.asarray(lazy))


def test_a_multiplane_image_may_be_lazy(lazy: EnlargedLayers) -> None:
    alpha = EnlargedLayers(np.full((4, 1, 6, 8), 0.5, np.float32), (24, 16))
    scales = np.array([1.0, 0.7, 0.4, 0.1], np.float32)
    shown = MultiplaneImage(lazy, alpha, scales)
    same = MultiplaneImage(np.asarray(lazy), np.asarray(alpha), scales)
    np.testing.assert_array_equal(shown.all_in_focus(), same.all_in_focus())
    np.testing.assert_array_equal(shown.defocus_map(), same.defocus_map())


def test_layers_that_are_computed_one_ahead_are_the_same(lazy: EnlargedLayers) -> None:
    plain = np.arange(len(lazy), dtype=np.float32)[:, None]
    found = list(one_ahead(lazy, None, plain))
    assert len(found) == len(lazy)
    for layer, (first, nothing, second) in enumerate(found):
        np.testing.assert_array_equal(first, lazy[layer])
        np.testing.assert_array_equal(second, plain[layer])
        assert nothing is None


def test_an_error_of_a_layer_that_is_computed_ahead_is_raised() -> None:
    class Broken(EnlargedLayers):
        def __getitem__(self, index: object) -> np.ndarray:
            if index == 1:
                raise OSError("no space left")
            return super().__getitem__(index)

    broken = Broken(np.ones((3, 1, 2, 2), np.float32), (4, 4))
    with pytest.raises(OSError, match="no space left"):
        list(one_ahead(broken))
