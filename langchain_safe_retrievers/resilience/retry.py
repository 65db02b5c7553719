"""When to ask a leg again, and how long to wait before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tenacity import RetryCallState, Retrying
from tenacity.wait import wait_exponential, wait_random

from langchain_safe_retrievers.resilience.transient import is_transient, retry_after

RetryOn = Callable[[BaseException], bool] | tuple[type[BaseException], ...]


@dataclass(frozen=True)
class Retry:
    """Exponential backoff with jitter, on errors that may pass by themselves.

    The pause before retry n is min(max_wait, wait · 2ⁿ⁻¹) seconds and a random part of `wait`,
    or what the error's Retry-After asks for, if that is longer.

    Args:
        max_retries: How often to ask again, at least 0.
        wait: Seconds before the first retry, at least 0.
        max_wait: Seconds that a pause grows to, unless the error asks for more.
        retry_on: Which errors are worth it: a function of the error, or a tuple of classes.

    Example:
        >>> retry = Retry(max_retries=1, wait=0.1)
        >>> 0.1 <= retry.pause(TimeoutError(), attempt=1) <= 0.2
        True
        >>> retry.pause(TimeoutError(), attempt=2) is None
        True
    """

    max_retries: int = 2
    wait: float = 0.1
    max_wait: float = 5.0
    retry_on: RetryOn = is_transient

    def pause(self, error: BaseException, attempt: int) -> float | None:
        """Return how long to wait before the next attempt.

        Args:
            error: What this attempt raised.
            attempt: Which attempt it was, from 1.

        Returns:
            Seconds, or None if it is not to be asked again.
        """
        if attempt > self.max_retries or not self._is_worth_it(error):
            return None
        backoff = wait_exponential(self.wait, self.max_wait) + wait_random(0, self.wait)
        state = RetryCallState(Retrying(), None, (), {})
        state.attempt_number = attempt
        return max(backoff(state), retry_after(error) or 0.0)

    def _is_worth_it(self, error: BaseException) -> bool:
        if isinstance(self.retry_on, tuple):
            return isinstance(error, self.retry_on)
        return self.retry_on(error)
