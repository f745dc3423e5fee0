"""Runs models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union, overload

from . import _snick
from ._dtypes import _as_array
from ._errors import _make, not_found
from ._progress import OnProgress

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

T = TypeVar("T")


class Outputs(Dict[str, "Array"]):
    """The outputs of a run by the names of their Result layers, or by tensor names."""

    def __init__(self, outputs: Sequence[Tuple[List[str], Any]]) -> None:
        super().__init__()
        self._aliases: Dict[str, str] = {}
        # A name refers to the first output that has it.
        for names, array in outputs:
            self.setdefault(names[0], array)
            for name in names[1:]:
                self._aliases.setdefault(name, names[0])

    def __missing__(self, name: str) -> "Array":
        if name in self._aliases:
            return super().__getitem__(self._aliases[name])
        raise not_found("output", name, self._ipython_key_completions_())

    def _ipython_key_completions_(self) -> List[str]:
        return [*self, *self._aliases]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._aliases

    @overload
    def get(self, name: str, default: None = None, /) -> "Optional[Array]": ...
    @overload
    def get(self, name: str, default: "Array", /) -> "Array": ...
    @overload
    def get(self, name: str, default: T, /) -> "Union[Array, T]": ...
    def get(self, name: str, default: Any = None, /) -> Any:
        """The output with a name, or ``default``."""
        return self[name] if name in self else default

    def __reduce__(self) -> Tuple[Any, ...]:
        extra: Dict[str, List[str]] = {}
        for alias, name in self._aliases.items():
            extra.setdefault(name, []).append(alias)
        return Outputs, ([([name, *extra.get(name, [])], array) for name, array in self.items()],)


Inputs = Union[Mapping[str, Any], Mapping[int, Any], Mapping[Union[str, int], Any]]
"""Arrays by input: by layer name, tensor name or index."""


def _arrays(inputs: Optional[Inputs]) -> Dict[str, "Array"]:
    """The arrays by name, with indices converted to names."""
    if inputs is None:
        return {}
    if not isinstance(inputs, Mapping):
        message = f"inputs are a {type(inputs).__name__}, expected a mapping of names to arrays"
        raise _make("RunError", "TypeError", "S054", message, [])
    arrays: Dict[str, "Array"] = {}
    for name, value in inputs.items():
        try:
            arrays[str(name)] = _as_array(value)
        except (TypeError, ValueError) as error:
            layer = ("S020", str(name), "Parameter", None, str(error))
            raise _make("RunError", "TypeError", "S020", f"input `{name}`: {error}", [layer]) from error
    return arrays


def _names(names: Sequence[str]) -> List[str]:
    """A list of names; a single name is a list of one."""
    return [names] if isinstance(names, str) else list(names)


def _threads(threads: Optional[int]) -> int:
    if threads is not None and threads < 1:
        raise ValueError(f"{threads} threads; expected at least 1")
    return threads or 0


class Session:
    """A model prepared for any number of runs. Variables keep their values between runs."""

    def __init__(self, session: _snick.Session) -> None:
        self._session = session

    def __reduce__(self) -> Tuple[Any, ...]:
        raise TypeError(
            "a Session cannot be pickled, because it holds weights packed for this machine; pickle the model and "
            "`session.state`, and call `model.session()` again"
        )

    def run(
        self,
        inputs: Optional[Inputs] = None,
        *,
        layers: Sequence[str] = (),
        threads: Optional[int] = None,
        progress: Optional[OnProgress] = None,
    ) -> Outputs:
        """Like :meth:`Model.run`, but variables keep their values for the next run. With ``layers``, the first run with
        these names takes longer, because the session normally fuses layers whose values nobody sees.

        Several threads may run one session, but runs of a model with variables wait for each other.
        """
        return Outputs(self._session.run(_arrays(inputs), _names(layers), _threads(threads), progress))

    @property
    def state(self) -> Dict[str, "Array"]:
        """Copies of the values of the variables by id; empty before the first run. The property can also be set."""
        return dict(self._session.state())

    @state.setter
    def state(self, values: Mapping[str, Any]) -> None:
        self._session.set_state(_arrays(values))

    def reset(self) -> None:
        """Resets all variables, so the next run is like the first."""
        self._session.reset()
