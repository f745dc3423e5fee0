"""Shared fixtures."""

import os
import pathlib
from typing import Callable

import pytest

import snick

# Programs that `test_types.py` does not run.
collect_ignore = ["mistakes"]

ROOT = pathlib.Path(os.environ.get("SNICK_ROOT") or pathlib.Path(__file__).resolve().parents[3])
MODELS = ROOT / "models"


@pytest.fixture
def models() -> pathlib.Path:
    """The models of the repository."""
    assert MODELS.is_dir()
    return MODELS


@pytest.fixture
def graph() -> Callable[[str], snick.Model]:
    """Builds a model from the lines of a graph in text form."""
    return lambda lines: snick.parse(f'snick 1\ngraph "g" {{\n{lines}\n}}\n')


@pytest.fixture
def add(graph: Callable[[str], snick.Model]) -> snick.Model:
    """The sum of `x` and `b`."""
    return graph(
        """  %x = Parameter-1 {element_type: f32, shape: "N,3"}
  %b = Parameter-1 {element_type: f32, shape: "N,3"} : _ "bias"
  %s = Add-1(%x, %b) {auto_broadcast: "numpy"} : _ "sum"
  %y = Result-1(%s)"""
    )
