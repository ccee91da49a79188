#!/usr/bin/env python3
"""The rows of reduce_bench.cpp on CuPy, PyTorch, and PyTorch's compiler: the same sizes on random data.

Prints a table: microseconds a call, and in brackets how far that is above what a copy of as many bytes takes. Calls are
timed together by CUDA events, as many as take some milliseconds, and the median of several such runs is told. What
cannot be imported is left out.

    python3 tests/bench/peers_reduce.py [--filter TEXT] [--runs N]
"""
import argparse
import importlib
import statistics
import sys

ROWS = 65536
WORDS, WIDTH = 8192, 256


def imported(name):
    try:
        return importlib.import_module(name)
    except ImportError as e:
        print(f"{name} is left out: {e}", file=sys.stderr)
        return None


class CupyPeer:
    """Arrays, inputs and time by CuPy."""

    def __init__(self, module):
        self.m = module

    def random(self, *shape):
        return self.m.random.random(shape, dtype=self.m.float32) + self.m.float32(0.5)

    def indices(self, count, limit):
        return self.m.random.randint(0, limit, count, dtype=self.m.int32)

    def event(self):
        event = self.m.cuda.Event()
        event.record()
        return event

    def microseconds(self, start, stop):
        stop.synchronize()
        return self.m.cuda.get_elapsed_time(start, stop) * 1e3

    def free(self):
        self.m.get_default_memory_pool().free_all_blocks()


class TorchPeer:
    """Arrays, inputs and time by PyTorch."""

    def __init__(self, module):
        self.m = module

    def random(self, *shape):
        return self.m.rand(shape, device="cuda") + 0.5

    def indices(self, count, limit):
        return self.m.randint(0, limit, (count,), device="cuda")

    def event(self):
        event = self.m.cuda.Event(enable_timing=True)
        event.record()
        return event

    def microseconds(self, start, stop):
        stop.synchronize()
        return start.elapsed_time(stop) * 1e3

    def free(self):
        self.m.cuda.empty_cache()


def smoothness_cost(m, x):
    p = m.concatenate((x[:, 0:2], x[:, 0:18]), 1)
    q = m.concatenate((p[:, 0:2], p[:, 0:18]), 1)
    return ((x + q - 2 * p) ** 2).sum(1)


def cupy_softmax(m, x):
    e = m.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def torch_softmax_written_out(m, x):
    e = m.exp(x - x.amax(1, keepdim=True))
    return e / e.sum(1, keepdim=True)


def cupy_layer_norm(m, x, gamma, beta):
    return (x - x.mean(1, keepdims=True)) / m.sqrt(x.var(1, keepdims=True) + 1e-5) * gamma + beta


def torch_layer_norm(m, x, gamma, beta):
    return m.nn.functional.layer_norm(x, (x.shape[1],), gamma, beta)


def cupy_one_hot_product(m, ids, table):
    return (ids[:, m.newaxis] == m.arange(WORDS)).astype(m.float32) @ table


def torch_one_hot_product(m, ids, table):
    return (ids[:, None] == m.arange(WORDS, device=ids.device)).float() @ table


def numbers(count):
    return lambda peer: (peer.random(count),)


def matrix(rows, columns):
    return lambda peer: (peer.random(rows, columns),)


def normal_inputs(peer):
    return peer.random(ROWS, 1024), peer.random(1024), peer.random(1024)


def lookup_inputs(peer):
    return peer.indices(65536, WORDS), peer.random(WORDS, WIDTH)


class Row:
    """`elements` read or written, 4 bytes each; `cupy` and `torch` take their module and what `inputs` makes."""

    def __init__(self, name, elements, inputs, cupy, torch=None):
        self.name, self.bytes, self.inputs = name, 4 * elements, inputs
        self.cupy, self.torch = cupy, torch or cupy


def sums():
    for n in (1 << 10, 1 << 16, 1 << 20, 1 << 28):
        yield Row(f"sum/{n}", n, numbers(n), lambda m, x: x.sum())


def rows():
    """As reduce_bench registers them."""
    big, square = 1 << 28, ROWS * 1024
    yield from sums()
    yield Row(f"argmax/{big}", big, numbers(big), lambda m, x: x.argmax())
    yield Row(f"mean_var_min_max/{big}", big, numbers(big), lambda m, x: (x.mean(), x.var(), x.min(), x.max()),
              lambda m, x: (x.mean(), x.var(unbiased=False), x.amin(), x.amax()))
    tall = matrix(ROWS, 1024)
    yield Row(f"sum_axes/rows/{ROWS}/1024", square + ROWS, tall, lambda m, x: x.sum(1))
    yield Row(f"sum_axes/columns/{ROWS}/1024", square + 1024, tall, lambda m, x: x.sum(0))
    yield Row(f"sum_axes/both/{ROWS}/1024", square, tall, lambda m, x: x.sum())
    yield Row(f"norm_rows/{1 << 24}/3", 4 << 24, matrix(1 << 24, 3), lambda m, x: m.sqrt((x * x).sum(1)))
    yield Row("smoothness_cost/20000000", 21 * 20000000, matrix(20000000, 20), smoothness_cost)
    yield Row(f"softmax/{ROWS}/1024", 2 * square, tall, cupy_softmax, lambda m, x: m.softmax(x, 1))
    yield Row("softmax/8192/8192", 2 << 26, matrix(8192, 8192), cupy_softmax, lambda m, x: m.softmax(x, 1))
    yield Row(f"softmax_written_out/{ROWS}/1024", 2 * square, tall, cupy_softmax, torch_softmax_written_out)
    yield Row(f"layer_norm/{ROWS}/1024", 2 * square, normal_inputs, cupy_layer_norm, torch_layer_norm)
    looked_up = WIDTH * (65536 + WORDS) + 65536
    yield Row("one_hot_product/65536", looked_up, lookup_inputs, cupy_one_hot_product, torch_one_hot_product)
    yield Row("one_hot_product/65536 as table[ids]", looked_up, lookup_inputs, lambda m, ids, table: table[ids])
    yield Row(f"cumsum/{big}", 2 * big, numbers(big), lambda m, x: m.cumsum(x, 0))
    yield Row(f"cumsum_along/rows/{ROWS}/1024", 2 * square, tall, lambda m, x: m.cumsum(x, 1))
    yield Row(f"cumsum_along/columns/{ROWS}/1024", 2 * square, tall, lambda m, x: m.cumsum(x, 0))


def median_time(peer, call, runs):
    """Microseconds a call, queue kept full; what the first calls compile isn't counted."""

    def together(count):
        start = peer.event()
        for _ in range(count):
            call()
        return peer.microseconds(start, peer.event()) / count

    together(2)
    count = max(1, min(200, int(5000 / max(together(3), 1))))
    return statistics.median(together(count) for _ in range(runs))


def copy_bandwidth(peer):
    """Bytes read and written a second by a copy of 2 GiB."""
    x = peer.random(1 << 29)
    y = peer.random(1 << 29)

    def copy():
        y[:] = x

    return 2 * x.nbytes / median_time(peer, copy, 7) * 1e6


def peers():
    """(column, peer, which function of a row it runs, what makes that faster)."""
    cupy, torch = imported("cupy"), imported("torch")
    if cupy and not cupy.cuda.is_available():
        print("cupy is left out: it finds no GPU", file=sys.stderr)
        cupy = None
    if torch and not torch.cuda.is_available():
        print("torch is left out: it finds no GPU", file=sys.stderr)
        torch = None
    if cupy:
        yield "cupy", CupyPeer(cupy), "cupy", lambda f: f
    if torch:
        yield "torch", TorchPeer(torch), "torch", lambda f: f

        def compiled(f):
            torch.compiler.reset()
            return torch.compile(f, dynamic=False)

        yield "torch.compile", TorchPeer(torch), "torch", compiled


def cell(row, peer, which, prepare, runs, bandwidth):
    function, module = getattr(row, which), peer.m
    try:
        inputs = row.inputs(peer)
        # The module isn't a parameter: compilers take tensors.
        faster = prepare(lambda *arrays: function(module, *arrays))
        microseconds = median_time(peer, lambda: faster(*inputs), runs)
        return f"{microseconds:.1f} ({microseconds / (row.bytes / bandwidth * 1e6):.2f})"
    except Exception as e:  # one that fails leaves the others
        print(f"{row.name}: {type(e).__name__}: {str(e)[:200]}", file=sys.stderr)
        return "failed"
    finally:
        inputs = faster = None
        peer.free()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--filter", default="", help="only rows whose name contains this")
    parser.add_argument("--runs", type=int, default=9, help="runs to take the median of")
    options = parser.parse_args()
    columns = list(peers())
    if not columns:
        print("neither CuPy nor PyTorch is here, or there is no GPU: nothing to compare with")
        return
    bandwidth = copy_bandwidth(columns[0][1])
    columns[0][1].free()
    print(f"a copy by {columns[0][0]}: {bandwidth / 1e9:.0f} GB/s (read + written)")
    print(f"{'us a call (over the copy)':<40} {'floor_us':>9}" + "".join(f" {name:>18}" for name, *_ in columns))
    for row in rows():
        if options.filter in row.name:
            print(f"{row.name:<40} {row.bytes / bandwidth * 1e6:>9.2f}", end="", flush=True)
            for _, peer, which, prepare in columns:
                print(f" {cell(row, peer, which, prepare, options.runs, bandwidth):>18}", end="", flush=True)
            print()


if __name__ == "__main__":
    main()
