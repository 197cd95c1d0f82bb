"""Write the target to files: PNG frames, a web page that shows them, and `target.json`."""

from __future__ import annotations

import base64
from pathlib import Path

import cv2
import numpy as np

from napari_dpdeblur.calibration.target.pattern import TARGET_FILE, Target, load_target, save_target
from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.files import write_atomically

PAGE_FILE = "slides.html"
FRAMES = ("discs", "white", "black")
TARGET_FILES = (*(f"{name}.png" for name in FRAMES), PAGE_FILE, TARGET_FILE)

_PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>napari-dpdeblur: calibration target</title>
<style>
html, body {{ margin: 0; height: 100%; background: #000; overflow: hidden; cursor: none; }}
img {{ position: fixed; left: 0; top: 0; image-rendering: pixelated; }}
p {{ position: fixed; left: 50%; top: 45%; transform: translateX(-50%); padding: 1em;
  font: 18px sans-serif; color: #ddd; background: #333; }}
</style>
<img id="frame" alt="">
<p id="help"></p>
<script>
const frames = [{frames}];
const names = [{names}];
const width = {width}, height = {height};
const picture = document.getElementById("frame"), help = document.getElementById("help");
let shown = 0;
function show() {{
  const ratio = window.devicePixelRatio || 1;
  picture.src = frames[shown];
  picture.style.width = width / ratio + "px";
  picture.style.height = height / ratio + "px";
  const fits = Math.abs(window.innerWidth * ratio - width) < 2
    && Math.abs(window.innerHeight * ratio - height) < 2;
  help.hidden = fits;
  help.textContent = "Click or press F for full screen. This target is for a screen of " + width
    + " x " + height + " px; this window has " + Math.round(window.innerWidth * ratio) + " x "
    + Math.round(window.innerHeight * ratio) + ". Space or tap: next (" + names[shown] + ").";
}}
function full() {{ document.documentElement.requestFullscreen().catch(() => {{}}); }}
function step(by) {{ shown = (shown + by + frames.length) % frames.length; show(); }}
document.addEventListener("keydown", event => {{
  if (event.key === "f" || event.key === "F") full();
  else if (event.key === "ArrowLeft") step(-1);
  else if (event.key === " " || event.key === "ArrowRight") step(1);
}});
document.addEventListener("click", () => {{
  if (!document.fullscreenElement) full(); else step(1);
}});
window.addEventListener("resize", show);
show();
</script>
</html>
"""


def frame_pictures(target: Target) -> dict[str, np.ndarray]:
    """Discs, white and black frame at the native screen resolution: uint8 (height, width)."""
    width, height = target.screen_px
    return {
        "discs": target.picture(),
        "white": np.full((height, width), 255, np.uint8),
        "black": np.zeros((height, width), np.uint8),
    }


def write_target(target: Target, folder: Path) -> list[str]:
    """Write the three frames, the web page and `target.json`; returns the file names.

    An earlier target in the folder is replaced; other files are never overwritten.
    """
    _check_folder(folder)
    encoded = {name: _png(picture) for name, picture in frame_pictures(target).items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in encoded.items():
            write_atomically(folder / f"{name}.png", content)
        write_atomically(folder / PAGE_FILE, web_page(target, encoded).encode())
    except OSError as error:
        raise CalibrationError(f"{folder} cannot be written: {error.strerror or error}.") from error
    save_target(target, folder / TARGET_FILE)
    return list(TARGET_FILES)


def _check_folder(folder: Path) -> None:
    """Refuse a folder with other files of the same names."""
    found = [name for name in TARGET_FILES if (folder / name).exists()]
    if found and not (len(found) == len(TARGET_FILES) and _is_target(folder / TARGET_FILE)):
        raise CalibrationError(
            f"{folder} already contains {', '.join(found)}, which would be overwritten; choose "
            "another folder."
        )


def _is_target(path: Path) -> bool:
    try:
        load_target(path)
    except CalibrationError:
        return False
    return True


def web_page(target: Target, encoded: dict[str, bytes]) -> str:
    """A self-contained HTML page that shows all frames."""
    sources = [f'"data:image/png;base64,{base64.b64encode(e).decode()}"' for e in encoded.values()]
    width, height = target.screen_px
    return _PAGE.format(
        frames=",\n".join(sources),
        names=", ".join(f'"{name}"' for name in encoded),
        width=width,
        height=height,
    )


def _png(picture: np.ndarray) -> bytes:
    _, encoded = cv2.imencode(".png", picture)
    return encoded.tobytes()
