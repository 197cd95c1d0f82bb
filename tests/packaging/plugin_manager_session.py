"""One session of napari in which a user installs or removes the plugin by mouse and keyboard.

    python plugin_manager_session.py install WHEEL SCREENSHOT
    python plugin_manager_session.py use SCREENSHOT
    python plugin_manager_session.py uninstall SCREENSHOT
    python plugin_manager_session.py look

Runs in an environment of its own; see test_plugin_manager.py. Prints what the Plugins menu offers
of this plugin when the session starts, as a line `offered: JSON`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import napari
from napari_plugin_manager.qt_warning_dialog import RestartWarningDialog
from qtpy.QtCore import Qt, QTimer
from qtpy.QtTest import QTest
from qtpy.QtWidgets import QApplication, QPushButton

PLUGIN = "napari-dpdeblur"
OFFERED = "offered:"  # napari prints, too
MENU = "Dual-pixel deblur"
PATIENCE_S = 600  # pip may have to download


def wait_until(is_done: Callable[[], Any], what: str) -> Any:
    """Let the window live until ``is_done`` gives something true; return that."""
    end = time.monotonic() + PATIENCE_S
    while not (found := is_done()):
        if time.monotonic() > end:
            sys.exit(f"Waited in vain until {what}.")
        QApplication.processEvents()
        time.sleep(0.02)
    return found


def look_around(seconds: float = 1.0) -> None:
    """Let everything be drawn."""
    end = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() > end, "some time has passed")


def save_screen(path: str) -> None:
    look_around()
    QApplication.primaryScreen().grabWindow(0).save(path)


def open_menu(viewer: Any) -> Any:
    """The Plugins menu, opened as by a click."""
    menu = viewer.window.plugins_menu
    bar = viewer.window.main_menu
    place = bar.actionGeometry(menu.menuAction()).bottomLeft()
    menu.popup(bar.mapToGlobal(place))
    wait_until(menu.isVisible, "the Plugins menu is open")
    return menu


def action_named(menu: Any, text: str) -> Any:
    """The entry whose text starts like this, without the marks of shortcuts; None if not there."""
    for action in menu.actions():
        if action.text().replace("&", "").startswith(text):
            return action
    return None


def offered_panels(viewer: Any) -> list[str]:
    """What the Plugins menu offers of this plugin."""
    menu = open_menu(viewer)
    entry = action_named(menu, MENU)
    names = [] if entry is None else [item.text() for item in entry.menu().actions()]
    menu.hide()
    return [name.replace("&", "") for name in names if name]


def open_manager(viewer: Any) -> Any:
    """The dialog of the real plugin manager."""
    menu = open_menu(viewer)
    entry = action_named(menu, "Install/Uninstall Plugins")
    menu.hide()
    entry.trigger()
    dialog = viewer.window._qt_window._plugin_manager_dialog
    wait_until(dialog.isVisible, "the plugin manager is open")
    # It asks the hub first, which says no where there is no network.
    wait_until(lambda: dialog.refresh_button.isEnabled(), "the plugin manager is ready")
    wait_until(lambda: not dialog.working_indicator.isVisible(), "the hub has answered")
    return dialog


def finish(dialog: Any, screenshot: str) -> None:
    """Wait for pip, look, close the dialog and the hint to restart that it then shows."""
    wait_until(lambda: dialog.process_success_indicator.isVisible(), "pip has succeeded")
    save_screen(screenshot)
    hints = []

    def close_hint() -> None:
        hint = QApplication.activeModalWidget()
        if isinstance(hint, RestartWarningDialog):
            hints.append(hint)
            QTest.mouseClick(hint.findChild(QPushButton), Qt.MouseButton.LeftButton)

    timer = QTimer()
    timer.timeout.connect(close_hint)
    timer.start(100)
    QTest.mouseClick(dialog.close_btn, Qt.MouseButton.LeftButton)
    wait_until(lambda: hints, "the hint to restart napari has been closed")
    timer.stop()


def look(viewer: Any) -> None:
    """Nothing more than the menu."""


def install(viewer: Any, wheel: str, screenshot: str) -> None:
    dialog = open_manager(viewer)
    QTest.mouseClick(dialog.show_status_btn, Qt.MouseButton.LeftButton)
    QTest.keyClicks(dialog.direct_entry_edit, wheel)
    QTest.mouseClick(dialog.direct_entry_btn, Qt.MouseButton.LeftButton)
    finish(dialog, screenshot)


def use(viewer: Any, screenshot: str) -> None:
    """Open the panel Fit by the menu, and leave the menu open for the picture."""
    menu = open_menu(viewer)
    entry = action_named(menu, MENU)
    action_named(entry.menu(), "Fit").trigger()
    look_around()
    assert "Fit (Dual-pixel deblur)" in list(viewer.window.dock_widgets)
    menu = open_menu(viewer)
    menu.setActiveAction(action_named(menu, MENU))
    entry.menu().popup(menu.mapToGlobal(menu.actionGeometry(entry).topRight()))
    save_screen(screenshot)
    entry.menu().hide()
    menu.hide()


def uninstall(viewer: Any, screenshot: str) -> None:
    dialog = open_manager(viewer)
    plugins = dialog.installed_list
    item = next(
        plugins.item(row)
        for row in range(plugins.count())
        if plugins.item(row).widget.name == PLUGIN
    )
    plugins.scrollToItem(item)
    save_screen(screenshot)
    QTest.mouseClick(item.widget.action_button, Qt.MouseButton.LeftButton)
    finish(dialog, screenshot.replace(".png", "_done.png"))


def main() -> None:
    action, *arguments = sys.argv[1:]
    viewer = napari.Viewer()
    viewer.window._qt_window.resize(1366, 740)
    look_around()
    print(OFFERED, json.dumps(offered_panels(viewer)), flush=True)
    actions = {"install": install, "use": use, "uninstall": uninstall, "look": look}
    actions[action](viewer, *arguments)
    viewer.close()


if __name__ == "__main__":
    main()
