#!/usr/bin/env python3
"""Runs the rows of the benchmarks in another library and prints JSON, a line for each row: microseconds a call and
samples of the result. `tests/bench/compare.py` starts it, once a library, so that none can disturb another.

    python3 tests/bench/peers.py cupy|torch|torch.compile|jax|numpy|numexpr [--filter TEXT] [--quick]

A time is that of one of many calls to a wait, the queue kept full: the median of several runs. What the first calls
compile isn't in it; it is told as first_ms.
"""
import argparse
import json
import os
import statistics
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

from peer_rows import rows


class Numpy:
    gpu = False

    def __init__(self):
        import numpy
        self.m = self.maker = numpy

    def take(self, x):
        return x

    def function(self, row):
        return row.np and (lambda *inputs: row.np(self.m, *inputs))

    def wait(self, results):
        pass

    def samples(self, result):
        flat = self.m.asarray(result).reshape(-1)
        return [float(flat[(flat.size - 1) // 7 * k]) for k in range(8)]


class Numexpr(Numpy):
    def __init__(self):
        super().__init__()
        import numexpr
        self.ne = numexpr

    def function(self, row):
        if not row.numexpr:
            return None

        def run(*inputs):
            names = {f"x{k}": x for k, x in enumerate(inputs)}
            if row.name.startswith("broadcast"):
                names = {"x0": inputs[0][:, None], "x1": inputs[1][None, :]}
            return self.ne.evaluate(row.numexpr, names)

        return run


class Cupy(Numpy):
    gpu = True

    def __init__(self):
        import cupy
        self.m = self.maker = cupy
        if not cupy.cuda.is_available():
            raise ImportError("it finds no GPU")

    def wait(self, results):
        self.m.cuda.get_current_stream().synchronize()


class Torch(Numpy):
    gpu = True

    def __init__(self):
        import cupy
        import torch
        self.m, self.maker = torch, cupy
        if not torch.cuda.is_available():
            raise ImportError("it finds no GPU")

    def take(self, x):
        return self.m.from_dlpack(x)

    def function(self, row):
        return row.torch and (lambda *inputs: row.torch(self.m, *inputs))

    def wait(self, results):
        self.m.cuda.synchronize()

    def samples(self, result):
        flat = result.reshape(-1)
        return [float(flat[(flat.numel() - 1) // 7 * k]) for k in range(8)]


class TorchCompile(Torch):
    def function(self, row):
        if not row.compiled:
            return None
        self.m.compiler.reset()
        return self.m.compile(super().function(row), dynamic=False)


class Jax(Numpy):
    gpu = True

    def __init__(self):
        import cupy
        import jax
        self.jax, self.m, self.maker = jax, jax.numpy, cupy
        if jax.default_backend() != "gpu":
            raise ImportError("it finds no GPU")

    def take(self, x):
        return self.m.asarray(self.jax.dlpack.from_dlpack(self.maker.ascontiguousarray(x)))

    def function(self, row):
        if not row.jax:
            return None
        call = lambda *inputs: row.jax(self.m, *inputs)
        return call if row.name == "tiny_steps" else self.jax.jit(call)

    def wait(self, results):
        self.jax.block_until_ready(results)


LIBRARIES = {"cupy": Cupy, "torch": Torch, "torch.compile": TorchCompile, "jax": Jax, "numpy": Numpy,
             "numexpr": Numexpr}


def timed(library, row, runs):
    function = library.function(row)
    if not function:
        return None
    made = [x.make(library.maker) for x in row.inputs]
    inputs = [library.take(x) for x in made]

    def together(count):
        start = time.perf_counter()
        for _ in range(count):
            results = function(*inputs)
        library.wait(results)
        return (time.perf_counter() - start) / count * 1e6

    start = time.perf_counter()
    results = function(*inputs)
    library.wait(results)
    first_ms = (time.perf_counter() - start) * 1e3
    samples = library.samples(results[0] if isinstance(results, (tuple, list)) else results)
    results = None
    together(1)
    count = max(1, min(256, int(10000 / max(together(1), 1))))
    return {"us": statistics.median(together(count) for _ in range(runs)), "first_ms": first_ms, "samples": samples}


def free(library):
    if hasattr(library, "jax"):
        library.jax.clear_caches()
    if library.gpu:
        if library.m.__name__ == "torch":
            library.m.cuda.empty_cache()
        library.maker.get_default_memory_pool().free_all_blocks()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("--filter", default="", help="only rows whose name contains this")
    parser.add_argument("--quick", action="store_true", help="fewer runs")
    options = parser.parse_args()
    try:
        library = LIBRARIES[options.library]()
    except ImportError as e:
        print(f"{options.library} is left out: {e}", file=sys.stderr)
        return
    for row in rows(library.gpu):
        if options.filter not in row.name:
            continue
        try:
            result = timed(library, row, 3 if options.quick else 7)
        except Exception as e:  # one that fails leaves the others
            result = {"error": f"{type(e).__name__}: {str(e)[:200]}"}
        free(library)
        if result:
            print(json.dumps({row.name: result}), flush=True)
            shown = f"{result['us']:12.1f} us" if "us" in result else result["error"]
            print(f"{options.library:<14} {row.name:<40} {shown}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
