"""What an index directory was made with: remembered beside the index, held on reopening."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from langchain_safe_retrievers.errors import ConfigurationError

_FILE = "settings.json"
_FORMAT = 1  # raised when an index written by an older version cannot be read any more


@dataclass(frozen=True)
class Settings:
    """The settings of an index.

    Args:
        k: How many documents a query returns.
        tokenizer: "auto", or the full name of a callable.
        language: The language of stop words and stems, or None.
        terms: A digest of the terms that these make of a text; see `Tokenizer.fingerprint`.
        format: The version of the index's layout.
    """

    k: int
    tokenizer: str
    language: str | None
    terms: str = ""
    format: int = _FORMAT

    def hold(self, directory: Path, wanted: Mapping[str, Any]) -> None:
        """Refuse settings that are not these.

        Args:
            directory: Where these were read.
            wanted: Some settings, by name.

        Raises:
            ConfigurationError: One differs; the error names it.
        """
        for name, value in wanted.items():
            own = getattr(self, name)
            if value != own:
                msg = (
                    f"{name} is {value!r}, but the index in {str(directory)!r} was made with "
                    f"{name}={own!r}; {_ADVICE[name]}"
                )
                raise ConfigurationError(msg)


_ADVICE = {
    "k": "leave it out, or give another k with each query",
    "tokenizer": "give that one, or build a new index in another directory",
    "language": "leave it out, or build a new index in another directory",
    "terms": "its words are split or stemmed otherwise now: build a new index",
    "format": "it belongs to another version of this package: build a new index",
}


def read_settings(directory: Path) -> Settings | None:
    """Read the settings of an index directory.

    Args:
        directory: Where the index is.

    Returns:
        The settings, or None if there is no index: the directory is empty or not there.

    Raises:
        ConfigurationError: Something else is in the directory, or another version's index.
    """
    try:
        found = json.loads((directory / _FILE).read_text(encoding="utf-8"))
        own = Settings(**{**found, "format": _FORMAT})
    except FileNotFoundError:
        if directory.is_dir() and any(
            not path.name.startswith(_FILE) for path in directory.iterdir()
        ):
            raise _no_index(directory) from None
        return None
    except (OSError, TypeError, ValueError):
        raise _no_index(directory) from None
    if found.get("format") != _FORMAT:
        Settings(**found).hold(directory, {"format": _FORMAT})
    return own


def write_settings(directory: Path, settings: Settings) -> None:
    """Write the settings of a new index directory, whole or not at all.

    Args:
        directory: Where the index is to be; it is made if it is not there.
        settings: The settings.
    """
    directory.mkdir(parents=True, exist_ok=True)
    draft = directory / f"{_FILE}.{os.getpid()}"
    with draft.open("w", encoding="utf-8") as file:
        json.dump(asdict(settings), file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(directory / _FILE)


def _no_index(directory: Path) -> ConfigurationError:
    return ConfigurationError(
        f"persist_directory is {str(directory)!r}, which holds something else than a keyword "
        "index; give an empty or new directory, or one that an index was made in"
    )
