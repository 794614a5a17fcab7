#!/usr/bin/python3
"""make.py: networks as Keras describes them, with random weights, and what PyTorch computes for them.

Each NAME.safetensors has the key keras.model_config and tensors under the names of Keras 2 (LAYER/kernel:0) or,
for networks whose name ends in 3, of Keras 3 (layers/dense/vars/0). NAME.csv has rows, NAME.out the outputs
in double precision. The seeds of fuzz_nets are the same models, with numbers of values for tensors. PyTorch has channels in front and other orders of gates; weights are turned here.
Needs Debian's python3-torch; tests need the files alone.
"""
import json, struct
import numpy as np
import torch
import torch.nn.functional as F

rng = np.random.default_rng(7)
T = lambda a: torch.tensor(np.asarray(a), dtype=torch.float64)


def weights(*shape):
    return (rng.standard_normal(shape) * 0.5).astype("<f4")


class Net:
    def __init__(self, name, shape, rows=4, low=-1.0, high=1.0, whole=False):
        self.name, self.layers, self.tensors, self.counts = name, [], {}, {}
        self.new = name.endswith("3")
        x = rng.integers(int(low), int(high), (rows, *shape)).astype(float) if whole else \
            rng.uniform(low, high, (rows, *shape)).astype("<f4").astype(float)
        self.rows, self.x = x.reshape(rows, -1), T(x)
        self.layer("InputLayer", batch_shape=[None, *shape])

    def layer(self, kind, variables=(), parts=None, **config):
        """parts: {part: [(name, array)]}; variables are those of the part ''."""
        snake = "".join(("_" if i and c.isupper() and (kind[i - 1].islower() or kind[i - 1].isdigit() or
                                                       kind[i + 1:i + 2].islower()) else "") + c.lower()
                        for i, c in enumerate(kind))
        n = self.counts.get(snake, 0)
        self.counts[snake] = n + 1
        name = f"my_{snake}_{n}"
        self.layers.append({"class_name": kind, "config": {"name": name, **config}})
        for part, values in (parts or {"": list(variables)}).items():
            for i, (variable, array) in enumerate(values):
                if self.new:
                    path = f"layers/{snake}{f'_{n}' if n else ''}/" + (part + "/" if part else "") + f"vars/{i}"
                else:
                    side = "forward_cell/" if part.startswith("forward") else "backward_cell/" if part.startswith("back") \
                        else "cell/" if part else ""
                    path = f"{name}/{side}{variable}:0"
                self.tensors[path] = np.ascontiguousarray(array, dtype="<f4")

    def write(self):
        config = {"class_name": "Sequential", "config": {"name": self.name, "layers": self.layers}}
        head = {"__metadata__": {"keras.version": "3.0.0" if self.new else "2.9.0",
                                 "keras.model_config": json.dumps(config)}}
        at, blobs = 0, b""
        for name, a in self.tensors.items():
            head[name] = {"dtype": "F32", "shape": list(a.shape), "data_offsets": [at, at + a.nbytes]}
            at += a.nbytes
            blobs += a.tobytes()
        seed = config | {"tensors": {name: a.size for name, a in self.tensors.items()}}
        with open("../../fuzz/corpus/nets/" + self.name, "w") as f:
            f.write(json.dumps(seed, separators=(",", ":")))
        text = json.dumps(head).encode()
        text += b" " * (-len(text) % 8)
        with open(self.name + ".safetensors", "wb") as f:
            f.write(struct.pack("<Q", len(text)) + text + blobs)
        np.savetxt(self.name + ".csv", self.rows, fmt="%.9g", delimiter=",")
        np.savetxt(self.name + ".out", self.x.reshape(len(self.rows), -1).numpy(), fmt="%.12g", delimiter=",")

    # Layers. Images are rows, high, wide, channels; sequences rows, steps, channels.

    def dense(self, units, activation="linear", f=lambda v: v, bias=True):
        k, b = weights(self.x.shape[-1], units), weights(units)
        self.layer("Dense", [("kernel", k)] + ([("bias", b)] if bias else []), units=units, use_bias=bias,
                   activation=activation)
        self.x = f(self.x @ T(k) + (T(b) if bias else 0))

    def flatten(self):
        self.layer("Flatten")
        self.x = self.x.reshape(self.x.shape[0], -1)

    def padded(self, x, size, stride, dilation, padding, value=0.0):
        """Zeros as TensorFlow adds them, for x with channels in front."""
        if padding == "valid":
            return x
        pads = []
        for n, k, s, d in zip(x.shape[2:], size, stride, dilation):
            span = (k - 1) * d
            all_ = span if padding == "causal" else max((-(-n // s) - 1) * s + span + 1 - n, 0)
            before = all_ if padding == "causal" else all_ // 2
            pads = [before, all_ - before] + pads
        return F.pad(x, pads, value=value)

    def conv(self, filters, size, stride=None, dilation=None, padding="valid", groups=1, kind="Conv",
             activation="linear", f=lambda v: v, multiplier=1):
        n = len(size)
        stride, dilation = stride or [1] * n, dilation or [1] * n
        channels = self.x.shape[-1]
        x = torch.movedim(self.x, -1, 1)
        x = self.padded(x, size, stride, dilation, padding)
        run = F.conv1d if n == 1 else F.conv2d
        turn = lambda k: torch.movedim(T(k), (-1, -2), (0, 1))
        config = dict(kernel_size=size, strides=stride, dilation_rate=dilation, padding=padding, activation=activation)
        if kind == "Conv":
            k, b = weights(*size, channels // groups, filters), weights(filters)
            variables = [("kernel", k), ("bias", b)]
            y = run(x, turn(k), T(b), stride, 0, dilation, groups)
            config |= dict(filters=filters, groups=groups)
        else:
            d = weights(*size, channels, multiplier)
            turned = T(d).reshape(*size, 1, channels * multiplier)
            y = run(x, torch.movedim(turned, (-1, -2), (0, 1)), None, stride, 0, dilation, channels)
            config |= dict(depth_multiplier=multiplier)
            b = weights(filters if kind == "Separable" else channels * multiplier)
            variables = [("depthwise_kernel", d)]
            if kind == "Separable":
                p = weights(*[1] * n, channels * multiplier, filters)
                y = run(y, turn(p))
                variables.append(("pointwise_kernel", p))
                config |= dict(filters=filters)
            y = y + T(b).reshape(1, -1, *[1] * n)
            variables.append(("bias", b))
        name = {"Conv": "Conv", "Depthwise": "DepthwiseConv", "Separable": "SeparableConv"}[kind] + f"{n}D"
        self.layer(name, variables, **config)
        self.x = f(torch.movedim(y, 1, -1))

    def pool(self, kind, size, stride=None, padding="valid"):
        n = len(size)
        step = stride or size
        x = torch.movedim(self.x, -1, 1)
        run = {("Max", 1): F.max_pool1d, ("Max", 2): F.max_pool2d, ("Average", 1): F.avg_pool1d,
               ("Average", 2): F.avg_pool2d}[kind, n]
        if kind == "Max":
            y = run(self.padded(x, size, step, [1] * n, padding, -np.inf), size, step)
        else:  # the mean of what is there: sums divided by counts
            ones = self.padded(torch.ones_like(x), size, step, [1] * n, padding)
            y = run(self.padded(x, size, step, [1] * n, padding), size, step) / run(ones, size, step)
        self.layer(f"{kind}Pooling{n}D", pool_size=size, strides=stride, padding=padding)
        self.x = torch.movedim(y, 1, -1)

    def global_pool(self, kind, keep=False):
        n = self.x.dim() - 2
        axes = tuple(range(1, n + 1))
        self.x = self.x.amax(axes, keep) if kind == "Max" else self.x.mean(axes, keep)
        self.layer(f"Global{kind}Pooling{n}D", keepdims=keep)

    def norm(self, scale=True):
        n = self.x.shape[-1]
        g, b, m, v = weights(n), weights(n), weights(n), np.abs(weights(n)) + np.float32(0.1)
        self.layer("BatchNormalization", ([("gamma", g)] if scale else []) +
                   [("beta", b), ("moving_mean", m), ("moving_variance", v)], axis=[self.x.dim() - 1],
                   epsilon=0.002, scale=scale, center=True)
        x = torch.movedim(self.x, -1, 1)
        y = F.batch_norm(x, T(m), T(v), T(g) if scale else None, T(b), eps=0.002)
        self.x = torch.movedim(y, 1, -1)

    def activation(self, name, f):
        self.layer("Activation", activation=name)
        self.x = f(self.x)

    def embedding(self, rows, wide):
        t = weights(rows, wide)
        self.layer("Embedding", [("embeddings", t)], input_dim=rows, output_dim=wide)
        self.x = F.embedding(self.x.long(), T(t))

    def cell(self, kind, units, reset_after):
        gates = {"SimpleRNN": 1, "LSTM": 4, "GRU": 3}[kind] * units
        k, u = weights(self.x.shape[-1], gates), weights(units, gates)
        b = weights(2, gates) if reset_after else weights(gates)
        return k, u, b

    def run(self, kind, units, k, u, b, reset_after, back):
        """All outputs of one direction, in the order in which it reads."""
        x = torch.flip(self.x, [1]) if back else self.x
        if kind == "GRU" and not reset_after:  # PyTorch has no such layer: by element
            h = torch.zeros(len(x), units, dtype=torch.float64)
            out = []
            for t in range(x.shape[1]):
                z, r, _ = (x[:, t] @ T(k) + T(b) + h @ T(u)).sigmoid().chunk(3, 1)
                n = (x[:, t] @ T(k)[:, 2 * units:] + T(b)[2 * units:] + (r * h) @ T(u)[:, 2 * units:]).tanh()
                h = z * h + (1 - z) * n
                out.append(h)
            return torch.stack(out, 1)
        order = {"SimpleRNN": [0], "LSTM": [0, 1, 2, 3], "GRU": [1, 0, 2]}[kind]
        turn = lambda a: torch.cat([T(a)[..., i * units:(i + 1) * units] for i in order], -1)
        layer = {"SimpleRNN": torch.nn.RNN, "LSTM": torch.nn.LSTM, "GRU": torch.nn.GRU}[kind](
            x.shape[-1], units, batch_first=True).double()
        with torch.no_grad():
            layer.weight_ih_l0.copy_(turn(k).T)
            layer.weight_hh_l0.copy_(turn(u).T)
            layer.bias_ih_l0.copy_(turn(b[0] if reset_after else b))
            layer.bias_hh_l0.copy_(turn(b[1]) if reset_after else 0)
            return layer(x)[0]

    def recurrent(self, kind, units, sequences=False, reset_after=False, back=False, both=False):
        config = dict(units=units, activation="tanh", recurrent_activation="sigmoid", use_bias=True,
                      return_sequences=sequences, go_backwards=back, reset_after=reset_after)
        names = ("kernel", "recurrent_kernel", "bias")
        cells = [self.cell(kind, units, reset_after) for _ in range(1 + both)]
        outs = [self.run(kind, units, *c, reset_after, back or i == 1) for i, c in enumerate(cells)]
        if both:
            self.layer("Bidirectional", parts={"forward_layer/cell": list(zip(names, cells[0])),
                                               "backward_layer/cell": list(zip(names, cells[1]))},
                       layer={"class_name": kind, "config": config}, merge_mode="concat")
            self.x = torch.cat([outs[0], torch.flip(outs[1], [1])], 2) if sequences else \
                torch.cat([outs[0][:, -1], outs[1][:, -1]], 1)
        else:
            self.layer(kind, parts={"cell": list(zip(names, cells[0]))}, **config)
            self.x = outs[0] if sequences else outs[0][:, -1]


n = Net("image", (7, 6, 3))
n.conv(4, [3, 2], [2, 1], activation="relu", f=F.relu)
n.layer("Dropout", rate=0.5)
n.pool("Max", [2, 2], [1, 2], "same")
n.norm()
n.flatten()
n.dense(3, "tanh", torch.tanh)
n.write()

n = Net("same3", (9, 8, 4))
n.conv(6, [3, 3], [2, 2], padding="same", groups=2, activation="elu", f=F.elu)
n.pool("Average", [3, 2], [2, 2], "same")
n.norm(scale=False)
n.layer("LeakyReLU", negative_slope=0.1)
n.x = F.leaky_relu(n.x, 0.1)
n.global_pool("Average")
n.dense(2)
n.write()

n = Net("depth", (6, 6, 2))
n.layer("ZeroPadding2D", padding=[[1, 0], [2, 1]])
n.x = F.pad(n.x, [0, 0, 2, 1, 1, 0])
n.conv(0, [3, 3], dilation=[2, 1], kind="Depthwise", multiplier=2, activation="relu6", f=F.relu6)
n.layer("UpSampling2D", size=[2, 1])
n.x = n.x.repeat_interleave(2, 1)
n.conv(3, [2, 2], [2, 2], kind="Separable", multiplier=3)
n.global_pool("Max", True)
n.flatten()
n.write()

n = Net("wave3", (12, 2))
n.conv(5, [3], dilation=[2], padding="causal", activation="silu", f=F.silu)
n.pool("Max", [3], [2], "same")
n.conv(0, [2], kind="Depthwise", multiplier=1)
n.pool("Average", [2])
n.conv(4, [1], kind="Separable", padding="same", activation="softplus", f=F.softplus)
n.global_pool("Average")
n.write()

n = Net("words", (6,), low=0, high=9, whole=True)
n.embedding(9, 4)
n.recurrent("LSTM", 5, sequences=True)
n.recurrent("GRU", 4, sequences=True, reset_after=True)
n.recurrent("SimpleRNN", 3)
n.dense(2)
n.write()

n = Net("gates3", (5, 3))
n.recurrent("GRU", 4, sequences=True)
n.recurrent("LSTM", 3, sequences=True, both=True)
n.recurrent("GRU", 2, sequences=True, back=True, reset_after=True)
n.recurrent("LSTM", 2, both=True)
n.write()

n = Net("turned", (4, 3))
n.recurrent("GRU", 4, both=True, reset_after=True)
n.layer("RepeatVector", n=3)
n.x = n.x.unsqueeze(1).repeat(1, 3, 1)
n.layer("Permute", dims=[2, 1])
n.x = n.x.transpose(1, 2)
n.layer("Reshape", target_shape=[4, -1])
n.x = n.x.reshape(len(n.x), 4, 6)
n.dense(5, "softsign", F.softsign)
n.layer("Rescaling", scale=0.5, offset=-1)
n.x = n.x * 0.5 - 1
n.layer("ZeroPadding1D", padding=1)
n.x = F.pad(n.x, [0, 0, 1, 1])
n.layer("UpSampling1D", size=2)
n.x = n.x.repeat_interleave(2, 1)
n.layer("Softmax")
n.x = n.x.softmax(-1)
n.write()

n = Net("functions", (8,), low=-3, high=3)
for name, f in (("elu", F.elu), ("selu", F.selu), ("softplus", F.softplus), ("gelu", F.gelu),
                ("hard_sigmoid", lambda v: (0.2 * v + 0.5).clamp(0, 1)), ("exponential", torch.exp),
                ("sigmoid", torch.sigmoid), ("swish", F.silu), ("leaky_relu", lambda v: F.leaky_relu(v, 0.2))):
    n.dense(8, name, f)
n.dense(4, bias=False)
n.write()

n = Net("functions3", (4,), low=-3, high=3)
n.layer("ReLU", max_value=2.0, negative_slope=0.25, threshold=0.0)
n.x = torch.where(n.x < 0, 0.25 * n.x, n.x.clamp(max=2))
n.layer("ELU", alpha=0.7)
n.x = F.elu(n.x, 0.7)
n.activation("hard_sigmoid", F.hardsigmoid)
n.dense(3)
n.write()
