#!/usr/bin/env python3
"""The time of single operations: snick beside OpenVINO on one thread of the processor, in f32.

    python operation_speed.py path/to/snick [--only TEXT] [--rounds 3] [--least 2]

Each operation has a size that detectors, speech or language models use; see `SIZES`. Both run the same model on random
inputs, in turns; the least time of all rounds counts. Prints a line per operation, slowest first, and the median of the
ratios. `--least` omits faster operations from the list. Needs openvino and numpy.
"""

import argparse
import json
import math
import re
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np
import openvino
from openvino.utils.node_factory import NodeFactory

# Operation, inputs and attributes. An input is a parameter `f32[2,3]`, a constant of random numbers `w[2,3]`, a vector of
# integers `<1,2>`, or a number `3` or `0.5`. Numbers in front of a type limit integers: `5:i64[2]` has elements below 5.
SIZES = """
Abs f32[1,64,112,112]
Acos f32[1,256,56,56]
Acosh f32[1,256,56,56]
AdaptiveAvgPool f32[1,512,38,38] <7,7>
AdaptiveMaxPool f32[1,512,38,38] <7,7> {"index_element_type":"i32"}
Add f32[1,256,56,56] f32[1,256,56,56]
Add f32[1,128,3072] w[3072]
Asin f32[1,256,56,56]
Asinh f32[1,256,56,56]
Atan f32[1,256,56,56]
Atanh f32[1,256,56,56]
AvgPool f32[1,192,56,56] {"strides":[1,1],"pads_begin":[1,1],"pads_end":[1,1],"kernel":[3,3],"exclude-pad":true,"rounding_type":"floor","auto_pad":"explicit","dilations":[1,1]}
BatchNormInference f32[1,256,56,56] w[256] w[256] w[256] p[256] {"epsilon":0.001}
BatchToSpace f32[4,256,28,28] <1,1,2,2> <0,0,0,0> <0,0,0,0>
BitwiseAnd 99:i32[1,256,56,56] 99:i32[1,256,56,56] {"auto_broadcast":"numpy"}
Broadcast f32[1,1,512,512] <1,12,512,512>
Bucketize f32[100000] w[64] {"output_type":"i64","with_right_bound":true}
CTCGreedyDecoder f32[200,4,97] w[200,4] {"ctc_merge_repeated":true}
Ceiling f32[1,256,56,56]
Clamp f32[1,256,56,56] {"min":0.0,"max":6.0}
Concat f32[1,128,80,80] f32[1,128,80,80] {"axis":1}
Concat f32[1,12,64,64] f32[1,12,1,64] {"axis":2}
Convert f32[1,256,56,56] {"destination_type":"f16"}
Convert 99:i64[100000] {"destination_type":"f32"}
Convolution f32[1,64,56,56] w[64,64,3,3] {"strides":[1,1],"pads_begin":[1,1],"pads_end":[1,1],"dilations":[1,1],"auto_pad":"explicit"}
Convolution f32[1,256,56,56] w[64,256,1,1] {"strides":[1,1],"pads_begin":[0,0],"pads_end":[0,0],"dilations":[1,1],"auto_pad":"explicit"}
Convolution f32[1,3,224,224] w[64,3,7,7] {"strides":[2,2],"pads_begin":[3,3],"pads_end":[3,3],"dilations":[1,1],"auto_pad":"explicit"}
Convolution f32[1,512,400] w[512,512,3] {"strides":[1],"pads_begin":[1],"pads_end":[1],"dilations":[1],"auto_pad":"explicit"}
Convolution f32[1,16,16,56,56] w[16,16,3,3,3] {"strides":[1,1,1],"pads_begin":[1,1,1],"pads_end":[1,1,1],"dilations":[1,1,1],"auto_pad":"explicit"}
Convolution f32[1,256,40,40] w[256,256,3,3] {"strides":[1,1],"pads_begin":[6,6],"pads_end":[6,6],"dilations":[6,6],"auto_pad":"explicit"}
ConvolutionBackpropData f32[1,256,28,28] w[256,128,2,2] {"strides":[2,2],"pads_begin":[0,0],"pads_end":[0,0],"dilations":[1,1],"auto_pad":"explicit"}
ConvolutionBackpropData f32[1,64,56,56] w[64,32,4,4] {"strides":[2,2],"pads_begin":[1,1],"pads_end":[1,1],"dilations":[1,1],"auto_pad":"explicit"}
Cos f32[1,256,56,56]
Cosh f32[1,256,56,56]
CumSum f32[1,512,768] 1 {"exclusive":false,"reverse":false}
CumSum f32[64,4096] 1 {"exclusive":false,"reverse":false}
DFT f32[64,512,2] <1>
DeformableConvolution f32[1,64,38,38] f32[1,18,38,38] w[64,64,3,3] {"strides":[1,1],"pads_begin":[1,1],"pads_end":[1,1],"dilations":[1,1],"auto_pad":"explicit","group":1,"deformable_group":1,"bilinear_interpolation_pad":true}
DepthToSpace f32[1,256,64,64] {"mode":"depth_first","block_size":2}
Divide f32[1,256,56,56] f32[1,256,56,56]
Einsum f32[12,128,64] f32[12,128,64] {"equation":"hid,hjd->hij"}
Elu f32[1,256,56,56] {"alpha":1.0}
EmbeddingBagOffsetsSum w[10000,64] <~4000:10000> <~400/10>
EmbeddingSegmentsSum w[10000,64] <~4000:10000> <~4000/10> 400
Equal f32[1,256,56,56] f32[1,256,56,56]
Erf f32[1,256,56,56]
Exp f32[1,256,56,56]
ExtractImagePatches f32[1,64,56,56] {"sizes":[3,3],"strides":[1,1],"rates":[1,1],"auto_pad":"same_upper"}
FakeQuantize f32[1,256,56,56] -1.0 1.0 -1.0 1.0 {"levels":256}
Floor f32[1,256,56,56]
FloorMod f32[1,256,56,56] f32[1,1,1,1]
GRUSequence f32[1,100,256] f32[1,1,256] <100> w[1,768,256] w[1,768,256] w[1,768] {"hidden_size":256,"direction":"forward","activations":["sigmoid","tanh"]}
Gather w[30000,768] <~128:30000> 0
Gather f32[1,512,768] <~256:512> 1
GatherElements f32[1,1000,256] 1000:i64[1,1000,256] {"axis":1}
GatherND f32[100,200,16] 99:i64[5000,2] {"batch_dims":0}
GatherTree <~9600:12@120,8,10> <~9600:10@120,8,10> <~8:120> 1
Gelu f32[1,128,3072] {"approximation_mode":"ERF"}
Gelu f32[1,128,3072] {"approximation_mode":"TANH"}
Greater f32[1,256,56,56] f32[1]
GridSample f32[1,64,64,64] f32[1,64,64,2] {"align_corners":false,"mode":"bilinear","padding_mode":"zeros"}
GroupConvolution f32[1,192,56,56] w[192,1,1,3,3] {"strides":[1,1],"pads_begin":[1,1],"pads_end":[1,1],"dilations":[1,1],"auto_pad":"explicit"}
GroupConvolution f32[1,240,28,28] w[240,1,1,5,5] {"strides":[1,1],"pads_begin":[2,2],"pads_end":[2,2],"dilations":[1,1],"auto_pad":"explicit"}
GroupConvolution f32[1,128,56,56] w[32,4,4,3,3] {"strides":[1,1],"pads_begin":[1,1],"pads_end":[1,1],"dilations":[1,1],"auto_pad":"explicit"}
GroupConvolutionBackpropData f32[1,64,56,56] w[64,1,1,4,4] {"strides":[2,2],"pads_begin":[1,1],"pads_end":[1,1],"dilations":[1,1],"auto_pad":"explicit"}
GroupNormalization f32[1,256,56,56] w[256] w[256] {"num_groups":32,"epsilon":1e-05}
HSigmoid f32[1,256,56,56]
HSwish f32[1,256,56,56]
HardSigmoid f32[1,256,56,56] 0.2 0.5
IDFT f32[64,512,2] <1>
IRDFT f32[64,257,2] <1>
Interpolate f32[1,128,40,40] <80,80> 2.0 <2,3> {"mode":"nearest","shape_calculation_mode":"sizes","coordinate_transformation_mode":"asymmetric","nearest_mode":"floor"}
Interpolate f32[1,21,65,65] <513,513> 2.0 <2,3> {"mode":"linear_onnx","shape_calculation_mode":"sizes","coordinate_transformation_mode":"half_pixel"}
Interpolate f32[1,3,256,256] <512,512> 2.0 <2,3> {"mode":"cubic","shape_calculation_mode":"sizes","coordinate_transformation_mode":"half_pixel"}
Inverse f32[64,32,32] {"adjoint":false}
IsFinite f32[1,256,56,56]
LRN f32[1,96,55,55] <1> {"alpha":0.0001,"beta":0.75,"bias":1.0,"size":5}
LSTMCell f32[8,512] f32[8,512] f32[8,512] w[2048,512] w[2048,512] w[2048] {"hidden_size":512}
LSTMSequence f32[1,100,256] f32[1,1,256] f32[1,1,256] <100> w[1,1024,256] w[1,1024,256] w[1,1024] {"hidden_size":256,"direction":"forward","activations":["sigmoid","tanh","tanh"]}
LogSoftmax f32[100,8000] {"axis":1}
Log p[1,256,56,56]
LogicalAnd 2:boolean[1,256,56,56] 2:boolean[1,256,56,56]
MVN f32[1,512,768] <2> {"normalize_variance":true,"eps":1e-05,"eps_mode":"inside_sqrt"}
MVN f32[1,256,56,56] <2,3> {"normalize_variance":true,"eps":1e-05,"eps_mode":"inside_sqrt"}
MatMul f32[1,128,768] w[768,3072] {"transpose_a":false,"transpose_b":false}
MatMul f32[1,1,4096] w[4096,4096] {"transpose_a":false,"transpose_b":true}
MatMul f32[12,512,64] f32[12,512,64] {"transpose_a":false,"transpose_b":true}
MatMul f32[12,512,512] f32[12,512,64] {"transpose_a":false,"transpose_b":false}
MatrixNms p[1,2000,4] p[1,20,2000] {"sort_result_type":"score","nms_top_k":400,"keep_top_k":200,"score_threshold":0.5,"decay_function":"linear","post_threshold":0.01,"output_type":"i64","sort_result_across_batch":false,"background_class":-1,"gaussian_sigma":2.0,"normalized":true}
MaxPool f32[1,64,112,112] {"strides":[2,2],"pads_begin":[1,1],"pads_end":[1,1],"kernel":[3,3],"dilations":[1,1],"rounding_type":"floor","auto_pad":"explicit","index_element_type":"i64","axis":0}
MaxPool f32[1,256,40,40] {"strides":[1,1],"pads_begin":[2,2],"pads_end":[2,2],"kernel":[5,5],"dilations":[1,1],"rounding_type":"floor","auto_pad":"explicit","index_element_type":"i64","axis":0}
Maximum f32[1,256,56,56] f32[1,256,56,56]
Mish f32[1,256,56,56]
Mod f32[1,256,56,56] f32[1,1,1,1]
MulticlassNms p[1,2000,4] p[1,20,2000] {"sort_result_type":"score","nms_top_k":400,"keep_top_k":200,"score_threshold":0.5,"iou_threshold":0.5,"output_type":"i64","sort_result_across_batch":false,"background_class":-1,"nms_eta":1.0,"normalized":true}
Multiply f32[1,256,56,56] f32[1,256,1,1]
NonMaxSuppression p[1,8400,4] p[1,80,8400] 100 0.5 0.9 {"box_encoding":"center","sort_result_descending":true,"output_type":"i64"}
NonMaxSuppression p[1,25000,4] p[1,1,25000] 25000 0.5 0.1 {"box_encoding":"center","sort_result_descending":false,"output_type":"i64"}
NonZero 2:i32[1,512,512] {"output_type":"i64"}
NormalizeL2 f32[1,512,38,38] <1> {"eps":1e-10,"eps_mode":"max"}
OneHot <~2000:1000> 1000 1.0 0.0 {"axis":-1}
PRelu f32[1,256,56,56] w[256]
PSROIPooling f32[1,490,40,40] r[300,5] {"output_dim":10,"group_size":7,"spatial_bins_x":1,"spatial_bins_y":1,"mode":"average","spatial_scale":0.0625}
Pad f32[1,256,56,56] <0,0,1,1> <0,0,1,1> 0.0 {"pad_mode":"constant"}
Pad f32[1,64,112,112] <0,0,3,3> <0,0,3,3> {"pad_mode":"reflect"}
Power p[1,256,56,56] 2.5
RDFT f32[64,512] <1>
RNNSequence f32[1,100,256] f32[1,1,256] <100> w[1,256,256] w[1,256,256] w[1,256] {"hidden_size":256,"direction":"forward","activations":["tanh"]}
ROIAlign f32[1,256,50,50] r4[200,4] <~200:1> {"pooled_h":7,"pooled_w":7,"sampling_ratio":2,"spatial_scale":0.0625,"mode":"avg","aligned_mode":"asymmetric"}
ROIPooling f32[1,256,50,50] r[200,5] {"output_size":[7,7],"spatial_scale":0.0625,"method":"max"}
Relu f32[1,256,56,56]
ReduceL1 f32[1,256,56,56] <2,3> {"keep_dims":true}
ReduceL2 f32[1,512,768] <2> {"keep_dims":true}
ReduceMax f32[1,256,56,56] <1> {"keep_dims":false}
ReduceMean f32[1,1280,7,7] <2,3> {"keep_dims":true}
ReduceMean f32[1,512,768] <2> {"keep_dims":true}
ReduceProd f32[1,256,56,56] <1> {"keep_dims":false}
ReduceSum f32[1,256,56,56] <1> {"keep_dims":false}
RegionYolo f32[1,255,52,52] {"axis":1,"coords":4,"classes":80,"end_axis":3,"num":3,"do_softmax":false,"mask":[0,1,2]}
ReorgYolo f32[1,64,52,52] {"stride":[2]}
Reverse f32[1,256,56,56] <3> {"mode":"index"}
ReverseSequence f32[32,100,256] <~32:100> {"batch_axis":0,"seq_axis":1}
Roll f32[1,56,56,96] <3,3> <1,2>
Round f32[1,256,56,56] {"mode":"half_to_even"}
STFT f32[1,48000] w[512] 512 160 {"transpose_frames":false}
ScaledDotProductAttention f32[1,12,384,64] f32[1,12,384,64] f32[1,12,384,64] {"causal":false}
ScaledDotProductAttention f32[1,12,1,64] f32[1,12,1024,64] f32[1,12,1024,64] {"causal":false}
ScatterElementsUpdate f32[1000,256] 1000:i64[500,256] f32[500,256] 0
ScatterNDUpdate f32[1000,256] <~500:1000@500,1> f32[500,256]
ScatterUpdate f32[1000,256] <~500:1000> f32[500,256] 0
SearchSorted s[8,4096] f32[8,1000] {"right_mode":false}
Select 2:boolean[1,12,384,384] f32[1,12,384,384] f32[1] {"auto_broadcast":"numpy"}
Selu f32[1,256,56,56] 1.67 1.05
ShuffleChannels f32[1,232,28,28] {"axis":1,"group":2}
Sigmoid f32[1,256,56,56]
Sign f32[1,256,56,56]
Sin f32[1,256,56,56]
Sinh f32[1,256,56,56]
Slice f32[1,3,640,640] <0> <640> <2> <2>
Slice f32[1,512,768] <511> <-513> <-1> <1>
Softmax f32[1,12,384,384] {"axis":3}
Softmax f32[1,21,256,256] {"axis":1}
SoftPlus f32[1,256,56,56]
SoftSign f32[1,256,56,56]
SpaceToBatch f32[1,256,56,56] <1,1,2,2> <0,0,0,0> <0,0,0,0>
SpaceToDepth f32[1,64,128,128] {"mode":"blocks_first","block_size":2}
Split f32[1,384,56,56] 1 {"num_splits":3}
Sqrt p[1,256,56,56]
SquaredDifference f32[1,512,768] f32[1,512,1]
StridedSlice f32[1,3,640,640] <0,0,0,0> <0,0,0,0> <1,1,2,2> {"begin_mask":[1,1,1,1],"end_mask":[1,1,1,1]}
Subtract f32[1,256,56,56] f32[1,256,56,56]
Swish f32[1,256,56,56]
Tan f32[1,256,56,56]
Tanh f32[1,256,56,56]
Tile f32[1,1,64,64] <1,64,2,2>
TopK f32[1,25200] 300 {"axis":1,"mode":"max","sort":"value","index_element_type":"i64","stable":false}
TopK f32[100,8000] 10 {"axis":1,"mode":"max","sort":"value","index_element_type":"i64","stable":false}
TopK f32[1,1000,80] 1 {"axis":2,"mode":"max","sort":"none","index_element_type":"i64","stable":false}
Transpose f32[1,384,12,64] <0,2,1,3>
Transpose f32[1,256,56,56] <0,2,3,1>
Transpose f32[1,3,640,640] <0,1,3,2>
Unique 1000:i64[20000] {"sorted":true,"index_element_type":"i64","count_element_type":"i64"}
VariadicSplit f32[1,84,8400] 1 <4,80>
"""

TYPES = {"f32": np.float32, "i64": np.int64, "i32": np.int32, "boolean": np.bool_}


class Model:
    """A model of one operation."""

    def __init__(self, line, opset):
        self.random = np.random.default_rng(0)
        self.arrays, self.parameters = {}, []
        text, _, attributes = line.partition(" {")
        self.op, *inputs = text.split()
        nodes = [self.input(word) for word in inputs]
        node = NodeFactory(opset).create(self.op, nodes, json.loads("{" + attributes) if attributes else {})
        self.model = openvino.Model(node.outputs(), self.parameters, self.op)

    def input(self, word):
        if re.fullmatch(r"-?\d+", word):
            return openvino.opset15.constant(np.int64(word))
        if re.fullmatch(r"-?[\d.]+", word):
            return openvino.opset15.constant(np.float32(word))
        if word.startswith("<"):
            return openvino.opset15.constant(self.integers(word[1:-1]))
        limit, kind, dims = re.fullmatch(r"(?:(\d+):)?(\w+)\[([\d,]*)\]", word).groups()
        dims = [int(dim) for dim in dims.split(",") if dim]
        array = self.drawn(limit, kind, dims)
        if kind == "w":
            return openvino.opset15.constant(array)
        parameter = openvino.opset15.parameter(dims, array.dtype)
        parameter.friendly_name = f"in{len(self.parameters)}"
        self.arrays[parameter.friendly_name] = array
        self.parameters.append(parameter)
        return parameter

    def drawn(self, limit, kind, dims):
        """`w` and `f32` are normal, `p` is from 0 to 1, `s` is sorted, `r` and `r4` are regions."""
        if limit:
            return self.random.integers(0, int(limit), dims).astype(TYPES[kind])
        if kind in ("r", "r4"):
            corners = self.random.uniform(0, 400, (dims[0], 2))
            boxes = np.concatenate([corners, corners + self.random.uniform(20, 390, (dims[0], 2))], 1)
            return boxes.astype(np.float32) if kind == "r4" else np.insert(boxes, 0, 0, 1).astype(np.float32)
        if kind == "p":
            return self.random.uniform(0, 1, dims).astype(np.float32)
        array = self.random.standard_normal(dims, dtype=np.float32)
        return np.sort(array) if kind == "s" else array * np.float32(0.1 if kind == "w" else 1)

    def integers(self, text):
        """`1,2`; `~9:5`, 9 numbers below 5, with dims after `@`; or `~9/3`, the numbers 0, 3, .."""
        text, _, dims = text.partition("@")
        if not text.startswith("~"):
            return np.array([int(number) for number in text.split(",")], np.int64)
        if "/" in text:
            count, step = map(int, text[1:].split("/"))
            return np.arange(count, dtype=np.int64) * step if count <= 400 else np.arange(count, dtype=np.int64) // step
        count, limit = map(int, text[1:].split(":"))
        numbers = self.random.integers(0, limit, count) if count > limit else self.random.permutation(limit)[:count]
        return numbers.astype(np.int64).reshape([int(dim) for dim in dims.split(",")] if dims else [-1])


def compiled(model):
    """A function that runs a model in OpenVINO once."""
    options = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": "1", "INFERENCE_PRECISION_HINT": "f32"}
    request = openvino.Core().compile_model(model.model, "CPU", options).create_infer_request()
    for parameter, tensor in zip(model.parameters, request.input_tensors):
        tensor.data[...] = model.arrays[parameter.friendly_name]
    return request.infer


def least_time(run, seconds):
    """The least time of a run, over this time or 3 runs."""
    times, start = [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        run()
        times.append(time.perf_counter() - before)
    return min(times)


def compared(snick, line, opset, rounds):
    """The times of snick and of OpenVINO in milliseconds."""
    model = Model(line, opset)
    run = compiled(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.xml")
        openvino.save_model(model.model, path, compress_to_fp16=False)
        np.savez(Path(folder, "in.npz"), **model.arrays)
        best = [math.inf, math.inf]
        for _ in range(rounds):
            theirs = least_time(run, 0.1) * 1e3
            count = max(3, min(200, int(100 / max(theirs, 0.01))))
            command = [snick, "bench", path, "--stage", "run", "-n", str(count), "--format", "json"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(done.stderr.strip().split("\n")[-1])
            ours = json.loads(done.stdout)["stages"]["run"]["min_ms"]
            best = [min(best[0], ours), min(best[1], theirs)]
    return best


def measured(snick, line, rounds):
    """The times with the newest operation set that has the operation, or why there are none."""
    reasons = []
    for opset in (f"opset{number}" for number in range(16, 0, -1)):
        try:
            return compared(snick, line, opset, rounds)
        except Exception as error:
            reasons.append(str(error).strip().split("\n")[-1][:200])
    return next((reason for reason in reasons if not reason.startswith("Couldn't create")), reasons[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snick")
    parser.add_argument("--only", default="", help="only lines of SIZES that contain this text")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--least", type=float, default=0, help="only ratios of at least this")
    args = parser.parse_args()
    rows = []
    for line in (line for line in SIZES.strip().split("\n") if args.only in line):
        name = line.partition(" {")[0]
        # In a process of its own, because OpenVINO may crash.
        with ProcessPoolExecutor(1) as pool:
            try:
                found = pool.submit(measured, args.snick, line, args.rounds).result()
            except BrokenProcessPool:
                found = "the process crashed"
        if isinstance(found, str):
            print(f"{name}: {found}", file=sys.stderr)
        else:
            rows.append((found[0] / found[1], *found, name))
    for ratio, ours, theirs, name in sorted(rows, reverse=True):
        if ratio >= args.least:
            print(f"{ratio:7.2f} {ours:9.3f} ms {theirs:9.3f} ms  {name}")
    if rows:
        print(f"{len(rows)} operations, median {statistics.median(row[0] for row in rows):.2f}")


if __name__ == "__main__":
    main()
