"""A leg that is always asked for the same number of documents."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import RetrieverLike
from langchain_core.runnables import RunnableBinding, RunnableConfig

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.legs.arguments import takes
from langchain_safe_retrievers.legs.ask import is_sync_only
from langchain_safe_retrievers.legs.threads import run_in_own_thread


class LegDepth(RunnableBinding[str, list[Document]]):  # type: ignore[no-redef]
    """A leg that is asked for `k` documents, whatever depth the others are asked for.

    `bind(k=20)` would not do: the retriever's own depth replaces a bound one.

    Example:
        >>> from langchain_safe_retrievers.testing import FakeLeg
        >>> leg = FakeLeg(documents=["a"])
        >>> _ = at_depth(leg, 20).invoke("question")
        >>> leg.calls
        [('question', {'k': 20})]
    """

    @property
    def depth(self) -> int:
        """How many documents it is asked for."""
        return int(self.kwargs["k"])

    def takes_argument(self, name: str) -> bool:
        """Tell whether the leg does something with a named argument.

        Args:
            name: The argument's name.

        Returns:
            False for `k`, which is given; else what the leg inside takes.
        """
        return name != "k" and takes(self.bound, name)

    async def ainvoke(
        self,
        input: str,  # noqa: A002 - core's name
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Ask the leg without blocking the loop.

        Args:
            input: The query.
            config: The leg's config.
            **kwargs: Its named arguments.

        Returns:
            Its documents.
        """
        if is_sync_only(self.bound):  # core's default async method takes no arguments
            found: list[Document] = await run_in_own_thread(
                lambda: self.invoke(input, config, **kwargs), id(self.bound)
            )
            return found
        return await super().ainvoke(input, config, **kwargs)


def at_depth(leg: RetrieverLike, k: int) -> LegDepth:
    """Return a leg that is always asked for `k` documents.

    Args:
        leg: A leg that takes `k`; one that `at_depth` made gets another depth.
        k: At least 1.

    Returns:
        The leg.

    Raises:
        ConfigurationError: The leg does not take `k`, or `k` is less than 1.
    """
    inner: Any = leg.bound if isinstance(leg, LegDepth) else leg
    if not takes(inner, "k"):
        msg = f"{type(inner).__name__} takes no k, so it cannot be told how many to return"
        raise ConfigurationError(msg)
    if type(k) is not int or k < 1:
        msg = f"the depth of {type(inner).__name__} is {k!r}; expected a whole number, at least 1"
        raise ConfigurationError(msg)
    return LegDepth(bound=inner, kwargs={"k": k})
