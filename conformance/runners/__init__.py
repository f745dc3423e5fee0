"""Runners: one module per engine.

A module defines `version()` and at least one of

- `infer(case)`: the dims of the output, each a number, `"?"`, an interval like `"2..5"`, or an expression over the
  symbols of the case; `None` if even the rank is unknown;
- `run(case)`: a list of the dims and the elements in row-major order.

Any exception counts as a refusal, except `NotOffered`. `README.md` lists the constants of a module.
"""


class NotOffered(Exception):
    """The engine does not claim to handle this case."""
