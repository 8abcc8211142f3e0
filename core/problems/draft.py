"""Draft: reads a CUDA or HIP file by its form and writes the context that launches what the file launches.

core/problems/draft.c runs this with one line of JSON on stdin: source, backend, declared lines, and names that contexts reserve. It
answers with the context's text, questions and notes, and the values that the file gives. Once nothing is asked, it is called again
with the plan that the context's host code makes there, and compares it with the file's launches. Nothing of the file is executed,
and no compiler takes part: what cannot be read becomes a question, and what a context cannot express becomes a note with its line,
never a silent loss.
"""
import ast
import json
import operator
import re
import struct
import sys
from collections import namedtuple
from types import SimpleNamespace

DEEP, DIFFERENCES_MAX = 8, 8
BYTES = {"i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "i64": 8, "u64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8,
         "e4m3": 1,
         "e5m2": 1}
TYPES = {"float": "f32", "double": "f64", "half": "f16", "__half": "f16", "_Float16": "f16", "__nv_bfloat16": "bf16",
         "nv_bfloat16": "bf16",
         "int": "i32", "signed": "i32", "unsigned": "u32", "unsigned int": "u32", "uint": "u32", "size_t": "u64", "long": "i64",
         "long long": "i64", "unsigned long": "u64", "unsigned long long": "u64", "short": "i16", "unsigned short": "u16",
         "char": "i8",
         "signed char": "i8", "unsigned char": "u8", **{f"{s}int{n}_t": f"{s or 'i'}{n}" for s in ("", "u")
                                                        for n in (8, 16, 32, 64)}}
ALLOCATIONS = ("cudaMalloc", "cudaMallocManaged", "cudaMallocAsync", "hipMalloc", "hipMallocManaged")
IN_PLACE = ("+=", "-=", "*=", "/=", "%=", "++", "--")


class Refused(Exception):
    """The whole draft is refused, with this reason."""


class Unknown(Exception):
    """An expression has a word without meaning in a context; None: it is empty."""


# --- tokens: comments are left out, nothing is understood -------------------------------------------------------------------------

Token = namedtuple("Token", "kind text at")
TOKEN = re.compile(r"""
    (?P<blank>\s+|//[^\n]*|/\*.*?(?:\*/|\Z))
  | (?P<directive>\#(?:\\\n|[^\n])*)
  | (?P<text>R"(?P<raw>[^(]*)\(.*?(?:\)(?P=raw)"|\Z)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)
  | (?P<number>\.?[0-9](?:[eE][+-]|'(?=\w)|[\w.])*)
  | (?P<name>\w+)
  | (?P<sign><<<|>>>|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%]=|->|::|\+\+|--|.)""", re.X | re.S | re.A)


def tokens_of(text, offset=0):
    return [Token(m.lastgroup, m.group(), offset + m.start()) for m in TOKEN.finditer(text) if m.lastgroup != "blank"]


def nesting(token):
    return 0 if token.kind != "sign" else 1 if token.text in "([{" else -1 if token.text in ")]}" else 0


def close(t, start, end=None):
    """The place behind the bracket that closes the one at start; the end where none does. Shifts look like the end of <<<."""
    launch = t[start].text == "<<<"
    end, depth = len(t) if end is None else end, 0 if launch else 1
    for i in range(start + 1, end):
        if launch and depth == 0 and t[i].text == ">>>":
            return i + 1
        depth += nesting(t[i])
        if not launch and depth == 0:
            return i + 1
    return end


def find(t, start, end, sign):
    """The first such sign outside of brackets; the end where there is none."""
    depth = 0
    for i in range(start, end):
        if depth == 0 and t[i].text == sign:
            return i
        depth += nesting(t[i])
    return end


def parts_of(t, start=0, end=None, sign=","):
    end = len(t) if end is None else end
    parts = []
    while start < end:
        to = find(t, start, end, sign)
        parts.append(t[start:to])
        start = to + 1
    return parts


def texts(tokens):
    return [x.text for x in tokens]


def is_word(tokens):
    return len(tokens) == 1 and tokens[0].kind == "name"


# --- what a file says -------------------------------------------------------------------------------------------------------------


def read_param(tokens, body):
    p = SimpleNamespace(name="", pointer=False, constant=False, read=False, written=False, handed_on=False)
    words = []
    for i, x in enumerate(tokens):
        if x.text == "*":
            p.pointer = True
        elif x.text == "const":
            p.constant |= not p.pointer
        elif x.kind != "name" or x.text in ("__restrict__", "__restrict", "restrict"):
            continue
        elif i + 1 == len(tokens):
            p.name = x.text
        else:
            words.append(x.text)
    p.type_text = " ".join(words)
    p.type = TYPES.get(p.type_text)
    # `x[i] = …` writes, `x[i] += …` does both, everything else reads. threadIdx.x does not use a parameter x.
    for i, x in enumerate(body if p.pointer else []):
        before = body[i - 1].text if i else ""
        if x.text != p.name or before in (".", "->"):
            continue
        after = close(body, i + 1) if body[i + 1:] and body[i + 1].text == "[" else i + 1
        element = after > i + 1 or before == "*"
        sign = body[after].text if element and after < len(body) else ""
        p.written |= sign == "=" or sign in IN_PLACE
        p.read |= sign != "="
        p.handed_on |= not element
    return p


class Source:
    """The kernels, launches, variables and allocations of a file, read by their form; what cannot be read is missing."""

    def __init__(self, text):
        self.text, self.t = text, tokens_of(text)
        self.kernels, self.launches, self.variables, self.buffers, self.device = [], [], {}, {}, []
        self.in_kernel = set()
        self.read_items()
        if not self.kernels:
            raise Refused("source: there is no kernel: expected `__global__ void name(…) { … }`")
        self.read_variables()
        self.read_buffers()
        self.read_launches()

    def line(self, token):
        return self.text.count("\n", 0, self.t[token].at) + 1

    def keep(self, start, end, before=""):
        last = self.t[end - 1]
        self.device.append(before + self.text[self.t[start].at:last.at + len(last.text)] + "\n")

    def item_end(self, start):
        """The end of the declaration that starts here: behind its `;` or its body."""
        t, i = self.t, start
        while i < len(t):
            if t[i].text == ";":
                return i + 1
            if t[i].text in ("(", "["):
                i = close(t, i) - 1
            elif t[i].text == "{":
                end = close(t, i)
                return end + 1 if end < len(t) and t[end].text == ";" else end
            i += 1
        return len(t)

    def read_items(self):
        """Device code keeps macros, types, constants, device functions, and the toolkit's headers that NVRTC and hiprtc know."""
        t, i = self.t, 0
        while i < len(t):
            start = i
            if t[i].kind == "directive":
                i += 1
                if "include" not in t[start].text or re.search(r"cuda_fp16|cuda_bf16|mma\.h|hip_fp16|hip_bf16", t[start].text):
                    self.keep(start, i)
                continue
            i = self.item_end(i)
            item = texts(t[start:i])
            head = item[:next((k for k, x in enumerate(item) if x in ("(", "{", "=")), len(item))]
            if "__global__" in item and item[-1] == "}":
                if item[0] == "template":
                    raise self.refused(start, "a kernel is a template: write the instance to tune as a plain kernel")
                if item[0] == "extern" and '"C"' not in head:
                    raise self.refused(start, 'a kernel is declared extern but not "C"')
                self.keep(start, i, "" if '"C"' in head else 'extern "C" ')
                self.read_kernel(start, i)
            elif {"__device__", "__constant__", "struct", "typedef", "using", "constexpr", "enum"} & set(head):
                self.keep(start, i)

    def refused(self, start, why):
        return Refused(f"source: line {self.line(start)}: {why}")

    def read_kernel(self, start, end):
        t, opening = self.t, start
        # The name before the first bracket that does not belong to an attribute.
        while opening < end:
            if t[opening].text == "(":
                if t[opening - 1].text not in ("__launch_bounds__", "__attribute__"):
                    break
                opening = close(t, opening, end) - 1
            opening += 1
        if opening >= end or t[opening - 1].kind != "name":
            raise self.refused(start, "a kernel's declaration cannot be read: expected `__global__ void name(…) { … }`")
        body = close(t, opening, end)
        self.kernels.append(SimpleNamespace(name=t[opening - 1].text, body=body,
                                            params=[read_param(p, t[body:end]) for p in parts_of(t, opening + 1, body - 1)]))
        self.in_kernel.update(range(body, end))

    def add_variable(self, name, value, dim3=False, macro=False):
        self.variables.setdefault(name, []).append(SimpleNamespace(value=value, dim3=dim3, macro=macro))

    def read_variables(self):
        """`#define N 1024`, `int n = 1024;`, `dim3 block(16, 16), grid(n / 16, n / 16);`, `dim3 grid = dim3(n);`"""
        t = self.t
        for x in t:
            m = re.match(r"#[ \t]*define[ \t]+(\w+)(?!\()(?=.)", x.text, re.S | re.A) if x.kind == "directive" else None
            if m and not x.text.startswith("(", m.end()):
                self.add_variable(m[1], tokens_of(x.text[m.end():]), macro=True)
        for i in range(1, len(t) - 2):
            before, after = t[i - 1], t[i + 1].text
            if t[i].kind != "name" or before.kind == "directive" or i in self.in_kernel:
                continue
            if before.text == "dim3" and after == "(":
                name = i
                while name + 1 < len(t) and t[name].kind == "name" and t[name + 1].text == "(":
                    end = close(t, name + 1)
                    self.add_variable(t[name].text, t[name + 2:end - 1], dim3=True)
                    if end >= len(t) or t[end].text != ",":
                        break
                    name = end + 1
            elif before.text == "dim3" and after == "=" and t[i + 2].text == "dim3" and i + 3 < len(t):
                self.add_variable(t[i].text, t[i + 4:close(t, i + 3) - 1], dim3=True)
            elif (before.kind == "name" or before.text == ",") and after == "=":
                end = find(t, i + 2, len(t), ";")
                self.add_variable(t[i].text, t[i + 2:find(t, i + 2, end, ",")])

    def read_buffers(self):
        for i, x in enumerate(self.t[:-1]):
            if x.text not in ALLOCATIONS or self.t[i + 1].text != "(":
                continue
            args = parts_of(self.t, i + 2, close(self.t, i + 1) - 1)
            if len(args) > 1 and args[0] and args[0][-1].kind == "name":
                self.buffers.setdefault(args[0][-1].text, args[1])

    def read_launches(self):
        t = self.t
        for i in range(1, len(t) - 1):
            kernel = next((k for k in self.kernels if k.name == t[i - 1].text), None) if t[i].text == "<<<" else None
            end = close(t, i) if kernel else len(t)
            if end < len(t) and t[end].text == "(":
                given = parts_of(t, i + 1, end - 1)[:3] + [[], [], []]
                self.launches.append(SimpleNamespace(kernel=kernel, grid=given[0], block=given[1], shared=given[2],
                                                     args=parts_of(t, end + 1, close(t, end) - 1)))

    def variable(self, name):
        """None also where two functions use one name for different things: scopes are not read."""
        all_ = self.variables.get(name, [])
        same = all(v.dim3 == all_[0].dim3 and texts(v.value) == texts(all_[0].value) for v in all_)
        return all_[0] if all_ and same else None

    def scalar(self, name):
        v = self.variable(name)
        return v if v and not v.dim3 else None

    def extent(self, given):
        """The parts of a grid or block: the arguments of a dim3, else the one expression."""
        v = self.variable(given[0].text) if is_word(given) else None
        if v and v.dim3:
            given = v.value
        elif len(given) > 2 and given[0].text == "dim3":
            given = given[2:-1]
        return parts_of(given)[:3]

    def bytes(self, host):
        """The bytes of an allocation, looked up where a variable holds them: `size_t bytes = …`."""
        given = self.buffers[host]
        v = self.scalar(given[0].text) if is_word(given) else None
        return v.value if v else given

    # --- C expressions as Lua, and their values ---

    SIGNS = {"+": " + ", "-": " - ", "/": " // ", "%": " % ", "!=": "~=", "&&": " and ", "||": " or ", ",": ", ",
             **{x: x for x in ("*", "(", ")", "<<", ">>", "&", "|", "<", ">", "<=", ">=", "==")}}

    def lua(self, t, names, depth=0):
        """Names by their meaning in the context, the host's variables by their values, C's division of integers as //."""
        out, i, word = [], 0, texts(t)
        size = [BYTES.get(TYPES.get(x), 0) for x in word]
        while i < len(t):
            x, rest = t[i], len(t) - i
            if rest > 3 and word[i] == "sizeof" and word[i + 1] == "(" and word[i + 3] == ")" and size[i + 2]:
                out.append(str(size[i + 2]))
                i += 4
            elif rest > 3 and word[i] == "(" and size[i + 1] and word[i + 2] == ")":
                i += 3
            elif rest > 2 and x.kind == "name" and word[i + 1] == "." and f"{word[i]}.{word[i + 2]}" in names:
                out.append(names[f"{word[i]}.{word[i + 2]}"])
                i += 3
            else:
                if x.kind == "name":
                    out.append(self.lua_name(t, i, names, depth))
                elif x.kind == "number":
                    fraction = not re.match("0[xX]", x.text) and re.search("[.eE]", x.text)
                    out.append(x.text[0] + x.text[1:].rstrip("fFlL" if fraction else "uUlL"))
                elif x.kind == "sign" and x.text in self.SIGNS:
                    out.append(self.SIGNS[x.text])
                else:
                    raise Unknown(x.text)
                i += 1
        if not t:
            raise Unknown(None)
        return "".join(out)

    def lua_name(self, t, i, names, depth):
        name, v = t[i].text, self.scalar(t[i].text)
        if name in names or name in ("min", "max"):
            return names.get(name, name)
        if v and depth < DEEP:
            text = self.lua(v.value, names, depth + 1)
            return text if len(v.value) == 1 else f"({text})"
        # An unexplained name is reported with its member or call: "shape.rows", "blocks_for(…)".
        if len(t) > i + 2 and t[i + 1].text in (".", "->"):
            raise Unknown(name + t[i + 1].text + t[i + 2].text)
        raise Unknown(name + "(…)" if len(t) > i + 1 and t[i + 1].text == "(" else name)

    def value(self, t, names=None):
        """The value of a constant expression; names: numbers that words stand for, as texts. None: it is not constant."""
        try:
            return evaluate(ast.parse(self.lua(t, names or {}).replace("~=", "!=").strip(), mode="eval").body)
        except (Unknown, ValueError, SyntaxError, ArithmeticError, TypeError, KeyError, RecursionError, MemoryError):
            return None

    def whole(self, t, names=None):
        v = self.value(t, names)
        return None if v is None or isinstance(v, bool) or v != v // 1 else int(v)


OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
             ast.Mod: operator.mod,
             ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.Lt: operator.lt, ast.Gt: operator.gt, ast.LtE: operator.le,
             ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.USub: operator.neg, ast.UAdd: operator.pos,
             ast.LShift: lambda a, b: a << b if 0 <= b < 64 else 0, ast.RShift: lambda a, b: (a % 2**64) >> b if 0 <= b < 64 else 0}


def evaluate(x):
    """As Lua does: integers have 64 bits. Lua's operators bind as Python's, so ast reads them."""
    if isinstance(x, ast.Constant) and type(x.value) in (int, float):
        v = x.value
    elif isinstance(x, ast.BinOp):
        v = OPERATORS[type(x.op)](evaluate(x.left), evaluate(x.right))
    elif isinstance(x, ast.UnaryOp):
        v = OPERATORS[type(x.op)](evaluate(x.operand))
    elif isinstance(x, ast.Compare) and len(x.ops) == 1:
        v = OPERATORS[type(x.ops[0])](evaluate(x.left), evaluate(x.comparators[0]))
    elif isinstance(x, ast.BoolOp):
        for part in x.values:
            v = evaluate(part)
            if (v is False) == isinstance(x.op, ast.And):
                break
    elif isinstance(x, ast.Call) and isinstance(x.func, ast.Name) and x.func.id in ("min", "max") and not x.keywords:
        v = (min if x.func.id == "min" else max)(evaluate(a) for a in x.args)
    else:
        raise ValueError
    return (v + 2**63) % 2**64 - 2**63 if type(v) is int else v


# --- the draft while it is made ---------------------------------------------------------------------------------------------------


def single(v):
    try:
        return struct.unpack("f", struct.pack("f", v))[0]
    except OverflowError:
        return float("inf") if v > 0 else -float("inf")


def digits(v, of_single):
    """The fewest digits that read back as the same number of the type."""
    v = float(v)
    for n in range(1, 18):
        text = "%.*g" % (n, v)
        if single(float(text)) == single(v) if of_single else float(text) == v:
            break
    return text


class Draft:
    def __init__(self, source, backend, declared, taken):
        self.s, self.backend, self.taken = Source(source), backend, set(taken)
        self.questions, self.notes, self.locals, self.host, self.dropped = [], [], [], [], set()
        self.names = {}  # what a name of the host's code is called in the context: "d_A" is "A", "block.x" is "BX"
        self.entries, self.tune = {}, {}
        self.declared, self.used, self.launch_lines = {}, set(), []
        for line in declared:
            self.read_declared(line)

    # Declared lines: what follows the name is read by the reader of contexts. A later line replaces an earlier one.
    def read_declared(self, given):
        line = given.lstrip(" \t")
        text = line.rstrip()
        m = (re.match(r"(local)[ \t]+([A-Za-z_]\w*)[ \t]*=", text, re.A) or re.match(r"(launch) *\(", text) or
             re.match(r"()([A-Za-z_]\w*)[ \t]*:", text, re.A))
        if m is None or re.search("[\n\r]|```", text):
            raise Refused(f'"{line[:200]}" is not a declaration: expected "NAME: …" as under inputs: or tune:, "local NAME = …" or '
                          '"launch(…)" as in host code, on one line')
        if m[1] == "launch":
            self.launch_lines.append(text)
        else:
            self.declared[m[1], m[2]] = text

    def take(self, kind, name):
        if (kind, name) in self.declared:
            self.used.add((kind, name))
        return self.declared.get((kind, name))

    def check_all_used(self):
        for (kind, name), line in self.declared.items():
            if (kind, name) not in self.used:
                raise Refused(f'"{line}": no question asks for that name' if kind else
                              f'"{line}" names no kernel parameter, no variable of the host\'s code and no size of a block: expected '
                              "NAME: … as under inputs: or tune:")
        if self.launch_lines and self.s.launches:
            raise Refused(f'"{self.launch_lines[0]}": the file has its own launches, which are used as they are')

    def add_entry(self, name, host, p, value=()):
        self.entries[name] = SimpleNamespace(
            name=name, host=host, array=p.pointer, type=p.type, type_text=p.type_text, read=p.read, written=p.written,
            unsure=p.handed_on and not p.constant, scratch=False, declared=False, value=list(value), line=None)
        return self.entries[name]

    def own_value(self, x):
        """The value that the file itself gives to a scalar."""
        if x.value:
            return self.s.value(x.value)
        v = self.s.scalar(x.host)
        return self.s.value(v.value) if v else None

    # --- what stands under inputs:, and scratch memory ---

    def name_declared(self):
        """Names that only the host's code has ("rows: int = {1024}") become inputs before the launches are read."""
        s = self.s
        params = {p.name for k in s.kernels for p in k.params}
        host = {x.text for i, x in enumerate(s.t) if x.kind == "name" and i not in s.in_kernel}
        for (kind, name), line in self.declared.items():
            # "NAME: int = …" and "NAME: out f32[…]" begin with a role or a type; lines of tune: do not.
            typed = re.match(r"\w+[ \t]*:[ \t]*(?:(?:out|inout)[ \t]*\b)*(\w*)", line, re.A)
            if (s.launches and not kind and typed and (typed[1] in BYTES or typed[1] in ("int", "float", "double", "half")) and
                    name not in params and (name in host or s.variable(name))):
                p = SimpleNamespace(pointer="[" in line, type="i32", type_text="", read=False, written=False, handed_on=False,
                                    constant=False)
                self.add_entry(name, name, p)
                self.names.setdefault(name, name)

    def derived(self, x, all_):
        """An integer that the file computes from other scalars: `int n = rows * cols;` with a constant `cols` is "rows*512". Those
        scalars must be declared or, with all_, may be any that the file leaves open."""
        v = self.s.scalar(x.host) if x.host else None
        if v is None or x.type in ("f16", "bf16", "f32", "f64"):
            return None
        others = {}
        for host, name in self.names.items():
            other = self.entries.get(name)
            if other and other is not x and not other.array and (("", name) in self.declared
                                                                 or (all_ and self.own_value(other) is None)):
                others[host] = name
        try:
            text = self.s.lua(v.value, others) if others else "."
        except Unknown:
            return None
        return None if "." in text else text  # C and Lua divide fractions differently

    def extents(self, x):
        """"n, m" of n * m * sizeof(float): the factors but the element's size. None where the product cannot be read."""
        if x.host not in self.s.buffers:
            return None
        size, sized, out = BYTES[x.type], BYTES[x.type] == 1, []
        for factor in parts_of(self.s.bytes(x.host), sign="*"):
            if not sized and factor and (factor[0].text == "sizeof" or self.s.value(factor) == size):
                sized = True
                continue
            try:
                out.append(self.s.lua(factor, self.names))
            except Unknown:
                return None
        return ", ".join(out) if out and sized else None

    def write_array(self, x):
        n, kind, size = x.name, x.type, self.extents(x)
        role = "inout " if x.written and x.read else "out " if x.written else ""
        local = self.take("local", n) if x.scratch else None
        if local:
            x.line = local + "\n"
        elif x.scratch and size is None:
            self.questions.append(f"{n}: how many elements does this intermediate result have? Allocate it in the file, cudaMalloc(&{x.host}, "
                                  f'…), or declare "local {n} = alloc({{"{kind}", n}}, "{n}")"')
        elif x.scratch:
            x.line = f'local {n} = alloc({{"{kind}", {size}}}, "{n}")\n'
        elif x.unsure and not x.written:
            of = f"{kind}[{size or 'n'}]"
            self.questions.append(f"{n}: {'' if size else 'how many elements, and '}is it read, written or both? A kernel passes it on: "
                                  f'declare "{n}: {of} = random", "{n}: out {of}" or "{n}: inout {of} = random"')
        elif size is None:
            self.questions.append(f'{n}: how many elements? The file does not say: declare "{n}: {role}{kind}[n]" with its extents')
        else:
            x.line = f"  {n}: {role}{kind}[{size}]{'' if role == 'out ' else ' = random'}\n"
            if role == "inout ":
                self.notes.append(f"{n} is read and written, so it is inout; if a kernel only writes it, declare it out")

    def write_scalar(self, x):
        kind, value = "int" if x.type == "i32" else x.type, self.own_value(x) if x.value else None
        if value is not None:
            x.line = f"  {x.name}: {kind} = {digits(value, x.type == 'f32')}\n"
        elif (text := self.derived(x, False)) is not None:
            x.line = f"  {x.name}: {kind} = {text}\n"
            self.notes.append(f"{x.name} is computed as in the file: {text}")
        elif (text := self.derived(x, True)) is not None:
            self.notes.append(f"{x.name} will be computed as in the file: {text}")  # once the numbers asked for are known
        else:
            self.questions.append(f'{x.name}: which values? The file does not say: declare "{x.name}: {kind} = {{1024, 2048}}"')

    def write_inputs(self):
        t = self.s.t
        # An array that the host copies back is a result, whoever else reads it.
        fetched = set()
        for i, x in enumerate(t[:-1]):
            args = parts_of(t, i + 2, close(t, i + 1) - 1) if x.text in ("cudaMemcpy", "hipMemcpy") else []
            fetched.update(texts(args[1][:1]) if len(args) > 1 else [])
        for x in self.entries.values():
            line = self.take("", x.name)
            x.scratch = x.scratch and line is None and x.host not in fetched
            if line:
                x.line, x.declared = f"  {line}\n", True
            elif x.type is None:
                self.questions.append(f"{x.name}: contexts do not know its type '{x.type_text}': declare it by its elements, \"{x.name}: "
                                      f"{'f32[…]' if x.array else 'f32 = …'}\", or write the kernel with a known type")
            elif x.array:
                self.write_array(x)
            else:
                self.write_scalar(x)

    # --- arguments become inputs, blocks become tuning parameters, grids become expressions of both ---

    def free_name(self, wanted):
        """Two kernels may give different things the same name. "in" is a keyword of host code and becomes "in_"."""
        wanted = wanted.lstrip("_")
        name, n = "x" + wanted if not wanted or wanted[0].isdigit() else wanted + "_" * (wanted in self.taken), 2
        while name in self.entries or name in self.tune:
            name, n = f"{wanted}{n}", n + 1
        return name

    def take_argument(self, p, arg):
        host = arg[0].text if is_word(arg) else ""
        x = self.entries.get(self.names.get(host)) if host else None
        if x is None:
            name = self.free_name(p.name)
            if host:
                self.names.setdefault(host, name)
            return self.add_entry(name, host, p, arg).name
        # Written by one kernel and read by a later one: an intermediate result, unless the host fetches it.
        x.scratch |= x.written and not x.read and p.read and not p.written
        x.written |= p.written
        x.unsure |= p.handed_on and not p.constant
        return x.name

    def local_name(self, launch, part):
        """"KERNEL_grid", "KERNEL_grid2", …: host code's name for a part of a launch that the file does not explain."""
        before = 0
        for other in self.s.launches:
            if other is launch:
                break
            before += other.kernel is launch.kernel
        return f"{launch.kernel.name}_{part}{before + 1 if before else ''}"

    def take_local(self, name):
        line = self.take("local", name)
        if line:
            self.locals.append(line + "\n")
        return line is not None

    def tune_name(self, wanted, host, value):
        """The tuning parameter for a size of a block. One with the same value, or with the same name in the host's code, is used
        again."""
        named = self.names.get(host) if host else None
        same = named or wanted
        if same in self.tune and (named or (value is not None and self.tune[same].value == value)):
            return same
        name = self.free_name(wanted)
        line = self.take("", name)
        self.tune[name] = SimpleNamespace(value=value, line=f"  {line}\n" if line else f"  {name}: {{{value}}}\n"
                                          if value is not None else None)
        return name

    def block_part(self, launch, part, axis):
        """One dimension of a block. A #define keeps its name; everything else becomes BX, BY or BZ."""
        host, kernel = part[0].text if is_word(part) else "", launch.kernel.name
        v, value = self.s.variable(host) if host else None, self.s.whole(part)
        macro = bool(v and v.macro)
        if value == 1 and not macro:
            name = "1"
        else:
            name = self.tune_name(host if macro else "B" + "XYZ"[axis], host, value)
            if self.tune[name].line is None:
                self.questions.append(f'the size of a block of {kernel} is not a constant: declare "{name}: {{128, 256}}" with its values, '
                                      f'or all of the block with "local {kernel}_block = {{…}}"')
            if host:
                self.names.setdefault(host, name)
            if macro:
                self.dropped.add(host)
        if len(launch.block) == 1:  # `block.x` in a grid means the block's own size
            self.names.setdefault(f"{launch.block[0].text}.{'xyz'[axis]}", name)
        return name

    def write_grid(self, launch):
        parts, local, kernel = self.s.extent(launch.grid), self.local_name(launch, "grid"), launch.kernel.name
        try:
            if not parts:
                raise Unknown(None)
            return "{" + ", ".join(self.s.lua(p, self.names) for p in parts) + "}"
        except Unknown as why:
            # It is asked for as a whole: an unexplained word may stand for all three dimensions.
            word = why.args[0]
            size = f'declare "{word}: int = {{…}}" if it is a size, or' if word and not re.search(r"[(.\->]", word) else "declare"
            if not self.take_local(local):
                self.questions.append(f"the grid of {kernel} mentions '{word or '?'}', which the file does not explain: {size} all of the "
                                      f'grid with "local {local} = {{…}}"')
            return local

    def write_shared(self, launch):
        if not launch.shared or self.s.value(launch.shared) == 0:
            return ""
        local = self.local_name(launch, "shared")
        try:
            text = self.s.lua(launch.shared, self.names)
        except Unknown as why:
            text = local
            if not self.take_local(local):
                self.questions.append(f"the shared memory of {launch.kernel.name} mentions '{why.args[0] or '?'}', which the file does not "
                                      f'explain: declare "local {local} = …" with its bytes')
        return f", {{shared = {text}}}"

    def write_launches(self):
        lists = []
        for launch in self.s.launches:  # all arguments first: a grid may mention an argument of a later launch
            k = launch.kernel
            lists.append(", ".join(self.take_argument(p, arg) for p, arg in zip(k.params, launch.args)))
            if len(launch.args) < len(k.params):
                self.questions.append(f"the launch of {k.name} has {len(launch.args)} arguments, and the kernel takes {len(k.params)}")
        for launch, args in zip(self.s.launches, lists):
            block = self.local_name(launch, "block")
            if not self.take_local(block):
                block = "{" + ", ".join(self.block_part(launch, p, i) for i, p in enumerate(self.s.extent(launch.block))) + "}"
            grid = self.write_grid(launch)
            self.host.append(f'launch("{launch.kernel.name}", {grid}, {block}, {{{args}}}{self.write_shared(launch)})\n')

    def write_unlaunched(self):
        """A file without a launch: the kernel's parameters are inputs, and launches and tuning parameters are declared."""
        k = self.s.kernels[0]
        for p in k.params:
            self.names.setdefault(p.name, self.add_entry(self.free_name(p.name), p.name, p).name)
        for kind, name in self.declared:
            if not kind and name not in self.entries:
                self.tune[name] = SimpleNamespace(value=None, line=f"  {self.take('', name)}\n")
        self.host += [line + "\n" for line in self.launch_lines]
        if not self.launch_lines:
            self.questions.append(f"the file does not launch {k.name}: add its launch, {k.name}<<<grid, block>>>(…), to the file, or declare "
                                  f'"launch("{k.name}", {{GRID}}, {{BX}}, {{ARGUMENTS}})" and "BX: {{128, 256}}"')

    def text(self):
        # Numbers come first, because extents mention them; declared ones keep their order, because their sets may mention earlier
        # ones.
        entries = [x for x in self.entries.values() if x.line and not x.scratch]
        declared = [self.entries[name] for kind, name in self.declared if not kind and name in self.entries]
        inputs = ([x for x in declared if x.declared and not x.array] + [x for x in entries if not x.array and not x.declared] +
                  [x for x in entries if x.array])
        device = "".join(self.s.device).splitlines(keepends=True)
        drop = re.compile(r"#[# \t]*define[ \t]+(?:%s)[ \t]"
                          % "|".join(map(re.escape, self.dropped))) if self.dropped else re.compile(r"(?!)")
        return "".join(
            ["---\n", f"kernel: {self.s.kernels[0].name}\nbackend: {self.backend}\ninputs:\n", *(x.line for x in inputs),
             "tune:\n" if self.tune else "", *(x.line or "" for x in self.tune.values()), f"---\n```{self.backend}\n",
             *(line for line in device if not drop.match(line)), "```\n```macros\n```\n```lua host\n",
             *(x.line for x in self.entries.values() if x.scratch and x.line), *self.locals, *self.host, "```\n"])

    def make(self):
        self.name_declared()
        if self.s.launches:
            self.write_launches()
        else:
            self.write_unlaunched()
        self.write_inputs()
        self.check_all_used()
        if self.tune:
            self.notes.append("tuning parameters have the file's values only: widen them where the kernel works with others")
        self.notes.append("inputs are random: declare = zeros, ones, normal or random(lo, hi) where that does not fit; flops: and bytes: give "
                          "rates")

    def own(self):
        values = {name: self.own_value(x) for name, x in self.entries.items()}
        values.update((name, x.value) for name, x in self.tune.items() if x.value is not None)
        return {name: v for name, v in values.items() if type(v) is int or type(v) is float and abs(v) < float("inf")}


# --- the draft's launches beside the file's ---------------------------------------------------------------------------------------


class Comparison:
    """Kernels, grids, blocks, shared memory, scalars, arrays and their bytes, at the file's own values. A difference is a question;
    what was compared, and what could not be, is a note."""

    def __init__(self, draft, plan):
        self.d, self.s, self.plan, self.at = draft, draft.s, plan, " at " + plan["at"] if plan["at"] else ""
        self.hosts, self.unknown, self.differences, self.sized = {}, [], [], 0
        # Gives the draft's values to names without a value in the file: "m" is the draft's n, "block.x" its BX, or 1.
        self.numbers = {}
        for host, name in draft.names.items():
            v = self.s.scalar(host)
            if not (v and self.s.value(v.value) is not None) and (name in plan["params"] or name.isdigit()):
                self.numbers[host] = plan["params"].get(name, name)

    def differs(self, kernel, what):
        self.differences.append(f"the launch of {kernel} differs from the file's{self.at}: {what}")

    def compare_extent(self, kernel, what, given, here):
        file = [self.s.whole(p, self.numbers) for p in self.s.extent(given)]
        if None in file:
            self.unknown.append(f"the {what} of {kernel}")
        elif (file := file + [1] * (3 - len(file))) != here:
            a, b = (" x ".join(map(str, x)) for x in (here, file))
            self.differs(kernel, f"its {what} is {a} in the draft and {b} in the file")

    def compare_array(self, kernel, p, arg, here):
        if "buffer" not in here:
            return self.differs(kernel, f"{p.name} is not an array in the draft")
        if not is_word(arg):
            return self.unknown.append(f"which array {p.name} of {kernel} is")
        host, index = arg[0].text, here["buffer"]
        for other, at in self.hosts.items():
            if (other == host) != (at == index):
                self.differs(kernel, f"{p.name} is {host} in the file, and in the draft that is "
                                     f"{'another' if other == host else 'the same as another'} array")
            if other == host or at == index:
                return None
        self.hosts[host] = index
        name, size = self.plan["buffers"][index]
        file = self.s.whole(self.s.bytes(host), self.numbers) if host in self.s.buffers else None
        if file is None:
            self.unknown.append(f"the bytes of {name}")
        elif file != size:
            self.differs(kernel, f"{name} has {size} bytes in the draft, and {host} has {file} in the file")
        else:
            self.sized += 1

    def compare_scalar(self, kernel, p, arg, here):
        if "type" not in here:
            return self.differs(kernel, f"{p.name} is not a number in the draft")
        kind, file, ours = here["type"], self.s.value(arg, self.numbers), float(here["value"])
        if p.type and (BYTES[p.type] != BYTES[kind] or (p.type in ("f16", "bf16", "f32", "f64")) != (kind[0] in "fbe")):
            self.differs(kernel, f"{p.name} has type {kind} in the draft, and the kernel takes {p.type}")
        elif file is None:
            self.unknown.append(f"{p.name} of {kernel}")
        elif single(file) != single(ours) if kind == "f32" else BYTES[kind] >= 4 and file != ours:
            self.differs(kernel, "%s is %.9g in the draft and %.9g in the file" % (p.name, ours, file))

    def compare_launch(self, file, here):
        k = file.kernel
        if k.name != here["kernel"]:
            return self.differs(k.name, f"the draft launches {here['kernel']} instead")
        self.compare_extent(k.name, "grid", file.grid, here["grid"])
        self.compare_extent(k.name, "block", file.block, here["block"])
        shared = self.s.whole(file.shared, self.numbers) if file.shared else 0
        if shared is None:
            self.unknown.append(f"the shared memory of {k.name}")
        elif shared != here["shared"]:
            self.differs(k.name, f"it has {here['shared']} bytes of dynamic shared memory in the draft and {shared} in the file")
        if len(here["args"]) != len(k.params):
            return self.differs(k.name, f"it has {len(here['args'])} arguments in the draft, and the kernel takes {len(k.params)}")
        for p, arg, given in zip(k.params, file.args, here["args"]):
            (self.compare_array if p.pointer else self.compare_scalar)(k.name, p, arg, given)

    def compare(self):
        first, launches = self.s.kernels[0].name, [x for x in self.plan["ops"] if x]
        for _ in range(len(self.plan["ops"]) - len(launches)):
            self.differs(first, "the draft has an operation besides launches")
        for file, here in zip(self.s.launches, launches):
            self.compare_launch(file, here)
        if len(launches) != len(self.s.launches):
            self.differs(first, f"the draft has {len(launches)} launches, and the file {len(self.s.launches)}")
        more = len(self.differences) - DIFFERENCES_MAX
        self.d.questions += self.differences[:DIFFERENCES_MAX] + [f"{more} further differences from the file's launches"] * (more > 0)
        if not self.differences:
            self.d.notes.append(
                f"compared with the file's launches{self.at}: kernels, grids, blocks, shared memory and arguments of {len(self.s.launches)}, the "
                f"bytes of {self.sized} arrays: no difference" +
                ("; could not be compared: " + ", ".join(self.unknown) if self.unknown else ""))


# --- what a file does and its draft does not, each with its line ------------------------------------------------------------------

UNREAD = "launches a kernel in a form that is not read; write it as NAME<<<grid, block>>>(…)"
CALLS = [(re.compile(pattern), what) for pattern, what in (
    (r"(cuda|hip|cu)Memset\w*", "sets memory; add memset(…) to the host code if the kernels need it"),
    (r"(cuda|hip)MemcpyToSymbol\w*", "fills a __constant__ or __device__ variable, which keeps its initial value in the draft"),
    (r"(cuda|cu|hip|hipModule)LaunchKernel\w*|(cuda|hip)LaunchCooperativeKernel\w*", UNREAD),
    (r"(cuda|hip)GraphLaunch\w*", "launches a graph"),
    (r"(cuda|hip)CreateTextureObject\w*|cudaBindTexture\w*", "makes a texture, which contexts do not have"),
    (r"(cublas|cudnn|cusparse|cufft|curand|cusolver|hipblas|rocblas|miopen)\w*|thrust|cub|hipcub", "calls a library"))]
CONTROL = {"for": "loop", "while": "loop", "do": "loop", "if": "condition", "else": "condition", "switch": "condition"}


def governed(t, i):
    """The statement or block behind a `for (…)`, `while (…)`, `if (…)`, `switch (…)`, `do` or `else`. A nested statement without
    braces ends where the inner one does."""
    start = at = i + 1
    while True:
        if at < len(t) and t[at].text == "(":
            at = close(t, at)
        start = at if start == i + 1 else start
        if at >= len(t):
            return range(start, len(t))
        if t[at].text == "{":
            return range(start, close(t, at))
        if t[at].text not in ("for", "while", "if", "switch", "do"):
            return range(start, find(t, at, len(t), ";"))
        at += 1


def note_losses(d):
    """A construct in the list may turn out harmless, but none is left out."""
    s, t = d.s, d.s.t
    launched, control = set(), [(i, CONTROL[x.text], governed(t, i)) for i, x in enumerate(t) if x.text in CONTROL
                                and x.kind == "name"]

    def lost(i, what):
        d.notes.append(f"line {s.line(i)}: not in the draft: {what}")

    for i in range(1, len(t)):
        if t[i].text != "<<<":
            continue
        kernel = t[i - 1].text
        if all(k.name != kernel for k in s.kernels):
            lost(i, f"a launch of {'another kernel' if t[i - 1].kind == 'name' else 'a template'}, which this file does not define")
            continue
        launched.add(kernel)
        for kind, runs in (("loop", "which runs once there"), ("condition", "which always runs there")):
            around = [k for k, of, body in control if k < i and of == kind and i in body]
            if around:  # the nearest
                lost(around[-1], f"the {kind} around the launch of {kernel}, {runs}")
    for k in s.kernels:
        if s.launches and k.name not in launched:
            lost(k.body, f"kernel {k.name}, which no launch that was read uses")
    for i, x in enumerate(t[:-1]):
        before = t[i - 1].text if i else ""
        if x.kind == "directive" and "<<<" in x.text:
            lost(i, "a launch in a macro; write it where it is used")
        # Of std::less the namespace matters, and of cub::x::y only the first name.
        if x.kind != "name" or t[i + 1].text not in ("(", "::", "<") or before == "::":
            continue
        if re.match("atomic.", x.text):
            d.notes.append(f"line {s.line(i)}: {x.text} adds to memory: results may depend on the order, and its array needs its starting "
                           "values (= zeros)")
        what = next((what for pattern, what in CALLS if pattern.fullmatch(x.text)), None)
        if what and before != ".":
            lost(i, f"{x.text}(…) {what}")
    # Copies between device buffers, by their direction; the other directions are inputs and results.
    for i, x in enumerate(t):
        if x.text in ("cudaMemcpyDeviceToDevice", "hipMemcpyDeviceToDevice"):
            lost(i, "a copy between device buffers; add copy(…) to the host code if the kernels need it")


def answer(q):
    d = Draft(q["source"], q["backend"], q["declared"], q["taken"])
    d.make()
    if "refused" in q:
        d.questions.append(f"the draft is not a context that runs: {q['refused']}")
    elif "plan" in q and d.s.launches:
        Comparison(d, q["plan"]).compare()
    elif "plan" in q:
        d.notes.append("the file launches nothing, so the draft's launch could not be compared")
    note_losses(d)
    return {"text": d.text(), "questions": d.questions, "notes": d.notes, "own": d.own()}


if __name__ == "__main__":
    try:
        result = answer(json.load(sys.stdin))
    except Refused as why:
        result = {"error": str(why)}
    json.dump(result, sys.stdout)
