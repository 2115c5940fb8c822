"""An attribute that is worked out when it is first asked for.

`functools.cached_property` before Python 3.12 holds one lock for all instances of a class while it computes, so
that threads with an instance each would wait for one another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class lazy(Generic[T]):
    """`functools.cached_property` without the lock: two threads that ask one instance at once both compute."""

    def __init__(self, work: Callable[[Any], T]) -> None:
        self._work = work
        self.__doc__ = work.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> T:
        value = self._work(instance)
        # From now on the instance's own attribute is found first.
        instance.__dict__[self._name] = value
        return value
