"""The errors of this package.

Everything raised here on purpose is a `SafeRetrieverError`; each is also the
built-in error that Python programmers already catch for that kind of mistake::

    SafeRetrieverError
    ├── CallerError                                 a mistake of the caller, not of a leg
    │   ├── ConfigurationError (ValueError)         a setting that cannot work
    │   │   └── PolicyError (AssertionError)        a merge policy that contradicts itself
    │   ├── FilterError (ValueError)                a filter that cannot be read
    │   ├── MetadataError (TypeError, ValueError)   metadata that cannot be stored as it is
    │   ├── QueryError (TypeError, ValueError)      a query that is none
    │   └── UnacceptedArgumentError (TypeError)     an argument that no leg takes
    ├── MissingExtraError (ImportError)             an optional package that is not installed
    ├── IndexLockedError (TimeoutError)             an index that someone else is writing
    ├── LegError
    │   ├── LegResultError (TypeError)              a leg returned no list of documents
    │   ├── LegTimeoutError (TimeoutError)          a leg did not answer in time
    │   │   └── LegHangingError                     too many threads hang in it already
    │   └── CircuitOpenError (ConnectionError)      it failed so often that it is left alone
    ├── AllLegsFailedError (ExceptionGroup)         every leg failed; carries every cause
    └── QueryOutputError (TypeError, ValueError)    model output that holds no queries
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class SafeRetrieverError(Exception):
    """Base class of every error that this package raises on purpose."""


class CallerError(SafeRetrieverError):
    """A mistake of the caller: asking again, or asking another leg, does not help."""


class ConfigurationError(CallerError, ValueError):
    """A constructor argument or setting that cannot work."""


class PolicyError(ConfigurationError, AssertionError):
    """A merge policy whose settings contradict each other."""


class FilterError(CallerError, ValueError):
    """A metadata filter that cannot be read."""


class QueryError(CallerError, TypeError, ValueError):
    """A query that is no text, is blank, or too long."""


class MetadataError(CallerError, TypeError, ValueError):
    """A metadata value that cannot be stored and come back as it was."""


class MissingExtraError(SafeRetrieverError, ImportError):
    """An optional package that is needed here and is not installed."""


class IndexLockedError(SafeRetrieverError, TimeoutError):
    """Another writer holds the index, and did not finish within `lock_timeout` seconds."""


class UnacceptedArgumentError(CallerError, TypeError):
    """A named argument of `invoke` that no leg takes."""


class LegError(SafeRetrieverError):
    """A leg that did not answer as a retriever does."""


class LegResultError(LegError, TypeError):
    """A leg returned something that is no list of documents."""


class LegTimeoutError(LegError, TimeoutError):
    """A leg did not answer in time."""


class LegHangingError(LegTimeoutError):
    """A leg was not asked, for as many threads as it may use hang in it."""


class CircuitOpenError(LegError, ConnectionError):
    """A leg was not asked, for it has failed again and again a moment ago."""


class AllLegsFailedError(SafeRetrieverError, ExceptionGroup[Exception]):
    """Every leg failed; `exceptions` holds each leg's own error, in legs' order."""

    def derive(self, excs: Sequence[Exception]) -> AllLegsFailedError:  # type: ignore[override]
        """Return a group of the same kind around `excs` (used by `split` and `except*`)."""
        return AllLegsFailedError(self.message, excs)


class QueryOutputError(SafeRetrieverError, TypeError, ValueError):
    """The query writer's output holds no queries in any known form."""
