"""What `SQLRetriever` takes, copies, and says when it cannot."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import Any

import pytest
import sqlalchemy
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests
from sqlalchemy.ext.asyncio import create_async_engine

from langchain_safe_retrievers import SafeEnsembleRetriever
from langchain_safe_retrievers.errors import ConfigurationError, LegTimeoutError
from langchain_safe_retrievers.retrievers.sql import SQLRetriever
from langchain_safe_retrievers.sql.database import Database
from tests.unit_tests.sql.test_safety import ENDLESS

SECRET = "postgresql+psycopg://me:secret@127.0.0.1/shop"  # noqa: S105


class TestStandard(RetrieversIntegrationTests):
    """LangChain's standard tests, over a table in a file."""

    @pytest.fixture(autouse=True)
    def _database(self, url: str) -> None:
        self.url = url

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        """The class under test."""
        return SQLRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        """A table without full text, in which every row has an e."""
        return {"database": self.url, "table": "plain", "id_column": "id"}

    @property
    def retriever_query_example(self) -> str:
        """A query that finds four documents."""
        return "e"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"table": "dosc"}, r"no table 'dosc'; there is docs, docs_index.*plain"),
        ({"table": "docs; DROP TABLE docs"}, "no table 'docs; DROP TABLE docs'"),
        (
            {"table": "docs", "text_column": "body"},
            r"text_column: .*no column 'body'; it has .*text",
        ),
        ({"table": "docs", "id_column": "number"}, "id_column: .*'number'"),
        ({"table": "docs", "metadata_columns": ["lang", "x"]}, "metadata_columns: .*'x'"),
        ({"table": "docs", "metadata_json_column": "x"}, "metadata_json_column: .*'x'"),
        ({"table": "docs", "search_column": "x"}, "search_column: .*'x'"),
    ],
)
def test_names_are_checked_against_the_schema(
    url: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        SQLRetriever(url, **settings).invoke("bees")


@pytest.mark.parametrize("settings", [{}, {"table": "docs", "statement": "SELECT 1"}])
def test_a_table_or_a_statement_is_needed(url: str, settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="of table and statement; expected one"):
        SQLRetriever(url, **settings)


@pytest.mark.parametrize("k", [0, -1, True, "3", 1.5])
def test_k_is_a_whole_number(url: str, k: Any) -> None:
    with pytest.raises(ConfigurationError, match="whole number"):
        SQLRetriever(url, table="docs").invoke("bees", k=k)


@pytest.mark.parametrize("given", [None, 7, object()])
def test_a_database_is_a_url_or_an_engine(given: object) -> None:
    with pytest.raises(ConfigurationError, match="expected a URL, an Engine or an AsyncEngine"):
        SQLRetriever(given, table="docs")


def test_a_password_is_never_shown() -> None:
    retriever = SQLRetriever(SECRET, table="docs")
    assert "secret" not in repr(retriever)
    with pytest.raises(ConfigurationError, match="cannot be read") as refused:
        SQLRetriever("postgresql:/me:secret@127.0.0.1", table="docs")
    assert "secret" not in str(refused.value)


def test_a_retriever_over_a_url_is_copied_and_pickled(url: str) -> None:
    retriever = SQLRetriever(Database(url, pool_size=2), table="docs")
    found = retriever.invoke("bees")
    for again in (pickle.loads(pickle.dumps(retriever)), copy.deepcopy(retriever)):
        assert again == retriever
        assert again.database is not retriever.database
        assert again.invoke("bees") == found
    assert pickle.loads(pickle.dumps(Database(SECRET)))._given.password == "secret"  # noqa: S105


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.deepcopy])
def test_a_retriever_over_an_engine_says_why_it_cannot_be_copied(url: str, duplicate: Any) -> None:
    engine = sqlalchemy.create_engine(url)
    retriever = SQLRetriever(engine, table="docs")
    with pytest.raises(ConfigurationError, match="give the URL instead"):
        duplicate(retriever)


def test_options_are_for_urls(url: str) -> None:
    with pytest.raises(ConfigurationError, match="pool_size"):
        Database(sqlalchemy.create_engine(url), pool_size=3)


async def test_it_is_awaited_in_a_thread(url: str) -> None:
    retriever = SQLRetriever(url, table="docs")
    found = await retriever.ainvoke("honey", filter={"lang": "en"}, k=1)
    assert found == retriever.invoke("honey", filter={"lang": "en"}, k=1)
    assert len(found) == 1


async def test_an_async_engine_is_awaited(url: str) -> None:
    """Reading only and in time there too."""
    engine = create_async_engine(url.replace("sqlite:", "sqlite+aiosqlite:"))
    retriever = SQLRetriever(engine, table="docs")
    assert await retriever.ainvoke("bees") == SQLRetriever(url, table="docs").invoke("bees")
    with pytest.raises(ConfigurationError, match="use ainvoke"):
        retriever.invoke("bees")
    with pytest.raises(LegTimeoutError):
        await SQLRetriever(engine, statement=ENDLESS, statement_timeout=0.05).ainvoke("bees")
    await engine.dispose()


async def test_the_url_of_an_async_driver_makes_an_async_engine(url: str) -> None:
    retriever = SQLRetriever(url.replace("sqlite:", "sqlite+aiosqlite:"), table="docs")
    assert len(await retriever.ainvoke("bees")) == 2
    await retriever.database.engine.dispose()


def test_it_is_a_leg_like_any_other(url: str) -> None:
    legs = SafeEnsembleRetriever(
        retrievers=[
            SQLRetriever(url, table="docs"),
            SQLRetriever(url, table="plain", id_column="id"),
        ]
    )
    found = legs.invoke("bees", k=5, filter={"lang": "de"})
    assert [document.id for document in found] == ["4"]


def test_sqlalchemy_is_loaded_only_by_a_retriever_and_named_when_it_is_missing() -> None:
    program = (
        "import sys; sys.modules['sqlalchemy'] = None\n"
        "from langchain_safe_retrievers.retrievers.sql import SQLRetriever\n"
        "try: SQLRetriever('sqlite://', table='docs')\n"
        "except ImportError as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("MissingExtraError 'sqlalchemy' is not installed")
    assert 'pip install "langchain-safe-retrievers[sql]"' in done.stdout
