"""Reads a CUDA or HIP file by its form: kernels, launches, variables, allocations, and C expressions as Lua. Nothing of the file is
executed, and no compiler takes part: what cannot be read is missing. draft.py makes the draft of it; draft.c runs both as one
program, this file first.
"""
import ast
import operator
import re
from collections import namedtuple
from types import SimpleNamespace

DEEP = 8
BYTES = {"i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "i64": 8, "u64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8,
         "e4m3": 1,
         "e5m2": 1}
TYPES = {"float": "f32", "double": "f64", "half": "f16", "__half": "f16", "_Float16": "f16", "__nv_bfloat16": "bf16",
         "nv_bfloat16": "bf16",
         "int": "i32", "signed": "i32", "unsigned": "u32", "unsigned int": "u32", "uint": "u32", "size_t": "u64", "long": "i64",
         "long long": "i64", "unsigned long": "u64", "unsigned long long": "u64", "short": "i16", "unsigned short": "u16",
         "char": "i8",
         "signed char": "i8", "unsigned char": "u8", **{f"{s}int{n}_t": f"{s or 'i'}{n}" for s in ("", "u")
                                                        for n in (8, 16, 32, 64)},
         **{f"{c}{n}": f"{kind}x{n}" for n in (2, 3, 4)
            for c, kind in (("float", "f32"), ("double", "f64"), ("int", "i32"), ("uint", "u32"), ("char", "i8"), ("uchar", "u8"),
                            ("short", "i16"), ("ushort", "u16"), ("half", "f16"))}}
DEVICE_HEADERS = re.compile(r"cuda_fp16|cuda_bf16|cuda_fp8|mma\.h|cooperative_groups|[<\"]cub/|[<\"]cuda/|hip_fp16|hip_bf16")
ALLOCATIONS = ("cudaMalloc", "cudaMallocManaged", "cudaMallocAsync", "hipMalloc", "hipMallocManaged")
IN_PLACE = ("+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "++", "--")


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
  | (?P<sign><<<|>>>|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%|&^]=|->|::|\+\+|--|.)""", re.X | re.S | re.A)


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


def uncast(t):
    """x of (x), &x, (float *)x and reinterpret_cast<float *>(x)."""
    while len(t) > 1:
        end = close(t, 0) if t[0].text == "(" else 0
        if end == len(t):
            t = t[1:-1]
        elif t[0].text == "&":
            t = t[1:]
        elif end and t[end - 2].text == "*":
            t = t[end:]
        elif t[0].text.endswith("_cast") and t[-1].text == ")":
            t = t[find(t, 0, len(t), "("):]
        else:
            break
    return t


def is_word(tokens):
    return len(tokens) == 1 and tokens[0].kind == "name"


# --- what a file says -------------------------------------------------------------------------------------------------------------


def integral(text):
    """Lua text without the marks of floating point that whole numbers have: "(1.0*n)" and "256.0" are "n" and "256"."""
    text = re.sub(r"(?<![\w.])1\.0\*|(?<=\d)\.0*(?![\w.])", "", text)
    return re.sub(r"(?<!\w)\((\w+)\)", r"\1", text)


def wrapped(text):
    """In brackets, unless it is one word, one call, or in brackets already."""
    depth = [0]
    for x in text:
        depth.append(depth[-1] + (x == "(") - (x == ")"))
    once = 0 not in depth[text.find("(") + 1:-1]
    return text if re.fullmatch(r"[\w.]+", text) or once and re.fullmatch(r"\w*\(.*\)", text) else f"({text})"


class Use:
    """How a function's body uses the array that one of its parameters points to."""

    def __init__(self, name, body, devices, depth=0):
        self.read = self.written = self.handed_on = False
        self.body, self.devices, self.depth = body, devices, depth
        for i, x in enumerate(body):
            if x.text == name and texts(body[i - 1:i]) not in (["."], ["->"]):  # threadIdx.x does not use a parameter x
                self.see(i, i + 1)

    def add(self, other):
        self.read |= other.read
        self.written |= other.written
        self.handed_on |= other.handed_on

    def see(self, start, end):
        """The body's tokens from start to end are the pointer, in brackets or not."""
        t, element = self.body, texts(self.body[start - 1:start]) == ["*"]
        while end < len(t) and t[end].text in ("[", ".", "->"):
            element, end = True, close(t, end) if t[end].text == "[" else end + 2
        before, after = (t[start - 1].text if start else ""), (t[end].text if end < len(t) else "")
        if element and before != "&":  # `x[i] = …` writes, `x[i] += …` does both, everything else reads
            self.written |= after == "=" or after in IN_PLACE or before in ("++", "--")
            self.read |= after != "="
            return
        opening, place = start - 1, 0
        while opening >= 0 and t[opening].text not in ("(", ";", "{", "}"):
            place += t[opening].text == ","
            opening = opening - 1 if t[opening].text not in (")", "]") else self.opening(opening) - 1
        if opening < 0 or t[opening].text != "(":
            return self.see_statement(opening + 1, start, after)
        callee, end = t[opening - 1].text, close(t, opening)
        if re.match("atomic.|__ld.|__st.", callee):
            self.read |= not callee.startswith("__st")
            self.written |= not callee.startswith("__ld") and place == 0
        elif callee in self.devices and self.depth < DEEP:
            params, body = self.devices[callee]
            self.add(Use(params[place], body, self.devices, self.depth + 1) if place < len(params) else self)
        elif t[opening - 1].kind != "name" and place == 0:  # ((float4 *)x)[i]; of reinterpret_cast<…>(x) the name does not matter
            self.see(opening, end)
        elif after not in ("==", "!="):
            self.handed_on = True

    def opening(self, i):
        depth = 0
        while i > 0:
            depth -= nesting(self.body[i])
            if depth == 0:
                return i
            i -= 1
        return 0

    def see_statement(self, start, at, after):
        """`float *row = x + i * n;`: what happens to row happens to x."""
        t, to = self.body, find(self.body, start, at, "=")
        if to < at and t[to - 1].kind == "name" and t[to - 2].text in ("*", "auto", "restrict", "__restrict__"):
            self.add(Use(t[to - 1].text, t[at + 1:], self.devices, self.depth + 1) if self.depth < DEEP else self)
        elif after not in ("==", "!="):
            self.handed_on = True


class Source:
    """The kernels, launches, variables and allocations of a file, read by their form; what cannot be read is missing."""

    def __init__(self, text):
        self.text, self.t = text, tokens_of(text)
        self.kernels, self.launches, self.variables, self.device, self.types = [], [], {}, [], dict(TYPES)
        self.items, self.templates, self.functions, self.devices, self.formulas = [], {}, [], {}, {}
        self.unread = None  # why the first kernel that is left out is
        self.buffers, self.zeroed, self.fetched, self.in_kernel, self.places, self.meant = {}, set(), set(), set(), {}, {}
        self.around, opened = [], []  # the bracket around each token, or -1
        for i, x in enumerate(self.t):
            if nesting(x) < 0 and opened:
                opened.pop()
            self.around.append(opened[-1] if opened else -1)
            if nesting(x) > 0:
                opened.append(i)
        self.read_items()
        self.read_variables()
        self.read_calls()
        self.read_conditions()
        for start, end, place in self.items:
            self.read_kernel(start, end, place)
        if not self.kernels:
            raise self.unread or Refused("source: there is no kernel: expected `__global__ void name(…) { … }`")
        self.read_launches()
        self.read_memory()
        # Words of device code that only a header can explain, which is not here: neither declared nor given a value.
        declared = {b.text for a, b in zip(self.t, self.t[1:]) if a.kind == "name" and a.text not in ("return", "else", "case")}
        self.undefined = set(re.findall(r"\w+", " ".join(text for _, text in self.device), re.A)) - declared - {
            *self.variables, *self.formulas, *(p.name for k in self.kernels for p in k.params)}

    def place(self, token):
        """"line 12" of the file, or "sizes.h, line 3" of one that it includes: `#line` says where that begins and ends."""
        at, begin, number, name = self.t[token].at, 0, 1, ""
        for x in self.t[:token]:
            m = re.match(r'#[ \t]*line[ \t]+(\d+)(?:[ \t]+"(.*)")?', x.text) if x.kind == "directive" else None
            if m:
                begin, number, name = x.at + len(x.text) + 1, int(m[1]), m[2] or ""
        return f"{name}{', ' if name else ''}line {self.text.count(chr(10), begin, at) + number}"

    def refused(self, start, why):
        return Refused(f"source: {self.place(start)}: {why}")

    # --- the items of a file: device code keeps macros, types, constants, device functions, and the toolkit's headers ---

    def keep(self, start, end, name=None):
        """name: what the item defines, if it may be left out for a tuning parameter of that name."""
        last = self.t[end - 1]
        self.device.append((name, self.text[self.t[start].at:last.at + len(last.text)] + "\n"))

    def item_end(self, start):
        """The end of the declaration that starts here: behind its `;` or its body."""
        t, i = self.t, start
        while i < len(t):
            if t[i].text == ";":
                return i + 1
            if t[i].text in ("(", "["):
                i = close(t, i) - 1
            elif t[i].text == "{":
                head = set(texts(t[start:i]))  # of a type or a list, and not of a function
                named = {"typedef", "struct", "class", "union", "enum", "="} & head and ")" not in head
                return find(t, close(t, i), len(t), ";") + 1 if named else close(t, i)
            i += 1
        return len(t)

    def read_items(self):
        t, i = self.t, 0
        while i < len(t):
            start, word = i, texts(t[i:i + 3])
            if word[0] == "}" or word in (["namespace", word[1:2], "{"], ["extern", '"C"', "{"]):
                i += 1 if word[0] == "}" else 3  # what stands in there is read as if it stood outside
            elif t[i].kind == "directive":
                i += 1
                self.read_directive(start)
            else:
                i = min(self.item_end(i), len(t))
                self.read_item(start, i)

    def read_directive(self, i):
        text = self.t[i].text
        if re.match(r"#[ \t]*(line|pragma[ \t]+once)\b", text):
            return
        m = re.match(r"#[ \t]*define[ \t]+(\w+)(\([^()]*\))?(?=.)", text, re.S | re.A)
        if "include" not in text or DEVICE_HEADERS.search(text):
            self.keep(i, i + 1, m and m[1])
        value = tokens_of(text[m.end():], self.t[i].at + m.end()) if m else []
        if m and m[2] is not None:
            self.formulas[m[1]] = [p.strip() for p in m[2][1:-1].split(",")], value
        elif m:
            self.add_variable(m[1], value, i, macro=True)
            self.add_type(m[1], value)

    def read_item(self, start, end):
        t, item = self.t, texts(self.t[start:end])
        head = item[:next((k for k, x in enumerate(item) if x in ("(", "{", "=")), len(item))]
        if "__global__" in item and item[-1] == "}":
            if item[0] == "extern" and '"C"' not in head:
                raise self.refused(start, 'a kernel is declared extern but not "C"')
            self.items.append((start, end, len(self.device)))
            self.device.append((None, ""))
            self.in_kernel.update(range(start, end))
            return
        opening = self.parameters(start, end)
        if item[-1] == "}" and opening and not {"struct", "class", "union", "="} & set(head):
            body = close(t, opening, end)
            names = [p[-1].text if p else "" for p in parts_of(t, opening + 1, body - 1)]
            if item[body - start:body - start + 1] == ["{"] and item[body - start:][1:2] == ["return"] and item.count(";") == 1:
                self.formulas[t[opening - 1].text] = names, t[body + 2:end - 2]
            if "__device__" in head:
                self.devices[t[opening - 1].text] = names, t[body:end]
            if body < end and ("__device__" not in head or "__host__" in head):
                self.functions.append(SimpleNamespace(name=t[opening - 1].text, at=opening - 1, params=names,
                                                      body=range(body, end)))
        if head[:1] == ["typedef"] and "{" not in item:
            self.add_type(item[-2], t[start + 1:end - 2])
        elif head[:1] == ["using"] and "{" not in item:
            self.add_type(item[1], t[start + 3:end - 1])
        if "enum" in head and "{" in item:
            inner = start + len(head) + 1
            values = [part for part in parts_of(t, inner, close(t, inner - 1) - 1) if part]
            for k, part in enumerate(values):
                self.add_variable(part[0].text, part[2:] or tokens_of(str(k), part[0].at), start)
            self.add_type(item[-2] if head[0] == "typedef" else head[-1], [Token("name", "int", t[start].at)])
        constant = "const" in head and self.type_of(t[start:start + len(head) - 1]) and "[" not in head
        if constant or {"__device__", "__constant__", "struct", "typedef", "using", "constexpr", "enum", "namespace"} & set(head):
            self.keep(start, end, head[-1] if constant and "," not in item else None)

    def parameters(self, start, end):
        """The bracket of a function's parameters: the first that does not belong to an attribute. None: there is no such."""
        t, i = self.t, start
        while i < end and t[i].text not in ("{", "="):
            if t[i].text == "(":
                if t[i - 1].text not in ("__launch_bounds__", "__attribute__"):
                    return i if t[i - 1].kind == "name" else None
                i = close(t, i, end) - 1
            i += 1
        return None

    def type_of(self, tokens):
        marks = ("const", "static", "constexpr", "volatile", "extern", '"C"', "inline")
        return self.types.get(" ".join(x.text for x in tokens if x.text not in marks))

    def add_type(self, name, tokens):
        """A second meaning of the name makes it unknown: which one holds depends on macros that are not read."""
        kind = self.type_of(tokens)
        if kind:
            self.types[name] = kind if self.types.get(name, kind) == kind else None

    # --- kernels: a template is written as the instances that are launched ---

    def read_kernel(self, start, end, place):
        t, first, kinds = self.t, start, None
        if t[start].text == "template":
            first = self.angle(start + 1, 1) + 1
            kinds = parts_of(t, start + 2, first - 1)
        opening = self.parameters(first, end)
        if opening is None:
            raise self.refused(start, "a kernel's declaration cannot be read: expected `__global__ void name(…) { … }`")
        name, uses = t[opening - 1].text, [({}, t[opening - 1].text)]
        if kinds is not None:
            uses = self.instances(start, name, [texts(k) for k in kinds])
        code, body = "", close(t, opening, end)
        for meaning, instance in uses:
            def put(text, meaning={**meaning, name: instance}):
                return re.sub(r"\w+", lambda m: meaning.get(m[0], m[0]), text, flags=re.A)
            code += "" if '"C"' in texts(t[first:opening]) else 'extern "C" '
            for a, b in zip(t[first:first + 1] + t[first:end], t[first:end]):
                code += self.text[a.at + len(a.text):b.at] + (put(b.text) if b.kind in ("name", "directive") else b.text)
            code += "\n"
            params = [self.read_param([y for x in p for y in tokens_of(put(x.text), x.at)], t[body:end])
                      for p in parts_of(t, opening + 1, body - 1)]
            if any(re.search(r"(Texture|Surface)Object_t$", p.type_text) for p in params):
                raise self.refused(start, "a kernel takes a texture, which contexts do not have: write it with arrays")
            self.kernels.append(SimpleNamespace(name=instance, body=body, params=params))
        self.device[place] = None, code

    def angle(self, i, step):
        """The `>` that ends a template's list at i, or, with step -1, the `<` that starts it."""
        t, depth = self.t, 0
        while 0 <= i < len(t):
            depth += (t[i].text == "<") - (t[i].text == ">") - 2 * (t[i].text == ">>")
            if depth == 0:
                return i
            i += step
        return 0 if step < 0 else len(t) - 1

    def instances(self, start, name, kinds):
        """The instances of a template that are launched: what its parameters stand for in each, and its name."""
        t, found = self.t, {}
        for i in range(1, len(t)):
            opening = self.angle(i - 1, -1) if t[i].text == "<<<" and t[i - 1].text == ">" else i
            if t[i].text != "<<<" or t[opening - 1].text != name or i in self.hidden:
                continue
            args, meaning = parts_of(t, opening + 1, i - 1), {}
            for k, kind in enumerate(kinds):
                given, _, default = " ".join(kind).partition(" = ")
                arg = args[k] if k < len(args) else tokens_of(default, t[i].at)
                value = self.whole(arg)
                if value is None and not self.type_of(arg) and texts(arg) not in (["true"], ["false"]):
                    raise self.refused(start, f"a kernel is a template, and {self.place(i)} does not say its {given}: write the "
                                              "instance to tune as a plain kernel")
                meaning[given.split()[-1]] = " ".join(texts(arg)) if value is None else str(value)
            self.templates[i] = "_".join([name] + [re.sub(r"\W+", "_", v) for v in meaning.values()])
            found[self.templates[i]] = meaning
        if not found:
            self.unread = self.unread or self.refused(start, "a kernel is a template: write the instance to tune as a plain kernel")
        return [(meaning, instance) for instance, meaning in found.items()]

    def read_param(self, tokens, body):
        p = SimpleNamespace(name="", pointer=False, constant=False, read=False, written=False, handed_on=False, default=None,
                            lanes=1)
        words, to = [], find(tokens, 0, len(tokens), "=")
        if to < len(tokens):
            tokens, p.default = tokens[:to], tokens[to + 1:]
        while tokens and tokens[-1].text == "]":  # `float x[]` is a pointer
            p.pointer, tokens = True, tokens[:next((i for i, x in enumerate(tokens) if x.text == "["), 0)]
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
                words.append(x)
        p.type_text, p.type = " ".join(texts(words)), self.type_of(words)
        if p.pointer:
            kind, _, lanes = (p.type or "").partition("x")
            p.type, p.lanes = kind or None, int(lanes or 1)
            use = Use(p.name, body, self.devices)
            p.read, p.written, p.handed_on = use.read, use.written, use.handed_on
        elif p.type not in BYTES:
            p.type = None
        return p

    # --- variables: what a name means where it stands ---

    def add_variable(self, name, value, i, macro=False, scope=None, sets=False, bound=False, part=False):
        """value: tokens, or None where it cannot be read. sets: an assignment; it is certain only where its block contains the use."""
        at, block = self.t[i].at, self.scope(i)
        if sets and self.t[i - 1].text in (")", "else"):
            block = at, at
        scope = (0, len(self.text)) if macro else scope or (self.function(at) if sets else block)
        self.variables.setdefault(name, []).append(SimpleNamespace(value=value, at=at, macro=macro, scope=scope, block=block,
                                                                   sets=sets, bound=bound, part=part))

    def scope(self, i):
        """From where to where a name is known that is declared at i, as places in the text."""
        t, i = self.t, self.around[i]
        while i >= 0 and t[i].text != "{":
            if t[i].text == "(" and t[i - 1].text == "for":
                return t[i].at, t[governed(t, i - 1).stop - 1].at
            i = self.around[i]
        return (t[i].at, t[close(t, i) - 1].at) if i >= 0 else (0, len(self.text))

    def function(self, at):
        """From where to where the function around a place in the text reaches."""
        for f in self.functions:
            if self.t[f.at].at <= at <= self.t[f.body.stop - 1].at:
                return self.t[f.body.start].at, self.t[f.body.stop - 1].at
        return 0, len(self.text)

    def read_variables(self):
        """`int n = 1024, m = n;`, `dim3 block(16, 16), grid(n / 16, n / 16);`, `grid = dim3(n);`, and what changes a variable:
        `n *= 2`, `f(&n)`, `block.x = 8`."""
        t = self.t
        for i in range(1, len(t) - 2):
            before, after, start = t[i - 1], t[i + 1].text, t[self.around[i]].text if self.around[i] >= 0 else "{"
            if t[i].kind != "name" or before.text in (".", "->") or i in self.in_kernel:
                continue
            outside = self.around[i] < 0 and after in (";", ",", "=", "[")
            self.places.setdefault(t[i].text, set()).add((0, len(self.text)) if outside else self.function(t[i].at))
            begins = start == "{" and (before.text in (";", "{", "}", ")", "else") or before.kind == "directive")
            typed = before.kind == "name" or before.text in ("*", "&") and t[i - 2].kind == "name"
            listed = start == "(" and t[self.around[i] - 1].text != "for" or self.around[i] < 0 and t[i - 2].text in ("<", ",")
            if before.text == "dim3" and after in ("(", "{"):
                name = i
                while name + 1 < len(t) and t[name].kind == "name" and t[name + 1].text in ("(", "{"):
                    end = close(t, name + 1)
                    self.add_variable(t[name].text, [before] + t[name + 1:end], name)
                    if end >= len(t) or t[end].text != ",":
                        break
                    name = end + 1
            elif after == "=" and not listed and (typed or before.text == "," or begins or start == "("):
                end = find(t, i + 2, len(t), ";")
                value = t[i + 2:find(t, i + 2, end, ",")]
                if before.text == "dim3" and not texts(value[:1]) == ["dim3"]:
                    value = [before, Token("sign", "(", before.at), *value, Token("sign", ")", before.at)]
                if any(x.text in ("float", "double") for x in t[max(0, i - 3):i]) and len(value) == 1 and re.fullmatch(r"\d+", value[0].text):
                    value = [value[0]._replace(text=value[0].text + ".0")]
                self.add_variable(t[i].text, value, i, sets=begins)
            elif begins and (after in IN_PLACE or after in ("<<", ">>") and t[i + 2].text == "="):
                self.add_variable(t[i].text, None, i, sets=True)
            elif begins and after == "." and t[i + 3:] and t[i + 3].text == "=":
                self.add_variable(t[i].text, t[i + 4:find(t, i + 4, len(t), ";")], i, sets=True, part=True)
            elif before.text in ("++", "--") and start == "{":
                self.add_variable(t[i].text, None, i, sets=True)
            elif before.text == "&" and start == "(" and t[i - 2].text in ("(", ",") and after in (",", ")"):
                callee = t[self.around[i] - 1].text
                if callee not in ALLOCATIONS and "MemcpyToSymbol" not in callee:
                    self.add_variable(t[i].text, None, i, sets=True)

    def read_conditions(self):
        """What never runs: a branch whose condition is a constant."""
        t, self.never = self.t, set()
        for i, x in enumerate(t):
            if x.text == "if" and x.kind == "name" and i not in self.in_kernel:
                body = governed(t, i)
                value, other = self.value(t[i + 2:body.start - 1]), body.stop + (t[body.stop - 1].text != "}")
                self.never.update(body if value in (0, False) and value is not None else
                                  governed(t, other) if value is not None and texts(t[other:other + 1]) == ["else"] else ())
        self.hidden = self.in_kernel | self.never

    def read_calls(self):
        """A parameter of a function that is called once means what that call gives."""
        t = self.t
        for f in self.functions:
            calls = []
            for i, x in enumerate(t):
                if x.text == f.name and x.kind == "name" and i != f.at and i not in f.body and self.around[i] >= 0:
                    opening = i + 1 if t[i + 1].text != "<" else self.angle(i + 1, 1) + 1
                    if t[opening].text == "(":
                        calls.append(parts_of(t, opening + 1, close(t, opening) - 1))
            for k, name in enumerate(f.params):
                values = {" ".join(texts(args[k])): args[k] for args in calls if k < len(args)}
                same = len(values) == 1
                self.add_variable(name, [*values.values()][0] if same else None, f.at, bound=same if calls else None,
                                  scope=(t[f.body.start].at, t[f.body.stop - 1].at))

    def variable(self, x):
        """What the word means where it stands; the value is None where it cannot be told. None: it is no variable."""
        if (x.text, x.at) not in self.meant:  # a value may mention the word itself, before
            self.meant[x.text, x.at] = None
            self.meant[x.text, x.at] = self.find_variable(x)
        return self.meant[x.text, x.at]

    def find_variable(self, x):
        seen = [v for v in self.variables.get(x.text, []) if v.scope[0] <= x.at <= v.scope[1] and (v.at < x.at or v.macro)]
        found = max((v for v in seen if not v.sets), key=lambda v: (v.scope[0], v.at), default=None)
        if found and any(v.scope == found.scope and texts(v.value or []) != texts(found.value or []) for v in seen if not v.sets):
            return self.unknown(found)
        for v in reversed([v for v in seen if v.sets and (not found or v.at > found.at)]):
            certain = v.block[0] <= x.at <= v.block[1]
            if certain and v.value is not None and not v.part:
                return SimpleNamespace(**{**vars(v), "scope": found.scope if found else v.scope})
            # `int n = 64; if (argc > 1) n = atoi(argv[1]);`: 64 is the file's own value.
            if certain or v.value is None or self.value(v.value) is not None:
                return self.unknown(found or v)
        return found

    def unknown(self, v):
        return SimpleNamespace(**{**vars(v), "value": None, "bound": False})

    def scalar(self, x):
        """The tokens of a number's value, or None."""
        v = self.variable(x)
        return v.value if v and v.value and v.value[0].text != "dim3" else None

    def origin(self, x):
        """A parameter's word in the function that gives it: "d_a" of `run(d_a, n)` for the parameter a."""
        for _ in range(DEEP):
            v = self.variable(x)
            if not v or not v.bound or not is_word(uncast(v.value)):
                break
            x = uncast(v.value)[0]
        return x

    def key(self, x):
        """The name of what the word means: two functions may use one word for different things."""
        x = self.origin(x)
        v, places = self.variable(x), self.places.get(x.text, set())
        whole, homes = (0, len(self.text)), places | {w.scope for w in self.variables.get(x.text, []) if not w.sets}
        home = whole if v and v.bound is None or not v and whole in places else v.scope if v else self.function(x.at)
        return x.text if len(homes) < 2 or home == whole else f"{x.text}@{home[0]}"

    # --- memory and launches ---

    def read_memory(self):
        t, managed = self.t, ("cudaMallocManaged", "hipMallocManaged")
        for i, x in enumerate(t[:-1]):
            args = parts_of(t, i + 2, close(t, i + 1) - 1) if x.kind == "name" and t[i + 1].text == "(" else []
            words = [self.key(a[0]) if is_word(a) else None for a in map(uncast, args[:2])] + [None, None]
            if x.text in ALLOCATIONS and words[0] and len(args) > 1:
                same = self.buffers.setdefault(words[0], args[1])
                if texts(same) != texts(args[1]):
                    self.buffers[words[0]] = []  # allocated twice, with different sizes
            if x.text in managed:
                self.fetched.add(words[0])  # the host reads it where it is
            elif re.fullmatch(r"(cuda|hip)Memcpy(Async)?", x.text):
                self.fetched.add(words[1])
            elif re.fullmatch(r"(cuda|hip)Memset(Async)?", x.text) and len(args) > 1 and self.value(args[1]) == 0:
                self.zeroed.add(words[0])

    def read_launches(self):
        t = self.t
        for i in range(1, len(t) - 1):
            name = self.templates.get(i, t[i - 1].text) if t[i].text == "<<<" and i not in self.hidden else None
            kernel = next((k for k in self.kernels if k.name == name), None)
            end = close(t, i) if kernel else len(t)
            if end < len(t) and t[end].text == "(":
                given = parts_of(t, i + 1, end - 1)[:3] + [[], [], []]
                args = parts_of(t, end + 1, close(t, end) - 1)
                args += [p.default for p in kernel.params[len(args):] if p.default]
                self.launches.append(SimpleNamespace(kernel=kernel, grid=given[0], block=given[1], shared=given[2], args=args))

    def extent(self, given):
        """The parts of a grid or block: the arguments of a dim3, else the one expression."""
        for _ in range(DEEP):
            given = uncast(given)
            v = self.variable(given[0]) if is_word(given) else None
            if len(given) > 2 and given[0].text == "dim3" and given[1].text in ("(", "{"):
                return parts_of(given[2:-1])[:3]
            if v and v.value and not v.macro and (v.value[0].text == "dim3" or
                                                  v.bound and self.scalar(self.origin(given[0])) is None):
                given = v.value
            elif len(given) > 2 and given[0].text in self.formulas and close(given, 1) == len(given):
                given = self.expand(given)
            else:
                break
        return [given] if given else []

    def bytes(self, host):
        """The bytes of an allocation, looked up where a variable holds them: `size_t bytes = …`."""
        given = self.buffers[host]
        for _ in range(DEEP):
            value = self.scalar(given[0]) if is_word(given) else None
            if not value:
                break
            given = value
        return given

    def factors(self, t, depth=0):
        """The factors of a product; a sum is one."""
        t = uncast(t)
        parts = parts_of(t, sign="*")
        if len(parts) > 1 and not any(find(t, 0, len(t), sign) < len(t) for sign in "+-?"):
            return [y for part in parts for y in self.factors(part, depth)]
        value = self.scalar(t[0]) if is_word(t) else None
        return self.factors(value, depth + 1) if value and depth < DEEP and "sizeof" in texts(value) else [t] if t else []

    def expand(self, t):
        """The call of a macro or a function of one `return`, as what it returns."""
        params, body = self.formulas[t[0].text]
        args = {p: [Token("sign", "(", arg[0].at), *arg, Token("sign", ")", arg[0].at)]
                for p, arg in zip(params, parts_of(t, 2, len(t) - 1)) if arg}
        return [y for x in body for y in args.get(x.text, [x])]

    # --- C expressions as Lua, and their values ---

    SIGNS = {"+": " + ", "-": " - ", "/": " // ", "%": " % ", "!=": "~=", "&&": " and ", "||": " or ", ",": ", ",
             **{x: x for x in ("*", "<<", ">>", "&", "|", "<", ">", "<=", ">=", "==")}}

    def lua(self, t, names, depth=0):
        """Names by their meaning in the context, the host's variables by their values, C's division of integers as //."""
        if not t or depth > 4 * DEEP:
            raise Unknown(None)
        choice = find(t, 0, len(t), "?")
        if choice < len(t):
            other = find(t, choice, len(t), ":")
            a, b, c = (self.lua(part, names, depth + 1) for part in (t[:choice], t[choice + 1:other], t[other + 1:]))
            whether = a if set(texts(t[:choice])) & {"<", ">", "<=", ">=", "==", "!="} else f"{a} ~= 0"  # Lua's 0 is true
            return f"({whether}) and ({b}) or ({c})"
        out, i = [], 0
        while i < len(t):
            x, word = t[i], t[i].text
            end = close(t, i) if word == "(" else i + 1
            inner = t[i + 1:end - 1]
            if word == "(":
                if inner and self.type_of(inner) and end < len(t):  # a cast
                    out.append("1.0*" if texts(inner[-1:]) in (["float"], ["double"]) else "")
                else:
                    out.append(wrapped(self.lua(inner, names, depth + 1)))
            elif word in ("std", "::"):
                pass
            elif word == "static_cast":
                end = find(t, i, len(t), ">") + 1
                out.append("1.0*" if texts(t[end - 2:end - 1]) in (["float"], ["double"]) else "")
            elif x.kind == "name":
                end, text = self.lua_name(t, i, names, depth)
                out.append(text)
            elif x.kind == "number":
                fraction = not re.match("0[xX]", word) and re.search("[.eE]", word)
                out.append((word[0] + word[1:].rstrip("fFlL" if fraction else "uUlL")).replace("'", ""))
            elif x.kind == "sign" and word in self.SIGNS:
                out.append(self.SIGNS[word])
            else:
                raise Unknown(word)
            i = end
        return "".join(out)

    def lua_name(self, t, i, names, depth):
        """A name, a call or a member, and where it ends."""
        x, name, after = t[i], t[i].text, t[i + 1].text if i + 1 < len(t) else ""
        key = self.key(x)
        if after == ".":
            member = texts(t[i + 2:i + 3])[0] if t[i + 2:] else ""
            part = names.get(f"{key}.{member}") or names.get(f"{name}.{member}")
            v = self.variable(x)
            if part is None and v and v.value and member in ("x", "y", "z"):
                parts = self.extent([x])
                at = "xyz".index(member)
                part = "1" if at >= len(parts) else wrapped(self.lua(parts[at], names, depth + 1)) if parts[at] != [x] else None
            if part is None:
                raise Unknown(f"{name}.{member}")
            return i + 3, part
        if after == "(":
            end = close(t, i + 1)
            args = parts_of(t, i + 2, end - 1)
            if name == "sizeof":
                size = self.size_of(args[0]) if args else 0
                if not size:
                    raise Unknown("sizeof(…)")
                return end, str(size)
            if name in self.formulas and len(args) == len(self.formulas[name][0]):
                return end, wrapped(self.lua(self.expand(t[i:end]), names, depth + 1))
            if name in ("min", "max", "fmin", "fmax") and len(args) == 2:
                return end, f"{name[-3:]}({', '.join(self.lua(a, names, depth + 1) for a in args)})"
            if name == "pow" and len(args) == 2:
                return end, "(%s)^(%s)" % tuple(self.lua(a, names, depth + 1) for a in args)
            if name in ("ceil", "ceilf") and len(args) == 1:
                return end, self.lua_ceil(args[0], names, depth + 1)
            if name in self.types and len(args) == 1:  # int(x)
                return end, wrapped(self.lua(args[0], names, depth + 1))
            raise Unknown(name + "(…)")
        if after == "->":
            raise Unknown(name + "->" + "".join(texts(t[i + 2:i + 3])))
        if key in names or name in names:
            return i + 1, names.get(key) or names[name]
        value = self.scalar(x)
        if value and depth < DEEP:
            return i + 1, wrapped(self.lua(value, names, depth + 1))
        raise Unknown(name)

    def lua_ceil(self, t, names, depth):
        """ceil((float)n / b) rounds up; ceil(n / b) of integers has been rounded down before."""
        while t and t[0].text == "(" and close(t, 0) == len(t):
            t = t[1:-1]
        at, text = find(t, 0, len(t), "/"), self.lua(t, names, depth)
        if "." not in integral(text):
            if "." not in text or at == len(t):
                return integral(text)
            if all(find(t, 0, len(t), sign) == len(t) for sign in "+-") and find(t, at + 1, len(t), "/") == len(t):
                return "cdiv(%s, %s)" % tuple(integral(self.lua(part, names, depth)) for part in (t[:at], t[at + 1:]))
        raise Unknown("ceil(…)")

    def size_of(self, tokens):
        kind, _, lanes = (self.type_of(tokens) or "").partition("x")
        return 8 if texts(tokens[-1:]) == ["*"] else BYTES.get(kind, 0) * int(lanes or 1)

    def value(self, t, names=None):
        """The value of a constant expression; names: numbers that words stand for, as texts. None: it is not constant."""
        try:
            text = self.lua(t, names or {}).replace("~=", "!=").replace("^", "**")
            return evaluate(ast.parse(text.strip(), mode="eval").body)
        except (Unknown, ValueError, SyntaxError, ArithmeticError, TypeError, KeyError, RecursionError, MemoryError):
            return None

    def whole(self, t, names=None):
        v = self.value(t, names)
        return None if v is None or isinstance(v, bool) or v != v // 1 else int(v)


OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Mod: operator.mod,
             ast.FloorDiv: lambda a, b: a // b if type(a) is type(b) is int else a / b,
             ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.Lt: operator.lt, ast.Gt: operator.gt, ast.LtE: operator.le,
             ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.USub: operator.neg, ast.UAdd: operator.pos,
             ast.Pow: lambda a, b: int(float(a) ** b) if float(a) ** b % 1 == 0 else float(a) ** b,
             ast.LShift: lambda a, b: a << b if 0 <= b < 64 else 0, ast.RShift: lambda a, b: (a % 2**64) >> b if 0 <= b < 64 else 0}

CALLED = {"min": min, "max": max, "cdiv": lambda a, b: -(-a // b)}


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
    elif isinstance(x, ast.Call) and isinstance(x.func, ast.Name) and x.func.id in CALLED and not x.keywords:
        v = CALLED[x.func.id](*(evaluate(a) for a in x.args))
    else:
        raise ValueError
    return (v + 2**63) % 2**64 - 2**63 if type(v) is int else v
