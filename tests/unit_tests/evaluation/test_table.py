"""Results are printed as tables of aligned columns."""

from __future__ import annotations

from langchain_safe_retrievers.evaluation.table import count, ms, percent, table


def test_columns_are_as_wide_as_their_widest_cell():
    text = table(["name", "value"], [["a", 0.123456], ["longer name", None]])

    assert text.split("\n") == [
        "name          value",
        "a            0.1235",
        "longer name       -",
    ]


def test_figures_have_their_units():
    assert (ms(None), ms(1.23456)) == ("-", "1234.6")
    assert (percent(None), percent(1.0)) == ("-", "100.0 %")
    assert (count(0, "query"), count(1, "query")) == ("0 queries", "1 query")
