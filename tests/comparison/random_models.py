"""Models of realistic sizes with random weights, built with OpenVINO, for benchmarks.

    python random_models.py FOLDER [--int8] [NAME...]      writes NAME.xml and NAME.bin for all or the given models

With --int8, also writes NAME_int8.xml, quantised by nncf, which is needed only for this.
"""

import argparse
from pathlib import Path

import numpy as np
import openvino
from openvino import opset13 as op


class Builder:
    """Layers with random weights, which are determined by the name."""

    def __init__(self):
        self.random = np.random.default_rng(0)

    def constant(self, name, *dims, scale=0.02):
        node = op.constant(self.random.standard_normal(dims, dtype=np.float32) * np.float32(scale))
        node.friendly_name = name
        return node

    @staticmethod
    def integers(*numbers):
        return op.constant(np.array(numbers, np.int64))

    @staticmethod
    def scalar(number):
        return op.constant(np.int64(number))

    def linear(self, x, name, rows, columns):
        y = op.matmul(x, self.constant(f"{name}.weight", rows, columns), False, False)
        return op.add(y, self.constant(f"{name}.bias", columns))

    def norm(self, x, name, width):
        y = op.mvn(x, self.integers(-1), True, 1e-5, "inside_sqrt")
        y = op.multiply(y, self.constant(f"{name}.weight", width))
        return op.add(y, self.constant(f"{name}.bias", width))

    def block(self, x, name, width, heads, causal):
        """Attention and the feed-forward block after it."""

        def by_head(x):
            x = op.reshape(x, self.integers(0, 0, heads, width // heads), True)
            return op.transpose(x, self.integers(0, 2, 1, 3))

        y = self.norm(x, f"{name}.ln1", width)
        q, k, v = (by_head(self.linear(y, f"{name}.attn.{part}", width, width)) for part in "qkv")
        y = op.scaled_dot_product_attention(q, k, v, causal=causal)
        y = op.reshape(op.transpose(y, self.integers(0, 2, 1, 3)), self.integers(0, 0, width), True)
        x = op.add(x, self.linear(y, f"{name}.attn.proj", width, width))
        y = self.linear(self.norm(x, f"{name}.ln2", width), f"{name}.mlp.up", width, 4 * width)
        return op.add(x, self.linear(op.gelu(y, "erf"), f"{name}.mlp.down", 4 * width, width))

    def convolution(self, x, inputs, outputs, size=1, stride=1, groups=1):
        """With a bias, as after folding batch normalisation."""
        pad = [size // 2] * 2
        scale = (2 / (inputs // groups * size * size)) ** 0.5
        if groups == 1:
            weights = self.constant("weights", outputs, inputs, size, size, scale=scale)
            y = op.convolution(x, weights, [stride] * 2, pad, pad, [1, 1])
        else:
            dims = (groups, outputs // groups, inputs // groups, size, size)
            y = op.group_convolution(x, self.constant("weights", *dims, scale=scale), [stride] * 2, pad, pad, [1, 1])
        return op.add(y, self.constant("bias", 1, outputs, 1, 1))

    def classifier(self, x, channels):
        x = op.reshape(op.reduce_mean(x, self.integers(2, 3), False), self.integers(0, channels), True)
        return self.linear(x, "classifier", channels, 1000)


def written(result, inputs, name, path):
    result = op.result(result)
    result.friendly_name = "output"
    openvino.save_model(openvino.Model([result], inputs, name), path, compress_to_fp16=False)


def image(side):
    x = op.parameter([1, 3, side, side], np.float32, "image")
    x.friendly_name = "image"
    return x


def gpt(path, layers=8, width=512, heads=8, words=16000, positions=1024, shape=(-1, -1)):
    """A decoder with this many layers and tied word and logit embeddings."""
    b = Builder()
    ids = op.parameter(list(shape), np.int64, "ids")
    ids.friendly_name = "ids"
    table, places = b.constant("wte", words, width), b.constant("wpe", positions, width)
    length = op.gather(op.shape_of(ids), b.scalar(1), b.scalar(0))
    place = op.gather(places, op.range(b.scalar(0), length, b.scalar(1), "i64"), b.scalar(0))
    x = op.add(op.gather(table, ids, b.scalar(0)), place)
    for layer in range(layers):
        x = b.block(x, f"h.{layer}", width, heads, causal=True)
    written(op.matmul(b.norm(x, "ln", width), table, False, True), [ids], "gpt", path)


def encoder(path, layers=12, width=768, heads=12, length=128):
    """Like BERT base, without embedding tables."""
    b = Builder()
    x = op.parameter([1, length, width], np.float32, "embeddings")
    x.friendly_name = "embeddings"
    y = x
    for layer in range(layers):
        y = b.block(y, f"layer.{layer}", width, heads, causal=False)
    written(y, [x], "encoder", path)


def residual(path):
    """Like ResNet-50."""
    b, x = Builder(), image(224)
    y = op.relu(b.convolution(x, 3, 64, 7, 2))
    y = op.max_pool(y, [2, 2], [1, 1], [1, 1], [1, 1], [3, 3]).output(0)
    channels = 64
    for stage, count in enumerate([3, 4, 6, 3]):
        width = 64 << stage
        for block in range(count):
            stride = 2 if stage > 0 and block == 0 else 1
            short = b.convolution(y, channels, 4 * width, 1, stride) if block == 0 else y
            z = op.relu(b.convolution(y, channels, width))
            z = op.relu(b.convolution(z, width, width, 3, stride))
            y = op.relu(op.add(b.convolution(z, width, 4 * width), short))
            channels = 4 * width
    written(b.classifier(y, channels), [x], "residual", path)


def mobile(path):
    """Inverted residuals with h-swish and depthwise filters, like MobileNet."""
    b, x = Builder(), image(224)
    y, channels = op.hswish(b.convolution(x, 3, 16, 3, 2)), 16
    for outputs, count, first in [(24, 2, 2), (40, 3, 2), (80, 4, 2), (112, 2, 1), (160, 3, 2)]:
        for block in range(count):
            wide, stride = 6 * channels, first if block == 0 else 1
            z = op.hswish(b.convolution(y, channels, wide))
            z = op.hswish(b.convolution(z, wide, wide, 3 if outputs < 40 else 5, stride, groups=wide))
            z = b.convolution(z, wide, outputs)
            y = z if channels != outputs or stride > 1 else op.add(y, z)
            channels = outputs
    y = op.hswish(b.convolution(y, channels, 960))
    written(b.classifier(y, 960), [x], "mobile", path)


def detector(path):
    """Convolutions with SiLU, splits, concatenations and an upsampling, like YOLO."""
    b, x = Builder(), image(640)

    def silu(y, *sizes):
        return op.swish(b.convolution(y, *sizes))

    def split(y, inputs, outputs):
        y = silu(y, inputs, outputs)
        halves = op.variadic_split(y, b.scalar(1), b.integers(outputs // 2, outputs // 2))
        z = silu(silu(halves.output(1), outputs // 2, outputs // 2, 3), outputs // 2, outputs // 2, 3)
        joined = op.concat([halves.output(0), halves.output(1), op.add(halves.output(1), z)], 1)
        return silu(joined, outputs // 2 * 3, outputs)

    y = silu(silu(x, 3, 16, 3, 2), 16, 32, 3, 2)
    fine = split(silu(split(y, 32, 32), 32, 64, 3, 2), 64, 64)
    coarse = split(silu(fine, 64, 128, 3, 2), 128, 128)
    larger = op.interpolate(coarse, b.integers(80, 80), "nearest", "sizes", axes=b.integers(2, 3))
    joined = split(op.concat([larger, fine], 1), 192, 64)
    written(op.sigmoid(b.convolution(silu(joined, 64, 64, 3), 64, 85)), [x], "detector", path)


def suppression(path, side=30, anchors=30, classes=90):
    """The head of an SSD: 27,000 boxes, the best of 90 classes for each, and suppression within each class.

    As in PyTorch, boxes of different classes are moved apart, so that one suppression serves all classes.
    """
    b, x = Builder(), image(side * 16)
    y, channels = x, 3
    for outputs in (16, 32, 64, 64):
        y, channels = op.relu(b.convolution(y, channels, outputs, 3, 2)), outputs
    count = side * side * anchors

    def by_box(y, numbers):
        y = op.transpose(b.convolution(y, channels, anchors * numbers), b.integers(0, 2, 3, 1))
        return op.reshape(y, b.integers(1, count, numbers), False)

    at = np.stack(np.meshgrid(*[np.arange(side, dtype=np.float32)] * 2, indexing="ij"), -1) + 0.5
    priors = np.repeat(at.reshape(-1, 1, 2), anchors, 1).reshape(1, count, 2)
    centre = op.add(op.constant(priors * 16), op.multiply(by_box(y, 2), op.constant(np.float32(8))))
    size = op.multiply(op.exp(by_box(y, 2)), op.constant(np.float32(24)))
    half = op.multiply(size, op.constant(np.float32(0.5)))
    boxes = op.concat([op.subtract(centre, half), op.add(centre, half)], 2)
    best = op.topk(op.softmax(by_box(y, classes), 2), b.scalar(1), 2, "max", "none")
    shift = op.multiply(op.convert(best.output(1), "f32"), op.constant(np.float32(side * 16 + 1000)))
    scores = op.reshape(best.output(0), b.integers(1, 1, count), False)
    limits = [op.constant(np.float32(0.5)), op.constant(np.float32(0.005)), op.constant(np.float32(0))]
    chosen = op.non_max_suppression(op.add(boxes, shift), scores, b.scalar(count), *limits, "corner", True, "i64")
    index = op.gather(chosen.output(0), b.scalar(2), b.scalar(1))
    written(op.gather(op.squeeze(boxes, b.scalar(0)), index, b.scalar(0)), [x], "suppression", path)


def recurrent(path, steps=200, width=512):
    """Three bidirectional LSTMs."""
    b = Builder()
    x = op.parameter([1, steps, width], np.float32, "sound")
    x.friendly_name = "sound"
    y, inputs = x, width
    zeros = op.constant(np.zeros((1, 2, width), np.float32))
    lengths = op.constant(np.full(1, steps, np.int64))
    for _ in range(3):
        weights = b.constant("w", 2, 4 * width, inputs, scale=0.05), b.constant("r", 2, 4 * width, width, scale=0.05)
        y = op.lstm_sequence(y, zeros, zeros, lengths, *weights, b.constant("b", 2, 4 * width), width, "bidirectional")
        y = op.reshape(op.transpose(y.output(0), b.integers(0, 2, 1, 3)), b.integers(0, steps, 2 * width), True)
        inputs = 2 * width
    written(y, [x], "recurrent", path)


MODELS = {
    "residual": residual,
    "mobile": mobile,
    "detector": detector,
    "suppression": suppression,
    "encoder": encoder,
    "gpt": lambda path: gpt(path, shape=(1, 64)),
    "recurrent": recurrent,
}


def quantize(path):
    """Writes the quantised twin of a model, whose ranges come from random inputs."""
    import nncf

    model = openvino.Core().read_model(path)
    # nncf wants unique names.
    for i, node in enumerate(model.get_ops()):
        if node.get_type_name() not in ("Parameter", "Result"):
            node.friendly_name = f"{node.friendly_name}_{i}"
    random = np.random.default_rng(0)

    def inputs(_):
        return {i.any_name: random.standard_normal(list(i.shape), dtype=np.float32) for i in model.inputs}

    kind = nncf.ModelType.TRANSFORMER if path.stem == "encoder" else None
    model = nncf.quantize(model, nncf.Dataset(range(4), inputs), subset_size=4, model_type=kind)
    openvino.save_model(model, path.with_stem(f"{path.stem}_int8"), compress_to_fp16=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--int8", action="store_true", help="also write quantised twins")
    parser.add_argument("names", metavar="NAME", nargs="*", help=", ".join(MODELS))
    given = parser.parse_intermixed_args()
    for name in given.names:
        if name not in MODELS:
            parser.error(f"no model {name}; choose from {', '.join(MODELS)}")
    for name in given.names or MODELS:
        path = given.folder / f"{name}.xml"
        MODELS[name](path)
        if given.int8:
            quantize(path)


if __name__ == "__main__":
    main()
