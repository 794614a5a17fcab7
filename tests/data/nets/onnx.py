#!/usr/bin/env python3
"""Makes the networks of ONNX of this folder, and what PyTorch computes with the same weights. Not needed for
make check.

    NAME_onnx.onnx, NAME_onnx.csv, NAME_onnx.out    a network, rows, values behind the last activation

The writer of protocol buffers knows what is needed here: a field is a number and an integer, a float or
bytes; a text is bytes.
"""
import struct

import numpy as np
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(11)


def varint(v):
    v &= (1 << 64) - 1
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    return bytes(out) + bytes([v])


def field(number, v):
    if isinstance(v, int):
        return varint(number << 3) + varint(v)
    if isinstance(v, float):
        return varint(number << 3 | 5) + struct.pack("<f", v)
    v = v.encode() if isinstance(v, str) else v
    return varint(number << 3 | 2) + varint(len(v)) + v


def tensor(name, a):
    kind = {"float32": 1, "int64": 7, "float16": 10, "float64": 11}[str(a.dtype)]
    return b"".join(field(1, d) for d in a.shape) + field(2, kind) + field(8, name) + field(9, a.tobytes())


def attribute(name, v):
    head = field(1, name)
    if isinstance(v, list):
        return head + b"".join(field(8, i) for i in v) + field(20, 7)
    return head + (field(3, v) + field(20, 2) if isinstance(v, int) else
                   field(2, v) + field(20, 1) if isinstance(v, float) else field(4, v) + field(20, 3))


def value(name, shape):
    dims = b"".join(field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in shape)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, dims)))


class Net:
    """A sequence of operators; constants become initializers."""

    def __init__(self, name, shape, version, rows=5):
        self.name, self.version, self.nodes, self.constants, self.now = name, version, b"", b"", "x"
        self.shape, self.count = shape, 0
        self.x = torch.tensor(rng.integers(-8, 9, (rows, *shape[1:])) / 4.0)

    def add(self, op, *constants, before=0, outputs=1, pick=0, **attributes):
        inputs = [self.now]
        for c in constants:
            if c is None:
                inputs.append("")
                continue
            self.count += 1
            inputs.append(f"c{self.count}")
            self.constants += field(5, tensor(inputs[-1], np.ascontiguousarray(c)))
        if before:
            inputs.reverse()
        self.count += 1
        made = [f"t{self.count}" if i == pick else "" for i in range(outputs)]
        self.now = made[pick]
        node = b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in made) + field(4, op)
        self.nodes += field(1, node + b"".join(field(5, attribute(k, v)) for k, v in attributes.items()))

    def write(self, y):
        graph = self.nodes + field(2, self.name) + self.constants + field(11, value("x", self.shape)) + \
            field(12, value(self.now, ["rows", "values"]))
        data = field(1, 8) + field(2, "onnx.py") + field(8, field(1, "") + field(2, self.version)) + field(7, graph)
        open(f"{self.name}_onnx.onnx", "wb").write(data)
        open(f"../../fuzz/corpus/predict/onnx-{self.name}", "wb").write(data)
        for end, a in (("csv", self.x), ("out", y)):
            with open(f"{self.name}_onnx.{end}", "w") as f:
                for row in a.reshape(len(a), -1).tolist():
                    print(",".join(f"{v:.17g}" for v in row), file=f)


def weights(*shape):
    return (rng.integers(-8, 9, shape) / 8).astype("<f4")


def T(a):
    return torch.tensor(a.astype("f8"))


def windows():
    """Channels in front: groups, strides, dilations, zeros on one side more than on the other."""
    n = Net("windows", ["N", 2, 7, 6], 11)
    w1, b1, w2, w3 = weights(4, 2, 3, 2), weights(4), weights(6, 2, 2, 2), weights(5, 6 * 2 * 2)
    scale, shift, mean, var, add = weights(4), weights(4), weights(4), np.abs(weights(4)) + 1, weights(4, 1, 1)
    n.add("Conv", w1, b1, kernel_shape=[3, 2], pads=[1, 0, 2, 1], strides=[2, 1])
    y = F.conv2d(F.pad(n.x, (0, 1, 1, 2)), T(w1), T(b1), stride=(2, 1))
    n.add("BatchNormalization", scale, shift, mean, var.astype("<f4"), epsilon=0.0009765625)
    y = F.batch_norm(y, T(mean), T(var), T(scale), T(shift), eps=2.0 ** -10)
    n.add("LeakyRelu", alpha=0.25)
    y = F.leaky_relu(y, 0.25)
    n.add("Mul", add, before=1)
    y = y * T(add)
    n.add("MaxPool", kernel_shape=[2, 2], auto_pad="SAME_LOWER")
    y = F.max_pool2d(F.pad(y, (1, 0, 1, 0), value=-np.inf), 2, 1)
    n.add("Conv", w2, group=2, dilations=[1, 2], auto_pad="VALID")
    y = F.conv2d(y, T(w2), groups=2, dilation=(1, 2))
    n.add("AveragePool", kernel_shape=[2, 2], strides=[2, 2], pads=[1, 0, 0, 1], count_include_pad=0)
    ones = torch.ones_like(y)
    around = (0, 1, 1, 0)
    y = F.avg_pool2d(F.pad(y, around), 2) / F.avg_pool2d(F.pad(ones, around), 2)
    n.add("Elu", alpha=0.5)
    y = F.elu(y, 0.5)
    n.add("Flatten")
    n.add("Gemm", w3, weights(5) * 0 + 1, transB=1, alpha=0.5, beta=2.0)
    y = 0.5 * y.flatten(1) @ T(w3).T + 2
    n.add("Softmax")
    n.write(F.softmax(y, -1))


def means():
    """One dimension, its mean for each channel, and shapes that change."""
    n = Net("means", [1, 3, 8], 13)
    w1, b1, w2, b2 = weights(4, 3, 3), weights(4), weights(2, 6), weights(6)
    n.add("Div", np.array([2.0], "<f8"))
    n.add("Conv", w1, b1, kernel_shape=[3], auto_pad="SAME_UPPER", strides=[2])
    y = F.conv1d(F.pad(n.x / 2, (0, 1)), T(w1), T(b1), stride=2)
    n.add("HardSigmoid", alpha=0.25, beta=0.5)
    y = (0.25 * y + 0.5).clip(0, 1)
    n.add("Softmax", axis=1)
    y = F.softmax(y, 1)
    n.add("Transpose", perm=[0, 2, 1])
    y = y.permute(0, 2, 1)
    n.add("Reshape", np.array([0, -1, 2], "<i8"))
    y = y.reshape(len(y), -1, 2)
    n.add("MatMul", w2)
    n.add("Add", b2.astype("<f2"), before=1)
    y = y @ T(w2) + T(b2)
    n.add("Transpose", perm=[0, 2, 1])
    n.add("Unsqueeze", np.array([3], "<i8"))
    n.add("GlobalAveragePool")
    y = y.mean(1)
    n.add("Squeeze", np.array([2, -1], "<i8"))
    n.add("Sub", np.array([-2], "<f4"))
    n.add("Clip", np.array(0, "<f4"), np.array(4, "<f4"))
    n.write((y + 2).clip(0, 4))


def cell(kind, inputs, units, directions):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    return weights(directions, gates * units, inputs), weights(directions, gates * units, units), \
        weights(directions, 2 * gates * units)


def torch_cell(kind, w, r, b, units):
    """The same layer of PyTorch, whose gates stand in the orders i f g o and r z n."""
    order = {"LSTM": [0, 2, 3, 1], "GRU": [1, 0, 2], "RNN": [0]}[kind]
    layer = getattr(torch.nn, kind)(w.shape[2], units, bidirectional=len(w) == 2)
    for d in range(len(w)):
        end = "_l0" + ("_reverse" if d else "")
        rows = np.concatenate([np.arange(g * units, (g + 1) * units) for g in order])
        half = len(rows)
        for name, a in (("weight_ih", w[d][rows]), ("weight_hh", r[d][rows]), ("bias_ih", b[d][:half][rows]),
                        ("bias_hh", b[d][half:][rows])):
            getattr(layer, name + end).data = T(a)
    return layer


def states():
    """Layers of cells as PyTorch exports them: steps in front, then rows."""
    n = Net("states", ["N", 5, 3], 14)
    units = 4
    n.add("Transpose", perm=[1, 0, 2])
    y = n.x.permute(1, 0, 2)
    w, r, b = cell("LSTM", 3, units, 2)
    zero = np.zeros((2, 1, units), "<f4")
    n.add("LSTM", w, r, b, None, zero, zero, hidden_size=units, direction="bidirectional", outputs=3)
    y = torch_cell("LSTM", w, r, b, units)(y)[0]
    n.add("Transpose", perm=[0, 2, 1, 3])
    n.add("Reshape", np.array([0, 0, -1], "<i8"))
    w, r, b = cell("GRU", 2 * units, 3, 1)
    n.add("GRU", w, r, b, hidden_size=3, linear_before_reset=1, direction="reverse", outputs=2)
    y = torch_cell("GRU", w, r, b, 3)(y.flip(0))[0].flip(0)
    n.add("Squeeze", np.array([1], "<i8"))
    w, r, b = cell("RNN", 3, 2, 1)
    n.add("RNN", w, r, b, hidden_size=2, outputs=2, pick=1)
    y = torch_cell("RNN", w, r, b, 2)(y)[1][0]
    n.add("Squeeze", np.array([0], "<i8"))
    n.add("Tanh")
    w = weights(2, 1)
    n.add("Gemm", w)
    n.add("Sigmoid")
    y = torch.sigmoid(torch.tanh(y) @ T(w))
    n.write(torch.cat((1 - y, y), 1))


with torch.no_grad():
    windows()
    means()
    states()
