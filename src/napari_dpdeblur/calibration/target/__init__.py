"""The calibration target: pattern, slides, detection in captures."""
