#!/usr/bin/env python3
"""House rules that a machine can hold (DESIGN's layers, prefixes, globals, lengths): `make check-source` runs it.

check-source.py [--objects BUILD] ROOT reads every file below ROOT; with --objects also what the compiled objects define.
One line a finding, PATH:LINE: what is wrong and what to do; exit status 1 when there is any. check-source.t plants each
violation and sees it refused. The tables below are the law: an exception is one entry here, with its reason.
"""
import argparse
import collections
import os
import re
import subprocess
import sys

# Folders in which C lives; each is a layer that may include itself and the layers listed for it.
LAYERS = {
    "base": (),
    "mcp": ("base/",),
    "backends": ("base/",),
    "core": ("base/", "backends/wire/", "backends/values/fill.h"),  # the oracle's inputs are filled in the daemon
    "daemon": ("base/", "core/", "mcp/", "backends/worker/worker.h"),
}
# core's rooms, top to bottom: each includes itself and those below. Sub-rooms count as their parent.
CORE_ORDER = ("core/jobs", "core/problems", "core/optimize", "core/transform", "core/tune", "core/search", "core/measure",
              "core/knowledge", "core/advise", "core/selftest", "core/judge", "core/workers",
              "core/record", "core/context")
VENDORS = ("cuda", "hip", "hlsl")  # backends/VENDOR never includes another vendor
GENERATED = {"embedded_files.h": ("base/embedded.c",), "judge_kernels.h": ("backends/gpu/",)}
# Which files may include a library's headers, by the start of their path.
LIBRARIES = (
    (r"(vulkan|glslang|SPIRV|spirv|spirv-tools|dxc|hip|hsa|rocm_smi)/|cuda|nvrtc|nvml|cupti", ("backends/",)),
    (r"jansson\.h", ("base/layout", "daemon/", "mcp/", "core/transform/llm", "core/transform/replay", "core/judge/external",
                     "core/judge/oracle",
                     "core/search/simulate", "core/jobs/", "core/problems/draft")),
    (r"sqlite3\.h", ("core/record/",)),
    (r"curl/", ("core/transform/llm", "daemon/")),
    (r"microhttpd\.h", ("mcp/", "daemon/")),
    (r"(lua|lauxlib|lualib)\.h", ("core/context/",)),
    (r"seccomp\.h", ("backends/",)),
    (r"systemd/", ("daemon/",)),
    (r"zlib\.h", ("base/buf",)),
    (r"nettle/", ("base/hash", "mcp/")),  # hashes; base64 of MCP's binary content
)
# File = prefix. Further names that a room's files may export; {stem} is the file's name.
PREFIXES = {
    "backends/gpu": ("gpu_",),
    "backends/cuda": ("cuda_", "backend_cuda"),
    "backends/hip": ("hip_", "backend_hip"),
    "backends/hlsl": ("hlsl_", "backend_hlsl"),
    "core/search": ("search_{stem}",),
    "mcp": ("mcp_{stem}",),
    "daemon/tools": ("tool_{stem}", "tools_{stem}"),
}
EXPORTS = {
    ("daemon/main.c", "main"),
    ("backends/hlsl/object.c", "kDefaultMaxIdBound"),  # defined by spirv-tools' own header
}
GLOBALS = {
    ("base/log.c", "level_now"),  # the log level
    ("base/lock.c", "held"),      # thread-local: which ranks this thread holds
    ("daemon/serve.c", "signal_fd"),
}
# everything else has its own .h, x_y.c shares x.h, or
HEADERLESS = ("daemon/main.c", "daemon/tools/", "daemon/verbs/")
# its room has one header for what only its own files call
ROOM_HEADERS = {"mcp": "inner.h", "backends/cuda": "cuda.h", "backends/gpu": "gpu.h", "backends/hip": "hip.h",
                "backends/hlsl": "hlsl.h",
                "backends/worker": "runs.h", "backends/sandbox": "sandbox.h", "backends/timing": "measure.h"}
FUNCTION_MAX, FILE_WARN, FILE_MAX, FOLDER_MAX, PARAMETERS_MAX, FIELDS_MAX = 100, 500, 700, 40, 7, 20
TERMS_MAX = 40  # of docs/glossary.md: who knows GPUs and English needs no dictionary
WIDTH_MAX = 132  # .clang-format's ColumnLimit
LONG_TEXT = re.compile(r"""'[^']{38,}'|"(?:[^"\\]|\\.){38,}\"""")
CALLBACKS = {("mcp/http.c", "on_access")}  # parameters as a library calls them
SKIPPED = re.compile(r"^(\.git|build(-.*)?|node_modules|__pycache__)$")
UNREAD = ("tests/source/check-source.py", "tests/source/check-source.t", "compile_commands.json")
TEXT = re.compile(r"\.(c|cc|h|py|sh|t|js|mjs|ts|pl|sql|json|md|service|lua|hlsl|cu|yml|yaml)$|(^|/)(Makefile|run)$")
WORDS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|not yet implemented|/[*/] *[Ss]tub\b")
PATHS = re.compile(r"(?<![\w.~-])/(work|home)/")
SQL = re.compile(r'"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|REPLACE|ALTER|DROP|WITH)\s')
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def room_of(path):
    return os.path.dirname(path)


def stems_of(path):
    """x_y.c belongs to x: both x and x_y."""
    parts = os.path.splitext(os.path.basename(path))[0].split("_")
    return ["_".join(parts[:i]) for i in range(1, len(parts) + 1)]


def in_layers(path):
    return path.split("/")[0] in LAYERS


def core_rank(path):
    room = room_of(path)
    while room not in CORE_ORDER:
        if "/" not in room:
            return None
        room = os.path.dirname(room)
    return CORE_ORDER.index(room)


def layer_error(path, header):
    """Why the file may not include the project's header; None when it may."""
    layer = path.split("/")[0]
    if header in GENERATED:
        return None if path.startswith(GENERATED[header]) else f'"{header}" is for {", ".join(GENERATED[header])} only'
    if "/" not in header:
        return f'write "{room_of(path)}/{header}": includes start at the root'
    if not header.startswith((layer + "/",) + LAYERS[layer]):
        return f'{layer}/ may not include "{header}" (it sees {", ".join((layer + "/",) + LAYERS[layer])})'
    if layer == header.split("/")[0] == "core" and core_rank(header) < core_rank(path):
        return f'"{header}" lies above {room_of(path)}/: core\'s rooms look only down ({" > ".join(CORE_ORDER)})'
    if layer == header.split("/")[0] == "backends":
        mine, theirs = path.split("/")[1], header.split("/")[1]
        if mine in VENDORS and theirs in VENDORS and mine != theirs:
            return f'backends/{mine}/ may not include "{header}": vendors do not know each other'
    return None


def check_includes(path, lines):
    for number, line in enumerate(lines, 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        header = found.group(2)
        if found.group(1) == '"':
            why = layer_error(path, header)
            if why:
                yield number, why
            continue
        for pattern, allowed in LIBRARIES:
            if re.match(pattern, header) and not path.startswith(allowed):
                yield number, f"<{header}> is for {', '.join(allowed)} only"


def check_lengths(path, lines):
    if len(lines) > FILE_MAX:
        yield 1, f"{len(lines)} lines, want at most {FILE_WARN}: split it by topic"
    elif len(lines) > FILE_WARN:
        yield 1, f"warning: {len(lines)} lines, want about {FILE_WARN}"
    start = None
    for number, line in enumerate(lines, 1):
        # House style: a function's braces stand in column one (or its opening one behind the parameters).
        if line.rstrip() == "{" or re.match(r"^\w[^;=]*\)\s*\{\s*$", line):
            start = number
        elif line.startswith("}") and start:
            if number - start - 1 > FUNCTION_MAX:
                yield start, f"a function of {number - start - 1} lines, want at most {FUNCTION_MAX}"
            start = None


def check_width(path, lines):
    """C breaks a long text into several; Python may leave one in one line."""
    if not path.endswith((".c", ".h", ".cc", ".py")):
        return
    for number, line in enumerate(lines, 1):
        width = len(line.expandtabs(8))
        if width > WIDTH_MAX and not (path.endswith(".py") and LONG_TEXT.search(line)):
            yield number, f"{width} columns, want at most {WIDTH_MAX}: wrap it as clang-format does"


def check_parameters(path, lines):
    for found in re.finditer(r"^[a-z][\w *]*?\b(\w+)(\([^;{}]*\))\s*\{$", "\n".join(lines), re.M):
        depth, count = 0, 1
        for c in found.group(2):
            depth += (c == "(") - (c == ")")
            count += c == "," and depth == 1
        if count > PARAMETERS_MAX and (path, found.group(1)) not in CALLBACKS:
            number = found.string.count("\n", 0, found.start()) + 1
            yield number, f"{found.group(1)} has {count} parameters, want at most {PARAMETERS_MAX}: pass a struct"


def fields_of(body):
    """How many members a struct's text declares; a struct within it is one."""
    body = re.sub(r"/\*.*?\*/|//[^\n]*", "", body, flags=re.S)
    while "{" in body:
        body = re.sub(r"\{[^{}]*\}", "", body)
    while "(" in body:
        body = re.sub(r"\([^()]*\)", "", body)
    return sum(member.count(",") + 1 for member in body.split(";") if member.strip())


def check_structs(path, lines):
    text = "\n".join(lines)
    for found in re.finditer(r"^(?:static |const |typedef )*struct (\w+) \{$(.*?)^\}", text, re.M | re.S):
        count, above = fields_of(found.group(2)), text[:found.start()].rstrip("\n")
        reason = above[above.rfind("/*"):] if above.endswith("*/") else ""
        if count > FIELDS_MAX and not re.search(r"\bfields\b", reason):
            number = text.count("\n", 0, found.start()) + 1
            yield number, f"struct {found.group(1)} has {count} fields, want at most {FIELDS_MAX}: say at it why it has so many fields"


def check_shape(path, lines, names):
    if not lines or not lines[0].startswith("/*"):
        yield 1, "begin with a comment that says what the file is for and who calls it"
    if path.endswith(".c") and not path.startswith(HEADERLESS):
        own = [stem + ".h" for stem in stems_of(path)] + [ROOM_HEADERS.get(room_of(path), "")]
        if not any(os.path.join(room_of(path), header) in names for header in own):
            yield 1, f"{os.path.basename(path)} has no {os.path.basename(path)[:-1]}h"
    for number, line in enumerate(lines, 1):
        if path.endswith((".c", ".cc")) and SQL.search(line):
            yield number, "SQL lives in schema/: name the statement in schema/queries.sql"


def check_text(path, lines):
    terms = sum(line.startswith("| ") and not line.startswith(("| ---", "| term |")) for line in lines)
    if path == "docs/glossary.md" and terms > TERMS_MAX:
        yield 1, f"{terms} terms, want at most {TERMS_MAX}: use a word that needs no explanation"
    for number, line in enumerate(lines, 1):
        if not path.endswith((".md", ".json")) and (word := WORDS.search(line)):
            yield number, f"'{word.group()}': finish it, or say what is true now"
        if word := PATHS.search(line):
            yield number, f"'{word.group()}…' is a path of one machine: write it relative"


def symbols_of(obj):
    """(name, section, exported) of what an object defines."""
    # objdump: 8 or 16 digits, a blank, seven flag characters, a blank, section, TAB, size, name
    row = re.compile(r"^[0-9a-f]+ (.)(.)....(.) (\S+)\t[0-9a-f]+ (?:\.hidden )?(\S+)$")
    text = subprocess.run(["objdump", "-t", obj], check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        if not (m := row.match(line)) or m.group(4) in ("*UND*", "*ABS*"):
            continue
        # Functions and objects; thread-locals have no type letter, sections are named like themselves.
        if m.group(3) in "FO" or (m.group(4).startswith(".t") and m.group(5) != m.group(4)):
            yield m.group(5), m.group(4), m.group(1) == "g" and m.group(2) != "w"


def may_export(path, name):
    # A type and a list of it share a file: reference.c exports reference_* and references_*.
    own = [s for stem in stems_of(path) for s in (stem, stem + "s", stem.removesuffix("s"))]
    further = tuple(p.format(stem=stem) for p in PREFIXES.get(room_of(path), ()) for stem in own)
    return (path, name) in EXPORTS or name in own or name.startswith(tuple(p + "_" for p in own) + further)


def check_object(path, obj):
    if not os.path.exists(obj):
        yield 1, "is not compiled: name its folder in the Makefile's ROOMS"
        return
    for name, section, exported in symbols_of(obj):
        plain = re.sub(r"\.\d+$", "", name)  # statics of functions carry a number
        if exported and not may_export(path, name):
            yield 1, f"exports {name}: call it {os.path.splitext(os.path.basename(path))[0]}_… or make it static"
        writable = re.match(r"\.(data|bss|tdata|tbss)\b|\*COM\*", section) and not section.startswith(".data.rel.ro")
        if writable and not plain.startswith(("__", "DW.ref.")) and (path, plain) not in GLOBALS:
            yield 1, f"{plain} is a mutable global: put it into a struct that somebody owns, or make it const"


def files_below(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if not SKIPPED.match(f))
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), root)
            if TEXT.search(path) and path not in UNREAD and not os.path.islink(os.path.join(root, path)):
                yield path


def crowded_folders(names):
    """A folder of more than FOLDER_MAX C files holds more than one subject."""
    counts = collections.Counter(room_of(n) for n in names if in_layers(n) and n.endswith((".c", ".h", ".cc")))
    for folder, count in sorted(counts.items()):
        if count > FOLDER_MAX:
            yield folder, 1, f"{count} files, want at most {FOLDER_MAX}: split the room by subject"


def findings(root, objects):
    names = list(files_below(root))
    yield from crowded_folders(names)
    for path in names:
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
            lines = f.read().splitlines()
        checks = [check_text(path, lines), check_width(path, lines)]
        if path.endswith((".c", ".h", ".cc")):
            checks.append(check_lengths(path, lines))
            if in_layers(path):
                checks += [check_includes(path, lines), check_parameters(path, lines), check_structs(path, lines),
                           check_shape(path, lines, set(names))]
        if path.startswith("tests/") and path.endswith(".t") and not os.access(os.path.join(root, path), os.X_OK):
            checks.append([(1, "a test that cannot be run: chmod +x")])
        if objects and in_layers(path) and path.endswith((".c", ".cc")):
            checks.append(check_object(path, os.path.join(objects, path + ".o")))
        for check in checks:
            for number, what in check:
                yield path, number, what


def main():
    args = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    args.add_argument("--objects", help="the build folder, for what the compiled objects define")
    args.add_argument("root")
    args = args.parse_args()
    errors = warnings = 0
    for path, number, what in findings(args.root, args.objects):
        print(f"{path}:{number}: {what}")
        if what.startswith("warning: "):
            warnings += 1
        else:
            errors += 1
    print(f"check-source: {errors} errors, {warnings} warnings")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
