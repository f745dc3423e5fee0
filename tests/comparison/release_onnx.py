"""The table of ONNX operators, as the installed `onnx` defines them."""

import collections
import string

from onnx import defs, helper

HEADER = "# Made by tests/comparison/releases.py; see release/onnx_opsets.rs for the meaning of the lines.\n"
OLDEST = 11
SYMBOLS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "!$%&()*,./:;<=?@[]^_{|}~"


def schemas():
    """The versions of each operator that opsets from the oldest one on use."""
    found = collections.defaultdict(list)
    for schema in defs.get_all_schemas_with_history():
        if schema.domain in ("", "ai.onnx"):
            found[schema.name].append(schema)
    for name, versions in sorted(found.items()):
        versions.sort(key=lambda schema: schema.since_version)
        old = [schema for schema in versions if schema.since_version <= OLDEST]
        yield name, old[-1:] + versions[len(old):]


def element_types(schema, port):
    """The element types of the tensors that a port takes."""
    allowed = {constraint.type_param_str: constraint.allowed_type_strs for constraint in schema.type_constraints}
    texts = allowed.get(port.type_str, [port.type_str])
    return tuple(sorted(text[len("tensor("):-1] for text in texts if text.startswith("tensor(")))


class Symbols:
    """Single characters for values."""

    def __init__(self):
        self.known = {}

    def of(self, value):
        if value not in self.known:
            self.known[value] = SYMBOLS[len(self.known)]
        return self.known[value]


def signature(schema, symbols):
    """A symbol for each input, `>`, and a symbol for each output; `+` follows a port that can be repeated."""
    def side(ports):
        repeated = defs.OpSchema.FormalParameterOption.Variadic
        return "".join(symbols.of(element_types(schema, port)) + ("+" if port.option == repeated else "")
                       for port in ports)
    return side(schema.inputs) + ">" + side(schema.outputs)


def operator(name, versions, symbols):
    """One line per operator: each version with its signature and the attributes that it adds or drops."""
    words, before = [name], None
    for schema in versions:
        if schema.deprecated:
            words += [str(schema.since_version), "-"]
            continue
        words += [str(schema.since_version), signature(schema, symbols)]
        names = set(schema.attributes)
        if before is not None:
            words += ["+" + attribute for attribute in sorted(names - before)]
            words += ["-" + attribute for attribute in sorted(before - names)]
        before = names
    return " ".join(words)


def table():
    symbols, types = Symbols(), Symbols()
    operators = [operator(name, versions, symbols) for name, versions in schemas()]
    by_opset = {}
    for _, ir_version, opset, *_ in helper.VERSION_TABLE:
        if opset >= OLDEST:
            by_opset.setdefault(opset, ir_version)  # the first release with the opset
    lines = ["opset %d %d" % item for item in sorted(by_opset.items())]
    sets = ["set %s %s" % (symbol, "".join(map(types.of, names)) or "-") for names, symbol in symbols.known.items()]
    lines += ["type %s %s" % (symbol, name) for name, symbol in types.known.items()]
    return HEADER + "".join(line + "\n" for line in [*lines, *sets, *operators])
