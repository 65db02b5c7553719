"""What the documentation shows is what happens.

The ```python blocks of a file are run from top to bottom in one namespace. A block prints exactly
the lines that its `# prints: ` comments show.
"""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
FILES = [README, *sorted(ROOT.glob("docs/*.md"))]
PAGES = [*FILES, *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"))]


def blocks(page: Path, language: str) -> list[str]:
    """Return the fenced blocks of a language, with blank lines above to keep the line numbers."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return ["\n" * text.count("\n", 0, block.start(1)) + block[1] for block in found]


def promised(block: str) -> list[str]:
    """Return the lines that a block says it prints."""
    return re.findall(r"# prints: (.*)$", block, re.MULTILINE)


def printed(block: str, page: Path, names: dict[str, object]) -> list[str]:
    """Run a block and return the lines that it printed."""
    output = io.StringIO()
    with redirect_stdout(output):
        exec(compile(block, page, "exec"), names)  # noqa: S102 - our own documentation
    return output.getvalue().splitlines()


@pytest.mark.parametrize("page", FILES, ids=lambda page: page.name)
def test_every_block_prints_what_the_page_says(page: Path) -> None:
    names: dict[str, object] = {"__name__": page.stem}
    for block in blocks(page, "python"):
        assert printed(block, page, names) == promised(block), block.strip()


def test_the_readme_and_the_migration_guide_have_blocks_that_promise_something() -> None:
    for page in (README, ROOT / "docs" / "migration.md"):
        assert sum(len(promised(block)) for block in blocks(page, "python")) > 5, page.name


def test_the_readme_has_two_commands_that_do_all_the_set_up() -> None:
    assert "".join(blocks(README, "bash")).strip().splitlines() == [
        'pip install -e ".[quickstart]" && python examples/quickstart.py',
        'pip install -e ".[test]" && pytest',
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_inside_the_repository_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
