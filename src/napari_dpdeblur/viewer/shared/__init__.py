"""Widgets and Qt helpers that all panels use."""
