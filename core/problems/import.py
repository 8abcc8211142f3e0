"""Import: turns a problem that somebody else wrote into the text of a context file, whose Python reference core/judge/oracle.py
runs.

daemon/verbs/import.c puts this text in front of oracle.py's, whose main() calls import_problem(). Nothing but oracle.py's names is
used, and torch only where it is there: a FlashInfer-Trace definition imports without, unchecked.
"""
import ast
import copy
import fractions
import inspect
import json
import keyword
import math
import re
import time

TYPE_OF = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int8": "i8", "int16": "i16", "int32": "i32",
    "int64": "i64", "uint8": "u8", "bool": "u8",
}
BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "u8": 1}
# Words that Lua, Python, HLSL, CUDA or a context file take for something else.
TAKEN = set(keyword.kwlist) | set("""
    and break do else elseif end false for function goto if in local nil not or repeat return then true until while
    launch alloc table memset copy tensor_map need invalid cdiv min max floor ceil abs device int half float double i8 i16 i32 i64
    u8 u16 u32 u64 f16 bf16 f32 f64 e4m3 e5m2 inout out line point linear sample texture matrix vector buffer string bool uint
    void const static register struct class template export default switch case unsigned long short char sin cos exp log sqrt pow
    dot mul reference run torch self math
""".split())
RANK_MAX, NAME_MAX = 5, 48
THREADS = 64
COUNT_SECONDS = 20  # spent at most on counting operations


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
        self.name, self.kind, self.shape, self.fill, self.given = name, kind, shape or ["1"], fill, given
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
        self.point, self.free = {}, []  # the smallest sizes and scalars, and which of them are sizes


# --- FlashInfer-Trace definitions (flashinfer-bench, SOL-ExecBench) ---------------------------------------------------------------


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


def without_empty(found, sizes, points):
    """Points at which all arrays have elements; contexts have no empty ones."""
    whole, empty = [], None
    for point in points:
        at = {**{n: int(v) for n, v in found.constants}, **dict(zip(sizes, point))}
        none = next((a.name for a in found.inputs + found.outputs if any(evaluate(x, at) < 1 for x in a.shape)), None)
        if none:
            empty = f"{none} has no elements where " + ", ".join(f"{n} = {at[n]}" for n in sizes)
        else:
            whole.append(point)
    if empty and not whole:
        raise Refused(empty)
    left = len(points) - len(whole)
    if left:
        found.notes.append(f"{left} of {len(points)} workloads {'is' if left == 1 else 'are'} left out: {empty}")
    return whole


def without_large(found, sizes, points, mib):
    """Points at which all arrays together have at most so many MiB; at least the smallest, which comes first."""
    def size(point):
        at = {**{n: int(v) for n, v in found.constants}, **dict(zip(sizes, point))}
        return sum(evaluate(a.bytes(), at) for a in found.inputs + found.outputs) / 2**20

    points = sorted(points, key=size)
    some = [p for p in points if size(p) <= mib] or points[:1]
    left = len(points) - len(some)
    if left:
        found.notes.append(f"{left} of {len(points)} workloads {'is' if left == 1 else 'are'} left out: with arrays of "
                           f"{size(points[len(some)]):,.0f} MiB and more; --mib {math.ceil(size(points[-1]))} takes all")
    return some


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
    def extent(text, inside=False):
        """An axis by its name here; an expression's own axes the same."""
        axis = definition["axes"].get(str(text))
        if not axis or axis["type"] != "expr":
            return axis_of.get(str(text), str(text))
        inner = re.sub(r"[A-Za-z_]\w*", lambda m: extent(m.group(), True), axis["expression"]).replace("**", "^")
        return f"({inner})" if inside else inner

    def shape_of(one):
        return [extent(x) for x in one["shape"] or []]

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
        found.outputs.append(Array(safe_name(name, used), type_of(one["dtype"], name), shape_of(one)))
    workloads = read_workloads(question.get("workloads", ""))
    blobs = {n for w in workloads for n, x in w.get("inputs", {}).items() if x.get("type") == "safetensors"}
    if blobs:
        raise Refused(f"the workloads read {', '.join(sorted(blobs))} from safetensors files, which are not imported")
    made = sorted({n for w in workloads for n, x in w.get("inputs", {}).items() if x.get("type") not in ("random", "scalar")})
    learned = bool(definition.get("custom_inputs_entrypoint")) and torch is not None
    if made and not learned:
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
    points = without_empty(found, [axis_of[n] for n in variable], points)
    points = without_large(found, [axis_of[n] for n in variable], points, question.get("mib", 2048))
    some = spread(points, question.get("limit", 4))
    if len(points) > len(some):
        found.notes.append(f"{len(some)} of {len(points)} workloads are declared as sizes; --workloads {len(points)} declares all")
    some = declare_sizes(found, [(axis_of[n], "int") for n in variable] + [(o, k) for _, o, k in scalars], some)
    found.free = [axis_of[n] for n in variable]
    found.given = dict(zip(variable + [n for n, _, _ in scalars], some[0])) if some else {}
    found.point = dict(zip([axis_of[n] for n in variable] + [o for _, o, _ in scalars], some[0])) if some else {}
    plain = not definition.get("constraints") and not any(a["type"] == "expr" for a in definition["axes"].values())
    if len(variable) == 1 and plain:
        found.check = f"{axis_of[variable[0]]} = {{3, 67}}"
    if definition.get("constraints"):
        found.notes.append("constraints that are not checked: " + "; ".join(definition["constraints"]))
    if learned:
        try:
            learn_values(found, definition)
        except Exception as why:  # whatever foreign code raises
            found.notes.append(f"its values of the inputs are not known: {type(why).__name__}: {why}")
    names = [a.name for a in found.inputs] + [o for _, o, _ in scalars]
    found.source = (definition["reference"].rstrip("\n") +
                    f"\n\n\ndef reference({', '.join(names)}):\n    return run({', '.join(call)})\n")
    return found


# --- Python problems: KernelBench's (class Model, get_inputs, get_init_inputs), and functions with a get_inputs -------------------

# sizes that show which extent is which; more where kernels need it
SMALL = ((3, 11, 13, 17, 19, 23, 29, 31), (5, 37, 41, 43, 47, 53, 59, 61))
STEPS = 6  # sizes in a row at which a problem is tried
FAR = (61, 997)  # and further ones, where it runs there: a window of 11 shows in no six sizes
DIVISORS = 64
DRAWS = 16  # of the values of inputs, to see their range


class Changes(Exception):
    """These sizes have to stay as they are."""

    def __init__(self, names):
        super().__init__()
        self.names = names


class Sources(ast.NodeTransformer):
    """The module-level whole numbers of a source, which may be given other values."""

    def __init__(self, text):
        self.text, self.sizes, self.given = text, {}, {}
        self.same = {}  # of sizes that are always equal: all but one, and that one
        self.load({})

    def value(self, name, node):
        if any(not isinstance(x, (ast.Constant, ast.BinOp, ast.operator)) for x in ast.walk(node)):
            return node
        number = eval(compile(ast.Expression(node), "size", "eval"), {"__builtins__": {}})
        if type(number) is not int or number < 2:
            return node
        self.sizes.setdefault(name, number)
        return ast.copy_location(ast.Constant(self.given.get(self.same.get(name, name), number)), node)

    def load(self, given):
        tree, self.given = ast.parse(self.text), given
        for node in tree.body:
            if not isinstance(node, ast.Assign):
                continue
            target, value = node.targets[0], node.value
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                value.elts = [self.value(t.id, x) if isinstance(t, ast.Name) else x for t, x in zip(target.elts, value.elts)]
            if not isinstance(target, ast.Name):
                continue
            name = target.id
            if isinstance(value, ast.Tuple):
                many = len(value.elts) > 1
                value.elts = [self.value(f"{name}_{i}" if many else name, x) for i, x in enumerate(value.elts)]
            else:
                node.value = self.value(name, value)
        space = {"__name__": "problem"}
        torch.manual_seed(0)
        exec(compile(tree, "problem", "exec"), space)
        return space


def entry_of(space, text):
    """The name of what computes, and whether it is a module."""
    own = [n.name for n in ast.parse(text).body if isinstance(n, (ast.ClassDef, ast.FunctionDef))
           and not n.name.startswith(("get_", "_"))]
    modules = [n for n in own if isinstance(space[n], type) and issubclass(space[n], torch.nn.Module)]
    for names, module in ((["Model"] if "Model" in modules else modules[-1:], True), ([n for n in own if n not in modules], False)):
        if names:
            return names[-1], module
    raise Refused("the file defines neither a module nor a function")


def fits(points):
    """(a, b, s) of (a*g + b)//s through all points; None without."""
    for s in range(1, DIVISORS):
        (x0, y0), (x1, y1) = points[0], points[-1]
        for a in dict.fromkeys((1, round(s * (y1 - y0) / (x1 - x0)))):
            for b in sorted(range(s * y0 - a * x0, s * y0 - a * x0 + s), key=abs):
                if all((a * x + b) // s == y for x, y in points):
                    return a, b, s
    return None


def formula(a, b, s):
    top = ("%d*" % a if a != 1 else "") + "%s" + (f" {'+' if b > 0 else '-'} {abs(b)}" if b else "")
    return top if s == 1 else f"({top})//{s}" if b else f"{top}//{s}"


def flatten(value, name, leaves):
    """Appends (name, tensor or number) for each within a value, and returns its shape: an index of leaves, a list, a dictionary, or
    a text."""
    if torch.is_tensor(value) or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        leaves.append((name, value))
        return len(leaves) - 1
    if isinstance(value, (list, tuple)):
        return [flatten(x, f"{name}_{i}", leaves) for i, x in enumerate(value)]
    if isinstance(value, dict):
        return {k: flatten(x, f"{name}_{k}", leaves) for k, x in value.items()}
    if value is None or isinstance(value, (bool, str)):
        return repr(value)
    raise Refused(f"{name} is a {type(value).__name__}: only tensors, numbers, lists and dictionaries of them, None, bool and str are imported")


def rebuilt(shape, leaves):
    """The value that flatten() took apart, with these leaves."""
    if isinstance(shape, list):
        return [rebuilt(x, leaves) for x in shape]
    if isinstance(shape, dict):
        return {k: rebuilt(x, leaves) for k, x in shape.items()}
    return leaves[shape] if isinstance(shape, int) else ast.literal_eval(shape)


def written(shape, texts):
    """The same as Python's text."""
    if isinstance(shape, list):
        return f"[{', '.join(written(x, texts) for x in shape)}]"
    if isinstance(shape, dict):
        return "{" + ", ".join(f"{k!r}: {written(x, texts)}" for k, x in shape.items()) + "}"
    return texts[shape] if isinstance(shape, int) else shape


# In the source of a problem whose outputs are no plain tensors.
FLAT = """

def _flat(x):
    x = list(x.values()) if isinstance(x, dict) else x
    return [t for part in x for t in _flat(part)] if isinstance(x, (list, tuple)) else [] if x is None else [x]
"""


def flat(x):
    """The tensors and numbers of a result, in order."""
    x = list(x.values()) if isinstance(x, dict) else x
    return [t for part in x for t in flat(part)] if isinstance(x, (list, tuple)) else [] if x is None else [x]


def arguments_of(given):
    """How get_init_inputs() or get_inputs() means its answer: positional ones, and by name."""
    if isinstance(given, dict):
        return [], given
    given = list(given)
    if len(given) == 2 and isinstance(given[0], (list, tuple)) and isinstance(given[1], dict):
        return list(given[0]), given[1]
    return given, {}


class Module:
    """One Python problem, run at chosen sizes."""

    def __init__(self, text):
        self.source = Sources(text)
        space = self.source.load({})
        if "get_inputs" not in space:
            raise Refused("the file defines no get_inputs(): write one that returns a list of example inputs")
        self.entry, self.is_module = entry_of(space, text)
        self.model, self.shadow = self.build(space), None
        self.weights, self.single = self.weights_of(self.model), None
        inner = self.model.forward if self.is_module else self.model
        self.parameters = list(inspect.signature(inner).parameters.values())
        # of the inputs' leaves; of the arguments; whether outputs are tensors or a list
        self.names, self.shape, self.plain = [], None, True

    def build(self, space):
        torch.manual_seed(0)
        args, named = arguments_of(space.get("get_init_inputs", list)())
        return space[self.entry](*args, **named) if self.is_module else space[self.entry]

    def built(self):
        """The same as Python's text."""
        given = self.source.load({}).get("get_init_inputs")
        if given is None:
            return f"{self.entry}()"
        given = given()
        if isinstance(given, dict):
            return f"{self.entry}(**get_init_inputs())"
        return f"{self.entry}(*get_init_inputs()[0], **get_init_inputs()[1])" if arguments_of(given)[1] else f"{self.entry}(*get_init_inputs())"

    def name_of(self, i):
        """Of positional argument i."""
        last = self.parameters[min(i, len(self.parameters) - 1)] if self.parameters else None
        if last is None or (i >= len(self.parameters) and last.kind is not last.VAR_POSITIONAL):
            raise Refused(f"get_inputs() returns more inputs than {self.entry} takes")
        return f"{last.name}_{i}" if last.kind is last.VAR_POSITIONAL else last.name

    def weights_of(self, model):
        if not self.is_module:
            return {}
        skip = ("running_mean", "running_var", "num_batches_tracked")
        buffers = {n: b for n, b in model.named_buffers() if not n.endswith(skip) and b.dtype.is_floating_point}
        return {**dict(model.named_parameters()), **buffers}

    def free(self):
        """Sizes that only the inputs have."""
        plain = repr(self.source.load({}).get("get_init_inputs", list)())
        names = []
        for name, value in self.source.sizes.items():
            space = self.source.load({name: value + 1})
            if repr(space.get("get_init_inputs", list)()) == plain:
                names.append(name)
        return names

    def inputs(self, sizes, seed=0):
        """The values, and what each was drawn from: (fill, None), or (lowest, limit) of integers."""
        space, drawn, real = self.source.load(sizes), {}, {n: getattr(torch, n) for n in ("rand", "randn", "randint")}

        def record(name, fill):
            def draw(*args, **kwargs):
                made = real[name](*args, **kwargs)
                ends = (0, args[0]) if name == "randint" and not isinstance((*args, ())[1], int) else args[:2]
                drawn[id(made)] = (made, (fill, None) if fill else ends)
                return made
            return draw
        torch.manual_seed(seed)
        torch.rand, torch.randn, torch.randint = record("rand", "random(0, 1)"), record("randn", "normal"), record("randint", None)
        try:
            args, named = arguments_of(space["get_inputs"]())
        finally:
            for name, function in real.items():
                setattr(torch, name, function)
        leaves = []
        self.shape = [flatten(x, self.name_of(i), leaves) for i, x in enumerate(args)], {k: flatten(x, k, leaves)
                for k, x in named.items()}
        self.names, values = [n for n, _ in leaves], [v for _, v in leaves]
        return values, [drawn.get(id(v), (v, (None, None)))[1] for v in values]

    def call(self, model, values):
        args, named = (rebuilt(x, [v.clone() if torch.is_tensor(v) else v for v in values]) for x in self.shape)
        with torch.no_grad():
            result = model(*args, **named)
        self.plain = torch.is_tensor(result) or (isinstance(result, (tuple, list)) and all(map(torch.is_tensor, result)))
        result = [x if torch.is_tensor(x) else torch.tensor(x) for x in flat(result) if torch.is_tensor(x)
                  or isinstance(x, (bool, int, float))]
        if not result:
            raise Refused("it returns no tensor and no number: return what it computes, also where it writes into an input")
        return result

    def outputs(self, values, seed=0, model=None):
        torch.manual_seed(seed)
        try:
            return self.call(model or self.model, values)
        except RuntimeError as why:
            if model or not re.search("not implemented for '(Half|BFloat16)'", str(why)):
                raise
        types = [x.dtype for x in self.shaped_outputs(values)]
        if self.single is None:
            self.single = copy.deepcopy(self.model).float() if self.is_module else self.model
        torch.manual_seed(seed)
        with SINGLE:
            wide = self.call(self.single, [v.to(KINDS["float32"]) if torch.is_tensor(v) and v.dtype.is_floating_point else v
                                           for v in values])
        return [x.to(t) for x, t in zip(wide, types)]

    def shaped_outputs(self, values):
        """Outputs of which only the shapes count: without computing, where torch can."""
        try:
            if self.shadow is None:
                self.shadow = copy.deepcopy(self.model).to("meta") if self.is_module else self.model
            return self.call(self.shadow, [v.to("meta") if torch.is_tensor(v) else v for v in values])
        except Exception:  # what depends on values has no shape without them
            return self.call(self.model, values)

    def extents(self, sizes):
        """Every extent of every array, then the ranges of integers, in one fixed order."""
        values, ranges = self.inputs(sizes)
        found = [list(v.shape) for v in values + self.shaped_outputs(values) if torch.is_tensor(v)]
        if any(0 in shape for shape in found):
            raise ValueError("an array has no elements")
        return [x for shape in found for x in shape] + [limit for _, limit in ranges if limit is not None]


def formulas_of(module, name, base, plain):
    """For each of module.extents() whether it depends on this size, and its formula (a, b, s), where there is one.

    A quotient's steps are told apart from another's only at their edges. So where a formula fits, the sizes beside its next step
    are tried, too, until it holds there."""
    tried = {base[name]: plain}

    def extents(value):
        if value not in tried:
            tried[value] = module.extents({**base, name: value})
        return tried[value]

    def fit_of(i):
        return fits(sorted((value, found[i]) for value, found in tried.items()))
    for step in (*range(1, STEPS + 1), *FAR):
        try:
            extents(base[name] + step)
        except Refused:
            raise
        except Exception:
            if step not in FAR:
                raise Changes([name]) from None
    try:
        for i in range(len(plain)):
            while (fit := fit_of(i)) and fit[0] and fit[2] > 1:
                a, b, s = fit
                edge = next(x for x in range(base[name] + STEPS + 1, max(tried) + s + 2)
                            if (a * x + b) // s != (a * (x - 1) + b) // s)
                if extents(edge)[i] == (a * edge + b) // s and extents(edge - 1)[i] == (a * (edge - 1) + b) // s:
                    break
    except Refused:
        raise
    except Exception:  # it does not run there: what is known must do
        pass
    return [(len({found[i] for found in tried.values()}) > 1, fit_of(i)) for i in range(len(plain))]


def formulas(module, names, base):
    """What each of module.extents() is, in terms of the sizes."""
    plain = module.extents(base)
    depends = [[] for _ in plain]
    for name in names:
        for i, (does, fit) in enumerate(formulas_of(module, name, base, plain)):
            if does:
                depends[i].append((name, fit))
    texts = []
    for i, found in enumerate(depends):
        if not found:
            texts.append(str(plain[i]))
        elif len(found) == 1 and found[0][1]:
            texts.append(formula(*found[0][1]) % found[0][0])
        elif math.prod(base[n] for n, _ in found) == plain[i]:
            texts.append("*".join(n for n, _ in found))
        else:
            raise Changes([n for n, _ in found])
    return texts


def sized(module):
    """Free sizes, a small value of each, and the formulas; fewer sizes are free where that does not work."""
    names, sizes = module.free(), module.source.sizes
    for primes, tied in [(p, False) for p in SMALL] + [(p, True) for p in SMALL]:
        first = {sizes[n]: n for n in reversed(names)}
        module.source.same = {n: first[sizes[n]] for n in names} if tied else {}
        left = list(dict.fromkeys(module.source.same.get(n, n) for n in names))
        while True:
            base = {n: v if v <= p else p for n, v, p in zip(left, (sizes[n] for n in left), primes)}
            try:
                used = formulas(module, left, base)
                seen = [n for n in left if any(re.search(rf"\b{n}\b", t) for t in used)]
                return seen, {n: base[n] for n in seen}, used
            except Changes as why:
                left = [n for n in left if n not in why.names]
            except Refused:
                raise
            except Exception as why:
                last = why
                break
    raise Refused(f"it does not run at small sizes: {type(last).__name__}: {last}")


def fill_of(v):
    if v.dtype == torch.bool or v.numel() == 0:
        return "random(0, 2)" if v.dtype == torch.bool else ""
    if not v.dtype.is_floating_point:
        low, high = int(v.min()), int(v.max())
        if v.dim() and v.shape[-1] > 2 and high > low and bool((v.diff(dim=-1) >= 0).all()):
            return f"sorted({low}, {high + 1})"
        return f"random({low}, {high + 1})"
    x = v.double()
    low, high, std = float(x.min()), float(x.max()), float(x.std()) if x.numel() > 1 else 0
    if low >= 0 and v.dim() and torch.allclose(x.sum(-1), torch.ones((), dtype=torch.float64), atol=1e-4) and high < 1:
        return "probabilities"
    if abs(float(x.mean())) < 0.4 and 0.6 < std < 1.4 and max(-low, high) > 1.3:
        return "normal"
    return f"random({math.floor(low * 10) / 10:g}, {max(math.ceil(high * 10) / 10, math.floor(low * 10) / 10 + 0.1):g})"


def weight_fill(w):
    """Values under which every weight counts: not all ones, not all zeros."""
    most, least = float(w.abs().max()), float(w.abs().min())
    if most == least:
        return f"random({most - 0.5:g}, {most + 0.5:g})"
    return f"random({-most:.3g}, {most:.3g})"


def import_python(text, question):
    if torch is None:
        raise Refused(f"a Python problem needs torch to be imported ({WHY_NOT})")
    # What names a GPU means the device that the reference runs on.
    text = re.sub(r"""(["'])cuda(:\d+)?\1""", "torch.empty(0).device", text).replace(".cuda()", ".to(torch.empty(0).device)")
    module = Module(text)
    names, base, texts = sized(module)
    found, used = Found(question["file"].rsplit("/", 1)[-1].rsplit(".", 1)[0]), set(names)
    found.point, found.free, texts = dict(base), names, iter(texts)
    values, ranges = module.inputs(base)
    draws = [module.inputs(base, seed)[0] for seed in range(DRAWS)]
    call, parameters, limits = [], [], []
    for i, (given, v, (low, limit)) in enumerate(zip(module.names, values, ranges)):
        name = safe_name(given, used)
        parameters.append(name)
        if torch.is_tensor(v):
            kind, fill = type_of(str(v.dtype).split(".")[1], given), low if isinstance(low,
                    str) else fill_of(torch.stack([d[i] for d in draws]))
            found.inputs.append(Array(name, kind, [next(texts) for _ in v.shape], fill))
            limits += [(found.inputs[-1], low)] if limit is not None else []
            call.append(name + (".bool()" if v.dtype == torch.bool else ".reshape(())" if v.dim() == 0 else ""))
        else:
            found.scalars.append((name, f"{'f32' if isinstance(v, float) else 'int'} = {{{literal(v)}}}"))
            found.point[name] = v
            call.append(name)
    results = module.outputs(values)
    for i, (y, z) in enumerate(zip(results, module.outputs(draws[1]))):
        if y.shape != z.shape:
            raise Refused(f"the shape of output {i} depends on the inputs' values: {list(y.shape)}, then {list(z.shape)}")
    for i, y in enumerate(results):
        found.outputs.append(Array(safe_name("y" if i == 0 else f"y_{i}", used), type_of(str(y.dtype).split(".")[1], f"output {i}"),
                                   [next(texts) for _ in y.shape]))
    for a, low in limits:
        a.fill = f"random({low}, {next(texts)})"
    load = []
    for given, w in module.weights.items():
        name = safe_name("w_" + given, used)
        found.inputs.append(Array(name, type_of(str(w.dtype).split(".")[1], given), [str(x) for x in w.shape], weight_fill(w)))
        load.append(f"    _weights[{given!r}].data = {name}{'.reshape(())' if w.dim() == 0 else ''}\n")
        parameters.append(name)
    for y, z in zip(results, module.outputs(values, 1)):
        if y.shape != z.shape or not torch.allclose(y.double(), z.double(), rtol=1e-3, atol=1e-5, equal_nan=True):
            raise Refused("its outputs are random: they differ from run to run")
    found.scalars = [(n, f"int = {{{module.source.sizes[n]}}}") for n in names] + found.scalars
    small = [f"{n} = {base[n]}" for n in names if base[n] != module.source.sizes[n]]
    found.check = ", ".join(small)
    if module.is_module:
        found.source = text.rstrip("\n") + f"\n\n\n_model = {module.built()}\n_weights = {{**dict(_model.named_parameters()), **dict(_model.named_buffers())}}\n"
    else:
        found.source = text.rstrip("\n") + "\n"
    args, named = module.shape
    texts = [written(x, call) for x in args] + [f"{k}={written(x, call)}" for k, x in named.items()]
    called = f"{'_model' if module.is_module else module.entry}({', '.join(texts)})"
    found.source += "" if module.plain else FLAT
    found.source += f"\n\ndef reference({', '.join(parameters)}):\n{''.join(load)}    return {called if module.plain else f'_flat({called})'}\n"
    return found


# --- the context's text -----------------------------------------------------------------------------------------------------------

POINTER = {"f32": "float", "f64": "double", "f16": "__half", "bf16": "__nv_bfloat16", "i8": "signed char", "i16": "short",
           "i32": "int",
           "i64": "long long", "u8": "unsigned char"}


def empty_kernel(found, backend):
    """The context needs device code, and a problem has none: a kernel that does nothing, which the judge refuses."""
    scalars = [(name, text.split()[0]) for name, text in found.scalars]
    if backend == "hlsl":
        return f"[numthreads({THREADS}, 1, 1)]\nvoid empty(uint3 thread : SV_DispatchThreadID)\n{{\n}}"
    head = {"cuda": "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n\n",
            "hip": "#include <hip/hip_fp16.h>\n#include <hip/hip_bf16.h>\n\n"}
    halves = any(a.kind in ("f16", "bf16") for a in found.inputs + found.outputs)
    pointer = dict(POINTER, bf16="__hip_bfloat16" if backend == "hip" else "__nv_bfloat16")
    args = [f"const {pointer[a.kind]} *{a.name}" for a in found.inputs] + [f"{pointer[a.kind]} *{a.name}" for a in found.outputs]
    args += [f"{'float' if kind == 'f32' else 'int'} {name}" for name, kind in scalars]
    return f"{head[backend] if halves else ''}extern \"C\" __global__ void empty({', '.join(args)})\n{{\n}}"


def learn_values(found, definition):
    """A definition may make inputs itself: what they look like at the smallest size, where torch can tell."""
    torch.manual_seed(0)
    axes = {n: evaluate(str(a["value"]), {}) for n, a in definition["axes"].items() if a["type"] == "const"}
    space = {"__name__": "definition"}
    exec(compile(definition["reference"], "reference", "exec"), space)
    made = space[definition["custom_inputs_entrypoint"]]({**axes, **found.given}, torch.device("cpu"))
    for name, v in made.items():
        for a in found.inputs:
            if a.given == name and torch.is_tensor(v):
                a.fill = fill_of(v)


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
    lines += ["This problem has no kernel yet: replace the device and host code. Outputs are judged by the Python reference below.",
              "",
              f"```{backend}", empty_kernel(found, backend), "```", "",
              "```lua host", f"launch(\"empty\", 1, {THREADS}, {{{', '.join(names)}}})", "```", "",
              f"{fence}python reference", found.source.rstrip("\n"), fence, ""]
    return "\n".join(lines)


def evaluate(text, names):
    return int(eval(text.replace("^", "**"), {"__builtins__": {}, "cdiv": lambda a, b: -(-a // b), "min": min, "max": max}, names))


def values_at(found, names):
    """Inputs of these sizes, roughly as the context declares them, and the outputs that it declares."""
    torch.manual_seed(1)
    values = dict(names)
    for a in found.inputs:
        shape = [evaluate(x, names) for x in a.shape]
        kind, bounds = kind_of(a.kind), re.match(r"random\((.*), (.*)\)", a.fill)
        if kind.is_floating_point:
            low, high = [float(x) for x in bounds.groups()] if bounds else (-1, 1)
            values[a.name] = (torch.rand(shape) * (high - low) + low).to(kind)
        else:
            low, high = [evaluate(x, names) for x in bounds.groups()] if bounds else (0, 2)
            values[a.name] = torch.randint(low, max(high, low + 1), shape).to(kind)
    outputs = [{"name": a.name, "type": a.kind, "declared": a.kind, "shape": [evaluate(x, names) for x in a.shape]}
               for a in found.outputs]
    return values, outputs


# Calls of torch that move values, and compute nothing.
UNCOUNTED = re.compile(r"view|reshape|expand|transpose|permute|squeeze|slice|select|clone|copy|detach|alias|^t$|cat|stack|split|unbind|empty|"
                       r"zeros|ones|full|as_strided|index|gather|scatter|constant_pad|lift|arange|repeat|contiguous|narrow|diagonal|flip")


def operations(name, arguments, result):
    """What one call of torch computes: two for each factor of a product, one for each element of anything else."""
    tensors = [x for x in arguments if torch.is_tensor(x)]
    if name in ("mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "dot"):
        return 2 * result.numel() * tensors[-2].shape[-1]
    if "convolution" in name:
        # transposed: each input goes through a whole kernel
        spread_out = next((x for x in arguments[3:] if isinstance(x, bool)), False)
        return 2 * (tensors[0] if spread_out else result).numel() * tensors[1][0].numel()
    if UNCOUNTED.search(name) or not torch.is_tensor(result) or not any(x.dtype.is_floating_point for x in tensors):
        return 0
    return max(x.numel() for x in [result, *tensors])


def count_operations(problem, values, outputs):
    from torch.utils._python_dispatch import TorchDispatchMode
    total = [0]

    class Counter(TorchDispatchMode):
        def __torch_dispatch__(self, call, types, args=(), kwargs=None):
            result = call(*args, **(kwargs or {}))
            first = result[0] if isinstance(result, (tuple, list)) and result else result
            total[0] += operations(call.overloadpacket.__name__.rstrip("_"), args, first)
            return result
    with Counter():
        problem.run(values, outputs)
    return total[0]


def differences(column):
    rows = [column]
    while len(rows[-1]) > 1:
        rows.append([b - a for a, b in zip(rows[-1], rows[-1][1:])])
    return [row[0] for row in rows]


def to_coefficients(values, first):
    """Of the polynomial through these values at first, first + 1, …: Newton's form, multiplied out."""
    total, factor = [fractions.Fraction(0)] * len(values), [fractions.Fraction(1)]
    for k, d in enumerate(differences(values)):
        for i, c in enumerate(factor):
            total[i] += d * c
        factor = [((factor[i - 1] if i else 0) - (first + k) * (factor[i] if i < len(factor) else 0)) / (k + 1)
                  for i in range(len(factor) + 1)]
    return total


def polynomial(function, base):
    """The polynomial through function's values, of degree 3 or less in each size, as a text; "" where it is none, or costs too
    much."""
    degrees = {}
    for name, value in base.items():
        row = differences([function({**base, name: value + k}) for k in range(7)])
        degrees[name] = max((k for k in range(7) if row[k]), default=0)
    names = [n for n in base if degrees[n]]
    if any(degrees[n] > 3 for n in names) or math.prod(degrees[n] + 1 for n in names) > 32:
        return ""
    grid = [()]
    for n in names:
        grid = [(*p, k) for p in grid for k in range(degrees[n] + 1)]
    grid = {p: fractions.Fraction(function({**base, **{n: base[n] + k for n, k in zip(names, p)}})) for p in grid}
    for axis, name in enumerate(names):  # from values to coefficients, one size after the other
        for p in [p for p in grid if p[axis] == 0]:
            line = [p[:axis] + (k,) + p[axis + 1:] for k in range(degrees[name] + 1)]
            grid.update(zip(line, to_coefficients([grid[q] for q in line], base[name])))
    if any(c.denominator != 1 for c in grid.values()):
        return ""
    terms = []
    for p in sorted(grid, key=sum, reverse=True):
        powers = [n if k == 1 else f"{n}^{k}" for n, k in zip(names, p) if k]
        number = [str(abs(grid[p]))] * (abs(grid[p]) != 1 or not powers)
        terms += [f"{'-' if grid[p] < 0 else '+'} {'*'.join(number + powers)}"] * (grid[p] != 0)
    return " ".join(terms).removeprefix("+ ")


def try_smallest(found):
    """Runs the reference at the smallest size: shapes and types must be the declared ones. Then counts its operations."""
    if torch is None:
        found.notes.append(f"the reference was not tried: {WHY_NOT}")
        return
    point = {**{n: evaluate(v, {}) for n, v in found.constants}, **found.point}
    last = None
    for precision in (AS_IS, SINGLE, DOUBLE):
        start = time.monotonic()
        try:
            problem = Problem(found.source, precision)

            def run(sizes, act):
                values, outputs = values_at(found, {**point, **sizes})
                return act({**values, **inputs_as(precision, {a.name: values[a.name] for a in found.inputs})}, outputs)
            run({}, problem.run)
            break
        except Refused:
            raise
        except Exception as why:
            last = f"{type(why).__name__}: {why}"
    else:
        raise Refused(f"the reference does not run: {last}")
    if (time.monotonic() - start) * (7 * len(found.free) + 32) > COUNT_SECONDS:
        return
    try:
        free = {n: found.point[n] for n in found.free}
        found.flops = polynomial(lambda sizes: run(sizes, lambda v, o: count_operations(problem, v, o)), free)
    except Exception as why:  # sizes that the code does not take, or a torch that cannot be watched
        found.notes.append(f"operations are not counted: {type(why).__name__}: {why}")


def import_problem(question):
    text = question["text"]
    if text.lstrip().startswith("{"):
        try:
            definition = json.loads(text)
        except ValueError as why:
            raise Refused(f"not JSON: {why}") from None
        found = import_definition(definition, question)
    else:
        try:
            found = import_python(text, question)
        except Refused:
            raise
        except SyntaxError as why:
            raise Refused(f"line {why.lineno}: {why.msg}: {(why.text or '').strip()[:80]}") from None
        except Exception as why:  # whatever foreign code raises
            raise Refused(f"{type(why).__name__}: {why}") from None
    try_smallest(found)
    return {"context": write_context(found, question), "name": found.name, "notes": found.notes}
