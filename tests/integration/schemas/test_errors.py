"""Every exception passes between processes, as a Beam worker's or a pool's do."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil

import pytest

import yt8m
from yt8m.schemas.errors import ConfigError


def _exceptions() -> list[type[BaseException]]:
    names = [m.name for m in pkgutil.walk_packages(yt8m.__path__, "yt8m.")]
    modules = [importlib.import_module(n) for n in names if not n.endswith("__main__")]
    return [
        value
        for module in modules
        for value in vars(module).values()
        if inspect.isclass(value)
        and issubclass(value, BaseException)
        and value.__module__ == module.__name__
    ]


def _made(cls: type[BaseException]) -> BaseException:
    """One with a value for whatever it takes."""
    try:
        parameters = inspect.signature(cls.__init__).parameters.values()
    except ValueError:  # of a class of Python's
        return cls("what is wrong")
    positional, named = [], {}
    for number, one in enumerate(list(parameters)[1:]):
        value = number + 7 if one.annotation in ("int", "bool") else f"text {number}"
        if one.kind is inspect.Parameter.KEYWORD_ONLY:
            named[one.name] = value
        elif one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
            positional.append(value)
    return cls(*(positional or ["what is wrong"]), **named)


def test_every_exception_passes_between_processes() -> None:
    classes = _exceptions()
    assert len(classes) > 40
    lost = {}
    for cls in classes:
        error = _made(cls)
        try:
            again = pickle.loads(pickle.dumps(error))
        except TypeError as problem:
            lost[cls.__name__] = str(problem)
            continue
        if (type(again), str(again), vars(again)) != (cls, str(error), vars(error)):
            lost[cls.__name__] = f"{again!r} {vars(again)}"
    assert lost == {}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_what_an_error_lists_passes_with_it(protocol: int) -> None:
    again = pickle.loads(pickle.dumps(ConfigError(["a", "b"]), protocol))
    assert (str(again), again.problems, again.args) == ("a\nb", ("a", "b"), ("a\nb",))
