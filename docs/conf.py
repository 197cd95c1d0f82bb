"""Sphinx configuration: `tox -e docs`, or sphinx-build -W -n docs FOLDER.

Neither building nor reading the pages needs a network. The pages are plain Markdown that is also
readable where the repository is hosted; the Markdown files of the root folder are included
when the site is built.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from napari_dpdeblur import __version__

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
# Pages of the site that stand for files of the root folder.
ROOT_PAGES = {
    ROOT / "README.md": "project/readme",
    ROOT / "CHANGELOG.md": "project/changelog",
    ROOT / "CONTRIBUTING.md": "project/contributing",
    ROOT / "SECURITY.md": "project/security",
}
LINK = re.compile(r"(\]\()([^)\s#]*)(#[^)\s]*)?(\))")

project = "napari-dpdeblur"
author = "the napari-dpdeblur developers"
copyright = author
version = release = __version__
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["plots/*.md"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]

autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
python_use_unqualified_type_names = True
maximum_signature_line_length = 90

nitpicky = True
# Names of other projects, whose documentation is not fetched, and type variables.
nitpick_ignore_regex = [
    (r"py:.*", r"(argparse|collections|os|pathlib|torch|numpy|np|pydantic|npt|datetime)\..*"),
    (r"py:.*", r"(Path|Tensor|Any|Callable|Generator|Iterable|Iterator|Sequence|Mapping)"),
    (r"py:.*", r"napari_dpdeblur\.cancellation\.(Step|Result)"),  # type variables
]

html_theme = "furo"
html_title = f"napari-dpdeblur {version}"
html_static_path = ["static"]
html_css_files = ["pages.css"]
html_show_sphinx = False
html_math_renderer = "mathml"


def read_root_page(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace the page that stands for a file of the root folder by that file; lead links there."""
    home = next((path for path, page in ROOT_PAGES.items() if page == docname), None)
    origin = home or DOCS / f"{docname}.md"
    text = home.read_text("utf-8") if home else source[0]
    if home:
        app.env.note_dependency(str(home))  # read the page again when the file changes
    here = (DOCS / docname).parent

    def lead(link: re.Match[str]) -> str:
        opening, target, anchor, closing = link.groups()
        if not target or "://" in target or target.startswith("mailto:"):
            return link[0]
        path = Path(os.path.normpath(origin.parent / target))
        if path in ROOT_PAGES:
            path = DOCS / f"{ROOT_PAGES[path]}.md"
        return f"{opening}{Path(os.path.relpath(path, here)).as_posix()}{anchor or ''}{closing}"

    source[0] = LINK.sub(lead, text)


def visit_inline_math(writer: HTML5Translator, node: nodes.math) -> None:
    """A formula in the line, as MathML: nothing is loaded to show it."""
    writer.body.append(latex2mathml.tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def visit_display_math(writer: HTML5Translator, node: nodes.math_block) -> None:
    """A formula on its own line, as MathML."""
    formula = latex2mathml.tex2mathml(node.astext(), as_block=True)
    writer.body.append(f'<div class="formula">{formula}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", read_root_page)
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(visit_inline_math, None),
        block_renderers=(visit_display_math, None),
    )
