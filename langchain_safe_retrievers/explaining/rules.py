"""The names of identities, fusers and merge policies."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document

from langchain_safe_retrievers.identity import Identity, by_content, by_levels
from langchain_safe_retrievers.merging.conflicts import name_of


def rule_of(identity: Identity, document: Document) -> tuple[str, Any]:
    """Return the rule that identifies a document, and what it says.

    Args:
        identity: The identity.
        document: The document.

    Returns:
        The rule's name, and its value; None for the text itself.

    Example:
        >>> from langchain_safe_retrievers.identity import by_id
        >>> rule_of(by_levels(by_id, by_content), Document(page_content="a", id="7"))
        ('by_id', '7')
    """
    if isinstance(identity, by_levels):
        for level in identity.levels:
            if level(document) is not None:
                return rule_of(level, document)
    if identity is by_content:
        return "by_content", None
    return name_of_rule(identity), identity(document)


def name_of_rule(rule: Any) -> str:
    """Return a function's name, or what else a rule is printed as.

    Args:
        rule: An identity, fuser or policy.

    Returns:
        The name.

    Example:
        >>> name_of_rule(by_content), name_of_rule(by_levels(by_content))
        ('by_content', 'by_levels(by_content)')
    """
    if isinstance(rule, by_levels):
        return f"by_levels({', '.join(map(name_of_rule, rule.levels))})"
    name = getattr(rule, "__name__", None)
    return name if isinstance(name, str) else name_of(rule)
