"""Answers questions about the OpenVINO release that is installed beside this Python; see releases.py.

Standard input holds one question per line, standard output one answer per line, both in JSON. A question is a model:
`xml`, its text, and `bin`, its weights in base 64. The answer holds `error`, why the release cannot read it, empty if it
can. With `inputs`, arrays by index, the CPU runs the model, and the answer holds `outputs` or `run_error`. With `layer`,
the answer holds the attributes of this layer as the release writes them. An array is [type, shape, elements].

2022.1 needs Python 3.9 or older, so this file does, too."""

import base64
import json
import os
import sys
import tempfile
import xml.etree.ElementTree as ET

sys.modules["openvino_telemetry"] = None  # it would report to a server, and fork this process

import numpy as np  # noqa: E402
import openvino  # noqa: E402

if not hasattr(openvino, "Core"):  # before 2023.1
    import openvino.runtime as openvino

try:
    from openvino import serialize
except ImportError:
    try:
        from openvino.runtime import serialize
    except ImportError:  # before 2022.2
        serialize = None

CORE = openvino.Core()
CORE.get_property("CPU", "FULL_DEVICE_NAME")  # loads the plug-in, which adds the operations of `ie_internal_opset`
FOLDER = tempfile.mkdtemp()
# Full precision, and one thread, so that results of releases can be compared. Older releases refuse unknown options.
OPTIONS = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": "1"}


def read(question):
    path = os.path.join(FOLDER, "model.xml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(question["xml"])
    with open(path[:-3] + "bin", "wb") as file:
        file.write(base64.b64decode(question.get("bin", "")))
    return CORE.read_model(path)


def attributes(model, layer):
    """The attributes of a layer as this release writes them: what it has understood."""
    path = os.path.join(FOLDER, "written.xml")
    if serialize is None:
        from openvino.runtime.passes import Manager

        passes = Manager()
        passes.register_pass("Serialize", path, path[:-3] + "bin")
        passes.run_passes(model)
    else:
        serialize(model, path, path[:-3] + "bin")
    data = ET.parse(path).find("./layers/layer[@name='%s']/data" % layer)
    return {} if data is None else dict(data.attrib)


def compiled(model):
    options = {}
    for option, value in OPTIONS.items():
        try:
            CORE.set_property("CPU", {option: value})
            options[option] = value
        except Exception:
            pass
    return CORE.compile_model(model, "CPU", options)


def from_array(array):
    kind, shape, elements = array
    return np.array(elements, dtype=kind).reshape(shape)


def to_array(tensor):
    is_text = "string" in str(tensor.element_type)
    array = tensor.str_data if is_text else np.array(tensor.data)
    return [array.dtype.str, array.shape, array.reshape(-1).tolist()]


def run(model, inputs):
    request = compiled(model).create_infer_request()
    request.infer({index: from_array(array) for index, array in enumerate(inputs)})
    return [to_array(request.get_output_tensor(index)) for index in range(len(model.outputs))]


def answer(question):
    model = read(question)
    reply = {"error": ""}
    if "layer" in question:
        reply["attributes"] = attributes(model, question["layer"])
    if "inputs" in question:
        try:
            reply["outputs"] = run(model, question["inputs"])
        except Exception as error:
            reply["run_error"] = " ".join(str(error).split()) or repr(error)
    return reply


def main():
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)  # releases print to both
    os.dup2(null, 2)
    print(json.dumps({"version": openvino.get_version()}), file=answers)
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line))
        except Exception as error:
            reply = {"error": " ".join(str(error).split()) or repr(error)}
        print(json.dumps(reply), file=answers)


if __name__ == "__main__":
    main()
