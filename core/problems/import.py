"""Import: turns a problem that somebody else wrote into the text of a context file, whose Python reference core/judge/oracle.py runs.

daemon/verbs/import.c puts this text in front of oracle.py's, whose main() calls import_problem(). Nothing but oracle.py's names is used, and
torch only where it is there: a FlashInfer-Trace definition imports without, unchecked.
"""
import json
import keyword
import math
import re

TYPE_OF = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int8": "i8", "int16": "i16", "int32": "i32",
    "int64": "i64", "uint8": "u8", "bool": "u8",
}
BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "u8": 1}
# Words that Lua, Python, HLSL, CUDA or a context file take for something else.
TAKEN = set(keyword.kwlist) | set("""
    and break do else elseif end false for function goto if in local nil not or repeat return then true until while
    launch alloc table memset copy tensor_map need invalid cdiv min max floor ceil abs device int half float double i8 i16 i32 i64 u8 u16 u32
    u64 f16 bf16 f32 f64 e4m3 e5m2 inout out line point linear sample texture matrix vector buffer string bool uint void const static
    register struct class template export default switch case unsigned long short char sin cos exp log sqrt pow dot mul reference run
    torch self math
""".split())
RANK_MAX, NAME_MAX, LINES_MAX = 5, 48, 40
THREADS = 64


def safe_name(name, used):
    text = re.sub(r"\W", "_", name, flags=re.ASCII).lstrip("_0123456789")[:NAME_MAX - 2] or "x"
    while text in TAKEN or text in used:
        text += "_"
    used.add(text)
    return text


def type_of(dtype, name):
    kind = TYPE_OF.get(dtype)
    if kind is None:
        raise Refused(f"{name}: contexts cannot be imported with {dtype}" + (" yet" if "float" in dtype else ""))
    return kind


class Array:
    def __init__(self, name, kind, shape, fill="", given=None):
        self.name, self.kind, self.shape, self.fill, self.given = name, kind, shape or ["1"], fill, given or name
        if len(self.shape) > RANK_MAX:
            raise Refused(f"{name} has {len(shape)} extents; contexts have at most {RANK_MAX}")

    def line(self, out):
        return f"{'out ' if out else ''}{self.kind}[{', '.join(self.shape)}]{' = ' + self.fill if self.fill else ''}"

    def bytes(self):
        factors = [str(BYTES[self.kind])] + [x if re.fullmatch(r"\w+", x) else f"({x})" for x in self.shape if x != "1"]
        return "*".join(factors)


class Found:
    """What is known of a problem: enough to write its context."""

    def __init__(self, name):
        self.name = re.sub(r"[^\w.-]", "_", name, flags=re.ASCII).strip("_") or "problem"
        self.constants, self.scalars, self.inputs, self.outputs = [], [], [], []
        self.where, self.check, self.flops, self.source, self.notes = [], "", "", "", []


# --- FlashInfer-Trace definitions (flashinfer-bench, SOL-ExecBench) -----------------------------------------------------------------------


def read_workloads(text):
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            one = json.loads(line)
            found.append(one.get("workload") or one)
        except (ValueError, AttributeError) as why:
            raise Refused(f"workload.jsonl:{number}: {why}: {line.strip()[:60]}") from None
    return found


def spread(items, limit):
    """The smallest, the largest, and some between."""
    if len(items) <= limit:
        return items
    return [items[round(i * (len(items) - 1) / (limit - 1))] for i in range(limit)] if limit > 1 else items[:1]


def literal(value):
    return str(int(value)) if isinstance(value, bool) or value == int(value) else repr(float(value))


def declare_sizes(found, names, points):
    """Scalars with the values that occur, and a constraint where not every combination does."""
    points = list(dict.fromkeys(points))
    columns = [list(dict.fromkeys(p[i] for p in points)) for i in range(len(names))]
    for (name, kind), values in zip(names, columns):
        found.scalars.append((name, f"{kind} = {{{', '.join(literal(v) for v in values)}}}"))
    if math.prod(len(c) for c in columns) > len(points):
        several = [i for i, c in enumerate(columns) if len(c) > 1]
        found.where.append(" or ".join(
            "(" + " and ".join(f"{names[i][0]} == {literal(p[i])}" for i in several) + ")" for p in points))
    return points


def import_definition(definition, question):
    for key in ("axes", "inputs", "outputs", "reference"):
        if key not in definition:
            raise Refused(f"the definition has no \"{key}\"")
    found, used, axes = Found(str(definition.get("name", "problem"))), set(), {}
    axis_of, variable = {}, []
    for name, axis in definition["axes"].items():
        axis_of[name] = safe_name(name, used)
    for name, axis in definition["axes"].items():
        if axis["type"] == "const":
            found.constants.append((axis_of[name], str(axis["value"])))
        elif axis["type"] == "var":
            variable.append(name)
    taken = {x: y for x, y in axis_of.items()}

    def extent(text):
        text = str(text)
        axis = definition["axes"].get(text)
        if axis and axis["type"] == "expr":
            inner = re.sub(r"[A-Za-z_]\w*", lambda m: extent(m.group()) if m.group() in definition["axes"] else m.group(),
                           axis["expression"]).replace("**", "^")
            return inner if question.get("whole") == text else f"({inner})" if re.search(r"\W", inner) else inner
        return taken.get(text, text)

    def shape_of(one):
        return [re.sub(r"^\((.*)\)$", r"\1", extent(x)) if extent(x).count("(") == 1 else extent(x) for x in one["shape"]]

    scalars, call = [], []
    for name, one in definition["inputs"].items():
        own = safe_name(name, used)
        if one.get("shape") is None:
            scalars.append((name, own, "f32" if "float" in one["dtype"] else "int"))
            call.append(own)
            continue
        kind = type_of(one["dtype"], name)
        fill = "random(0, 2)" if one["dtype"] == "bool" else "normal" if kind in ("f64", "f32", "f16", "bf16") else ""
        found.inputs.append(Array(own, kind, shape_of(one), fill, name))
        call.append(own + (".bool()" if one["dtype"] == "bool" else ".reshape(())" if one["shape"] == [] else ""))
    for name, one in definition["outputs"].items():
        found.outputs.append(Array(safe_name(name, used), type_of(one["dtype"], name), shape_of(one or {}) if one.get("shape") else [], "", name))
    workloads = read_workloads(question.get("workloads", ""))
    blobs = {n for w in workloads for n, x in w.get("inputs", {}).items() if x.get("type") == "safetensors"}
    if blobs:
        raise Refused(f"the workloads read {', '.join(sorted(blobs))} from safetensors files, which are not imported")
    made = sorted({n for w in workloads for n, x in w.get("inputs", {}).items() if x.get("type") not in ("random", "scalar")})
    if made:
        found.notes.append(f"{', '.join(made)}: the workloads make values of their own, and the context declares others; "
                           "give their range with --declare 'NAME: …'")
    points = []
    for w in workloads:
        missing = [n for n in variable if n not in w.get("axes", {})]
        values = [w["inputs"].get(n, {}).get("value") for n, _, _ in scalars]
        if missing or None in values:
            raise Refused(f"a workload has no value of {', '.join(missing) or scalars[values.index(None)][0]}")
        points.append(tuple(w["axes"][n] for n in variable) + tuple(values))
    if (variable or scalars) and not points:
        raise Refused(f"there are no workloads to take {', '.join(variable) or scalars[0][0]} from: put workload.jsonl beside the definition")
    points.sort(key=lambda p: math.prod(p[:len(variable)]))
    some = spread(points, question.get("limit", 4))
    if len(points) > len(some):
        found.notes.append(f"{len(some)} of {len(points)} workloads are declared as sizes; --workloads {len(points)} declares all")
    some = declare_sizes(found, [(axis_of[n], "int") for n in variable] + [(o, k) for _, o, k in scalars], some)
    found.point = dict(zip([axis_of[n] for n in variable] + [o for _, o, _ in scalars], some[0])) if some else {}
    plain = not definition.get("constraints") and not any(a["type"] == "expr" for a in definition["axes"].values())
    if len(variable) == 1 and plain:
        found.check = f"{axis_of[variable[0]]} = {{3, 67}}"
    if definition.get("constraints"):
        found.notes.append("constraints that are not checked: " + "; ".join(definition["constraints"]))
    names = [a.name for a in found.inputs] + [o for _, o, _ in scalars]
    found.source = (definition["reference"].rstrip("\n") +
                    f"\n\n\ndef reference({', '.join(names)}):\n    return run({', '.join(call)})\n")
    return found


# --- the context's text -------------------------------------------------------------------------------------------------------------------

POINTER = {"f32": "float", "f64": "double", "f16": "__half", "bf16": "__nv_bfloat16", "i8": "signed char", "i16": "short", "i32": "int",
           "i64": "long long", "u8": "unsigned char"}


def empty_kernel(found, backend):
    """The context needs device code, and a problem has none: a kernel that does nothing, which the judge refuses."""
    scalars = [(name, text.split()[0]) for name, text in found.scalars]
    if backend == "hlsl":
        return f"[numthreads({THREADS}, 1, 1)]\nvoid empty(uint3 thread : SV_DispatchThreadID)\n{{\n}}"
    head = {"cuda": "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n\n", "hip": "#include <hip/hip_fp16.h>\n#include <hip/hip_bf16.h>\n\n"}
    halves = any(a.kind in ("f16", "bf16") for a in found.inputs + found.outputs)
    pointer = dict(POINTER, bf16="__hip_bfloat16" if backend == "hip" else "__nv_bfloat16")
    args = [f"const {pointer[a.kind]} *{a.name}" for a in found.inputs] + [f"{pointer[a.kind]} *{a.name}" for a in found.outputs]
    args += [f"{'float' if kind == 'f32' else 'int'} {name}" for name, kind in scalars]
    return f"{head[backend] if halves else ''}extern \"C\" __global__ void empty({', '.join(args)})\n{{\n}}"


def write_context(found, question):
    backend = question["backend"]
    declared = dict(re.match(r"\s*(\w+)\s*:\s*(.*\S)", x).groups() for x in question.get("declared", []) if ":" in x)
    entries = found.scalars + [(a.name, a.line(False)) for a in found.inputs] + [(a.name, a.line(True)) for a in found.outputs]
    unknown = sorted(set(declared) - {n for n, _ in entries})
    if unknown:
        raise Refused(f"--declare {unknown[0]}: the problem has {', '.join(n for n, _ in entries)}")
    lines = ["---", f"kernel: {found.name}", f"backend: {backend}"]
    lines += ["constants:"] * bool(found.constants) + [f"  {n}: {v}" for n, v in found.constants]
    lines += ["inputs:"] + [f"  {n}: {declared.get(n, text)}" for n, text in entries]
    lines += ["where:"] * bool(found.where) + [f"  - {x}" for x in found.where]
    lines += [f"check: {found.check}"] * bool(found.check) + [f"flops: {found.flops}"] * bool(found.flops)
    lines += ["bytes: " + " + ".join(a.bytes() for a in found.inputs + found.outputs), "---", ""]
    names = [a.name for a in found.inputs + found.outputs] + [n for n, _ in found.scalars]
    fence = "`" * max(3, 1 + max((len(x) for x in re.findall(r"`+", found.source)), default=0))
    lines += ["This problem has no kernel yet: replace the device and host code. Outputs are judged by the Python reference below.", "",
              f"```{backend}", empty_kernel(found, backend), "```", "",
              "```lua host", f"launch(\"empty\", 1, {THREADS}, {{{', '.join(names)}}})", "```", "",
              f"{fence}python reference", found.source.rstrip("\n"), fence, ""]
    return "\n".join(lines)


def evaluate(text, names):
    return int(eval(text.replace("^", "**"), {"__builtins__": {}, "cdiv": lambda a, b: -(-a // b), "min": min, "max": max}, names))


def try_smallest(found):
    """Runs the reference once at the smallest size: shapes and types must be the declared ones."""
    if torch is None:
        found.notes.append(f"the reference was not tried: {WHY_NOT}")
        return
    names = {n: evaluate(v, {}) for n, v in found.constants}
    names.update(getattr(found, "point", {}))
    torch.manual_seed(1)
    values = {n: v for n, v in names.items()}
    for a in found.inputs:
        shape = [evaluate(x, names) for x in a.shape]
        kind, bounds = kind_of(a.kind), re.match(r"random\((.*), (.*)\)", a.fill)
        if kind.is_floating_point:
            values[a.name] = torch.randn(shape).to(kind)
        else:
            low, high = [evaluate(x, names) for x in bounds.groups()] if bounds else (0, 2)
            values[a.name] = torch.randint(low, max(high, low + 1), shape).to(kind)
    outputs = [{"name": a.name, "type": a.kind, "declared": a.kind, "shape": [evaluate(x, names) for x in a.shape]} for a in found.outputs]
    for precision in (AS_IS, SINGLE, DOUBLE):
        try:
            Problem(found.source, precision).run({**values, **inputs_as(precision, {a.name: values[a.name] for a in found.inputs})}, outputs)
            return
        except Refused:
            raise
        except Exception as why:
            last = f"{type(why).__name__}: {why}"
    raise Refused(f"the reference does not run: {last}")


def import_problem(question):
    text = question["text"]
    if text.lstrip().startswith("{"):
        try:
            definition = json.loads(text)
        except ValueError as why:
            raise Refused(f"not JSON: {why}") from None
        found = import_definition(definition, question)
    else:
        raise Refused("this is neither a FlashInfer-Trace definition (JSON) nor a Python problem")
    context = write_context(found, question)
    try_smallest(found)
    return {"context": context, "name": found.name, "notes": found.notes}
