"""Tables and pictures for notebooks. Names in models are escaped."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any, Iterable, List, Sequence

if TYPE_CHECKING:
    from ._answers import Data, Diff, Why
    from ._layers import Port
    from ._model import Model

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")

_MOST_ROWS = 200
"""Maximum number of rows in a table; further rows are only counted."""

_MOST_DRAWN = 300
"""Maximum number of layers of a model to draw."""

_MOST_NODES = 400
"""Maximum number of nodes of a tree to show."""


def escape_controls(text: str) -> str:
    """Escapes control characters and bidi marks as ``\\u{1b}``."""
    return _CONTROLS.sub(lambda found: f"\\u{{{ord(found.group()):x}}}", text)


def escape(value: Any) -> str:
    """Escapes a text for HTML."""
    return html.escape(escape_controls(str(value)))


def preformatted(text: str) -> str:
    """Preformatted lines."""
    return f"<pre>{chr(10).join(map(escape, text.splitlines()))}</pre>"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table."""
    all_rows = list(rows)
    cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in all_rows[:_MOST_ROWS]]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    more = f"<p>and {len(all_rows) - _MOST_ROWS} more</p>" if len(all_rows) > _MOST_ROWS else ""
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>{more}"


def _ports(title: str, ports: Iterable["Port"]) -> str:
    rows = [(port.name, port.dtype, port.shape.symbolic, port.shape) for port in ports]
    return f"<h4>{title}</h4>" + table(("name", "dtype", "shape", "bounds"), rows)


def _legend(symbols: Sequence["Data"]) -> str:
    if not symbols:
        return ""
    rows = [
        (s["name"], s["interval"], s["kind"], f"{s['op']} {s['layer']}", s.get("reason", "")) for s in symbols
    ]
    return "<h4>symbols</h4>" + table(("name", "interval", "kind", "born in", "reason"), rows)


def model(of: "Model") -> str:
    """Inputs, outputs and the legend of symbols, with a picture of small models."""
    count = len(of.layers)
    parts = [f"<p><b>{escape(of.name)}</b>: {count} layers</p>"]
    parts += [_ports("inputs", of.inputs), _ports("outputs", of.outputs)]
    if count <= _MOST_DRAWN:
        parts.append(_legend(of.infer(check=False)["symbols"]))
        parts.append(f'<div style="max-height:24em;overflow:auto">{of.picture()}</div>')
    return f"<div>{''.join(parts)}</div>"


def _tree(tree: "Data", left: List[int]) -> str:
    left[0] -= 1
    reason = f": {escape(tree['reason'])}" if tree.get("reason") else ""
    place = f" ({escape(tree['loc'])})" if tree.get("loc") else ""
    head = f"<code>{escape(tree['expr'])}</code> {escape(tree['op'])} {escape(tree['layer'])}{place}{reason}"
    below = "".join(_tree(child, left) for child in tree.get("from", []) if left[0] > 0)
    return f"<li>{head}{f'<ul>{below}</ul>' if below else ''}</li>"


def why(answer: "Why") -> str:
    """The tree as a nested list."""
    trees = [answer] if "tree" in answer else answer.get("parts", [])
    if not trees:
        return preformatted(str(answer))
    left = [_MOST_NODES]
    parts = []
    for one in trees:
        parts.append(f"<ul>{_tree(one['tree'], left)}</ul>")
        rows = [(suggestion["shape"], suggestion["gives"]) for suggestion in one["suggest"]]
        parts.append(table(("try", "gives"), rows) if rows else "")
    return f"<div>{''.join(parts)}</div>"


def diff(answer: "Diff") -> str:
    """The causes as a table."""
    layers = answer.layers
    rows = [(kind, l["name"], l["op"], l["loc"], "") for kind in ("added", "removed") for l in layers[kind]]
    for change in layers["changed"]:
        what = {key: change[key] for key in ("attrs", "weights", "types", "shapes") if change[key]}
        rows.append(("changed", change["a"], change["op"], change["loc"], str(dict(what))))
    verdict = "equal" if answer.equal else "different"
    text = f"<p><b>{verdict}</b>: {layers['same']} layers the same, {layers['renamed']} renamed</p>"
    return text + (table(("", "layer", "op", "loc", "what"), rows) if rows else "")
