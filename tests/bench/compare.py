#!/usr/bin/env python3
"""Runs the benchmarks and the same rows in other libraries, and tells them in one table, a JSON file and an SVG plot.

    python3 tests/bench/compare.py BENCH_PROGRAM [--peers] [--quick] [--filter TEXT] [--out FOLDER]

`ratio` is our time over the row's floor: bytes over the copy rate of the same run, or multiply-adds over their rate. A
peer's cell is its time over ours; '!' marks a result that differs from ours.
"""
import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys

from peer_rows import rows

HERE = pathlib.Path(__file__).parent
GPU_PEERS = ["cupy", "torch", "torch.compile", "jax"]
CPU_PEERS = ["numpy", "numexpr"]


def run_ours(program, pattern, quick, folder):
    out = folder / "ours.json"
    environment = dict(os.environ, SINTER_BENCH_QUICK="1") if quick else None
    subprocess.run([program, f"--benchmark_filter={pattern}", f"--benchmark_out={out}", "--benchmark_out_format=json"],
                   check=True, env=environment, stdout=sys.stderr)
    told = {}
    for row in json.loads(out.read_text())["benchmarks"]:
        if "error_message" in row or "floor_us" not in row:
            continue
        # Google Benchmark appends how a row was run.
        name = re.sub(r"/(iterations:\d+|manual_time|real_time)", "", row["name"])
        kept = ("floor_us", "enqueue_us", "first_ms", "record_ns")
        told[name] = {
            "us": row["real_time"], **{k: row[k] for k in kept if k in row},
            "samples": [row[f"check{k}"] for k in range(8) if f"check{k}" in row]}
    return told


def run_peer(library, filter_text, quick, limit):
    """What it told until it ended, or until `limit` seconds were over: some compilers take minutes for a row."""
    command = [sys.executable, HERE / "peers.py", library, f"--filter={filter_text}"] + (["--quick"] if quick else [])
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=limit)
        text = done.stdout
        if done.returncode != 0:
            print(f"{library} ended with {done.returncode}", file=sys.stderr)
    except subprocess.TimeoutExpired as e:
        text = e.stdout or b""
        print(f"{library} was stopped after {limit} s", file=sys.stderr)
    told = {}
    for line in text.decode(errors="replace").splitlines():
        if line.startswith("{"):  # libraries print there, too
            told.update(json.loads(line))
    return told


def agree(ours, theirs, tolerance):
    """Elements spread over both results, to `tolerance` of the largest."""
    if not ours or not theirs:
        return True
    size = max(max(abs(x) for x in ours), 1e-30)
    return all(abs(x - y) <= tolerance * size for x, y in zip(ours, theirs))


def lines(ours, peers, tolerance):
    """(name, ours, {peer: (ratio to ours, agrees)}) by row."""
    for name, row in ours.items():
        cells = {}
        for peer, told in peers.items():
            result = told.get(name, {})
            if "us" in result:
                cells[peer] = (result["us"], agree(row["samples"], result["samples"], tolerance.get(name, 2e-3)))
        yield name, row, cells


def table(ours, peers, tolerance):
    text = [f"{'row':<36} {'us':>11} {'floor us':>10} {'ratio':>6} {'enqueue':>8} {'first ms':>9}" +
            "".join(f" {peer:>14}" for peer in peers)]
    for name, row, cells in lines(ours, peers, tolerance):
        def number(key, digits=1):
            return f"{row[key]:.{digits}f}" if key in row else ""

        line = f"{name:<36} {row['us']:>11.1f} {row['floor_us']:>10.1f} {row['us'] / row['floor_us']:>6.2f}"
        line += f" {number('enqueue_us'):>8} {number('first_ms'):>9}"
        for peer in peers:
            cell = ""
            if peer in cells:
                us, same = cells[peer]
                cell = f"{us:.1f} ({us / row['us']:.3g}x)" + ("" if same else "!")
            line += f" {cell:>14}" if len(cell) <= 14 else f" {cell}"
        text.append(line)
    return "\n".join(text)


def plot(ours, peers, tolerance):
    """Time over the floor by row, logarithmic, as SVG."""
    colours = dict(zip(["sinter", *peers], ["#1a1a1a", "#d1495b", "#edae49", "#00798c", "#8d6a9f", "#66a182"]))
    entries = list(lines(ours, peers, tolerance))
    left, width, step, top = 300, 720, 18, 50
    most = max([us / row["floor_us"] for _, row, cells in entries
                for us, _ in [*cells.values(), (row["us"], True)]] + [10])
    decades = max(1, math.ceil(math.log10(most)))

    def x(ratio):
        return left + width * (math.log10(max(ratio, 0.5)) + 0.35) / (decades + 0.35)

    height = top + step * len(entries) + 20
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 30}" height="{height}" '
           'font-family="sans-serif" font-size="11">', '<rect width="100%" height="100%" fill="white"/>']
    for k, (name, colour) in enumerate(colours.items()):
        svg.append(f'<circle cx="{left + 110 * k}" cy="14" r="4" fill="{colour}"/>'
                   f'<text x="{left + 8 + 110 * k}" y="18">{name}</text>')
    for decade in range(decades + 1):
        at = x(10.0**decade)
        svg.append(f'<line x1="{at:.1f}" y1="{top - 8}" x2="{at:.1f}" y2="{height - 12}" stroke="#ddd"/>'
                   f'<text x="{at:.1f}" y="{top - 12}" text-anchor="middle">{10**decade}x floor</text>')
    for k, (name, row, cells) in enumerate(entries):
        y = top + step * k + 8
        svg.append(f'<text x="{left - 10}" y="{y + 4}" text-anchor="end">{name}</text>'
                   f'<line x1="{left}" y1="{y}" x2="{left + width}" y2="{y}" stroke="#f3f3f3"/>')
        for peer, us in [*((p, us) for p, (us, _) in cells.items()), ("sinter", row["us"])]:
            ratio = us / row["floor_us"]
            svg.append(f'<circle cx="{x(ratio):.1f}" cy="{y}" r="4" fill="{colours[peer]}">'
                       f'<title>{name}: {peer} {us:.1f} us, {ratio:.2f} x floor</title></circle>')
    return "\n".join([*svg, "</svg>"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="the benchmarks' program")
    parser.add_argument("--peers", action="store_true", help="also run other libraries")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--limit", type=int, default=600, help="seconds for each library")
    parser.add_argument("--filter", default="", help="only rows whose name contains this")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="default: SINTER_DEVICE, or what is there")
    parser.add_argument("--out", default=".", type=pathlib.Path, help="folder for compare.json and compare.svg")
    options = parser.parse_args()
    if options.device:
        os.environ["SINTER_DEVICE"] = options.device
    listed = subprocess.run([options.program, "--benchmark_list_tests=true"], check=True, capture_output=True,
                            text=True)
    # Rows past 32 bits are registered on GPUs only.
    cuda = "axpy_past_2_31" in listed.stdout
    tolerance = {row.name: row.tolerance for row in rows(cuda)}
    names = [name for name in tolerance if options.filter in name]
    own_rows = ["axpy_past_2_31/", "record_differences/", "record_string_differences/", "chain_1000/", "fill/"]
    pattern = "^(" + "|".join([re.escape(name) + "(/iter|/manual|/real|$)" for name in names] +
                              [name for name in own_rows if options.filter in name]) + ")"
    options.out.mkdir(parents=True, exist_ok=True)
    ours = run_ours(options.program, pattern, options.quick, options.out)
    peers = {}
    if options.peers:
        libraries = GPU_PEERS if cuda else CPU_PEERS
        peers = {p: run_peer(p, options.filter, options.quick, options.limit) for p in libraries}
        peers = {p: told for p, told in peers.items() if told}
    print(table(ours, peers, tolerance))
    (options.out / "compare.json").write_text(json.dumps({"sinter": ours, **peers}, indent=1))
    (options.out / "compare.svg").write_text(plot(ours, peers, tolerance))
    missing = [name for name in names if name not in ours]
    if missing:
        sys.exit("not run: " + ", ".join(missing))


if __name__ == "__main__":
    main()
