"""CSV."""

from __future__ import annotations

import pytest

from langchain_safe_retrievers.reading.csv_rows import read_csv
from langchain_safe_retrievers.reading.parts import (
    Broken,
    Part,
    ReadingOptions,
    UnreadableFileError,
)


def read(text: str, text_key: str | None = None) -> list[Part | Broken]:
    """Read a table."""
    return list(read_csv(text.encode(), ReadingOptions(text_key=text_key)))


def metadata(*cells: str) -> list[object]:
    """Return the values of a column "a", beside a text."""
    rows = "\n".join(f"Honey,{cell}" for cell in cells)
    parts = read(f"text,a\n{rows}\n")
    return [part.metadata["a"] for part in parts if isinstance(part, Part)]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_row_is_a_part_whatever_separates_its_cells(delimiter: str, mark: str) -> None:
    text = mark + 'text,year\n"Bees, they\n make honey",2024\nWasps,2025\n'.replace(
        ",year", f"{delimiter}year"
    ).replace(",20", f"{delimiter}20")
    assert read(text) == [
        Part("Bees, they\n make honey", {"year": 2024}, {"line": 2}),
        Part("Wasps", {"year": 2025}, {"line": 4}),
    ]


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1", "-2"], [1, -2]),
        (["1", "2.5", ""], [1, 2.5, None]),
        (["1", "007"], ["1", "007"]),
        (["1.9", "1.10"], ["1.9", "1.10"]),
        (["1", "x", ""], ["1", "x", ""]),
        (["nan", "inf"], ["nan", "inf"]),
        (["٣"], ["٣"]),
        (["9" * 30], ["9" * 30]),
        ([" 1"], [" 1"]),
        (["1_000"], ["1_000"]),
    ],
    ids=lambda cells: "|".join(map(str, cells)),
)
def test_a_column_becomes_numbers_if_nothing_is_lost(
    cells: list[str], values: list[object]
) -> None:
    assert metadata(*cells) == values
    assert [type(found) for found in metadata(*cells)] == [type(value) for value in values]


def test_without_a_text_column_a_row_is_its_names_and_values() -> None:
    assert read("name,legs\nBee,6\n") == [
        Part("name: Bee\nlegs: 6", {"name": "Bee", "legs": 6}, {"line": 2})
    ]


def test_the_text_column_can_be_named_and_stays_text() -> None:
    assert read("n,text\n7,a\n", text_key="n") == [Part("7", {"text": "a"}, {"line": 2})]


def test_a_row_of_another_length_is_told_of_by_the_line_it_begins_in() -> None:
    broken, *parts = read('text,a\n"x\ny",1,2\nb,1\n')
    assert broken == Broken(2, "has 3 cells; expected 2")
    assert parts == [Part("b", {"a": 1}, {"line": 4})]


def test_columns_without_a_name_or_with_the_same_name_are_kept_apart() -> None:
    assert read("text,a,a,\nx,1,2,3\n") == [
        Part("x", {"a": 1, "a_2": 2, "column_4": 3}, {"line": 2})
    ]


def test_a_quote_that_is_never_closed_is_refused_with_its_line() -> None:
    with pytest.raises(UnreadableFileError, match=r"no CSV: unexpected end of data.*line 3"):
        read('text\nfine\n"not\nclosed\n')


def test_a_cell_may_be_longer_than_the_standard_library_allows() -> None:
    (part,) = read(f"text\n{'x' * 200_000}\n")
    assert isinstance(part, Part)
    assert len(part.text) == 200_000


@pytest.mark.parametrize("text", ["", "\n", "text,a\n"])
def test_an_empty_table_has_no_rows(text: str) -> None:
    assert read(text) == []
