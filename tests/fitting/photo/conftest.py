import pytest
from photo_scene import HEIGHT, WIDTH

from napari_dpdeblur.datasets.synthetic.scene import synthetic_scene


@pytest.fixture(scope="session")
def colors():
    """The sharp scene (3, H, W)."""
    return synthetic_scene(HEIGHT, WIDTH, channels=3).all_in_focus


@pytest.fixture(scope="session")
def other_colors():
    return synthetic_scene(HEIGHT, WIDTH, seed=5, channels=3).all_in_focus
