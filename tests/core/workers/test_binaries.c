/* core/workers/binaries: what was compiled once is not compiled again; damage, bounds and folders that cannot be used are no
 * trouble. */
#include "core/workers/binaries.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "core/judge/suite.h"
#include "core/sample.h"
#include "core/workers/eval.h"
#include "core/workers/lanes.h"
#include "core/workers/variant.h"

static struct hash key_number(int i)
{
	return hash_bytes(&i, sizeof i);
}

static int get(struct binaries *b, int i, struct buf *out)
{
	struct hash key = key_number(i);
	buf_clear(out);
	return binaries_get(b, &key, out);
}

static void put(struct binaries *b, int i, const void *bytes, size_t n)
{
	struct hash key = key_number(i);
	binaries_put(b, &key, bytes, n);
}

static void damage(const char *folder, int i, const char *how)
{
	char *path = mem_fmt("%s/%s", folder, key_number(i).hex);
	int fd = open(path, O_RDWR);
	if (strcmp(how, "cut") == 0)
		is_int(ftruncate(fd, 70), 0, "a file is cut off");
	else
		is_int((int)pwrite(fd, "x", 1, 80), 1, "a byte is changed");
	close(fd);
	free(path);
}

static void folder_of_files(const char *base)
{
	char *folder = mem_fmt("%s/deep/er", base), content[1000];
	struct buf out = BUF_INIT;
	struct stat st;
	memset(content, 'c', sizeof content);
	struct binaries *b = binaries_new(folder, 20000);
	ok(b != NULL && stat(folder, &st) == 0 && (st.st_mode & 0777) == 0700, "the folder is made, for its owner alone");
	is_int(get(b, 1, &out), 0, "nothing is there");
	put(b, 1, content, sizeof content);
	is_int(get(b, 1, &out), 1, "what was put");
	ok(out.len == sizeof content && memcmp(out.data, content, sizeof content) == 0, "is got back");
	damage(folder, 1, "cut");
	is_int(get(b, 1, &out), 0, "it is not taken");
	put(b, 1, content, sizeof content);
	damage(folder, 1, "change");
	is_int(get(b, 1, &out), 0, "it is not taken either");
	put(b, 1, content, sizeof content);
	for (int i = 2; i < 40; i++) {
		put(b, i, content, sizeof content);
		clock_sleep(CLOCK_MS);
		get(b, 1, &out); /* used all the time */
	}
	struct binaries_stats stats = binaries_stats(b);
	ok(stats.bytes <= 20000 && stats.files < 20, "the bound holds: %llu bytes in %llu files", (unsigned long long)stats.bytes,
	   (unsigned long long)stats.files);
	is_int(get(b, 1, &out), 1, "what is used stays");
	is_int(get(b, 2, &out), 0, "what was not used for longest went");
	is_int(get(b, 39, &out), 1, "the newest is there");
	put(b, 50, content, 6000);
	binaries_free(b);
	b = binaries_new(folder, 20000);
	is_int(get(b, 39, &out), 1, "the next process finds it");
	is_int(get(b, 50, &out), 0, "what would push out most others is not kept");
	binaries_free(b);
	ok(binaries_new("/proc/nowhere/x", 1000) == NULL && binaries_get(NULL, &(struct hash){ "" }, &out) == 0,
	   "without a folder nothing is kept");
	buf_fini(&out);
	free(folder);
}

/* The whole of a variant's way, twice; the second time without a compiler. */
static void variants(struct sample *s, const char *base)
{
	char *folder = mem_fmt("%s/v", base);
	struct binaries *b = binaries_new(folder, 1 << 24);
	struct eval ev = { .pool = s->pool, .references = s->references, .binaries = b };
	struct context *good = sample_context(SAMPLE_RIGHT), *bad = sample_context("this is no HLSL");
	struct variant first, second;
	struct params *params = NULL, *larger = NULL;
	struct err e = ERR_INIT, again = ERR_INIT;
	params_parse(good, "n=64 BX=8 BY=8", true, &params, &e);
	params_parse(good, "n=128 BX=8 BY=8", false, &larger, &e);
	is_int(variant_build(&ev, good, params, &s->facts, &first, &e), 0, "it compiles %s", e.text);
	is_int((int)binaries_stats(b).misses, 1, "by a compiler");
	is_int(variant_build(&ev, good, params, &s->facts, &second, &e), 0, "and again %s", e.text);
	is_int((int)binaries_stats(b).hits, 1, "without one");
	ok(first.compiled.binary_len == second.compiled.binary_len &&
		   memcmp(first.compiled.binary, second.compiled.binary, first.compiled.binary_len) == 0 &&
		   first.compiled.kernel_count == second.compiled.kernel_count,
	   "with the same binary");
	variant_fini(&first);
	variant_fini(&second);
	is_int(variant_build(&ev, good, larger, &s->facts, &second, &e), 0, "and at another size %s", e.text);
	is_int((int)binaries_stats(b).misses, 1, "without one");
	is_int((int)second.plan->ops[0].launch.grid[0], 16, "with its own plan");
	variant_fini(&second);
	params_free(larger);
	struct facts other = s->facts;
	snprintf(other.driver, sizeof other.driver, "another compiler is another key");
	is_int(variant_build(&ev, good, params, &other, &first, &e), 0, "for another compiler %s", e.text);
	is_int((int)binaries_stats(b).misses, 2, "it is compiled");
	variant_fini(&first);
	is_int(variant_build(&ev, bad, params, &s->facts, &first, &e), -ERR_COMPILE, "what is refused");
	is_int(variant_build(&ev, bad, params, &s->facts, &first, &again), -ERR_COMPILE, "is refused again");
	is_str(again.text, e.text, "with the same words");
	is_int((int)binaries_stats(b).hits, 3, "without a compiler");
	params_free(params);
	context_free(good);
	context_free(bad);
	binaries_free(b);
	free(folder);
}

struct several {
	const struct eval *ev;
	const struct context *ctx;
	const struct params *params;
	const struct facts *facts;
};

static void build_same(void *arg, size_t i)
{
	const struct several *x = arg;
	struct variant v;
	struct err e = ERR_INIT;
	(void)i;
	if (variant_build(x->ev, x->ctx, x->params, x->facts, &v, &e) == 0)
		variant_fini(&v);
	else
		printf("# %s\n", e.text);
}

/* Who needs what is being compiled waits for it. */
static void at_once(struct sample *s, const char *base)
{
	char *folder = mem_fmt("%s/o", base);
	struct binaries *b = binaries_new(folder, 1 << 24);
	struct cancel cancel = { .asked = false };
	struct eval ev = { .pool = s->pool, .references = s->references, .binaries = b, .cancel = &cancel };
	struct context *ctx = sample_context(SAMPLE_RIGHT);
	struct several x = { .ev = &ev, .ctx = ctx, .facts = &s->facts };
	struct params *params = NULL;
	struct err e = ERR_INIT;
	struct buf out = BUF_INIT;
	params_parse(ctx, "n=64 BX=8 BY=4", true, &params, &e);
	x.params = params;
	struct lanes *lanes = lanes_new(5, 6, build_same, &x);
	lanes_wait(lanes, 6);
	lanes_free(lanes);
	is_int((int)binaries_stats(b).misses, 1, "six at once compile one thing once");
	is_int((int)binaries_stats(b).hits, 5, "and share it");
	struct hash key = key_number(1);
	is_int(binaries_claim(b, &key, &cancel, &out, &e), 0, "what no thread makes may be made");
	cancel_ask(&cancel);
	is_int(binaries_claim(b, &key, &cancel, &out, &e), -ERR_CANCELLED, "a waiting thread can be cancelled");
	binaries_leave(b, &key);
	is_int(binaries_claim(b, &key, NULL, &out, &e), 0, "what was given up may be made by the next");
	binaries_leave(b, &key);
	binaries_free(b);
	params_free(params);
	context_free(ctx);
	free(folder);
}

static const char barrier[] =
	"---\nkernel: copy\nbackend: cuda\ninputs:\n  n: int = {64}\n  A: f32[n] = random\n  C: out f32[n]\ntune:\n  B: {32}\n---\n"
	"```cuda\nextern \"C\" __global__ void copy(const float *A, float *C, int n) { __shared__ float s[B]; s[threadIdx.x] = "
	"A[threadIdx.x];"
	" %s; C[threadIdx.x] = s[threadIdx.x]; }\n```\n```lua host\nlaunch(\"copy\", {1}, {B}, {A,C,n})\n```\n";

/* What the check of chance needs is compiled before it is due. */
static void ahead(struct sample *s, const char *base)
{
	char *folder = mem_fmt("%s/a", base), *with = mem_fmt(barrier, "__syncthreads()"), *without = mem_fmt(barrier, "");
	struct binaries *b = binaries_new(folder, 1 << 24);
	struct eval ev = { .pool = s->pool, .references = s->references, .binaries = b };
	struct context *ctx = NULL, *plain = NULL;
	struct params *params = NULL;
	struct facts facts;
	struct variant v;
	struct err e = ERR_INIT;
	if (pool_device(s->pool, "cuda:sm_90a", &facts, &e) < 0 || context_parse("with", with, &ctx, &e) < 0 ||
	    context_parse("without", without, &plain, &e) < 0 || params_parse(ctx, "n=64 B=32", true, &params, &e) < 0 ||
	    variant_build(&ev, plain, params, &facts, &v, &e) < 0) {
		SKIP(3, "%s", e.text);
	} else {
		variant_fini(&v);
		suite_compile_ahead(&ev, plain, params, &facts);
		is_int((int)binaries_stats(b).misses, 2, "a kernel without barriers is compiled to be disturbed");
		suite_compile_ahead(&ev, ctx, params, &facts);
		is_int((int)binaries_stats(b).files, 3, "and so is one with barriers");
		suite_compile_ahead(&ev, ctx, params, &facts);
		is_int((int)binaries_stats(b).hits, 1, "the wait is reported once");
	}
	params_free(params);
	context_free(ctx);
	context_free(plain);
	binaries_free(b);
	free(folder);
	free(with);
	free(without);
}

int main(int argc, char **argv)
{
	struct sample s;
	sample_worker(argc, argv);
	sample_init(&s);
	folder_of_files(s.folder);
	if (s.ready) {
		variants(&s, s.folder);
		at_once(&s, s.folder);
	} else {
		SKIP(20, "no HLSL device");
	}
	ahead(&s, s.folder);
	sample_fini(&s);
	return tap_done();
}
