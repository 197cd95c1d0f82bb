"""kill -9 at random moments of fits and saves.

    python benchmarks/robustness_kill.py [--moments 200] [--seed 0] [--json] [--save]

A child process fits and saves a small capture and is killed: in half of the cases after a random
time, in the other half right before a random file operation. Children that end before that do not
count; at most twice as many are started. Half of the cases overwrite an earlier result. Afterwards
the run folder must be absent or complete, the fit must resume, and the result must equal that of an
uninterrupted fit.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # forked children have no threads of OpenMP

import robustness_scene as scenes
from napari_dpdeblur.results import Result, read_run
from robustness_scene import Scene

MOST_TRIES = 2  # children started per kill


@dataclass
class Outcome(scenes.Outcome):
    """The state after the kills."""

    moments: int = 0
    died: int = 0
    absent: int = 0
    complete: int = 0
    checkpoint_left: int = 0
    largest_difference: float = 0.0

    def summary(self) -> str:
        """The figures as a sentence, without the full stop."""
        return (
            f"{self.moments} moments, {self.died} children killed; the folder was "
            f"{self.absent} times absent and {self.complete} times complete, "
            f"{self.checkpoint_left} times there was a checkpoint; resumed results differ by "
            f"at most {self.largest_difference:g}"
        )


@dataclass(frozen=True)
class Reference:
    """An uninterrupted run: result, time, number of file operations."""

    result: Result
    earlier: Result
    time_s: float
    events: int


def reference_of(scene: Scene, scratch: Path) -> Reference:
    """Two uninterrupted fits; the second, with other settings, is the earlier result."""
    folder, log = scratch / "reference" / "run", scratch / "events"
    start = time.monotonic()
    child = scenes.in_child(
        lambda: scenes.fit_and_save(scene, folder),
        lambda: scenes.count_events(folder.parent, log),
    )
    if scenes.ended(child) != 0:
        raise SystemExit("the fit without a kill failed")
    time_s = time.monotonic() - start
    other = Scene(scene.capture, scene.calibration, scene.settings.changed(layers=3))
    earlier = scratch / "earlier"
    if scenes.ended(scenes.in_child(lambda: scenes.fit_and_save(other, earlier))) != 0:
        raise SystemExit("the fit without a kill failed")
    return Reference(read_run(folder), read_run(earlier), time_s, log.stat().st_size)


def kill_once(scene: Scene, reference: Reference, scratch: Path, seed: str, seen: Outcome) -> None:
    """Kill once, check the folder, resume the fit."""
    choose = random.Random(seed)
    case = scratch / f"case-{seen.moments}"
    folder = case / "run"
    overwrite = seen.moments % 4 >= 2
    if overwrite:
        shutil.copytree(scratch / "earlier", folder)
    seen.moments += 1
    if seen.moments % 2:
        child = scenes.in_child(lambda: scenes.fit_and_save(scene, folder, overwrite))
        time.sleep(choose.uniform(0, reference.time_s))
        os.kill(child, signal.SIGKILL)
    else:
        event = choose.randint(1, reference.events)
        child = scenes.in_child(
            lambda: scenes.fit_and_save(scene, folder, overwrite),
            lambda: scenes.die_at_event(event, case),
        )
    seen.died += scenes.ended(child) == -signal.SIGKILL
    _look(folder, reference, overwrite, seen)
    _resume(scene, folder, reference, seen)
    shutil.rmtree(case, ignore_errors=True)


def _look(folder: Path, reference: Reference, overwrite: bool, seen: Outcome) -> None:
    """Absent, the earlier result, or the new one: nothing in between."""
    result = scenes.found_run(folder)
    seen.checkpoint_left += folder.with_name("run.checkpoint").exists()
    if result is None:
        seen.absent += 1
        if overwrite:
            seen.broken.append(f"{folder.parent.name}: the earlier result is gone")
        return
    seen.complete += 1
    layers = len(result.defocus_scales)
    expected = reference.result if layers == 4 else reference.earlier
    if scenes.difference(result, expected) > 0:
        seen.broken.append(f"{folder.parent.name}: the run that was found is another one")


def _resume(scene: Scene, folder: Path, reference: Reference, seen: Outcome) -> None:
    child = scenes.in_child(lambda: scenes.fit_and_save(scene, folder, overwrite=True))
    if scenes.ended(child) != 0:
        seen.broken.append(f"{folder.parent.name}: the fit did not resume")
        return
    difference = scenes.difference(read_run(folder), reference.result)
    seen.largest_difference = max(seen.largest_difference, difference)
    left = sorted(path.name for path in folder.parent.iterdir())
    if difference > 1e-6:
        seen.broken.append(f"{folder.parent.name}: resumed, it differs by {difference:g}")
    if left != ["run"]:
        seen.broken.append(f"{folder.parent.name}: {', '.join(left)} are left")


def kill_many(moments: int, scratch: Path, seed: int) -> Outcome:
    """Kill children at random moments."""
    scene = scenes.small_scene()
    reference = reference_of(scene, scratch)
    outcome = Outcome()
    while outcome.died < moments and outcome.moments < MOST_TRIES * moments:
        kill_once(scene, reference, scratch, f"{seed} {outcome.moments}", outcome)
    if outcome.died < moments:
        outcome.broken.append(f"only {outcome.died} of {moments} children died by the signal")
    return outcome


if __name__ == "__main__":
    sys.exit(
        scenes.run_trials("kill -9 at random moments of fits and saves.", "moments", kill_many)
    )
