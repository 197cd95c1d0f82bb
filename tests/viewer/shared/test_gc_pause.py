"""Old objects are left out of collections only as long as somebody needs that."""

from __future__ import annotations

import gc
import weakref

import pytest

from napari_dpdeblur.viewer.shared.gc_pause import pause_full_collection


class Thing:
    """Something that can hold itself."""


pytestmark = pytest.mark.usefixtures("nobody_froze")


def test_old_garbage_waits_until_the_last_one_has_released():
    thing = Thing()
    thing.itself = thing
    seen = weakref.ref(thing)
    first, second = pause_full_collection(), pause_full_collection()
    del thing
    first()
    first()
    gc.collect()
    assert seen() is not None
    second()
    assert gc.get_freeze_count() == 0
    gc.collect()
    assert seen() is None


def test_new_garbage_is_collected_meanwhile():
    release = pause_full_collection()
    thing = Thing()
    thing.itself = thing
    seen = weakref.ref(thing)
    del thing
    gc.collect()
    assert seen() is None
    release()


def test_what_somebody_else_froze_stays_frozen():
    gc.freeze()
    pause_full_collection()()
    assert gc.get_freeze_count() > 0
