#!/usr/bin/env python3
"""Whether an exported kernel gives the same bits however it is called: C, PyTorch (also compiled, and in a CUDA graph), TVM-FFI,
CuPy and JAX. Needs a CUDA device, PyTorch and a C compiler; what else is missing is skipped by name. One command, from a checkout
or from build/bundle:

    bench/export.py PEAKD OUT.json [CONTEXT.peak.md …]
    build/bundle/share/peakd/bench/export.py build/bundle/peakd export.json       # an example

Each context is tuned and exported, then called in every way in a process of its own. Exit status 1: something differed or
failed."""
import ctypes
import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEFAULT = ["matmul-fp32-cuda", "matmul-fp16-cuda", "rmsnorm-fp16-cuda", "softmax-fp16-cuda"]
CALLS = 200  # of which one call's host time is the mean


class Skip(Exception):
    """A way that this machine, or this kernel, does not have."""


def need(module):
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Skip(str(error)) from error


# --- one kernel ------------------------------------------------------------------------------------------------------------------
class Kernel:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.name = next(p for p in self.folder.glob("*.json") if not p.name.endswith(".solution.json")).stem
        sys.path.insert(0, str(self.folder))
        self.module = importlib.import_module(self.name)
        self.module.library()
        self.so = str(self.folder / f"lib{self.name}.so")

    def type_of(self, array):
        return getattr(torch, self.module.TORCH_TYPES[array["type"]])

    def empty(self, case, array):
        flat = torch.zeros(case["elements"][array["name"]], dtype=self.type_of(array), device="cuda")
        return flat.as_strided(case["shapes"][array["name"]], case["strides"][array["name"]])

    def inputs(self, case):
        """The same values at every call; arrays by name."""
        random, made = torch.Generator(device="cuda").manual_seed(7), {}
        for array in self.module.INPUTS:
            made[array["name"]] = self.empty(case, array)
            if self.type_of(array).is_floating_point:
                values = torch.rand(case["shapes"][array["name"]], generator=random, device="cuda") - 0.5
                made[array["name"]].copy_(values.to(self.type_of(array)))
        return made

    def arguments(self, case, arrays, outputs):
        """Inputs and numbers as declared, then outputs where asked."""
        roles = {a["name"]: a["role"] for a in self.module.ARRAYS}
        return [arrays[p["name"]] if p["name"] in roles else case["sizes"][p["name"]] for p in self.module.FACTS["parameters"]
                if outputs or roles.get(p["name"]) != "out"]

    def changed(self, arrays):
        return [arrays[a["name"]] for a in self.module.ARRAYS if a["role"] != "in"]

    def all_arrays(self, case):
        return {**self.inputs(case), **{a["name"]: self.empty(case, a) for a in self.module.OUTPUTS}}


def by_c(k, case):
    arrays = k.all_arrays(case)
    k.module.launch([arrays[a["name"]].data_ptr() for a in k.module.ARRAYS], k.module.sizes_of(case),
                    torch.cuda.current_stream().cuda_stream)
    return k.changed(arrays)


def returned(k, arrays, results):
    results = [results] if isinstance(results, torch.Tensor) else list(results or [])
    return k.changed({**arrays, **dict(zip([a["name"] for a in k.module.OUTPUTS], results))})


def by_torch(k, case):
    arrays = k.inputs(case)
    return returned(k, arrays, k.module.op(*k.arguments(case, arrays, False)))


def by_compile(k, case):
    arrays = k.inputs(case)
    return returned(k, arrays, torch.compile(lambda *a: k.module.op(*a), fullgraph=True)(*k.arguments(case, arrays, False)))


def by_stream(k, case):
    with torch.cuda.stream(torch.cuda.Stream()):
        results = by_c(k, case)
    torch.cuda.synchronize()
    return results


def by_thread(k, case):
    results = []
    thread = threading.Thread(target=lambda: results.extend(by_c(k, case)))
    thread.start()
    thread.join()
    return results


def by_graph(k, case):
    by_c(k, case)  # loads the binary
    arrays, graph = k.all_arrays(case), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        k.module.launch([arrays[a["name"]].data_ptr() for a in k.module.ARRAYS], k.module.sizes_of(case),
                        torch.cuda.current_stream().cuda_stream)
    graph.replay()
    return k.changed(arrays)


def by_abi(k, case):
    """TVM-FFI's entry without TVM-FFI: tensors made by hand, on the default stream."""
    class Tensor(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
                    ("rank", ctypes.c_int32),
                    ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                    ("shape", ctypes.POINTER(ctypes.c_int64)),
                    ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]

    class Value(ctypes.Union):
        _fields_ = [("i", ctypes.c_int64), ("f", ctypes.c_double), ("p", ctypes.c_void_p)]

    class Any(ctypes.Structure):
        _fields_ = [("type", ctypes.c_int32), ("zero", ctypes.c_uint32), ("value", Value)]

    codes = {"i": 0, "u": 1, "f": 2, "b": 4}
    arrays, types, kept, packed = k.all_arrays(case), {a["name"]: a["type"] for a in k.module.ARRAYS}, [], []
    torch.cuda.synchronize()
    for p in k.module.FACTS["parameters"]:
        if p["name"] in arrays:
            t, code = arrays[p["name"]], {"e4m3": 10, "e5m2": 12}.get(types[p["name"]], codes.get(types[p["name"]][0]))
            numbers = ctypes.c_int64 * t.dim()
            kept.append(Tensor(t.data_ptr(), 2, t.device.index, t.dim(), code, 8 * t.element_size(), 1, numbers(*t.shape),
                               numbers(*t.stride()), 0))
            packed.append(Any(7, 0, Value(p=ctypes.addressof(kept[-1]))))
        elif isinstance(case["sizes"][p["name"]], float):
            packed.append(Any(3, 0, Value(f=case["sizes"][p["name"]])))
        else:
            packed.append(Any(1, 0, Value(i=case["sizes"][p["name"]])))
    result = Any()
    code = getattr(ctypes.CDLL(k.so), f"__tvm_ffi_{k.name}")(None, (Any * len(packed))(*packed), len(packed), ctypes.byref(result))
    torch.cuda.synchronize()
    if code:
        raise RuntimeError(f"the entry returned {code}")
    return k.changed(arrays)


def by_tvm_ffi(k, case):
    tvm_ffi, arrays = need("tvm_ffi"), k.all_arrays(case)
    getattr(tvm_ffi.load_module(k.so), k.name)(*k.arguments(case, arrays, True))
    return k.changed(arrays)


def no_bf16(k):
    if any(a["type"] in ("bf16", "e4m3", "e5m2") for a in k.module.ARRAYS):
        raise Skip("CuPy has no such type")


def by_cupy(k, case):
    cupy, arrays = need("cupy"), k.all_arrays(case)
    no_bf16(k)
    theirs = {name: cupy.from_dlpack(t) for name, t in arrays.items()}
    with cupy.cuda.Stream(non_blocking=True) as stream:
        torch.cuda.synchronize()
        k.module.into(*k.arguments(case, theirs, True), stream=stream.ptr)
        stream.synchronize()
    return k.changed(arrays)


def by_rawmodule(k, case):
    cupy, numpy, arrays = need("cupy"), need("numpy"), k.all_arrays(case)
    no_bf16(k)
    if case["other_operations"] or any(launch["cluster"] != [1, 1, 1] or launch["cooperative"] or any(
            "tensor_map" in a or a.get("buffer", next(iter(arrays))) not in arrays for a in launch["arguments"])
                                       for launch in case["launches"]):
        raise Skip("the plan needs more than plain launches")
    types = {"i32": numpy.int32, "i64": numpy.int64, "u32": numpy.uint32, "u64": numpy.uint64, "f32": numpy.float32,
             "f64": numpy.float64,
             "f16": numpy.float16}
    code = cupy.RawModule(code=(k.folder / f"{k.name}.cu").read_text(), backend="nvrtc", options=(
        "-std=c++17", "--device-as-default-execution-space", f"-DPEAKD_CONFIGURATION={k.module.CASES.index(case)}",
        "-I/usr/local/cuda/include"))
    torch.cuda.synchronize()
    for launch in case["launches"]:
        function = code.get_function(launch["kernel"])
        if launch["shared"] > 48 * 1024:
            function.max_dynamic_shared_size_bytes = launch["shared"]
        function(tuple(launch["grid"]), tuple(launch["block"]), tuple(
            cupy.from_dlpack(arrays[a["buffer"]]) if "buffer" in a else types[a["type"]](a["value"]) for a in launch["arguments"]),
            shared_mem=launch["shared"])
    cupy.cuda.Device().synchronize()
    return k.changed(arrays)


def by_jax_dlpack(k, case):
    jax, arrays = need("jax"), k.inputs(case)
    if any(a["role"] == "inout" for a in k.module.ARRAYS):
        raise Skip("JAX's arrays do not change")
    theirs = {name: jax.dlpack.from_dlpack(t.contiguous()) for name, t in arrays.items()}
    back = {name: torch.from_dlpack(t) for name, t in theirs.items()}
    return returned(k, back, k.module.op(*k.arguments(case, back, False)))


def by_jax(k, case):
    jax, bridge, tvm_ffi, arrays = need("jax"), need("jax_tvm_ffi"), need("tvm_ffi"), k.inputs(case)
    if k.module.NUMBERS or any(a["role"] == "inout" for a in k.module.ARRAYS):
        raise Skip("numbers and arrays that change need attributes and aliases")
    bridge.register_ffi_target(f"peakd.{k.name}", getattr(tvm_ffi.load_module(k.so), k.name), platform="gpu")
    shapes = [jax.ShapeDtypeStruct(case["shapes"][a["name"]], k.module.TORCH_TYPES[a["type"]]) for a in k.module.OUTPUTS]
    call = jax.ffi.ffi_call(f"peakd.{k.name}", shapes)
    results = jax.jit(call)(*[jax.dlpack.from_dlpack(t) for t in k.arguments(case, arrays, False)])
    return returned(k, arrays, [torch.from_dlpack(r) for r in results])


WAYS = {"PyTorch": by_torch, "torch.compile(fullgraph=True)": by_compile, "another stream": by_stream, "another thread": by_thread,
        "CUDA graph": by_graph, "TVM-FFI's entry": by_abi, "TVM-FFI": by_tvm_ffi, "CuPy": by_cupy, "CuPy RawModule": by_rawmodule,
        "JAX by DLPack": by_jax_dlpack, "JAX by TVM-FFI": by_jax}


def attempt(work):
    try:
        return work()
    except Skip as why:
        return {"skipped": str(why)}
    except Exception as error:  # pylint: disable=broad-except
        return {"failed": f"{type(error).__name__}: {error}"[:2000]}


def bits(tensors):
    torch.cuda.synchronize()
    return [t.contiguous().view(torch.uint8).cpu() for t in tensors]


def same(wanted, tensors):
    return {"identical": len(wanted) == len(tensors) and all(torch.equal(a, b) for a, b in zip(wanted, bits(tensors)))}


def microseconds(call):
    call()
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(CALLS):
        call()
    took = time.perf_counter() - began
    torch.cuda.synchronize()
    return round(took / CALLS * 1e6, 2)


def refuses(k, case):
    arrays = k.inputs(case)
    first = k.module.INPUTS[0]["name"]
    arrays[first] = arrays[first][..., :-1]
    try:
        k.module.op(*k.arguments(case, arrays, False))
    except k.module.Unsupported:
        return {"refused": True}
    return {"failed": "a shape that was not validated ran"}


def opcheck(k, case):
    if not hasattr(torch.library, "opcheck"):
        raise Skip("PyTorch is older than 2.4")
    found = torch.library.opcheck(k.module.op, tuple(k.arguments(case, k.inputs(case), False)), raise_exception=False)
    return {"passed": all(v == "SUCCESS" for v in found.values()), "tests": {n: str(v)[:500] for n, v in found.items()}}


def check_program(k):
    made = k.folder / "check"
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-pthread", "-o", made, k.folder / f"{k.name}_check.c", "-ldl", "-lm"],
                   check=True)
    done = subprocess.run([made], capture_output=True, text=True, timeout=300, check=False)
    return {"passed": done.returncode == 0, "output": (done.stdout + done.stderr)[-3000:]}


def one(folder):
    k, cases = Kernel(folder), []
    for case in k.module.CASES:
        wanted = bits(by_c(k, case))
        ways = {"C": attempt(lambda: same(wanted, by_c(k, case)))}
        for name, way in WAYS.items():
            ways[name] = attempt(lambda: same(wanted, way(k, case)))
        ready = k.all_arrays(case)
        plain = [[ready[a["name"]].data_ptr() for a in k.module.ARRAYS], k.module.sizes_of(case),
                 torch.cuda.current_stream().cuda_stream]
        call = k.arguments(case, ready, False)
        cases.append({"sizes": case["sizes"], "tuning": case["tuning"], "median_ms": case["median_ms"], "ways": ways,
                      "opcheck": attempt(lambda: opcheck(k, case)), "unknown_shape": attempt(lambda: refuses(k, case)),
                      "host_us_per_call": {"C": attempt(lambda: microseconds(lambda: k.module.launch(*plain))),
                                           "PyTorch": attempt(lambda: microseconds(lambda: k.module.op(*call)))}})
    return {"configurations": cases, "check_program": attempt(lambda: check_program(k))}


# --- all of them -----------------------------------------------------------------------------------------------------------------
def good(found):
    if isinstance(found, dict):
        return not ("failed" in found or found.get("identical") is False
                    or found.get("passed") is False) and all(map(good, found.values()))
    return all(map(good, found)) if isinstance(found, list) else True


def export(peakd, context, folder):
    database = folder / "export.peakdb"
    for words in (["workflow", "create", context, "k"], ["tune", "k", "--budget", "8", "--device", "cuda:0"],
                  ["workflow", "export", "k", "--out", folder / "k"]):
        done = subprocess.run([peakd, *words, "--db", database], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"peakd {words[0]}: {done.stderr[-1500:]}")
    subprocess.run([peakd, "stop", "--db", database], capture_output=True, check=False)


def versions():
    found = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda,
             "python": sys.version.split()[0]}
    for name in ("cupy", "jax", "tvm_ffi", "jax_tvm_ffi"):
        try:
            found[name] = getattr(importlib.import_module(name), "__version__", "there")
        except ImportError:
            found[name] = None
    return found


def main():
    peakd, out = os.path.abspath(sys.argv[1]), sys.argv[2]
    contexts = sys.argv[3:] or [ROOT / "examples" / f"{name}.peak.md" for name in DEFAULT]
    report = {"versions": versions(), "kernels": {}}
    for context in contexts:
        with tempfile.TemporaryDirectory() as scratch:
            def work(context=context, scratch=pathlib.Path(scratch)):
                export(peakd, context, scratch)
                done = subprocess.run([sys.executable, __file__, "--one", scratch / "k"], capture_output=True, text=True,
                                      timeout=900, check=False)
                if done.returncode:
                    raise RuntimeError(done.stderr[-3000:])
                return json.loads(done.stdout.splitlines()[-1])
            report["kernels"][pathlib.Path(context).name] = attempt(work)
        pathlib.Path(out).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    report["good"] = good(report["kernels"])
    pathlib.Path(out).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(f"{out}: {'all ways agree' if report['good'] else 'something differs or failed'}")
    return 0 if report["good"] else 1


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    import torch
    if not torch.cuda.is_available():
        sys.exit("bench/export.py needs a CUDA device and a PyTorch that uses it")
    if sys.argv[1] == "--one":
        print(json.dumps(one(sys.argv[2])))
    else:
        sys.exit(main())
