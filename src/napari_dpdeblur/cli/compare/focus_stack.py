"""`focus-stack`: compute ground truth from a focus stack."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import add_json_argument, print_result

if TYPE_CHECKING:
    from napari_dpdeblur.cli.arguments import Subparsers


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "focus-stack",
        help="compute ground truth from a focus stack",
        description="From slices focused from near to far, evenly spaced in dioptres, compute the "
        "sharp image and the defocus map of the capture that is focused like the first slice. "
        "Write DATA/gt_all_in_focus_im/NAME_gt.png and DATA/gt_defocus_map/NAME_gt.png, where "
        "benchmark expects them.",
    )
    parser.add_argument(
        "slices",
        nargs="+",
        type=Path,
        metavar="SLICE",
        help="PNG or TIFF files from near to far, or a folder of them sorted by name: linear, "
        "black at 0, full scale of integers = 1",
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DATA", help="folder with the scenes"
    )
    parser.add_argument("--name", required=True, help="name of the scene, such as 001")
    parser.add_argument("--no-align", action="store_true", help="do not align the slices")
    parser.add_argument("--overwrite", action="store_true", help="replace existing ground truth")
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Read, fuse, write."""
    from napari_dpdeblur.evaluation.focus_stack.files import (
        check_truth,
        find_slices,
        read_slices,
        write_truth,
    )
    from napari_dpdeblur.evaluation.focus_stack.fusion import stack_truth

    check_truth(arguments.output, arguments.name, arguments.overwrite)
    slices = read_slices(find_slices(arguments.slices))
    truth = stack_truth(slices, align=not arguments.no_align)
    files = write_truth(truth, arguments.output, arguments.name, arguments.overwrite)
    breathing = truth.breathing
    movement = 0.0 if breathing is None else breathing.corner_movement_px(*slices.shape[-2:])
    print_result(
        {
            "files": [str(path) for path in files],
            "slices": len(slices),
            "breathing_px": round(movement, 2),
            "confident_fraction": round(float(truth.confidence.mean()), 4),
        },
        arguments.json,
    )
