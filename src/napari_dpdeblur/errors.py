"""Exceptions that a user may see.

Every message is one sentence: what is wrong, where, and what to do.
"""


class DpDeblurError(Exception):
    """Base class of all exceptions of napari-dpdeblur."""


class OperationCancelled(DpDeblurError):
    """A computation was cancelled by the user."""

    def __init__(self) -> None:
        super().__init__("The computation was cancelled.")


class CaptureError(DpDeblurError):
    """A capture cannot be read, paired or merged."""


class CalibrationError(DpDeblurError):
    """A calibration is invalid or does not match the capture."""


class SettingsError(DpDeblurError):
    """A setting is unknown, out of range or inconsistent with another one."""


class FitError(DpDeblurError):
    """A fit cannot start or continue."""


class ResultError(DpDeblurError):
    """A result cannot be written or read."""


class EvaluationError(DpDeblurError):
    """A result cannot be compared with its ground truth."""


class DownloadError(DpDeblurError):
    """Published data cannot be downloaded or does not match its checksum."""


SHOWN_CHARACTERS = 200


def shortened(path: object) -> str:
    """A path as text for a message; a very long one is cut."""
    text = str(path)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."
