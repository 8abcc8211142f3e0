"""Draft: writes the context that launches what a CUDA or HIP file launches. draft_read.py stands before this and reads it.

core/problems/draft.c runs this with one line of JSON on stdin: source, backend, declared lines, and names that contexts reserve. It
answers with the context's text, questions and notes, and the values that the file gives. Once nothing is asked, it is called again
with the plan that the context's host code makes there, and compares it with the file's launches. What cannot be read becomes a
question, and what a context cannot express becomes a note with its line, never a silent loss.
"""
import json
import struct
import sys

DIFFERENCES_MAX = 8
# What device code has from <cfloat>, <climits>, <cmath> and <cstdint>, which NVRTC and hiprtc do not have.
STANDARD = {"FLT_MAX": "3.402823466e+38f", "FLT_MIN": "1.175494351e-38f", "FLT_EPSILON": "1.192092896e-7f",
            "DBL_MAX": "1.7976931348623158e+308", "DBL_MIN": "2.2250738585072014e-308", "DBL_EPSILON": "2.2204460492503131e-16",
            "INT_MAX": "2147483647", "INT_MIN": "(-2147483647 - 1)", "UINT_MAX": "4294967295u", "M_PI": "3.14159265358979323846",
            "INFINITY": "__int_as_float(0x7f800000)", "NAN": "__int_as_float(0x7fffffff)", "uint": "unsigned int",
            "int8_t": "signed char", "uint8_t": "unsigned char", "int16_t": "short", "uint16_t": "unsigned short", "int32_t": "int",
            "uint32_t": "unsigned int", "int64_t": "long long", "uint64_t": "unsigned long long"}


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
        self.words = {}  # where such a name stands
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
            name=name, host=host, lanes=p.lanes, array=p.pointer, type=p.type, type_text=p.type_text, read=p.read,
            written=p.written, unsure=p.handed_on and not p.constant, scratch=False, declared=False, value=list(value), line=None)
        return self.entries[name]

    def own_value(self, x):
        """The value that the file itself gives to a scalar."""
        if x.value:
            return self.s.value(x.value)
        value = self.s.scalar(self.words[x.host]) if x.host in self.words else None
        return self.s.value(value) if value else None

    # --- what stands under inputs:, and scratch memory ---

    def name_declared(self):
        """Names that only the host's code has ("rows: int = {1024}") become inputs before the launches are read."""
        s = self.s
        params = {p.name for k in s.kernels for p in k.params}
        host = {x.text: x for i, x in reversed(list(enumerate(s.t))) if x.kind == "name" and i not in s.in_kernel}
        for (kind, name), line in self.declared.items():
            # "NAME: int = …" and "NAME: out f32[…]" begin with a role or a type; lines of tune: do not.
            typed = re.match(r"\w+[ \t]*:[ \t]*(?:(?:out|inout)[ \t]*\b)*(\w*)", line, re.A)
            if (s.launches and not kind and typed and (typed[1] in BYTES or typed[1] in ("int", "float", "double", "half")) and
                    name not in params and (name in host or name in s.variables)):
                p = SimpleNamespace(pointer="[" in line, type="i32", type_text="", read=False, written=False, handed_on=False,
                                    constant=False, lanes=1)
                self.add_entry(name, name, p)
                self.names.setdefault(name, name)
                if name in host:
                    self.words[name] = host[name]

    def derived(self, x, all_):
        """An integer that the file computes from other scalars: `int n = rows * cols;` with a constant `cols` is "rows*512". Those
        scalars must be declared or, with all_, may be any that the file leaves open."""
        value = self.s.scalar(self.words[x.host]) if x.host in self.words else x.value or None
        if value is None or x.type in ("f16", "bf16", "f32", "f64"):
            return None
        others = {}
        for host, name in self.names.items():
            other = self.entries.get(name)
            if other and other is not x and not other.array and (("", name) in self.declared
                                                                 or (all_ and self.own_value(other) is None)):
                others[host] = name
        try:
            text = self.s.lua(value, others) if others else "."
        except Unknown:
            return None
        return None if "." in text else text  # C and Lua divide fractions differently

    def extents(self, x):
        """"n, m" of n * m * sizeof(float): the factors but the element's size. None where the product cannot be read."""
        if x.host not in self.s.buffers:
            return None
        size, lanes, out, tail = BYTES[x.type], x.lanes, [], None
        names = {host: name for host, name in self.names.items() if name not in self.tune}  # inputs know no tuning parameters
        for factor in self.s.factors(self.s.bytes(x.host)):
            value = self.s.value(factor)
            if tail is None and value in (size, size * lanes):
                tail = [] if value == size else [str(lanes)]
                continue
            try:
                out.append(self.s.lua(factor, names))
            except Unknown:
                return None
        if tail is None and size > 1:  # a number of bytes
            total = self.s.whole(self.s.bytes(x.host))
            return str(total // size) if total and total % size == 0 else None
        return ", ".join(out + (tail or []) or ["1"])

    def write_array(self, x):
        n, kind, size = x.name, x.type, self.extents(x)
        role = "inout " if x.written and x.read else "out " if x.written else ""
        local = self.take("local", n) if x.scratch else None
        if local:
            x.line = local + "\n"
        elif x.scratch and size is None:
            self.questions.append(f"{n}: how many elements does this intermediate result have? Allocate it in the file, cudaMalloc(&{x.host.split('@')[0]}, "
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
            x.line = f"  {n}: {role}{kind}[{size}]{'' if role == 'out ' else ' = zeros closed' if x.host in self.s.zeroed else ' = random'}\n"
            if role == "out ":
                self.notes.append(f"{n} is only written, so it is out; if kernels leave elements as they were (a border), declare it inout")
            if role == "inout ":
                self.notes.append(f"{n} is read and written, so it is inout; if a kernel only writes it, declare it out")

    def write_scalar(self, x):
        kind, value = "int" if x.type == "i32" else x.type, self.own_value(x) if x.value else None
        if value is not None:
            whole = x.type[0] in "iu" and value % 1 == 0
            x.line = f"  {x.name}: {kind} = {int(value) if whole else digits(value, x.type == 'f32')}\n"
        elif (text := self.derived(x, False)) is not None:
            x.line = f"  {x.name}: {kind} = {text}\n"
            self.notes.append(f"{x.name} is computed as in the file: {text}")
        elif (text := self.derived(x, True)) is not None:
            self.notes.append(f"{x.name} will be computed as in the file: {text}")  # once the numbers asked for are known
        else:
            self.questions.append(f'{x.name}: which values? The file does not say: declare "{x.name}: {kind} = {{1024, 2048}}"')

    def write_inputs(self):
        for x in self.entries.values():
            line = self.take("", x.name)
            x.scratch = x.scratch and line is None and x.host in self.s.buffers and x.host not in self.s.fetched
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
        word = uncast(arg) if p.pointer else arg
        if p.pointer and texts(word) in (["NULL"], ["nullptr"], ["0"]):
            self.questions.append(f"a launch gives no array for {p.name}, and contexts have no null pointers: write the kernel without it")
        host, value = self.s.key(word[0]) if is_word(word) else "", None if p.pointer else self.s.value(arg)
        if not host and value is not None:
            host = f"{p.name} = {value}"  # one input for one constant, however many launches give it
        x = self.entries.get(self.names.get(host) or is_word(word) and self.names.get(word[0].text))
        if x is None:
            name = self.free_name(p.name)
            if host:
                self.names.setdefault(host, name)
            if is_word(word):
                self.words[host] = self.s.origin(word[0])
            return self.add_entry(name, host, p, arg).name
        # Written by one kernel and read by a later one: an intermediate result, unless the host fetches it.
        x.scratch |= x.written and not x.read and p.read and not p.written
        x.read |= p.read and not x.written
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
        host, kernel = self.s.key(part[0]) if is_word(part) else "", launch.kernel.name
        v, value = self.s.variable(self.s.origin(part[0])) if host else None, self.s.whole(part)
        kept = {name for name, _ in self.s.device} if v else self.s.undefined  # those may be macros of a header that is not here
        macro = bool(host) and part[0].text in kept and (v is None or v.scope == (0, len(self.s.text)))
        if value == 1 and not macro:
            name = "1"
        else:
            before = len(self.tune)
            name = self.tune_name(part[0].text if macro else "B" + "XYZ"[axis], host, value)
            if self.tune[name].line is None and len(self.tune) > before:
                self.questions.append(f'the size of a block of {kernel} is not a constant: declare "{name}: {{128, 256}}" with its values, '
                                      f'or all of the block with "local {kernel}_block = {{…}}"')
            if host:
                self.names.setdefault(host, name)
                self.words.setdefault(host, self.s.origin(part[0]))
            if macro:
                self.dropped.add(host)
        if len(launch.block) == 1:  # `block.x` in a grid means the block's own size
            self.names.setdefault(f"{self.s.key(launch.block[0])}.{'xyz'[axis]}", name)
        return name

    def write_grid(self, launch):
        parts, local, kernel = self.s.extent(launch.grid), self.local_name(launch, "grid"), launch.kernel.name
        try:
            if not parts:
                raise Unknown(None)
            own = "{" + ", ".join(integral(self.s.lua(p, self.names)) for p in parts) + "}"
            self.take("local", local)  # what the file explains needs no line, and a line cannot change it
            return own
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
        for kind, name in self.declared:  # a constant of a header that is not here
            if not kind and name in self.s.undefined and name not in self.entries:
                self.names[name] = self.tune_name(name, "", None)
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
        first = self.s.launches[0].kernel if self.s.launches else self.s.kernels[0]
        device = "".join(text for name, text in self.s.device if name not in self.dropped)
        words = set(re.findall(r"\w+", device, re.A)) - {name for name, _ in self.s.device}
        words -= {name for names in re.findall(r"typedef[^;]*?(\w+)\s*;|using\s+(\w+)", device) for name in names}
        standard = [f"typedef {value} {name};\n" if name in TYPES else f"#define {name} {value}\n"
                    for name, value in STANDARD.items() if name in words]
        return "".join(
            ["---\n", f"kernel: {first.name}\nbackend: {self.backend}\ninputs:\n", *(x.line for x in inputs),
             "tune:\n" if self.tune else "", *(x.line or "" for x in self.tune.values()), f"---\n```{self.backend}\n",
             *standard, device, "```\n```macros\n```\n```lua host\n",
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
            value = self.s.scalar(draft.words[host]) if host in draft.words else None
            if not (value and self.s.value(value) is not None) and (name in plan["params"] or name.isdigit()):
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
        word = uncast(arg)
        if not is_word(word):
            return self.unknown.append(f"which array {p.name} of {kernel} is")
        host, index = self.s.key(word[0]), here["buffer"]
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
        d.notes.append(f"{s.place(i)}: not in the draft: {what}")

    for i in range(1, len(t)):
        if t[i].text != "<<<":
            continue
        kernel = s.templates.get(i, t[i - 1].text)
        if i in s.in_kernel or i in s.never:
            lost(i, "a launch by a kernel, which contexts do not have" if i in s.in_kernel else "a launch whose condition is false")
            continue
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
            d.notes.append(f"{s.place(i)}: {x.text} adds to memory: results may depend on the order, and its array needs its starting "
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
