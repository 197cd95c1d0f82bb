"""The Inspect panel: layers, refocusing, 3D, export."""
