"""IREE: its ONNX importer, its compiler for the target `llvm-cpu`, and its runtime."""

import os
from contextlib import contextmanager
from tempfile import TemporaryFile

import numpy
import onnx
from iree import runtime
from iree.compiler import ir
from iree.compiler.api import Invocation, Output, Session, Source
from iree.compiler.extras import onnx_importer
from iree.compiler.version import VERSION

from . import NotOffered
from .onnx_models import answer, feeds, onnx_model

PACKAGES = ["iree-base-compiler", "iree-base-runtime", "onnx"]
# The compiler takes half a second per case.
EVERY = 4
CONFIG = runtime.Config("local-sync")


def version():
    return VERSION


def imported(file):
    """The module of a model, as text."""
    model = onnx.shape_inference.infer_shapes(onnx.load_from_string(file), data_prop=True)
    context = ir.Context()
    module = ir.Module.create(ir.Location.unknown(context))
    info = onnx_importer.ModelInfo(model)
    onnx_importer.NodeImporter.define_function(info.main_graph, module.operation).import_all()
    return str(module)


def compiled(text):
    """The bytes of the compiled module."""
    session = Session()
    session.set_flags("--iree-hal-target-backends=llvm-cpu")
    invocation, output = Invocation(session), Output.open_membuffer()
    source = Source.wrap_buffer(session, text.encode() + b"\0")
    invocation.enable_console_diagnostics()
    with printed_errors() as errors:
        if invocation.parse_source(source) and invocation.execute():
            invocation.output_vm_bytecode(output)
            return bytes(output.map_memory())
    first = next((line for line in errors if "error: " in line), "error: no message").split("error: ")[1]
    if "'torch.operator' that was explicitly marked illegal" in first:
        raise NotOffered("the compiler does not lower the operator")
    raise RuntimeError(first)


@contextmanager
def printed_errors():
    """Yields a list that receives what the compiler prints."""
    lines, own = [], os.dup(2)
    with TemporaryFile("w+") as file:
        os.dup2(file.fileno(), 2)
        try:
            yield lines
        finally:
            os.dup2(own, 2)
            os.close(own)
            file.seek(0)
            lines += file.read().splitlines()


def run(case):
    if "start" in case and "axes" not in case and case["op"] != "onnx.Slice-1":
        # The compiler does not lower a Slice with steps and without axes.
        case = case | {"axes": list(range(len(case["start"])))}
    model, file = onnx_model(case)
    module = runtime.VmModule.copy_buffer(CONFIG.vm_instance, compiled(imported(file)))
    function = runtime.load_vm_modules(module, config=CONFIG)[-1]["case"]
    found = function(*feeds(model).values())
    return answer(numpy.asarray(found.to_host()))
