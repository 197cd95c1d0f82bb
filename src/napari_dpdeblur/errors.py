"""The family of errors that a user may see.

Every message is one sentence that names the thing, says what was expected and what to do.
"""


class DpDeblurError(Exception):
    """Base of everything that napari-dpdeblur raises on purpose."""


class OperationCancelled(DpDeblurError):
    """A computation was cancelled on request."""

    def __init__(self) -> None:
        super().__init__("The computation was cancelled.")


class CaptureError(DpDeblurError):
    """A capture cannot be read, paired or merged."""


class CalibrationError(DpDeblurError):
    """A calibration is malformed or does not belong to the capture."""


class SettingsError(DpDeblurError):
    """A setting is unknown, out of range or contradicts another one."""


class FitError(DpDeblurError):
    """A fit cannot start or cannot go on."""


class ResultError(DpDeblurError):
    """A result cannot be written or read."""


class EvaluationError(DpDeblurError):
    """A result cannot be compared with its ground truth."""


class DownloadError(DpDeblurError):
    """Published data cannot be fetched or does not match its checksum."""
