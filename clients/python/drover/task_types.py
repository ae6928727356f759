"""Kinds of tasks as values: a name, its defaults and, where tasks are run, its handler."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Dict, Generic, List, Mapping, Optional, TypeVar, Union, overload

from . import _calls

if TYPE_CHECKING:
    from .async_client import AsyncClient, AsyncHandle
    from .client import Client, Handle
    from .context import AsyncContext, Context

P = TypeVar("P")
R = TypeVar("R")


class Task(Generic[P, R]):
    """A kind of task with the types of its payload (P) and its result (R).

    Made by the decorator `task`, or without a handler where tasks are only enqueued: `resize: Task[Resize, Image] = Task("resize")`.
    """

    def __init__(self, name: str, handler: Optional[Callable[..., Any]] = None, **defaults: Any) -> None:
        self.name = _calls.check_name(name, "type")
        self.handler = handler
        self.is_async = inspect.iscoroutinefunction(handler)
        self._defaults = defaults
        _calls.task_spec(name, None, defaults)  # a default that no task has is found here
        if handler is not None:
            self.__doc__ = handler.__doc__

    @property
    def queue(self) -> str:
        """Where its tasks wait, and where a worker looks for them."""
        return str(self._defaults.get("queue") or self.name)

    def spec(self, payload: Optional[P] = None, **options: Any) -> Dict[str, Any]:
        """One task, for `enqueue_many` and `ctx.spawn`."""
        return _calls.task_spec(self.name, payload, {**self._defaults, **options})

    def enqueue(self, client: "Client", payload: Optional[P] = None, **options: Any) -> "Handle[R]":
        return client.enqueue(self, payload, **options)

    async def enqueue_async(self, client: "AsyncClient", payload: Optional[P] = None, **options: Any) -> "AsyncHandle[R]":
        return await client.enqueue(self, payload, **options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the handler, as a test does."""
        if self.handler is None:
            raise TypeError(f"the task type {self.name!r} has no handler here")
        return self.handler(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Task({self.name!r})"


class _Decorator:
    def __init__(self, name: str, defaults: Mapping[str, Any]) -> None:
        self._name = name
        self._defaults = defaults

    @overload
    def __call__(self, handler: "Callable[[P, AsyncContext], Awaitable[R]]") -> "Task[P, R]": ...

    @overload
    def __call__(self, handler: "Callable[[P, Context], R]") -> "Task[P, R]": ...

    def __call__(self, handler: Callable[..., Any]) -> "Task[Any, Any]":
        return Task(self._name, handler, **self._defaults)


def task(name: str, **defaults: Any) -> _Decorator:
    """Makes a function the handler of a type: `@task("resize", queue="img", max_attempts=3)`.

    The function takes the payload and a Context (an `async def`: an AsyncContext) and returns the result. The defaults are options of
    `enqueue`.
    """
    return _Decorator(name, defaults)


def spec_of(task_type: Union[str, "Task[Any, Any]"], payload: object, options: Mapping[str, Any]) -> Dict[str, Any]:
    if isinstance(task_type, Task):
        return task_type.spec(payload, **options)
    return _calls.task_spec(task_type, payload, options)


NewTask = Union[Mapping[str, Any], "tuple[Union[str, Task[Any, Any]], Any]"]


def specs_of(tasks: "List[NewTask]") -> List[Dict[str, Any]]:
    """The specs of tasks. Each task is a mapping with `type` and options, or a pair of type and payload."""
    specs = []
    for one in tasks:
        if isinstance(one, tuple):
            specs.append(spec_of(one[0], one[1], {}))
            continue
        options = dict(one)
        specs.append(spec_of(options.pop("type"), options.pop("payload", None), options))
    return specs
