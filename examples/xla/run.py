#!/usr/bin/env python3
"""Runs a StableHLO folder that `snick convert -o DIR/ --to stablehlo` wrote, on one host or on several.

    python run.py DIR --inputs IN.npz [--output OUT.npz] [--plan]
    python run.py DIR --inputs IN.npz --coordinator HOST:PORT --processes 4 --process 0      (on each host its own)

Each process maps the .bin and copies only the parts that its devices hold. `--plan` prints what XLA says of memory and
communication, and runs nothing. Where a batch is smaller than the module's, the rest of dim 0 is padded with its last
row, and outputs of that size are cut. Tested with jax 0.9.2 and 0.10.2; only XLA's own client is used, nothing is traced.
"""
import argparse
import json
import pathlib
import re

import jax
import jax.extend
import ml_dtypes
import numpy as np
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir
from jax._src.sharding_impls import GSPMDSharding
from jax.experimental import multihost_utils

TYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "boolean": np.bool_,
         "i4": ml_dtypes.int4, "u4": ml_dtypes.uint4, "u2": ml_dtypes.uint2, "f8e4m3": ml_dtypes.float8_e4m3fn,
         "f8e5m2": ml_dtypes.float8_e5m2, "f8e8m0": ml_dtypes.float8_e8m0fnu, "f4e2m1": ml_dtypes.float4_e2m1fn}
TYPES |= {f"{kind}{bits}": np.dtype(f"{word}{bits}") for kind, word in [("i", "int"), ("u", "uint")] for bits in (8, 16, 32, 64)}


def compiled(text, devices):
    """The module, partitioned over the devices."""
    options, count = xla_client.CompileOptions(), len(devices)
    build = options.executable_build_options
    options.num_replicas, options.num_partitions = 1, count
    build.num_replicas, build.num_partitions = 1, count
    build.use_spmd_partitioning = build.use_shardy_partitioner = count > 1
    build.device_assignment = xla_client.DeviceAssignment.create(np.array([[d.id for d in devices]]))
    with mlir.make_ir_context() as context, ir.Location.unknown(context):
        client = jax.extend.backend.get_backend()
        return client.compile_and_load(ir.Module.parse(text), xla_client.DeviceList(tuple(devices)), options)


def weights(folder, argument):
    """Maps an argument stored in a file. Unpacks elements of less than 8 bits, low bits first."""
    dtype, dims = np.dtype(TYPES[argument["element_type"]]), argument["dims"]
    raw = np.memmap(folder / argument["file"], np.uint8, "r", argument["offset"], (argument["bytes"],))
    bits = int(re.sub(r"^f?\D*(\d+).*", r"\1", argument["element_type"])) if argument["element_type"] != "boolean" else 8
    if bits >= 8:
        return raw.view(dtype).reshape(dims)
    codes = np.stack([(raw >> shift) & ((1 << bits) - 1) for shift in range(0, 8, bits)], -1).reshape(-1)
    codes = codes[:int(np.prod(dims))]
    if dtype == ml_dtypes.int4:
        return (codes.astype(np.int8) - (codes >= 8) * np.int8(16)).astype(dtype).reshape(dims)
    return (codes.view(dtype) if dtype == ml_dtypes.float4_e2m1fn else codes.astype(dtype)).reshape(dims)


def padded(array, argument):
    """Converts an input to the module's type and pads dim 0."""
    array, dims = np.asarray(array, TYPES[argument["element_type"]]), argument["dims"]
    missing = dims[0] - array.shape[0] if dims and array.ndim == len(dims) else 0
    if missing > 0:
        array = np.concatenate([array, np.repeat(array[-1:], missing, 0)])
    if list(array.shape) != dims:
        raise SystemExit(f"{argument['name']} is {list(array.shape)}; the module was converted for {dims}")
    return array, missing


def group(line, devices):
    """The group size of a collective, in any of XLA's notations: {{0,1},{2,3}}, [2,2]<=[4], mesh['a'=2,'b'=2] {'a'}."""
    if found := re.search(r"replica_groups=\{\{([\d,]+)\}", line):
        return len(found[1].split(","))
    if found := re.search(r"replica_groups=\[\d+,(\d+)\]", line):
        return int(found[1])
    if found := re.search(r"replica_groups=@?mesh\w*\[([^\]]*)\][^{]*\{([^}]*)\}", line):
        sizes = dict(re.findall(r"'(\w+)'=(\d+)", found[1]))
        axes = re.findall(r"'(\w+)'(?::\(\d+\)(\d+))?", found[2])
        return int(np.prod([int(part or sizes[axis]) for axis, part in axes]))
    if "replica_groups={}" in line or "replica_groups" not in line:
        return devices
    raise SystemExit(f"replica_groups are spelled in a way that is not known here: {line}")


def sent(text, devices):
    """Bytes that a device sends per call, by operation, in rings of g devices."""
    total = {}
    for kinds, kind, line in re.findall(r"= (\(?[\w\[\]{},() ]+?) (all-reduce|all-gather|all-to-all|reduce-scatter|"
                                        r"collective-permute)(?:-start)?\((.*)", text):
        g = group(line, devices)
        size = sum(int(np.prod([int(d) for d in dims.split(",") if d])) * int(re.sub(r"\D", "", kind.split("e")[0]) or 8) / 8
                   for kind, dims in re.findall(r"\b([a-z]+\d*\w*)\[([\d,]*)\]", kinds))
        factor = {"all-reduce": 2 * (g - 1) / g, "reduce-scatter": g - 1, "collective-permute": 1}.get(kind, (g - 1) / g)
        total[kind] = total.get(kind, 0) + int(size * factor)
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--inputs", required=False, help="an .npz with the inputs by name")
    parser.add_argument("--output", help="an .npz to write, by the first process")
    parser.add_argument("--plan", action="store_true", help="print memory and bytes sent, run nothing")
    parser.add_argument("--coordinator", help="HOST:PORT of the first process; each process is given it")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--process", type=int, default=0, help="the number of this process, from 0")
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    if args.processes > 1:
        if jax.config.jax_platforms == "cpu":
            jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(args.coordinator, args.processes, args.process)
    plan = json.loads((args.folder / "manifest.json").read_text(encoding="utf-8"))
    count = int(np.prod(list((plan["mesh"] or {"": 1}).values())))
    devices = jax.devices()[:count]
    if len(devices) < count:
        raise SystemExit(f"the mesh {plan['mesh']} has {count} devices, there are {len(devices)}; on CPUs set "
                         f"XLA_FLAGS=--xla_force_host_platform_device_count={count}")
    program = compiled((args.folder / "model.mlir").read_text(encoding="utf-8"), devices)
    if args.plan:
        memory = program.get_compiled_memory_stats()
        print(json.dumps({"arguments": memory.argument_size_in_bytes, "temporary": memory.temp_size_in_bytes,
                          "outputs": memory.output_size_in_bytes, "sent": sent(program.hlo_modules()[0].to_string(), count)}))
        return
    given, missing, batch, values = np.load(args.inputs) if args.inputs else {}, 0, 0, []
    whole = jax.sharding.NamedSharding(jax.sharding.Mesh(np.array(devices), "d"), jax.sharding.PartitionSpec())
    placed = program.get_parameter_shardings() or [None] * len(plan["arguments"])
    for argument, sharding in zip(plan["arguments"], placed, strict=True):
        sharding = GSPMDSharding(devices, sharding) if sharding is not None else whole
        if "file" in argument:
            array = weights(args.folder, argument)
        elif argument["name"] in given:
            array, more = padded(given[argument["name"]], argument)
            missing, batch = max((missing, batch), (more, array.shape[0] if more else 0))
        else:
            raise SystemExit(f"no input {argument['name']} in {args.inputs}")
        values.append(jax.make_array_from_callback(tuple(argument["dims"]), sharding, lambda part, a=array: np.array(a[part])))
    results = program.execute_sharded(values).disassemble_into_single_device_arrays()
    outputs = {}
    for result, parts, sharding in zip(plan["results"], results, program.get_output_shardings() or [None] * len(results),
                                       strict=True):
        sharding = GSPMDSharding(devices, sharding) if sharding is not None else whole
        array = jax.make_array_from_single_device_arrays(tuple(result["dims"]), sharding, parts)
        array = np.asarray(multihost_utils.process_allgather(array, tiled=True))
        of_batch = missing and array.ndim and array.shape[0] == batch
        outputs[result["name"]] = array[:batch - missing] if of_batch else array
    if args.process == 0:
        for name, array in outputs.items():
            print(name, array.dtype, list(array.shape), "mean", float(np.mean(array, dtype=np.float64)))
        if args.output:
            np.savez(args.output, **outputs)
    if args.processes > 1:
        jax.distributed.shutdown()


if __name__ == "__main__":
    main()
