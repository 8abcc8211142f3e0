#!/bin/sh
# workflow export for CUDA, whose compiler needs no device: the files of a library with real binaries inside, and what its Python
# file, its evidence and FlashInfer-Bench's solution say. The measurements are rows that the test writes.
. "$(dirname "$0")/lib.sh"
db=$T/a.db
sed 's/{2048, 4096}/{256, 512}/; s/^kernel: .*/kernel: mm/' "$root/examples/matmul-fp32-cuda.peak.md" >"$T/mm.peak.md"
timeout 100 "$peakd" run "$T/mm.peak.md" --db "$db" --device cuda:sm_90a --samples 1 >"$T/out" 2>"$T/err"
need_cuda_compiler 32 "$T/err"

timeout 60 "$peakd" workflow export mm --db "$db" --device cuda:sm_90a --out "$T/none" 2>"$T/err"
has "$(cat "$T/err")" "has no validated measurement" "without a validated measurement nothing is exported"
sql()
{
	sqlite3 -cmd '.timeout 20000' "$db" "$1"
}
measured() # measured N BX VERDICT
{
	sql "INSERT INTO validation (checkpoint_id, validator, device, sizes, params, size_kind, verdict, error, tolerance, created_ms)
		VALUES (1, 'outputs', 'GPU-1', 'n=$1', 'n=$1 BX=$2 BY=8', 'input', '$3', 1e-7, 1e-6, 1)"
	sql "INSERT INTO measurement (checkpoint_id, device, driver, sizes, params, status, median_ns, cold, validation_id, created_ms)
		SELECT 1, 'GPU-1', 'CUDA 13.0', 'n=$1', 'n=$1 BX=$2 BY=8', 'ok', 1000.0 * $2, 1, max(id), 1 FROM validation"
}
measured 256 16 passed
measured 512 32 passed
measured 512 8 failed # faster and wrong
timeout 100 "$peakd" workflow export mm --db "$db" --device cuda:sm_90a --out "$T/files" >"$T/out" 2>"$T/err"
is $? 0 "a checkpoint is exported for a named architecture" "$(cat "$T/err")"
cd "$T/files" || exit 1
is "$(ls | tr '\n' ' ')" "CMakeLists.txt mm.c mm.cu mm.h mm.json mm.peak.md mm.py mm.solution.json mm_check.c mm_kernels.py " \
	"the export has these files"
echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"workflow","arguments":{"action":"export","at":"mm","device":"cuda:sm_90a"}}}' |
	asked "$db" "$T/answers"
jq -c 'select(.id == 2) | .result.content[] | select(.type == "resource_link")' "$T/answers" >"$T/links"
is "$(jq -rs 'map("\(.name) \(.size)") | sort | .[]' "$T/links")" \
	"$(for f in *; do echo "$f $(wc -c <"$f")"; done | LC_ALL=C sort)" \
	"the answer links to each file as a resource"
read_resource() # read_resource URI: the text, or the error
{
	echo "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/read\",\"params\":{\"uri\":\"$1\"}}" | asked "$db" "$T/answers"
	jq -j 'select(.id == 2) | .result.contents[0].text // .error.message' "$T/answers"
}
read_resource "$(jq -r 'select(.name == "mm.c") | .uri' "$T/links")" >"$T/mm.c"
cmp "$T/mm.c" mm.c >"$T/out" 2>&1
is $? 0 "a link gives the file" "$(cat "$T/out")"
has "$(read_resource "peak://export/mm/cuda%3Asm_90a/mm.x")" "no file of that name" \
	"a file that an export does not have is an error"
is "$(jq -c '[.configurations[] | [.sizes.n, .tuning.BX, .validation.verdict, .validation.tolerance == 0.000001]]' mm.json)" \
	'[[256,16,"passed",true],[512,32,"passed",true]]' "the evidence has the fastest validated configuration of each size"
is "$(jq -c '[.device.uuid, .device.arch, (.bounds.C | length > 0), .configurations[0].launches[0].block]' mm.json)" \
	'["GPU-1","sm_90a",true,[16,8,1]]' "the evidence names device, bounds and launches"
${CC:-cc} -O2 -Wall -Wextra -Werror -fPIC -shared -pthread -o libmm.so mm.c -ldl
is $? 0 "the library is built with the C compiler alone"
${CC:-cc} -O2 -Wall -Wextra -Werror -pthread -o check mm_check.c -ldl -lm
is $? 0 "the check program is built with the C compiler alone"
# The binaries are ELF files for CUDA (machine 190), found again in the shared library.
is "$(python3 -c "print(open('libmm.so', 'rb').read().count(b'\x02\x00\xbe\x00'))")" 1 \
	"the library holds a CUDA binary, which configurations share where it is the same"
is "$(jq -c '[.definition, .spec.language, .spec.binding, .spec.destination_passing_style, .spec.entry_point, [.sources[].path]]' mm.solution.json)" \
	'["mm","cuda","tvm-ffi",true,"mm.cpp::mm",["mm.h","mm.cpp"]]' "the solution has FlashInfer-Bench's fields"
fits=$root/tests/daemon/export/fits.py
is "$(python3 "$fits" "$root/tests/daemon/export/solution.schema.json" mm.solution.json)" fits \
	"the solution fits FlashInfer-Bench's schema"
jq '.spec.language = "opencl" | .spec.entry_point = "mm.cu::mm" | del(.author)' mm.solution.json >wrong.json
is "$(python3 "$fits" "$root/tests/daemon/export/solution.schema.json" wrong.json | wc -l)" 3 \
	"a solution that breaks the schema is noticed"
mkdir solution
for path in mm.h mm.cpp; do
	jq -r --arg path "$path" '.sources[] | select(.path == $path) | .content' mm.solution.json >"solution/$path"
done
${CXX:-c++} -std=c++17 -O2 -Wall -Wextra -Werror -fPIC -shared -o solution/mm.so solution/mm.cpp
is $? 0 "the solution's source is C++"
has "$(nm -D --defined-only solution/mm.so)" "__tvm_ffi_mm" "the solution's library has TVM-FFI's entry"
cat >ask.py <<'PYTHON'
import mm
print(mm.schema(), mm.case_of(mm.INPUTS, [(256, 256), (256, 256)], [])["tuning"]["BX"])
try:
    mm.case_of(mm.INPUTS, [(256, 256), (256, 255)], [])
except mm.Unsupported as error:
    print(error)
class Array:
    def __init__(self, shape, at, typestr="<f4"):
        self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "data": (at, False), "version": 3}
for last in Array((256, 256), 3 * 4096), Array((256, 256), 3 * 4096, "<f8"):
    try:
        mm.into(Array((256, 256), 4096), Array((256, 256), 2 * 4096), last)
    except (RuntimeError, ValueError) as error:
        print(error)
PYTHON
python3 ask.py >said 2>&1
has "$(cat said)" "(Tensor A, Tensor B) -> Tensor 16" "Python knows the operator's schema and its configurations" "$(cat said)"
has "$(cat said)" "mm: nothing was validated for [(256, 256), (256, 255)]" "Python refuses shapes that were not validated"
has "$(cat said)" "mm: C needs elements of 4 bytes" "Python refuses elements of another size"
if [ -e /dev/nvidiactl ]; then
	skip 1 "this machine has a driver"
else
	has "$(cat said)" "mm: the GPU driver's library cannot be loaded (-3)" "Python raises the library's error"
fi
if /usr/bin/python3 -c 'import torch' 2>/dev/null; then
	cat >torch_ask.py <<'PYTHON'
import torch, mm
torch._C.parse_schema("peakd::mm" + mm.schema())
made = mm.fake(torch.empty(256, 256, device="meta"), torch.empty(256, 256, device="meta"))
print(tuple(made.shape), made.stride(), made.dtype, made.device)
try:
    mm.run(torch.zeros(256, 256, dtype=torch.float64), torch.zeros(256, 256))
except ValueError as error:
    print(error)
PYTHON
	/usr/bin/python3 torch_ask.py >said 2>&1
	has "$(cat said)" "(256, 256) (256, 1) torch.float32 meta" \
		"PyTorch parses the schema, and the fake operator has the output's shape" "$(cat said)"
	has "$(cat said)" "mm: A is torch.float64 on cpu, and f32 on cpu is needed" "the operator refuses another type"
else
	skip 2 "no PyTorch here (Debian: python3-torch)"
fi
# The layout of Hugging Face's kernel-builder: every file that build.toml names is there, and the library among them compiles.
python3 mm_kernels.py hub --license apache-2.0 --repo-id someone/mm >said 2>&1
is "$? $(cd hub && find . -type f | sort | tr '\n' ' ')" \
	"0 ./build.toml ./flake.nix ./mm_cuda/library.h ./mm_cuda/mm.h ./mm_cuda/op.cpp \
./torch-ext/mm/__init__.py ./torch-ext/mm/evidence.json ./torch-ext/torch_binding.cpp ./torch-ext/torch_binding.h " "the kernel-builder's project has its files"
is "$(cd hub && python3 -c 'import os, tomllib
b = tomllib.load(open("build.toml", "rb"))
print(b["general"], b["kernel"]["mm"]["cuda-capabilities"], all(map(os.path.exists, b["torch"]["src"] + b["kernel"]["mm"]["src"])))')" \
	"{'name': 'mm', 'version': 1, 'edition': 5, 'license': 'apache-2.0', 'backends': ['cuda'], 'hub': {'repo-id': 'someone/mm'}} ['9.0'] True" \
	"build.toml names the project, its capability and files that exist"
has "$(cat hub/torch-ext/torch_binding.cpp)" 'ops.def("mm(Tensor A, Tensor B) -> Tensor");' "the binding defines the operator"
${CXX:-c++} -std=c++17 -Wall -Werror -Wno-unused -x c++ -include hub/mm_cuda/library.h -fsyntax-only /dev/null
is $? 0 "the project's library is C++"
headers=$(find /usr/include/ATen /usr/include/x86_64-linux-gnu/ATen -name ATen.h 2>/dev/null | head -1)
if [ -n "$headers" ]; then
	# PyTorch for CPUs has no CUDA header: these declare what the operator takes from two of them.
	mkdir -p stub/c10/cuda
	echo 'namespace c10 { namespace cuda { struct CUDAGuard { explicit CUDAGuard(c10::Device) {} }; } }' >stub/c10/cuda/CUDAGuard.h
	echo 'namespace c10 { namespace cuda { struct CUDAStream { void *stream() const { return nullptr; } };
	inline CUDAStream getCurrentCUDAStream() { return {}; } } }' >stub/c10/cuda/CUDAStream.h
	${CXX:-c++} -std=c++17 -Wall -fsyntax-only -Istub hub/mm_cuda/op.cpp 2>said
	is $? 0 "the project's operator compiles with PyTorch's headers" "$(tail -5 said)"
else
	skip 1 "no headers of PyTorch (Debian: libtorch-dev)"
fi
if command -v cmake >/dev/null; then
	cmake -S . -B build >cmake.log 2>&1 && cmake --build build --target mm mm_check >>cmake.log 2>&1
	is $? 0 "CMake builds the library and the check program" "$(tail -5 cmake.log)"
else
	skip 1 "no cmake here"
fi

# --- HIP: the same library, and here it runs: the emulated device executes its code objects.
cd "$root" || exit 1
emulated=${BUILD:-$root/build}/tests/backends/hip/emulated.so
if ! /sbin/ldconfig -p | grep -q libamdhip64 || [ ! -e "$emulated" ]; then
	skip_rest 4 "no HIP compiler here (Debian: libamdhip64-5, libamd-comgr2)"
fi
sed 's/{64, 96}/{16, 24}/; s/{33, 67}/{17}/; s/^kernel: .*/kernel: mm/' \
	"$root/examples/matmul-fp32-gfx90a.peak.md" >"$T/hip.peak.md"
db=$T/hip.db
timeout 100 "$peakd" workflow create "$T/hip.peak.md" mm --db "$db" >/dev/null
measured 16 8 passed
measured 24 16 passed
timeout 100 "$peakd" workflow export mm --db "$db" --device hip:gfx90a --out "$T/hip" >"$T/out" 2>"$T/err"
is $? 0 "a HIP context is exported" "$(cat "$T/err")"
mkdir "$T/driver"
ln -s "$(realpath "$emulated")" "$T/driver/libamdhip64.so"
cd "$T/hip" || exit 1
# A smaller buffer to flush caches with: the emulated device has none.
sed 's/(size_t)256 << 20/(size_t)1 << 10/' mm_check.c >fast_check.c
${CC:-cc} -O2 -Wall -Wextra -Werror -pthread -o check fast_check.c -ldl -lm
is $? 0 "the HIP check program is built with the C compiler alone"
LD_LIBRARY_PATH=$T/driver timeout 100 ./check >said 2>&1
is "$? $(grep -c 'wrong elements: passed' said)" "0 2" "the exported binaries compute what the baseline computes" "$(cat said)"
# The reference is told another size: the comparison must fail.
sed '/peakd_reference_case0_arguments0/,/};/s/{ PEAKD_SCALAR, 0, 16u }/{ PEAKD_SCALAR, 0, 15u }/' fast_check.c >wrong_check.c
${CC:-cc} -O2 -pthread -o wrong wrong_check.c -ldl -lm
LD_LIBRARY_PATH=$T/driver timeout 100 ./wrong >said 2>&1
is "$? $(grep -c 'FAILED' said)" "1 1" "the check program notices a wrong result" "$(cat said)"
done_testing
