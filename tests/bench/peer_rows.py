"""The rows of the benchmarks that other libraries run too: the same names, inputs and results.

A row's functions take the library's module and its inputs. `np` is written for NumPy and whatever has its names (CuPy,
JAX); `torch`, `jax` and `numexpr` (an expression) replace it where a library needs other words, None leaves it out.
"""
import math


class Row:
    def __init__(self, name, inputs, np, torch="np", jax="np", numexpr=None, tolerance=2e-3, compiled=True):
        self.name, self.inputs, self.tolerance = name, inputs, tolerance
        self.np, self.numexpr = np, numexpr
        self.torch = np if torch == "np" else torch
        self.jax = np if jax == "np" else jax
        self.compiled = compiled and self.torch is not None  # whether torch.compile is tried


class Random:
    """random_array of support.cpp: a hash of the place and the seed."""

    def __init__(self, *shape, seed=1, dtype="float32"):
        self.shape, self.seed, self.dtype = shape, seed, dtype

    def bits(self, m):
        h = m.arange(math.prod(self.shape), dtype=m.uint32)
        h += m.uint32(self.seed * 0x9E3779B9 & 0xFFFFFFFF)
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
            h ^= h >> m.uint32(shift)
            h *= m.uint32(factor)
        h ^= h >> m.uint32(16)
        return h.reshape(self.shape)

    def make(self, m):
        if self.dtype == "uint8":
            return (self.bits(m) % m.uint32(100)).astype(m.uint8)
        return ((self.bits(m) >> m.uint32(8)).astype(m.float64) * 2.0**-24 + 0.5).astype(self.dtype)


class Indices(Random):
    def __init__(self, count, limit):
        super().__init__(count, seed=7)
        self.limit = limit

    def make(self, m):
        return (self.bits(m) % m.uint32(self.limit)).astype(m.int32)


class Of:
    """What `make` gives for the module that makes inputs."""

    def __init__(self, make):
        self.make = make


# ---- Elementwise ----
def elementwise(n):
    a, b = Random(n), Random(n, seed=2)
    yield Row(f"scale_shift/{n}", (a,), lambda m, x: x * 1.5 + 1, numexpr="x0 * 1.5 + 1")
    yield Row(f"squared_difference/{n}", (a, b), lambda m, x, y: (x - y) * (x - y), numexpr="(x0 - x1) * (x0 - x1)")
    yield Row(f"smooth_chain/{n}", (a, b), lambda m, x, y: m.sqrt(x * x + y * y) * 0.5 + m.exp(-x),
              numexpr="sqrt(x0 * x0 + x1 * x1) * 0.5 + exp(-x0)")


def chain_of_20(m, a, b):
    y = m.sqrt(a * a + b * b)
    y = m.exp(-y) * a + m.sin(y) * b
    y = m.log(abs(y) + 1.5) * 0.5 + m.tanh(a)
    return m.sqrt(abs(y - b)) + m.cos(y) * m.exp(-b)


def np_axpy(m, x, y):
    y += 0.5 * x
    return y


def torch_axpy(m, x, y):
    return y.add_(x, alpha=0.5)


def normal_cdf(m, x):
    return 0.5 * erfc(m, x * -math.sqrt(0.5))


def erfc(m, x):
    if m.__name__ == "cupy":
        import cupyx.scipy.special
        return cupyx.scipy.special.erfc(x)
    if m.__name__ == "torch":
        return m.special.erfc(x)
    if m.__name__ == "jax.numpy":
        import jax.scipy.special
        return jax.scipy.special.erfc(x)
    import scipy.special
    return scipy.special.erfc(x)


def black_scholes(m, spot, strike, years):
    deviation = 0.3 * m.sqrt(years)
    d1 = (m.log(spot / strike) + 0.065 * years) / deviation
    d2 = d1 - deviation
    discounted = strike * m.exp(-0.02 * years)
    call = spot * normal_cdf(m, d1) - discounted * normal_cdf(m, d2)
    return call, discounted * normal_cdf(m, -d2) - spot * normal_cdf(m, -d1)


def broadcasts(side, wide, width):
    for dtype, type_name in (("float64", "f64"), ("float32", "f32")):
        x, y = Random(side, dtype=dtype), Random(side, seed=2, dtype=dtype)
        # JAX has no f64 unless its whole process is told so.
        yield Row(f"broadcast/{type_name}/{side}", (x, y), lambda m, x, y: (x[:, None] - y[None, :]) ** 2,
                  jax=None if dtype == "float64" else "np", numexpr="(x0 - x1) ** 2")
    rows = Random(wide, width), Random(wide, width, seed=2)
    yield Row(f"outer_rows/{wide}/{width}", rows, lambda m, x, y: x[:, None, :] + y[None, :, :])


# ---- Views, gathers, writes ----
def gather(m, table, ids):
    return table[ids] * 1.5


def columns_in_place(m, b):
    b[:, 0] += b[:, 2]
    b[:, 2] += b[:, 3]
    return b


def jax_columns(m, b):
    b = b.at[:, 0].add(b[:, 2])
    return b.at[:, 2].add(b[:, 3])


def heat_step(m, u):
    u[1:-1, 1:-1] += 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
    return u


def jax_heat_step(m, u):
    return u.at[1:-1, 1:-1].add(0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]))


def np_scatter_add(m, sums, at, values):
    if m.__name__ == "cupy":
        import cupyx
        cupyx.scatter_add(sums, at, values)
    else:
        m.add.at(sums, at, values)
    return sums


def torch_scatter_add(m, sums, at, values):
    return sums.index_add_(0, at, values)


def jax_scatter_add(m, sums, at, values):
    return sums.at[at].add(values)


# ---- Reductions and rows ----
def smoothness_cost(m, x):
    join = m.cat if m.__name__ == "torch" else m.concatenate
    p = join((x[:, 0:2], x[:, 0:18]), 1)
    q = join((p[:, 0:2], p[:, 0:18]), 1)
    return ((x + q - 2 * p) ** 2).sum(1)


def softmax(m, x):
    e = m.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def torch_softmax_written_out(m, x):
    e = m.exp(x - x.amax(1, keepdim=True))
    return e / e.sum(1, keepdim=True)


def layer_norm(m, x, gamma, beta):
    return (x - x.mean(1, keepdims=True)) / m.sqrt(x.var(1, keepdims=True) + 1e-5) * gamma + beta


def torch_layer_norm(m, x, gamma, beta):
    return m.nn.functional.layer_norm(x, (x.shape[1],), gamma, beta)


def one_hot_product(words):
    def np(m, ids, table):
        return (ids[:, None] == m.arange(words)).astype(m.float32) @ table

    def torch(m, ids, table):
        return (ids[:, None] == m.arange(words, device=ids.device)).float() @ table

    return np, torch


def reductions(n, rows, square, tall):
    x = Random(rows, 1024)
    for size in (1 << 10, 1 << 16, 1 << 20, n):
        yield Row(f"sum/{size}", (Random(size),), lambda m, x: x.sum(), numexpr="sum(x0)")
    yield Row(f"argmax/{n}", (Random(n),), lambda m, x: x.argmax())
    yield Row(f"mean_var_min_max/{n}", (Random(n),), lambda m, x: (x.mean(), x.var(), x.min(), x.max()),
              torch=lambda m, x: (x.mean(), x.var(unbiased=False), x.amin(), x.amax()))
    yield Row(f"sum_axes/rows/{rows}/1024", (x,), lambda m, x: x.sum(1))
    yield Row(f"sum_axes/columns/{rows}/1024", (x,), lambda m, x: x.sum(0))
    for width in (3, 8, 33):
        yield Row(f"tiny_rows/{tall}/{width}", (Random(tall, width),), lambda m, x: x.sum(1))
    norms = tall if tall == 1 << 24 else 1 << 22
    yield Row(f"norm_rows/{norms}/3", (Random(norms, 3),), lambda m, x: m.sqrt((x * x).sum(1)))
    yield Row(f"softmax/{rows}/1024", (x,), softmax, lambda m, x: m.softmax(x, 1))
    yield Row(f"softmax/{square}/8192", (Random(square, 8192),), softmax, lambda m, x: m.softmax(x, 1))
    yield Row(f"softmax_written_out/{rows}/1024", (x,), softmax, torch_softmax_written_out)
    yield Row(f"layer_norm/{rows}/1024", (x, Random(1024, seed=2), Random(1024, seed=3)), layer_norm, torch_layer_norm)
    yield Row(f"cumsum/{n}", (Random(n),), lambda m, x: m.cumsum(x, 0))
    yield Row(f"cumsum_along/rows/{rows}/1024", (x,), lambda m, x: m.cumsum(x, 1))
    yield Row(f"cumsum_along/columns/{rows}/1024", (x,), lambda m, x: m.cumsum(x, 0))


# ---- Loops and pairs ----
def particle_steps(m, b):
    for _ in range(1000):
        columns_in_place(m, b)
    return b


def jax_repeated(step, steps):
    def run(m, state):
        import jax
        return jax.lax.fori_loop(0, steps, lambda _, s: step(m, s), state)

    return run


def heat_steps(steps):
    def run(m, u):
        for _ in range(steps):
            heat_step(m, u)
        return u

    return run


def mandelbrot(m, re, im):
    """As array programs do it: every iteration over all points."""
    x = y = re * 0 + im * 0
    count = x.int() if m.__name__ == "torch" else x.astype(m.int32)
    for _ in range(256):
        inside = x * x + y * y < 4
        count = count + inside
        x, y = m.where(inside, x * x - y * y + re, x), m.where(inside, 2 * x * y + im, y)
    return count


def jax_mandelbrot(m, re, im):
    import jax

    def body(_, s):
        x, y, count = s
        inside = x * x + y * y < 4
        return m.where(inside, x * x - y * y + re, x), m.where(inside, 2 * x * y + im, y), count + inside

    zero = re * 0 + im * 0
    return jax.lax.fori_loop(0, 256, body, (zero, zero, zero.astype(m.int32)))[2]


def points(n, low):
    def make(m):
        return m.arange(n).astype(m.float32) * m.float32(3.0 / n) + m.float32(low)

    return make


def np_pairwise(m, x, y):
    return ((x[:, None, :] - y[None, :, :]) ** 2).sum(2)


def nbody(m, x, y, z, mass):
    dx, dy, dz = x[None, :] - x[:, None], y[None, :] - y[:, None], z[None, :] - z[:, None]
    square_distance = dx * dx + dy * dy + dz * dz + 0.01
    pull = mass[None, :] / (square_distance * m.sqrt(square_distance))
    return (pull * dx).sum(1), (pull * dy).sum(1), (pull * dz).sum(1)


def np_monte_carlo(n):
    def run(m):
        x, y = m.random.random(n, dtype=m.float32), m.random.random(n, dtype=m.float32)
        return 4 * (x * x + y * y < 1).mean()

    def numpy_run(m):
        if m.__name__ == "cupy":
            return run(m)
        g = m.random.default_rng(7)
        x, y = g.random(n, dtype=m.float32), g.random(n, dtype=m.float32)
        return 4 * (x * x + y * y < 1).mean()

    def torch(m):
        x, y = m.rand(n, device="cuda"), m.rand(n, device="cuda")
        return 4 * (x * x + y * y < 1).double().mean()

    def jax(m):
        import jax
        a, b = jax.random.split(jax.random.key(7))
        x, y = jax.random.uniform(a, (n,)), jax.random.uniform(b, (n,))
        return 4 * (x * x + y * y < 1).mean()

    return numpy_run, torch, jax


def tiny_steps(m, x):
    y = x
    for _ in range(1000):
        y = abs((y + x) * 0.5 - 0.25) + 0.125
    return y


def jax_tiny_steps(m, x):
    """One call of a compiled function a step, as the result is looked at in each."""
    import jax
    step = jax.jit(lambda y, x: abs((y + x) * 0.5 - 0.25) + 0.125)
    y = x
    for _ in range(1000):
        y = step(y, x)
    return y


def rows(cuda):
    """As the benchmarks register them for a GPU, or for the cpu device."""
    n = 1 << (28 if cuda else 24)
    for size in (1 << 10, 1 << 20, n):
        yield from elementwise(size)
    for size in (1 << 12, 1 << 20, n):
        yield Row(f"chain_20/{size}", (Random(size), Random(size, seed=2)), chain_of_20,
                  numexpr="sqrt(abs(log(abs(exp(-sqrt(x0*x0 + x1*x1)) * x0 + sin(sqrt(x0*x0 + x1*x1)) * x1) + 1.5) * 0.5"
                          " + tanh(x0) - x1)) + cos(log(abs(exp(-sqrt(x0*x0 + x1*x1)) * x0 + sin(sqrt(x0*x0 + x1*x1))"
                          " * x1) + 1.5) * 0.5 + tanh(x0)) * exp(-x1)")
    yield Row(f"axpy/{n}", (Random(n), Random(n, seed=2)), np_axpy, torch_axpy, lambda m, x, y: y + 0.5 * x)
    options = 1 << (26 if cuda else 20)
    yield Row(f"black_scholes/{options}", tuple(Random(options, seed=s) for s in (1, 2, 3)), black_scholes)
    yield from broadcasts(30000 if cuda else 4000, 2048 if cuda else 512, 64)
    side = 16384 if cuda else 4096
    yield Row(f"add_transposed/{side}", (Random(side, side), Random(side, side, seed=2)), lambda m, a, b: a + b.T)
    for name, view in (("inner", lambda b: b[None, :]), ("outer", lambda b: b[:, None])):
        yield Row(f"bias/{name}/{side}", (Random(side, side), Random(side, seed=2)),
                  lambda m, x, b, view=view: x + view(b))
    for picked in (2048, 2000000 if cuda else 50000):
        yield Row(f"gather/{picked}", (Random(50000, 300), Indices(picked, 50000)), gather)
    words, width = 8192, 256
    yield Row("one_hot_product/65536", (Indices(65536, words), Random(words, width)), *one_hot_product(words))
    for particles in (100000, 100000000 if cuda else 4000000):
        make = Of(lambda m, k=particles // 1000: m.tile(Random(1000, 4).make(m), (k, 1)))
        yield Row(f"columns_in_place/{particles}", (make,), columns_in_place, jax=jax_columns)
    plate = 8192 if cuda else 2048
    yield Row(f"heat_step/{plate}", (Random(plate, plate),), heat_step, jax=jax_heat_step)
    count = 20000000 if cuda else 800000
    tiles = Of(lambda m: m.tile(Random(10000, 20).make(m), (count // 10000, 1)))
    yield Row(f"smoothness_cost/{count}", (tiles,), smoothness_cost)
    yield from reductions(n, 1 << (16 if cuda else 14), 8192 if cuda else 2048, 1 << (24 if cuda else 20))
    added = 1 << (26 if cuda else 22)
    zeros = Of(lambda m: m.zeros(65536, m.float32))
    yield Row(f"scatter_add/{added}", (zeros, Indices(added, 65536), Random(added)), np_scatter_add, torch_scatter_add,
              jax_scatter_add)
    hot = Of(lambda m: m.where(m.arange(added) % 10 == 0, 5, Indices(added, 65536).make(m)).astype(m.int32))
    yield Row(f"scatter_add_hot/{added}", (zeros, hot, Random(added)), np_scatter_add, torch_scatter_add,
              jax_scatter_add, tolerance=2e-2)
    data = Of(lambda m: (m.arange(n, dtype=m.uint32) * m.uint32(2654435761) >> m.uint32(24)).astype(m.uint8))
    yield Row(f"bincount_256/{n}", (data,), lambda m, x: m.bincount(x, minlength=256))
    for particles in (100000, 10000000 if cuda else 1000000):
        yield Row(f"particle_steps/{particles}", (Random(particles, 4),), particle_steps, compiled=False,
                  jax=jax_repeated(jax_columns, 1000))
    for side, steps in ((512, 1000), (plate, 200)):
        yield Row(f"heat_steps/{side}/{steps}", (Random(side, side),), heat_steps(steps), compiled=False,
                  jax=jax_repeated(jax_heat_step, steps), tolerance=1e-2)
    n = 4096 if cuda else 1024
    # Points near the border escape an iteration earlier or later as operations are rounded.
    yield Row(f"mandelbrot/{n}", (Of(lambda m: points(n, -2.0)(m)[None, :]), Of(lambda m: points(n, -1.5)(m)[:, None])),
              mandelbrot, jax=jax_mandelbrot, compiled=False, tolerance=0.1)
    n = 8192 if cuda else 1024
    # XLA compiles it for minutes, and n-body.
    yield Row(f"pairwise/{n}", (Random(n, 64), Random(n, 64, seed=2)), np_pairwise, jax=None)
    bodies = 16384 if cuda else 2048
    yield Row(f"nbody/{bodies}", tuple(Random(bodies, seed=s) for s in (1, 2, 3, 4)), nbody, jax=None)
    drawn = 1000000000 if cuda else 4000000
    yield Row(f"monte_carlo_pi/{drawn}", (), *np_monte_carlo(drawn), tolerance=5e-3)
    yield Row("tiny_steps", (Random(1000),), tiny_steps, jax=jax_tiny_steps, compiled=False)
