#!/usr/bin/env python3
"""Makes the networks of TensorFlow Lite of this folder, and what PyTorch computes with the same weights; for
the network of integers, what the integers give. Not needed for make check.

    NAME.tflite, NAME.csv, NAME.out    a network, rows, values behind the last activation

The writer of FlatBuffers puts each table behind the one that leads to it. A field is None, an int, a float,
a text, bytes, a numpy array (a vector), a table, or a list of tables.
"""
import struct

import numpy as np
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(3)


class Table(list):
    """Fields by number."""


def put(out, at, value):
    """Appends a value; the offset at `at` leads to it."""
    while len(out) % 8:
        out.append(0)
    if isinstance(value, Table):
        put_table(out, at, value)
        return
    struct.pack_into("<I", out, at, len(out) - at)
    if isinstance(value, list):
        first = len(out) + 4
        out += struct.pack("<I", len(value)) + bytes(4 * len(value))
        for i, one in enumerate(value):
            put(out, first + 4 * i, one)
        return
    data = value.encode() + b"\0" if isinstance(value, str) else value if isinstance(value, bytes) else value.tobytes()
    count = len(value)
    out += struct.pack("<I", count) + data


def put_table(out, at, fields):
    n = len(fields)
    vtable = len(out)
    out += struct.pack("<HH", 4 + 2 * n, 4 + 4 * n)
    for i, v in enumerate(fields):
        out += struct.pack("<H", 0 if v is None else 4 + 4 * i)
    while len(out) % 4:
        out.append(0)
    place = len(out)
    struct.pack_into("<I", out, at, place - at)
    out += struct.pack("<i", place - vtable) + bytes(4 * n)
    for i, v in enumerate(fields):
        slot = place + 4 + 4 * i
        if isinstance(v, int):
            struct.pack_into("<i", out, slot, v)
        elif isinstance(v, float):
            struct.pack_into("<f", out, slot, v)
        elif v is not None:
            put(out, slot, v)


class Net:
    def __init__(self, shape, kind=0, quant=None):
        self.tensors, self.buffers, self.codes, self.operators = [], [Table([None])], [], []
        self.first = self.now = self.tensor(shape, kind, None, quant)

    def tensor(self, shape, kind, data, quant):
        """quant: scales, zero points, axis."""
        q = None
        if quant:
            q = Table([None, None, np.array(quant[0], "<f4"), np.array(quant[1], "<i8"), None, None, quant[2]])
        if data is not None:
            self.buffers.append(Table([data.tobytes()]))
        self.tensors.append(Table([np.array(shape, "<i4"), kind, 0 if data is None else len(self.buffers) - 1,
                                   "t%d" % len(self.tensors), q]))
        return len(self.tensors) - 1

    def constant(self, data, quant=None):
        kind = {"f4": 0, "i4": 2, "i1": 9}[data.dtype.str[1:]]
        return self.tensor(data.shape, kind, data, quant)

    def add(self, code, shape, constants, options, kind=0, quant=None):
        to = self.tensor(shape, kind, None, quant)
        self.codes.append(Table([code, None, 1, code]))
        self.operators.append(Table([len(self.codes) - 1, np.array([self.now] + constants, "<i4"),
                                     np.array([to], "<i4"), 1, Table(options)]))
        self.now = to

    def save(self, name):
        graph = Table([self.tensors, np.array([self.first], "<i4"), np.array([self.now], "<i4"), self.operators, "g"])
        out = bytearray(8)
        out[4:8] = b"TFL3"
        put(out, 0, Table([3, self.codes, [graph], "made by tflite.py", self.buffers]))
        with open(name + ".tflite", "wb") as f:
            f.write(out)


def weights(*shape):
    return (rng.integers(-8, 9, shape) / 16).astype("<f4")


def save_rows(name, rows, values):
    np.savetxt(name + ".csv", rows.reshape(len(rows), -1), fmt="%.9g", delimiter=",")
    np.savetxt(name + ".out", np.asarray(values).reshape(len(rows), -1), fmt="%.17g", delimiter=",")


def t(a):
    return torch.from_numpy(np.asarray(a, float))


def image(rows):
    return t(rows).permute(0, 3, 1, 2)


def conv(x, w, b, **more):
    """Weights as TensorFlow Lite has them: outputs, height, width, inputs."""
    return F.conv2d(x, t(w).permute(0, 3, 1, 2), t(b), **more)


def windows():
    n = Net((1, 6, 5, 2))
    w1, b1, w2, b2, w3, b3 = weights(4, 3, 3, 2), weights(4), weights(1, 2, 2, 4), weights(4), weights(3, 8), weights(3)
    n.add(3, (1, 3, 3, 4), [n.constant(w1), n.constant(b1)], [0, 2, 2, 3])
    n.add(4, (1, 2, 2, 4), [n.constant(w2), n.constant(b2)], [1, 1, 1, 1, 1])
    n.add(1, (1, 2, 1, 4), [], [0, 2, 1, 2, 2, 0])
    n.add(22, (1, 8), [n.constant(np.array([1, 8], "<i4"))], [])
    n.add(9, (1, 3), [n.constant(w3), n.constant(b3)], [0])
    n.add(25, (1, 3), [], [1.0])
    n.save("windows_lite")
    rows = weights(5, 6, 5, 2) * 4
    x = F.pad(image(rows), (1, 1, 0, 1))  # SAME: of two strides over 6 and 5, 0 + 1 and 1 + 1
    x = conv(x, w1, b1, stride=2).clamp(0, 6)
    x = F.relu(F.conv2d(x, t(w2).permute(3, 0, 1, 2), t(b2), groups=4))
    y = torch.stack([x[:, :, 0:2].mean((2, 3)), x[:, :, 1:2].mean((2, 3))], 1)  # the second window is half outside
    save_rows("windows_lite", rows, F.linear(y.reshape(5, 8), t(w3), t(b3)).softmax(1))


def means():
    n = Net((1, 4, 4, 3))
    w, b, s, w2 = weights(2, 2, 3, 3), weights(2), weights(1, 1, 1, 2), weights(1, 2)
    n.add(34, (1, 6, 5, 3), [n.constant(np.array([[0, 0], [1, 1], [1, 0], [0, 0]], "<i4"))], [])
    n.add(3, (1, 5, 3, 2), [n.constant(w), n.constant(b)], [1, 1, 1, 4])
    n.add(18, (1, 5, 3, 2), [n.constant(s)], [0])
    n.add(0, (1, 5, 3, 2), [n.constant(weights(1) * 0 + np.float32(0.25))], [1])
    n.add(17, (1, 4, 2, 2), [], [1, 1, 1, 2, 2, 0])
    n.add(40, (1, 2), [n.constant(np.array([1, 2], "<i4"))], [0])
    n.add(9, (1, 1), [n.constant(w2), -1], [0])
    n.add(14, (1, 1), [], [])
    n.save("means_lite")
    rows = weights(5, 4, 4, 3) * 4
    x = torch.tanh(conv(F.pad(image(rows), (1, 0, 1, 1)), w, b))
    x = F.relu(x * t(s[0, 0, 0]).reshape(1, 2, 1, 1) + 0.25)
    x = F.max_pool2d(x, 2, 1).mean((2, 3))
    p = torch.sigmoid(F.linear(x, t(w2)))
    save_rows("means_lite", rows, torch.cat([1 - p, p], 1))


def integers():
    """Two dense layers of INT8: sums of products of integers, multiplied and rounded."""
    scales = [0.0625, 1 / 64, 0.05]  # of the input, the first output, the second
    zeros = [-10, -128, 3]
    s1, s2 = np.array([1 / 128, 1 / 64, 1 / 100]).astype("<f4"), np.array([1 / 50]).astype("<f4")
    w1, w2 = rng.integers(-127, 128, (3, 4)).astype("<i1"), rng.integers(-127, 128, (2, 3)).astype("<i1")
    b1, b2 = rng.integers(-900, 900, 3).astype("<i4"), rng.integers(-900, 900, 2).astype("<i4")
    f = [np.float32(v) for v in scales]
    n = Net((1, 4), 9, ([f[0]], [zeros[0]], 0))
    n.add(9, (1, 3), [n.constant(w1, (s1, [0, 0, 0], 0)), n.constant(b1, (f[0] * s1, [0, 0, 0], 0))], [1], 9,
          ([f[1]], [zeros[1]], 0))
    n.add(9, (1, 2), [n.constant(w2, (s2, [0], 0)), n.constant(b2, (f[1] * s2, [0], 0))], [0], 9, ([f[2]], [zeros[2]], 0))
    n.save("integers_lite")
    rows = rng.integers(-40, 40, (6, 4)) / 16.0
    q = np.clip(np.round(rows / float(f[0])) + zeros[0], -128, 127)
    for w, b, s, i in (w1, b1, s1, 0), (w2, b2, s2, 1):
        sums = (q - zeros[i]) @ w.T.astype(float) + b
        real = sums * (float(f[i]) * s.astype(float)) / float(f[i + 1])
        q = np.clip(np.sign(real) * np.floor(np.abs(real) + 0.5) + zeros[i + 1], -128, 127)
    save_rows("integers_lite", rows, (q - zeros[2]) * float(f[2]))


windows()
means()
integers()
