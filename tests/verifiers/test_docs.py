import doctest
from pathlib import Path

from scienceide.verifiers import FAILURES

PAGE = Path(__file__).parents[2] / "docs" / "verifiers.md"


def test_the_pages_example_computes_what_it_says():
    result = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert result.failed == 0
    assert result.attempted >= 18


def test_the_page_lists_every_failure():
    text = PAGE.read_text(encoding="utf-8")
    assert [
        line.split("`")[1] for line in text.splitlines() if line.startswith("| `") and line.split("`")[1] in FAILURES
    ] == list(FAILURES)
