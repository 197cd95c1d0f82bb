"""What the documentation says has to be true: every block of code in it is run."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from doc_blocks import MARKER, RUN, SHOWN, Block, blocks_of, run_block

from napari_dpdeblur.cli.main import build_parser

REPOSITORY = Path(__file__).resolve().parents[1]
README = REPOSITORY / "README.md"
PAGES = [README, *sorted((REPOSITORY / "docs").rglob("*.md"))]
BLOCKS = {page: list(blocks_of(page)) for page in PAGES}

NOT_RUN = "not run: "
SLOW = "slow"
# Blocks that cannot be run in a test, by their reason. .ci/run runs the two commands of the README.
ALLOWED = {
    "not run: needs a phone": 1,
    "not run: opens a window": 1,
    "not run: takes minutes": 2,
    "not run: takes hours": 1,
    "not run: needs a second shoot": 1,
    "not run: needs a cluster": 4,
    "not run: needs a CR2 file": 1,
    "not run: needs a CUDA build": 1,
    "not run: needs an Apple computer": 1,
    "command: demo": 1,
    "command: test": 1,
}


def is_run(block: Block) -> bool:
    return block.language in RUN and not block.marker.startswith((NOT_RUN, "command: "))


def page_name(page: Path) -> str:
    return page.relative_to(REPOSITORY).as_posix()


EXAMPLES = [
    pytest.param([block for block in blocks if is_run(block)], id=page_name(page))
    for page, blocks in BLOCKS.items()
    if any(map(is_run, blocks))
]


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash for the commands")
@pytest.mark.parametrize("blocks", EXAMPLES)
def test_all_blocks_of_a_page_run_in_order(blocks, tmp_path, monkeypatch, capsys, request):
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path / "cache"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    names: dict[str, object] = {"__name__": "example"}
    with_slow = request.config.getoption("--run-slow")
    for block in blocks:
        if block.marker == SLOW and not with_slow:
            continue
        run_block(block, names, lambda: capsys.readouterr().out)


def test_blocks_that_are_not_run_are_few_and_say_why():
    found = Counter(
        block.marker
        for blocks in BLOCKS.values()
        for block in blocks
        if block.language in RUN and not is_run(block)
    )
    assert found == ALLOWED


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_block_has_a_language_and_every_marker_a_block(page):
    assert [block.place for block in BLOCKS[page] if block.language not in RUN + SHOWN] == []
    marked = [line for line in page.read_text("utf-8").splitlines() if MARKER.match(line)]
    pointing = [line for line in marked if line.strip(" <!->").startswith((NOT_RUN, SLOW))]
    assert len(pointing) == sum(block.marker.startswith((NOT_RUN, SLOW)) for block in BLOCKS[page])


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_no_command_hides_in_a_block_that_is_only_shown(page):
    usage = page.name == "command_line.md"
    hidden = [
        f"{block.place}: {line}"
        for block in BLOCKS[page]
        if block.language == "text" and not usage
        for line in block.text.splitlines()
        if re.match(r"(\$ )?(napari|python|pip|tox|dask|import |from )", line)
    ]
    assert hidden == []


LINKED_PAGES = [*PAGES, REPOSITORY / "CONTRIBUTING.md", REPOSITORY / "CHANGELOG.md"]


def anchors_of(page: Path) -> set[str]:
    """What a link may name after its #: the headings, as GitHub and the site spell them."""
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ +(.+)$", text, re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()).strip() for heading in headings]
    return {heading.replace(" ", "-") for heading in plain}


def leads_somewhere(page: Path, link: str) -> bool:
    """Whether a relative link names a file that is there, and a heading of it."""
    name, _, anchor = link.partition("#")
    target = page.parent / name if name else page
    return target.exists() and (not anchor or anchor in anchors_of(target))


@pytest.mark.parametrize("page", LINKED_PAGES, ids=page_name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8"))
    inside = [link for link in links if "://" not in link]
    assert [link for link in inside if not leads_somewhere(page, link)] == []


def test_a_dead_link_is_noticed():
    assert leads_somewhere(README, "docs/howto/compare.md#metrics")
    assert leads_somewhere(README, "#limitations")
    assert not leads_somewhere(README, "docs/howto/compare.md#no-such-heading")
    assert not leads_somewhere(README, "docs/no_such_page.md")


def test_the_readme_lists_every_command():
    described = set(re.findall(r"^\| `napari-dpdeblur ([\w-]+)", README.read_text("utf-8"), re.M))
    choices = next(a.choices for a in build_parser()._actions if isinstance(a.choices, dict))
    assert described == set(choices)


def test_the_readme_has_exactly_two_commands_for_a_fresh_machine():
    text = README.read_text("utf-8")
    names = re.findall(r"<!-- command: (\w+) -->\n```sh\npython3 -m venv [^\n]+\n```", text)
    assert names == ["demo", "test"]
    assert len(re.findall(r"^```sh$", text, re.MULTILINE)) == 2
