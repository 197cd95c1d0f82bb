"""Previews become small where they are slow, and large again."""

from __future__ import annotations

import pytest

from napari_dpdeblur.viewer.inspect.preview_size import LAST_TRIAL_S, PreviewSizer


class Sweep:
    """A slider that moves without rest on a machine whose clock is ours."""

    def __init__(self):
        self.pace = PreviewSizer()
        self.now_s = 0.0

    def go_on(self, duration_s, large_s, small_s):
        """Show previews that take so long each; the share of small ones."""
        frames = []
        end_s = self.now_s + duration_s
        while self.now_s < end_s:
            frames.append(self.pace.wants_small)
            period_s = small_s if self.pace.wants_small else large_s
            self.now_s += period_s
            self.pace.note(self.now_s, 0.5 * period_s, goes_on=True)
        return sum(frames) / len(frames)


@pytest.fixture
def sweep():
    return Sweep()


def test_quick_ones_stay_large(sweep):
    assert sweep.go_on(10, large_s=0.15, small_s=0.1) == 0


def test_slow_ones_become_small_and_large_ones_are_tried_ever_less_often(sweep):
    assert sweep.go_on(60, large_s=0.4, small_s=0.1) > 0.9
    assert sweep.go_on(3 * LAST_TRIAL_S, large_s=0.4, small_s=0.1) > 0.97


def test_a_single_hiccup_changes_nothing(sweep):
    sweep.go_on(2, large_s=0.12, small_s=0.1)
    assert sweep.go_on(0.1, large_s=0.35, small_s=0.1) == 0
    assert sweep.go_on(2, large_s=0.12, small_s=0.1) == 0


def test_they_are_large_again_soon_after_the_machine_is_free(sweep):
    sweep.go_on(2, large_s=0.12, small_s=0.1)
    sweep.go_on(1, large_s=0.8, small_s=0.15)
    assert sweep.pace.wants_small
    sweep.go_on(1.5, large_s=0.12, small_s=0.1)
    assert not sweep.pace.wants_small


def test_where_even_small_ones_are_slow_no_large_one_is_tried(sweep):
    sweep.go_on(1, large_s=2.0, small_s=0.5)
    assert sweep.go_on(60, large_s=2.0, small_s=0.5) == 1
