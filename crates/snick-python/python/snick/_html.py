"""Tables and pictures for notebooks.

Names in models are escaped. Styles are attributes of our own elements, and the rules of a picture only match elements
of pictures, so other cells of the notebook look the same with and without ours.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any, Iterable, List, Sequence, Sized

if TYPE_CHECKING:
    from ._answers import Diff, Findings, SymbolOrigin, Why, WhyNode
    from ._layers import Body, Layer, Layers, Ports
    from ._model import Inference, Model
    from ._sequences import Symbols

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")

_MOST_ROWS = 30
"""Maximum number of rows in a table, or of lines in a text. The number of the others is shown."""

_MOST_DRAWN = 300
"""Maximum number of layers of a model to draw."""

_MOST_NODES = 100
"""Maximum number of nodes of a tree to show."""

_LONGEST = 200
"""Maximum number of characters in a cell."""

_PROSE = ("message", "help", "reason")
"""Columns of sentences. In all other columns, characters of different rows stand below each other."""


def escape_controls(text: str) -> str:
    """Escapes control characters and bidi marks as ``\\u{1b}``."""
    return _CONTROLS.sub(lambda found: f"\\u{{{ord(found.group()):x}}}", text)


def escape(value: Any) -> str:
    """Escapes a text for HTML."""
    return html.escape(escape_controls(str(value)))


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    return escape(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")


def _left_out(count: int, what: str) -> str:
    if count <= 0:
        return ""
    return f"<p>{count} more {f'{what} is' if count == 1 else f'{what}s are'} left out.</p>"


def preformatted(text: str) -> str:
    """Preformatted lines."""
    lines = text.splitlines()
    shown = "\n".join(map(escape, lines[:_MOST_ROWS]))
    return f'<pre style="font-family:monospace">{shown}</pre>{_left_out(len(lines) - _MOST_ROWS, "line")}'


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], count: int) -> str:
    """A table of the first of ``count`` rows."""
    styles = [
        f' style="text-align:left;font-family:{"sans-serif" if name in _PROSE else "monospace"}"' for name in head
    ]
    cells = "".join(f"<th{style}>{escape(cell)}</th>" for style, cell in zip(styles, head))
    shown = (row for _, row in zip(range(_MOST_ROWS), rows))
    body = "".join(
        f"<tr>{''.join(f'<td{style}>{_cell(cell)}</td>' for style, cell in zip(styles, row))}</tr>" for row in shown
    )
    more = _left_out(count - _MOST_ROWS, "row")
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>{more}"


def _titled(title: str, items: Sized, shown: str) -> str:
    return f"<p><b>{title}</b></p>{shown}" if len(items) else ""


def ports(of: "Ports") -> str:
    """Inputs or outputs."""
    rows = ((port.name, port.dtype, port.shape.symbolic, port.shape) for port in of)
    return table(("name", "dtype", "shape", "bounds"), rows, len(of))


def symbols(of: "Symbols") -> str:
    """Symbols with their intervals."""
    rows = ((symbol, symbol.min, symbol.max) for symbol in of)
    return table(("name", "min", "max"), rows, len(of))


def _legend(of: "Sequence[SymbolOrigin]") -> str:
    rows = ((s.name, s.interval, s.kind, f"{s.op} {s.layer}", s.reason) for s in of)
    return _titled("symbols", of, table(("name", "interval", "kind", "layer", "reason"), rows, len(of)))


def layers(of: "Layers") -> str:
    """A row for each layer."""
    from ._layers import _COLUMNS

    return table(_COLUMNS, of._rows(_MOST_ROWS), len(of))


def layer(of: "Layer") -> str:
    """The attributes, inputs and outputs."""
    inputs = [source and f"{source.layer}:{source.port}" for source in of.inputs]
    outputs = [f"{output.dtype}{output.shape.symbolic}" for output in of.outputs]
    rows = [
        *(("input", at, source) for at, source in enumerate(inputs)),
        *(("attribute", name, value) for name, value in of.attrs.items()),
        *(("output", at, output) for at, output in enumerate(outputs)),
    ]
    place = f" ({escape(of.loc)})" if of.loc else ""
    return f"<p><b>{_cell(of.name)}</b>: {escape(of.op)}{place}</p>" + table(("", "name", "value"), rows, len(rows))


def _ends(of: "Model | Body | Inference") -> str:
    return _titled("inputs", of.inputs, ports(of.inputs)) + _titled("outputs", of.outputs, ports(of.outputs))


def model(of: "Model") -> str:
    """Inputs, outputs and the legend of symbols, with a picture of small models."""
    count = len(of.layers)
    parts = [f"<p><b>{_cell(of.name)}</b>: {count} layers</p>", _ends(of)]
    if count <= _MOST_DRAWN:
        parts.append(_legend(of.infer(check=False)["symbols"]))
        parts.append(f'<div style="max-height:24em;overflow:auto">{of.picture()}</div>')
    else:
        parts.append(
            f"<p>The picture is left out, because the model has more than {_MOST_DRAWN} layers; "
            "<code>picture(around=\"LAYER\")</code> draws a part of it.</p>"
        )
    return f"<div>{''.join(parts)}</div>"


def body(of: "Body") -> str:
    """Inputs, outputs and layers."""
    count = len(of.layers)
    return f"<p><b>{escape(of.role)}</b>: {count} layers</p>{_ends(of)}{_titled('layers', of.layers, layers(of.layers))}"


def inference(of: "Inference") -> str:
    """Inputs, outputs and errors."""
    rows = ((error.layer, error.op, error.loc, error.message) for error in of.errors)
    errors = table(("layer", "op", "loc", "message"), rows, len(of.errors))
    return _ends(of) + _titled("errors", of.errors, errors)


def findings(of: "Findings") -> str:
    """A row for each finding."""
    rows = ((f.severity, f.code, f.name, f.layer, f.loc, f.message, f.help) for f in of)
    return table(("severity", "code", "name", "layer", "loc", "message", "help"), rows, len(of))


def _tree(tree: "WhyNode", left: List[int]) -> str:
    """The nodes of a tree, as long as any of ``left`` are left. Counts the others, too."""
    left[0] -= 1
    is_shown = left[0] >= 0
    below = "".join(_tree(child, left) for child in tree.from_)
    if not is_shown:
        return ""
    reason = f": {_cell(tree.reason)}" if tree.reason else ""
    place = f" ({escape(tree.loc)})" if tree.loc else ""
    head = f'<code style="font-family:monospace">{_cell(tree.expr)}</code> {escape(tree.op)} {_cell(tree.layer)}'
    return f"<li>{head}{place}{reason}{f'<ul>{below}</ul>' if below else ''}</li>"


def why(answer: "Why") -> str:
    """The tree as a nested list."""
    trees = [answer] if "tree" in answer else answer.get("parts", [])
    if not trees:
        return preformatted(str(answer))
    left = [_MOST_NODES]
    parts: List[str] = []
    for one in trees:
        tree = _tree(one.tree, left)
        if not tree:
            continue
        parts.append(f"<ul>{tree}</ul>")
        rows = [(suggestion.shape, suggestion.gives) for suggestion in one.suggest]
        parts.append(table(("try", "gives"), rows, len(rows)) if rows else "")
    return f"<div>{''.join(parts)}{_left_out(-left[0], 'node')}</div>"


def diff(answer: "Diff") -> str:
    """The causes as a table."""
    of = answer.layers
    rows: List[Sequence[Any]] = [("added", one.name, one.op, one.loc, "") for one in of.added]
    rows += [("removed", one.name, one.op, one.loc, "") for one in of.removed]
    for change in of.changed:
        what = [f"{key}: {change[key]}" for key in ("attrs", "weights", "types", "shapes") if change.get(key)]
        rows.append(("changed", change.a, change.op, change.loc, "; ".join(what)))
    verdict = "equal" if answer.equal else "different"
    text = f"<p><b>{verdict}</b>: {of.same} layers the same, {of.renamed} renamed</p>"
    if answer.run is not None:
        outputs = ((one.name, "equal" if one.ok else "different", one.max_abs, one.max_rel) for one in answer.run)
        text += table(("output", "", "max abs", "max rel"), outputs, len(answer.run))
    first = answer.first_difference
    if first is not None:
        text += f"<p>The first layer with different values is {_cell(first.a)} ({escape(first.op)}).</p>"
    return text + (table(("", "layer", "op", "loc", "what"), rows, len(rows)) if rows else "")
