"""The oracle: computes an imported problem's outputs with the problem's own PyTorch code.

core/judge/oracle.c starts it in a sandbox and asks over stdin, one question at a time: a line of JSON, then the inputs' bytes. The answer
goes to stdout: a line of JSON, then the outputs' bytes. docs/import.md has the members. Everything that the code prints goes to stderr.
"""
import ctypes
import json
import os
import signal
import sys

IDLE_SECONDS = 120
WIRE_IN, WIRE_OUT = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)

try:
    import torch
except Exception as why:  # a broken installation raises more than ImportError
    torch, WHY_NOT = None, f"{type(why).__name__}: {why}"

TYPES = {
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
}


class Refused(Exception):
    """What one line tells: the answer is {"error": …}."""


class Precision:
    """Runs code with other floating types in place of those that it names: all of them in double, or halves in float."""

    def __init__(self, kinds, to):
        self.kinds, self.to, self.kept = kinds, to, []

    def replace(self, owner, name, value):
        self.kept.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    def __enter__(self):
        to = getattr(torch, self.to)
        for kind in self.kinds:
            for name in {"float32": ("float32", "float"), "float16": ("float16", "half"), "bfloat16": ("bfloat16",)}[kind]:
                self.replace(torch, name, to)
            method = {"float32": "float", "float16": "half", "bfloat16": "bfloat16"}[kind]
            for owner in (torch.Tensor, torch.nn.Module):
                self.replace(owner, method, getattr(owner, {"float64": "double", "float32": "float"}[self.to]))
        if "float32" in self.kinds:
            torch.set_default_dtype(torch.float64)
            finfo, single = torch.finfo, KINDS["float32"]
            self.replace(torch, "finfo", lambda kind=None: finfo(single if kind in (None, torch.float64) else kind))

    def __exit__(self, *_):
        torch.set_default_dtype(KINDS["float32"])
        for owner, name, value in reversed(self.kept):
            setattr(owner, name, value)
        self.kept = []


KINDS = {name: getattr(torch, name) for name in ("float32", "float16", "bfloat16", "float64")} if torch else {}
DOUBLE = Precision(("float32", "float16", "bfloat16"), "float64")
SINGLE = Precision(("float16", "bfloat16"), "float32")  # where the CPU lacks an operation on halves
AS_IS = Precision((), "float32")


def exact_read(count):
    data = WIRE_IN.read(count)
    if len(data) != count:
        raise SystemExit(0)
    return data


def size_of(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


def kind_of(name):
    kind = getattr(torch, TYPES[name], None)
    if kind is None:
        raise Refused(f"torch {torch.__version__} has no {TYPES[name]}; a newer torch has: name its Python in PEAKD_PYTHON")
    return kind


def read_inputs(question):
    """Every input as bytes first, so that an error leaves the stream in step."""
    sizes = {"f64": 8, "i64": 8, "u64": 8, "f32": 4, "i32": 4, "u32": 4, "e4m3": 1, "e5m2": 1, "i8": 1, "u8": 1}
    raw = [exact_read(size_of(x["shape"]) * sizes.get(x["type"], 2)) for x in question["inputs"]]
    if torch is None:
        raise Refused(f"{sys.executable} has no torch ({WHY_NOT}); install python3-torch, or name a Python that has it in PEAKD_PYTHON")
    tensors = {}
    for x, data in zip(question["inputs"], raw):
        kind = kind_of(x["type"])
        flat = torch.frombuffer(bytearray(data), dtype=kind) if data else torch.empty(0, dtype=kind)
        tensors[x["name"]] = flat.reshape(x["shape"])
    return tensors


class Problem:
    """One source under one precision; modules are built once."""

    def __init__(self, source, precision):
        self.precision, self.space = precision, {"__name__": "reference"}
        self.gradients = "grad(" in source or "backward(" in source  # else nothing is kept for them
        torch.manual_seed(0)
        with precision:
            exec(compile(source, "reference", "exec"), self.space)
        self.call = self.space.get("reference") or self.space.get("run")
        if not callable(self.call):
            raise Refused("the code defines neither reference() nor run()")

    def run(self, values, outputs):
        code = self.call.__code__
        names = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
        torch.manual_seed(0)
        with self.precision, torch.set_grad_enabled(self.gradients):
            result = self.call(**{name: values[name] for name in names if name in values})
        if isinstance(result, dict):
            result = [result[x["name"]] for x in outputs]
        result = list(result) if isinstance(result, (tuple, list)) else [result]
        if len(result) != len(outputs):
            raise Refused(f"the code returns {len(result)} outputs, and {len(outputs)} are declared")
        return [shaped(x, tensor) for x, tensor in zip(outputs, result)]


def shaped(x, tensor):
    tensor = tensor.detach().cpu() if torch.is_tensor(tensor) else torch.tensor(tensor)
    if list(tensor.shape) != x["shape"] and not (tensor.dim() == 0 and x["shape"] == [1]):
        raise Refused(f"{x['name']} has the shape {list(tensor.shape)}, and {x['shape']} is declared")
    if tensor.dtype.is_complex or (tensor.dtype.is_floating_point != x["type"].startswith(("f", "bf", "e"))):
        raise Refused(f"{x['name']} has the type {tensor.dtype}, and {x['declared']} is declared")
    return tensor.to(kind_of(x["type"])).contiguous()


def inputs_as(precision, tensors):
    to = {DOUBLE: "float64", SINGLE: "float32"}.get(precision)
    return {n: t.to(KINDS[to]) if to and t.dtype.is_floating_point else t.clone() for n, t in tensors.items()}


def compute(question, problems, tensors):
    source, last = question["source"], None
    for precision in (DOUBLE,) if question["double"] else (AS_IS, SINGLE):
        try:
            key = (source, id(precision))
            if key not in problems:
                problems[key] = Problem(source, precision)
            values = {**question["params"], **inputs_as(precision, tensors)}
            return problems[key].run(values, question["outputs"]), precision
        except Refused:
            raise
        except Exception as why:  # whatever foreign code raises
            last = why
    raise Refused(f"{type(last).__name__}: {last}")


def answer(question, problems):
    tensors = read_inputs(question)
    outputs, precision = compute(question, problems, tensors)
    how = {DOUBLE: "in double", SINGLE: "in float", AS_IS: "in the types that it names"}[precision]
    head = {"by": f"torch {torch.__version__} on the CPU, {how}"}
    WIRE_OUT.write(json.dumps(head).encode() + b"\n")
    for tensor in outputs:
        if tensor.numel():
            WIRE_OUT.write(ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size()))
    WIRE_OUT.flush()


def main():
    problems = {}
    while True:
        signal.alarm(IDLE_SECONDS)  # a daemon that is idle keeps no torch in memory
        line = WIRE_IN.readline()
        signal.alarm(0)
        if not line:
            return
        try:
            question = json.loads(line)
            if question["ask"] == "import":
                WIRE_OUT.write(json.dumps(import_problem(question)).encode() + b"\n")
                WIRE_OUT.flush()
            else:
                answer(question, problems)
        except Refused as why:
            text = " ".join(str(why).split())
            WIRE_OUT.write(json.dumps({"error": text, "missing": torch is None}).encode() + b"\n")
            WIRE_OUT.flush()


main()
