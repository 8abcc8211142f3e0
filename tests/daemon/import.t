#!/bin/sh
# Problems from elsewhere: `peakd import` and the oracle, on any device that runs HLSL. The definition in import/ is peakd's own.
. "$(dirname "$0")/lib.sh"
if [ -z "${PEAKD_PYTHON:-}" ]; then
	PEAKD_PYTHON=$(for p in /usr/bin/python3 python3; do "$p" -c 'import torch' 2>/dev/null && echo "$p" && break; done)
fi
plain=$(command -v /usr/bin/python3 python3 | head -n 1)
here=$root/tests/daemon/import
db=$T/a.db

import()
{
	timeout 120 "$peakd" import "$@" --backend hlsl --db "$db" >"$T/said" 2>&1
}
judge()
{
	timeout 300 "$peakd" validate "$1" --device hlsl:0 --samples 2 --db "$db" >"$T/said" 2>&1
}
# The definition with one change, beside its workloads.
changed() # changed NAME SED
{
	mkdir -p "$T/$1"
	cp "$here/workload.jsonl" "$T/$1/"
	sed "$2" "$here/definition.json" >"$T/$1/definition.json"
}

# --- without torch ---------------------------------------------------------------------------------------------------------------
mkdir "$T/bin"
printf '#!/bin/sh\nexec %s -S "$@"\n' "$plain" >"$T/bin/python3"
chmod +x "$T/bin/python3"
PEAKD_PYTHON=$T/bin/python3 import "$here/definition.json" --out "$T/a.peak.md"
is $? 0 "a definition imports without torch" "$(cat "$T/said")"
has "$(cat "$T/said")" "note: the reference was not tried" "an import without torch says that the reference was not tried"
has "$(cat "$T/a.peak.md")" "rows: int = {7, 64}" "workloads become input sizes"
has "$(cat "$T/a.peak.md")" "hidden: 512" "constant axes become constants"
has "$(cat "$T/a.peak.md")" "eps: f32 = {1e-05}" "scalar inputs get the workloads' values"
has "$(cat "$T/a.peak.md")" "bytes: 4*rows*hidden + 4*hidden + 4*rows*hidden" "an import counts the bytes of all arrays"
changed fp8 's/"shape": \["hidden"\], "dtype": "float32"/"shape": ["hidden"], "dtype": "float8_e4m3fn"/'
PEAKD_PYTHON=$T/bin/python3 import "$T/fp8/definition.json"
is $? 1 "a definition with fp8 is refused"
has "$(cat "$T/said")" "weight: contexts cannot be imported with float8_e4m3fn" "the refusal of fp8 names the input in one line"
changed blob ''
sed -i 's/{"type": "random"}/{"type": "safetensors", "path": "x", "tensor_key": "x"}/g' "$T/blob/workload.jsonl"
PEAKD_PYTHON=$T/bin/python3 import "$T/blob/definition.json"
has "$(cat "$T/said")" "read weight, x from safetensors files, which are not imported" \
	"workloads with blobs are refused in one line"
changed none ''
printf '{"axes": {"rows": 0}, "inputs": {"eps": {"type": "scalar", "value": 1e-5}}}\n' >>"$T/none/workload.jsonl"
PEAKD_PYTHON=$T/bin/python3 import "$T/none/definition.json" none --out "$T/none.peak.md"
has "$(cat "$T/none.peak.md")" "rows: int = {7, 64}" "a workload with an empty array is left out"
has "$(cat "$T/said")" "1 of 3 workloads is left out: x has no elements where rows = 0" "the workload that is left out is named in one line"
printf '{"axes": {"rows": 0}, "inputs": {"eps": {"type": "scalar", "value": 1e-5}}}\n' >"$T/none/workload.jsonl"
PEAKD_PYTHON=$T/bin/python3 import "$T/none/definition.json"
has "$(cat "$T/said")" "x has no elements where rows = 0" "a problem that has only empty workloads is refused in one line"
changed large ''
printf '{"axes": {"rows": 1048576}, "inputs": {"eps": {"type": "scalar", "value": 1e-5}}}\n' >>"$T/large/workload.jsonl"
PEAKD_PYTHON=$T/bin/python3 import "$T/large/definition.json" large --out "$T/large.peak.md"
has "$(cat "$T/large.peak.md")" "rows: int = {7, 64}" "a workload of 4 GiB is left out"
has "$(cat "$T/said")" "1 of 3 workloads is left out: with arrays of 4,096 MiB and more; --mib 4097 takes all" \
	"the message says how it is taken"
PEAKD_PYTHON=$T/bin/python3 import "$T/large/definition.json" larger --mib 4097 --out "$T/large.peak.md" --force
has "$(cat "$T/large.peak.md")" "rows: int = {7, 64, 1048576}" "--mib takes it"
need_hlsl 37 "$db"
PEAKD_PYTHON=$T/bin/python3 judge rms_norm_h512
has "$(cat "$T/said")" "install python3-torch" "a validation without torch says what to install"
timeout 60 "$peakd" draft "$here/scaled_softmax.py" --db "$db" >"$T/said" 2>&1
has "$(cat "$T/said")" "peakd import $here/scaled_softmax.py" "a draft of a Python file names the verb import"

# --- with torch -----------------------------------------------------------------------------------------------------------------
[ -n "$PEAKD_PYTHON" ] || skip_rest 35 "no Python with torch: apt-get install python3-torch, or name one in PEAKD_PYTHON"
export PEAKD_PYTHON
db=$T/b.db
import "$here/definition.json" empty
is $? 0 "a definition imports with torch" "$(cat "$T/said")"
has "$("$peakd" workflow show empty source --db "$db")" "flops: 2050*rows" "an import counts the operations of the reference"
has "$(cat "$T/said")" "Next: transform it by first-kernel" "an import says that the kernel is missing"
judge empty
is $? 1 "the empty kernel of an imported problem is refused"
import "$here/definition.json" honest --kernel "$here/rms_norm.md"
judge honest
is $? 0 "an honest kernel of an imported problem is accepted" "$(cat "$T/said")"
has "$(sqlite3 "$db" "SELECT details FROM validation WHERE verdict = 'passed'")" "right outputs by torch" \
	"evidence names the oracle and its version"
has "$(sqlite3 "$db" "SELECT details FROM validation WHERE verdict = 'passed'")" "in double" "the oracle runs in double"
sed 's/s \/ hidden + eps/s \/ hidden/' "$here/rms_norm.md" >"$T/wrong.md"
import "$here/definition.json" wrong --kernel "$T/wrong.md"
judge wrong
is $? 1 "a kernel that forgets a small term is refused by the oracle" "$(cat "$T/said")"
has "$(cat "$T/said")" "right outputs by torch" "a refusal names the oracle"
# Code that rounds between its steps: a kernel that rounds there as well is as right as one that does not.
changed halves 's/return (v \* weight).to(x.dtype)/return x + (v * weight).half()/; s/"\([xy]\)": {\(.*\)"float32"/"\1": {\2"float16"/; s/rms_norm_h512/halves/'
kernel() # kernel NAME SUM: one whose outputs are this sum
{
	sed "s/x\[[^]]*\]/float(&)/g; s/y\[g.x \* hidden + j\] = .*/{ float x0 = float(x[g.x * hidden + j]), v = x0 * r * weight[j]; y[g.x * hidden + j] = half($2); }/" \
		"$here/rms_norm.md" >"$T/$1.md"
	import "$T/halves/definition.json" "$1" --kernel "$T/$1.md"
	judge "$1"
}
kernel rounds 'x0 + float(half(v))'
is $? 0 "a kernel that rounds where the Python code does is accepted" "$(cat "$T/said")"
kernel fused 'x0 + v'
is $? 0 "a kernel that does not round there is accepted, too" "$(cat "$T/said")"
kernel coarse 'x0 + v * 1.002f'
is $? 1 "a kernel that is less exact than such code is refused" "$(cat "$T/said")"
changed shape 's/return (v/return (v.sum(-1)[:, None]/; s/v.sum(-1)\[:, None\] \* weight)/v[:, :1])/'
import "$T/shape/definition.json"
has "$(cat "$T/said")" "y has the shape [7, 1], and [7, 512] is declared" "an import runs the smallest workload and compares shapes"
changed file 's/def run(x, weight, eps):\\n/&    open(\\"\/etc\/passwd\\")\\n/'
import "$T/file/definition.json"
has "$(cat "$T/said")" "Permission denied" "a reference cannot read files of the machine"
# --- Python problems ------------------------------------------------------------------------------------------------------------
import "$here/scaled_softmax.py" module --out "$T/module.peak.md"
is $? 0 "a module with get_inputs and get_init_inputs imports" "$(cat "$T/said")"
cat >"$T/windows.py" <<'EOF'
import torch

rows, columns = 512, 512


class Windows(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.avg_pool2d(x[None, None], 11, padding=3)[0, 0]


def get_inputs():
    return [torch.rand(rows, columns)]
EOF
import "$T/windows.py" --out "$T/windows.peak.md"
has "$(cat "$T/windows.peak.md")" "y: out f32[(rows + 6)//11, (columns + 6)//11]" \
	"quotients of sizes are found, also by large divisors" "$(cat "$T/said")"
has "$(cat "$T/module.peak.md")" "x: f32[batch_size, 64] = normal" "a size that only the inputs have becomes an input size"
has "$(cat "$T/module.peak.md")" "w_scale: f32[64] = random(0.5, 1.5)" "weights become inputs that are not all ones"
has "$(cat "$T/module.peak.md")" "label: i64[batch_size] = random(0, classes)" "the range of random integers follows the sizes"
has "$(cat "$T/module.peak.md")" "y_1: out f32[batch_size//2, 64]" "extents of outputs are formulas of the sizes"
printf 'import torch\n\n\ndef drop(x):\n    return torch.dropout(x, 0.5, True)\n\n\ndef get_inputs():\n    return [torch.rand(100)]\n' >"$T/drop.py"
import "$T/drop.py"
has "$(cat "$T/said")" "its outputs are random" "a problem with random outputs is refused in one line"
printf 'import torch\n\nn = 5000\n\n\ndef scaled(a, b, factor):\n    return a + factor * b\n\n\ndef get_inputs():\n    return [torch.randn(n), torch.rand(n), 0.5]\n' \
	>"$T/scaled.py"
import "$T/scaled.py" scaled --out "$T/scaled.peak.md"
is $? 0 "a function with get_inputs imports" "$(cat "$T/said")"

printf 'import torch\n\nn = 50\nk = 40\nm = 30\n\n\ndef product(a, b):\n    return torch.max_pool1d(a @ b, 3, 2)\n\n\ndef get_inputs():\n    return [torch.randn(m, k), torch.randn(k, n)]\n' \
	>"$T/product.py"
import "$T/product.py" product --out "$T/product.peak.md"
has "$(cat "$T/product.peak.md")" "y: out f32[m, (n - 1)//2]" "a strided extent is a formula with a division"

import "$here/odd.py" --out "$T/odd.peak.md"
is $? 0 "a module with halves, lists, arguments by name and a dictionary of outputs imports" "$(cat "$T/said")"
has "$(cat "$T/odd.peak.md")" "y: out f16[12, 24]" "an output keeps its type where the CPU computes in float"
has "$(cat "$T/odd.peak.md")" "return _flat(_model([parts_0, parts_1], None, True))" \
	"the reference calls the module as its author does"
is "$(grep -c 'out i64' "$T/odd.peak.md")" 2 "tensors and numbers within an output are outputs"
printf 'import torch\n\n\ndef positive(x):\n    return x[x > 0]\n\n\ndef get_inputs():\n    return [torch.randn(100)]\n' >"$T/positive.py"
import "$T/positive.py"
has "$(cat "$T/said")" "the shape of output 0 depends on the inputs' values" \
	"an output whose shape depends on values is refused in one line"
printf 'import torch\n\n\ndef into(x, y):\n    y.copy_(x)\n\n\ndef get_inputs():\n    return [torch.randn(9), torch.zeros(9)]\n' >"$T/into.py"
import "$T/into.py"
has "$(cat "$T/said")" "it returns no tensor and no number" "a function that returns nothing is refused in one line"
printf 'import torch\ndef f(x:\n' >"$T/broken.py"
import "$T/broken.py"
has "$(cat "$T/said")" "broken.py: line 2: " "a syntax error is shown with its line"

# --- the first kernel -----------------------------------------------------------------------------------------------------------
printf '```hlsl\n[numthreads(64, 1, 1)]\nvoid scaled(uint3 t : SV_DispatchThreadID)\n{\n\tif (t.x < uint(n))\n\t\ty[t.x] = a[t.x] + factor * %s;\n}\n```\n' \
	'a[t.x]' >"$T/answer.device"
sed 's/factor \* a/factor * b/' "$T/answer.device" >"$T/answer.repaired"
printf '```lua host\nlaunch("scaled", cdiv(n, 64), 64, {a, b, y, n, factor})\n```\n' >"$T/answer.host"
"$plain" "$here/model.py" "$T/answer" >"$T/port" &
serving=$!
wait_for 20 test -s "$T/port"
pid=$(holder "$db")
kill "$pid"
wait_for 60 gone "$pid"
PEAKD_MODEL="openai:http://127.0.0.1:$(cat "$T/port")/v1?model=fake&retries=0" timeout 300 "$peakd" transform scaled first-kernel \
	--device hlsl:0 --samples 2 --db "$db" >"$T/said" 2>&1
is $? 0 "a model writes the first kernel, and repairs what the oracle refuses" "$(cat "$T/said")"
is "$(sqlite3 "$db" "SELECT status FROM checkpoint ORDER BY id DESC LIMIT 1")" accepted "the first kernel is accepted by the oracle"
has "$(cat "$T/answer.asked")" "return a + factor * b" "the model is shown the Python reference"
kill "$serving"
timeout 300 "$peakd" tune scaled --device hlsl:0 --db "$db" >"$T/said" 2>&1
is $? 0 "the first kernel of an imported problem is tuned" "$(cat "$T/said")"
timeout 120 "$peakd" workflow export scaled --out "$T/export" --device hlsl:0 --db "$db" >"$T/said" 2>&1
has "$(cat "$T/said" "$T"/export/*)" "Python reference" "an export says that its check program cannot ask the oracle"
done_testing
