/* backends/sandbox with compilers: whatever code names a file of the machine, neither a message nor a binary has a word of it. The
 * compilers still do their work there. With the sandbox off the same code does leak, so that the test can fail. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <fcntl.h>

#include "backends/sandbox/sandbox.h"
#include "backends/cuda/cuda.h"
#include "backends/hip/hip.h"
#include "backends/sample_plan.h"
#include "backends/sample_worker.h"
#include "tap.h"

#define SECRET "PEAKD_TEST_SECRET_b1946ac9"

static char folder[] = "/tmp/peakd-secret-XXXXXX";
static char secret[64], absent[64];

/* FILE stands for the path of a file. */
struct row { const char *what, *code; };

static const struct row cuda[] = {
	{ "#include", "#include \"FILE\"\n" },
	{ "in angle brackets", "#include <FILE>\n" },
	{ "spliced", "#inc\\\nlude \"FILE\"\n" },
	{ "spliced in the path", "#include \"/t\\\nmp/../FILE\"\n" },
	{ "digraph", "%:include \"FILE\"\n" },
	{ "macro", "#define F \"FILE\"\n#include F\n" },
	{ "macro of a macro", "#define G(x) <x>\n#include G(FILE)\n" },
	{ "comment between", "#/**/include/**/\"FILE\"\n" },
	{ "#include_next", "#include_next \"FILE\"\n" },
	{ "#import", "#import \"FILE\"\n" },
	{ "#embed", "__device__ const char x[] = {\n#embed \"FILE\"\n};\n" },
	{ "up from the working folder", "#include \"../../../../../../../../..FILE\"\n" },
	{ "the process's own environment", "#include \"/proc/self/environ\"\n" },
	{ "the process's memory map", "#include \"/proc/self/maps\"\n" },
	{ ".incbin", "__device__ void f() { asm volatile(\".incbin \\\"FILE\\\";\"); }\n" },
	{ ".include", "__device__ void f() { asm volatile(\".include \\\"FILE\\\"\"); }\n" },
	{ ".file", "__device__ void f() { asm volatile(\".file 1 \\\"FILE\\\"\\n.loc 1 1 1\"); }\n" },
	{ "top-level asm", "asm(\".incbin \\\"FILE\\\"\");\n" },
};

static const struct row hlsl[] = {
	{ "#include", "#include \"FILE\"\n" },
	{ "in angle brackets", "#include <FILE>\n" },
	{ "spliced", "#inc\\\nlude \"FILE\"\n" },
	{ "digraph", "%:include \"FILE\"\n" },
	{ "macro", "#define F \"FILE\"\n#include F\n" },
	{ "#embed", "#embed \"FILE\"\n" },
	{ "#line, whose file is never read", "#line 1 \"FILE\"\nnonsense\n" },
	{ "up from the working folder", "#include \"../../../../../../../../..FILE\"\n" },
};

static char *fill_in(const char *code, const char *path)
{
	struct buf out = BUF_INIT;
	for (const char *at; (at = strstr(code, "FILE")) != NULL; code = at + 4)
		buf_addf(&out, "%.*s%s", (int)(at - code), code, path);
	buf_adds(&out, code);
	return buf_steal(&out);
}

static struct sample_worker start(void)
{
	struct sample_worker w = sample_worker_start();
	struct wire_frame f;
	if (wire_receive(w.fd, &f, clock_now() + 60 * CLOCK_S, -1, NULL, NULL) < 0)
		abort();
	free(f.body);
	return w;
}

struct outcome { int rc; struct err e; struct wire_compiled binary; };

static struct outcome compile(struct sample_worker *w, const char *backend, const char *device, char *option)
{
	struct outcome o = { .e = ERR_INIT };
	char *name = mem_str(backend),
	     *arch = mem_str(strcmp(backend, "cuda") == 0  ? "sm_90a"
			     : strcmp(backend, "hip") == 0 ? "gfx90a"
							   : "spirv1.3"),
	     *macros = mem_str("");
	struct plan *plan = sample_matmul(64, 8, 8);
	struct wire_compile c = { .backend = name, .arch = arch, .macros = macros, .device = (char *)(uintptr_t)device,
				  .plan = plan, .options = &option, .option_count = option ? 1 : 0 };
	o.rc = sample_compile(w, &c, &o.binary, &o.e);
	plan_free(plan);
	free(name);
	free(arch);
	free(macros);
	return o;
}

static bool holds(const struct outcome *o, const char *text)
{
	return strstr(o->e.text, text) || (o->rc == 0 && (memmem(o->binary.binary, o->binary.binary_len, text, strlen(text)) ||
	                                                  strstr(o->binary.log, text)));
}

static void outcome_fini(struct outcome *o)
{
	if (o->rc == 0)
		wire_compiled_fini(&o->binary);
}

#define CUDA_KERNEL "extern \"C\" __global__ void matmul(const float *A, const float *B, float *C, int n) { C[0] = A[0]; }\n"
#define HLSL_KERNEL "[numthreads(8, 8, 1)] void matmul(uint3 id : SV_DispatchThreadID) { C[id.x] = A[0]; }\n"

static bool leaks(struct sample_worker *w, const char *backend, const struct row *row)
{
	char *code = fill_in(row->code, secret);
	char *whole = mem_fmt("%s%s", code, strcmp(backend, "hlsl") == 0 ? HLSL_KERNEL : CUDA_KERNEL);
	struct outcome o = compile(w, backend, whole, NULL);
	bool found = holds(&o, SECRET) || holds(&o, "PEAKD_TEST_VARIABLE");
	outcome_fini(&o);
	free(whole);
	free(code);
	return found;
}

static void test_rows(struct sample_worker *w, const char *backend, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ok(!leaks(w, backend, &rows[i]), "%s: %s leaks nothing", backend, rows[i].what);
}

/* An option comes from a person, who could read the file; the sandbox still holds. */
static void test_option(struct sample_worker *w)
{
	char *option = mem_fmt("--pre-include=%s", secret);
	struct outcome o = compile(w, "cuda", CUDA_KERNEL, option);
	ok(o.rc < 0 && !holds(&o, SECRET), "cuda: an option leaks nothing");
	outcome_fini(&o);
	free(option);
}

/* Whether `path` exists, as the code sees it. */
static bool is_seen(struct sample_worker *w, const char *path)
{
	char *code = mem_fmt("#if __has_include(\"%s\")\n#error FOUND_IT\n#endif\n" CUDA_KERNEL, path);
	struct outcome o = compile(w, "cuda", code, NULL);
	bool seen = holds(&o, "FOUND_IT");
	outcome_fini(&o);
	free(code);
	return seen;
}

static void test_existence(struct sample_worker *w)
{
	ok(!is_seen(w, absent), "cuda: code cannot see a missing file");
	ok(!is_seen(w, secret), "cuda: code cannot see an existing file");
}

#define GROUPS "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\nnamespace cg = cooperative_groups;\n"
#define GROUPS_KERNEL(body)                                                                                                        \
	"extern \"C\" __global__ void matmul(const float *A, const float *B, float *C, int n) { int i = n; " body                  \
	" auto t = cg::tiled_partition<32>(cg::this_thread_block());"                                                              \
	" float s = cg::reduce(t, A[t.thread_rank()], cg::plus<float>()); if (t.thread_rank() == 0) C[0] = s + i; }\n"

/* The toolkit's headers are read, from the folder that the sandbox leaves. */
static void test_headers(struct sample_worker *w, const struct gpu_rtc *nvrtc)
{
	struct outcome o = compile(w, "cuda", CUDA_KERNEL, NULL);
	is_int(o.rc, 0, "cuda: a kernel compiles: %s", o.e.text);
	outcome_fini(&o);
	if (nvrtc->include_count == 0) {
		SKIP(7, "no CUDA headers on this machine");
		return;
	}
	o = compile(w, "cuda", "#include <cuda_fp16.h>\n#include <mma.h>\n#include <stdint.h>\n" CUDA_KERNEL, NULL);
	is_int(o.rc, 0, "cuda: the toolkit's headers compile: %s", o.e.text);
	outcome_fini(&o);
	/* It puts a thousand constants where kernels can write, and code names none of them. */
	o = compile(w, "cuda", GROUPS GROUPS_KERNEL(""), NULL);
	is_int(o.rc, 0, "cuda: cooperative groups compile: %s", o.e.text);
	outcome_fini(&o);
	o = compile(w, "cuda", GROUPS "__device__ int unused[1 << 16], table[1 << 16] = { 1 };\n" GROUPS_KERNEL("i += table[n];"),
		    NULL);
	is_int(o.rc, 0, "cuda: variables that are read, or not used, compile: %s", o.e.text);
	outcome_fini(&o);
	o = compile(w, "cuda",
		    "__device__ const float t[1000] = { 1 };\nextern \"C\" __global__ void matmul(const float *A, const float *B, "
		    "float *C, int n) { assert(n > 0); printf(\"%d\", n); float s = 0; for (float v : t) s += v * A[0]; "
		    "C[0] = s; }\n",
		    NULL);
	is_int(o.rc, 0, "cuda: assertions, prints and loops over a table compile: %s", o.e.text);
	outcome_fini(&o);
	static const char *const kept[][2] = {
		{ "a variable", GROUPS "__device__ int kept;\n" GROUPS_KERNEL("kept += i;") },
		{ "a static variable", GROUPS GROUPS_KERNEL("static int kept; kept += i;") },
		{ "a variable of assembly",
		  GROUPS GROUPS_KERNEL("asm volatile(\".global .u32 kept;\\n\\tst.global.u32 [kept], %0;\" :: \"r\"(i));") },
		{ "a variable whose address alone is taken",
		  GROUPS "__device__ int kept;\n__device__ int *at = &kept;\n" GROUPS_KERNEL("*at += i;") },
	};
	for (size_t i = 0; i < MEM_COUNT(kept); i++) {
		o = compile(w, "cuda", kept[i][1], NULL);
		ok(o.rc < 0 && strstr(o.e.text, "outlive an execution"), "cuda: %s is refused: %s", kept[i][0], o.e.text);
		outcome_fini(&o);
	}
}

/* Code that overloads the compiler is bounded by the request's deadline, and ends in an error. */
static void test_harmless(struct sample_worker *w)
{
	static const struct row rows[] = {
		{ "recursion",
		  "__device__ int r(int n) { return n ? r(n - 1) + 1 : 0; }\n__device__ int x(int n) { return r(n); }\n" },
		{ "a huge frame",
		  "__device__ float s(int i) { float a[100000]; for (int k = 0; k < 100000; k++) a[k] = k * i; return a[i]; }\n" },
		{ "printf and trap", "__device__ void p() { printf(\"%d\", 1); __trap(); }\n" },
		{ "device malloc", "__device__ void *m() { return malloc(1 << 30); }\n" },
		{ "endless templates",
		  "template <int N> struct T { static const int v = T<N + 1>::v; };\n__device__ int t() { return T<0>::v; }\n" },
		{ "endless macros", "#define E E E\nE\n" },
	};
	for (size_t i = 0; i < MEM_COUNT(rows); i++) {
		char *code = mem_fmt("%s" CUDA_KERNEL, rows[i].code);
		struct outcome o = compile(w, "cuda", code, NULL);
		ok(o.rc == 0 || o.e.code == ERR_COMPILE, "cuda: %s compiles or is refused (%.80s)", rows[i].what, o.e.text);
		outcome_fini(&o);
		free(code);
	}
}

static void test_roles(struct sample_worker *w)
{
	struct buf body = BUF_INIT;
	struct wire_frame f;
	struct err e = ERR_INIT;
	wire_put_text(&body, "hlsl:spirv1.3");
	is_int(sample_worker_call(w, WIRE_DEVICES, &body, &f, &e), 0, "a compiler describes architectures");
	free(f.body);
	buf_clear(&body);
	wire_put_text(&body, "hlsl");
	is_int(sample_worker_call(w, WIRE_DEVICES, &body, &f, &e), -ERR_CRASH, "a compiler ends when it is asked for devices");
	has_str(e.text, "fresh", "the message says to ask a fresh worker");
	buf_fini(&body);
}

/* Below hiprtc is a whole clang that writes files: they are in the worker's own folder. */
static void test_hip(struct sample_worker *w)
{
	struct gpu_rtc rtc;
	struct err e = ERR_INIT;
	if (hip_library_rtc(&rtc, &e) < 0) {
		SKIP(1, "%.200s", e.text);
		return;
	}
	struct outcome o = compile(w, "hip", CUDA_KERNEL, NULL);
	is_int(o.rc, 0, "hip: a kernel compiles: %s", o.e.text);
	outcome_fini(&o);
	test_rows(w, "hip", cuda, MEM_COUNT(cuda));
}

/* The daemon's sockets are in the same folder where XDG_RUNTIME_DIR is not set, and a hash may begin as a process id does. */
static void test_others_files(void)
{
	char *users = mem_fmt("%s/peakd-%u", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (unsigned)geteuid());
	char *other = mem_fmt("%s/4194305ff78ab9e8.sock", users), *left = mem_fmt("%s/4194305", users); /* above any process id */
	mkdir(users, 0700);
	mkdir(left, 0700);
	int fd = open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	struct sample_worker w = start();
	struct outcome o = compile(&w, "hlsl", HLSL_KERNEL, NULL); /* an answer: it has started */
	outcome_fini(&o);
	ok(fd >= 0 && access(other, F_OK) == 0, "a worker that starts leaves other files of the scratch folder alone");
	ok(access(left, F_OK) != 0, "and removes what a killed worker left");
	sample_worker_stop(&w);
	close(fd);
	unlink(other);
	free(other);
	free(left);
	free(users);
}

static void test_sandboxed(const struct gpu_rtc *nvrtc)
{
	struct sample_worker w = start();
	char *scratch = mem_fmt("%s/peakd-%u/%ld", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (unsigned)geteuid(), (long)w.pid);
	test_rows(&w, "hlsl", hlsl, MEM_COUNT(hlsl));
	struct outcome o = compile(&w, "hlsl", HLSL_KERNEL, NULL);
	is_int(o.rc, 0, "hlsl: a kernel compiles: %s", o.e.text);
	outcome_fini(&o);
	if (nvrtc) {
		test_rows(&w, "cuda", cuda, MEM_COUNT(cuda));
		test_option(&w);
		test_existence(&w);
		test_headers(&w, nvrtc);
		test_harmless(&w);
	} else {
		SKIP(1, "no NVRTC on this machine");
	}
	test_hip(&w);
	test_roles(&w);
	sample_worker_stop(&w);
	ok(access(scratch, F_OK) != 0 && errno == ENOENT, "a worker removes its scratch folder");
	free(scratch);
}

/* Without the sandbox the same rows leak, so they test something. */
static void test_off(void)
{
	setenv("PEAKD_SANDBOX", "off", 1);
	struct sample_worker w = start();
	ok(leaks(&w, "cuda", &cuda[0]), "with the sandbox off the message quotes the file");
	ok(leaks(&w, "cuda", &cuda[4]), "with the sandbox off a digraph leaks, too");
	ok(is_seen(&w, secret) && !is_seen(&w, absent), "with the sandbox off code can see whether a file exists");
	sample_worker_stop(&w);
	unsetenv("PEAKD_SANDBOX");
}

int main(void)
{
	struct sandbox_kernel k = sandbox_probe();
	struct gpu_rtc nvrtc;
	bool has_nvrtc = cuda_library_nvrtc(&nvrtc, NULL) == 0;
	signal(SIGPIPE, SIG_IGN);
	unsetenv("PEAKD_SANDBOX");
	setenv("PEAKD_TEST_VARIABLE", "PEAKD_TEST_VARIABLE", 1);
	if (mkdtemp(folder) == NULL)
		abort();
	snprintf(secret, sizeof secret, "%s/secret.h", folder);
	snprintf(absent, sizeof absent, "%s/absent.h", folder);
	FILE *f = fopen(secret, "w");
	if (f == NULL || fprintf(f, "int x = " SECRET ";\n%s %s\n", SECRET, SECRET) < 0 || fclose(f) != 0)
		abort();
	test_others_files();
	if (k.landlock)
		test_sandboxed(has_nvrtc ? &nvrtc : NULL);
	else
		SKIP(1, "this kernel has no Landlock");
	if (has_nvrtc)
		test_off();
	else
		SKIP(3, "no NVRTC on this machine");
	unlink(secret);
	rmdir(folder);
	return tap_done();
}
