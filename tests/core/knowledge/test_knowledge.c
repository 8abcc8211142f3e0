/* Notes: reading them and their mistakes; which fit a kernel on a device; how what was measured moves them, until advice that was
 * refuted three times is no longer offered. Every shipped one reads well and suggests transformations that exist. */
#include "core/knowledge/knowledge.h"

#include <math.h>

#include "base/mem.h"
#include "core/record/application.h"
#include "core/record/comparison.h"
#include "core/record/fact.h"
#include "core/record/fixture.h"
#include "core/record/measurement.h"
#include "core/record/metric.h"
#include "core/record/validation.h"
#include "core/transform/library.h"
#include "folder.h"
#include "tap.h"

static char folder[] = "/tmp/peakd-notes-XXXXXX";

static int read_from(const char *a, const char *b, struct notes *ret, struct err *e)
{
	char *first = mem_fmt("%s/%s", folder, a), *second = b ? mem_fmt("%s/%s", folder, b) : NULL;
	const char *folders[] = { first, second };
	int rc = note_read(folders, 2, ret, e);
	free(first);
	free(second);
	return rc;
}

#define NOTE(more) "---\nkind: locality\nsymptom: s\n" more "---\nDo this.\nAnd that.\n"

static void refused(const char *text, const char *want, const char *what)
{
	struct notes all = { .count = 0 };
	struct err e = ERR_INIT;
	folder_write(folder, "bad/x.md", text);
	is_int(read_from("bad", NULL, &all, &e), -ERR_INPUT, "a note with %s is refused", what);
	has_str(e.text, want, "the message names the mistake");
	has_str(e.text, "x.md:", "and the file");
}

static void test_reading(void)
{
	struct notes all;
	struct err e = ERR_INIT;
	folder_write(folder, "own/same.md",
		     NOTE("class: memory\nwhen: load_efficiency < 0.5\ndevice: gpu, cpu\nwords: a, b\ntry: x, y\ngain: "
			  "3\nevidence:\n  - H200: 1.9x, twice\nsource: a book\n"));
	folder_write(folder, "shipped/same.md", NOTE("gain: 2\n"));
	folder_write(folder, "shipped/other.md", NOTE(""));
	is_int(read_from("own", "shipped", &all, &e), 0, "two folders are read %s", e.text);
	is_int((long long)all.count, 2, "a user's own note hides the shipped one of its name");
	const struct note *n = note_find(&all, "same");
	if (ok(n != NULL, "a note is found by its name")) {
		is_str(n->text, "Do this. And that.", "the technique is one line");
		ok(n->gain == 3 && n->try.count == 2 && n->words.count == 2 && n->evidence.count == 1,
		   "lists and numbers are read");
		is_str(n->evidence.at[0], "H200: 1.9x, twice", "a row of evidence keeps its commas");
	}
	ok(n && note_find(&all, NOTE_PREFIX "same") == n, "and by the name of its transformation");
	ok(note_find(&all, NOTE_PREFIX "none") == NULL, "a name that no note has is not found");
	note_fini(&all);
	refused("---\nkind: magic\nsymptom: s\n---\nx\n", "expected algebra, locality", "an unknown kind");
	refused(NOTE("class: slow\n"), "expected memory, compute", "an unknown class");
	refused(NOTE("when: load_eficiency < 1\n"), "load_efficiency", "an unknown figure");
	refused(NOTE("gain: fast\n"), "a number from 1 to 100", "a gain that is no number");
	refused("---\nkind: static\nsymptom: s\n---\n", "the technique", "no technique");
	char *long_note = mem_new(2000, 1);
	strcpy(long_note, "---\nkind: static\nsymptom: s\n---\n");
	memset(long_note + strlen(long_note), 'x', 700);
	refused(long_note, "700 bytes", "a long technique");
	free(long_note);
}

static const struct facts h200 = { .backend = "cuda", .arch = "sm_90a", .uuid = "gpu-a", .name = "NVIDIA H200" };
static const struct facts h100 = { .backend = "cuda", .arch = "sm_90a", .uuid = "gpu-b", .name = "NVIDIA H100" };
static const struct facts a100 = { .backend = "cuda", .arch = "sm_80", .uuid = "gpu-c", .name = "NVIDIA A100" };
static const struct facts cpu = { .backend = "hlsl", .arch = "spirv1.3", .uuid = "cpu-a", .name = "llvmpipe", .shares_cpu = true };

static void test_devices(void)
{
	char text[NOTE_CLASS];
	is_str(note_device_class(&h200, text), "sm_90", "a GPU's class is its architecture");
	is_str(note_device_class(&cpu, text), "cpu", "a device that is the CPU has a class of its own");
	static const struct { const char *device; const struct facts *facts; bool fits;
	} rows[] = {
		{ "gpu", &h200, true },    { "gpu", &cpu, false },     { "cpu", &cpu, true },    { "any", &cpu, true },
		{ "cuda", &a100, true },   { "hip", &a100, false },    { "sm_90", &h200, true }, { "sm_90", &a100, false },
		{ "sm_80+", &h200, true }, { "sm_90+", &a100, false },
	};
	for (size_t i = 0; i < MEM_COUNT(rows); i++) {
		char *word = mem_str(rows[i].device);
		struct note n = { .devices = { .at = &word, .count = 1 } };
		ok(note_fits_device(&n, rows[i].facts) == rows[i].fits, "device: %s %s %s", word,
		   rows[i].fits ? "covers" : "does not cover", rows[i].facts->name);
		free(word);
	}
}

/* --- what was measured ------------------------------------------------------------------------------------------------ */

static int64_t judge(struct fixture *f, const struct facts *d, int64_t checkpoint, enum validation_verdict verdict)
{
	struct err e = ERR_INIT;
	struct validation v = { .checkpoint = checkpoint, .validator = "outputs", .device = d->uuid, .sizes = "n=64",
				.params = "n=64 BX=8", .size_kind = "input", .verdict = verdict, .error = NAN, .tolerance = NAN,
				.took_ns = -1 };
	if (validation_add(f->db, &v, &e) < 0)
		printf("# %s\n", e.text);
	return v.id;
}

/* Whether the root ran with the parameters that its tuning starts with, and whether it was tuned. */
static bool with_start, tuned;

/* Applies `by` to a fresh root and compares; returns the new checkpoint. With load_efficiency: the root's profile says so. */
static int64_t apply(struct fixture *f, const struct facts *d, const char *by, double speedup, double load_efficiency)
{
	static const double samples[2] = { 1, 1 };
	static int made;
	struct err e = ERR_INIT;
	char *name = mem_fmt("root %d", ++made), *text = mem_fmt("child %d", made);
	int64_t root = fixture_checkpoint(f, name, 0), child = 0;
	struct checkpoint c = { .kernel = "k", .backend = "cuda", .parents = &root, .parent_count = 1, .by = by,
				.status = CHECKPOINT_ACCEPTED };
	checkpoint_add(f->db, &c, text, &child, &e);
	struct comparison pair = { .a = root, .b = child, .device = d->uuid, .sizes = "n=64", .a_params = "n=64 BX=8",
				   .b_params = "n=64 BX=8",
				   .verdict = speedup > 1.01 ? "faster" : speedup < 0.99 ? "slower" : "same", .a_ns = 10,
				   .b_ns = 10 / speedup, .ratio = 1 / speedup, .low = 0.99 / speedup, .high = 1.01 / speedup,
				   .confidence = 0.95, .margin = 0.01, .samples = samples, .pairs = 1, .cold = true,
				   .a_start = with_start, .a_validation = judge(f, d, root, VALIDATION_PASSED),
				   .b_validation = judge(f, d, child, VALIDATION_PASSED) };
	struct measurement m = { .checkpoint = root, .device = d->uuid, .sizes = "n=64", .params = "n=64 BX=8",
				 .status = MEASUREMENT_OK, .median_ns = 10, .min_ns = 10, .rse = 0.01, .cold = true,
				 .compile_ns = -1, .registers = -1, .shared_bytes = -1, .spill_bytes = -1 };
	if (tuned && measurement_add(f->db, &m, &e) < 0)
		printf("# %s\n", e.text);
	if (knowledge_remember(f->db, d, &e) < 0 || comparison_add(f->db, &pair, &e) < 0)
		printf("# %s\n", e.text);
	if (load_efficiency > 0) {
		struct metric rows[] = {
			{ .checkpoint = root, .device = d->uuid, .params = "n=64 BX=8", .name = "figure.time_us", .value = 10,
			  .unit = "us", .source = "clock" },
			{ .checkpoint = root, .device = d->uuid, .params = "n=64 BX=8", .name = "figure.load_efficiency",
			  .value = load_efficiency, .unit = "share", .source = "interpreter" },
		};
		for (size_t i = 0; i < MEM_COUNT(rows); i++)
			metric_add(f->db, &rows[i], &e);
	}
	free(name);
	free(text);
	return child;
}

static struct standing standing(struct fixture *f, const struct notes *notes, const struct facts *d, const char *name)
{
	struct knowledge k;
	struct err e = ERR_INIT;
	struct standing s = { .expected = NAN };
	if (!ok(knowledge_list(f->db, notes, d, &k, &e) == 0, "notes are listed with their standing %s", e.text))
		return s;
	for (size_t i = 0; i < k.count; i++)
		if (strcmp(k.at[i].note->name, name) == 0)
			s = k.at[i].standing;
	knowledge_fini(&k);
	return s;
}

static bool offers(struct fixture *f, const struct notes *notes, const struct facts *d, const struct context *ctx, const char *name)
{
	struct knowledge k;
	struct err e = ERR_INIT;
	struct knowledge_query q = { .notes = notes, .facts = d, .ctx = ctx };
	bool found = false;
	if (!ok(knowledge_search(f->db, &q, &k, &e) == 0, "notes are searched %s", e.text))
		return false;
	for (size_t i = 0; i < k.count; i++)
		found |= strcmp(k.at[i].note->name, name) == 0;
	knowledge_fini(&k);
	return found;
}

static struct context *kernel(void)
{
	static const char text[] = "---\nkernel: k\nbackend: cuda\ninputs:\n  n: int = {64}\n  A: out f32[n]\n---\n"
				   "```cuda\nextern \"C\" __global__ void k(float *A, int n) { for (;;) A[0] = stride; }\n```\n"
				   "```lua host\nlaunch(\"k\", {1}, {1}, {A, n})\n```\n";
	struct context *ctx = NULL;
	struct err e = ERR_INIT;
	ok(context_parse("k", text, &ctx, &e) == 0, "a kernel %s", e.text);
	return ctx;
}

static void test_standing(void)
{
	struct fixture f;
	struct notes notes;
	struct err e = ERR_INIT;
	struct context *ctx = kernel();
	folder_write(folder, "standing/turn.md", NOTE("when: load_efficiency < 0.5\nwords: stride\ntry: transpose\ngain: 2\n"));
	folder_write(folder, "standing/absent.md", NOTE("words: gather\ntry: transpose\n"));
	is_int(read_from("standing", NULL, &notes, &e), 0, "notes %s", e.text);
	fixture_init(&f);
	struct standing s = standing(&f, &notes, &h200, "turn");
	ok(s.helped + s.refuted == 0 && fabs(s.expected - 2) < 1e-9, "before anything was measured a note's own gain counts");
	ok(offers(&f, &notes, &h200, ctx, "turn") && !offers(&f, &notes, &h200, ctx, "absent"),
	   "a word of the kernel finds its note alone");

	apply(&f, &h200, "transpose", 4, 0);
	s = standing(&f, &notes, &h200, "turn");
	ok(s.helped == 1 && s.expected > 2.4, "a note rises with what was measured (%.2f)", s.expected);
	s = standing(&f, &notes, &h100, "turn");
	is_int(s.helped, 1, "devices of one class share what was measured");
	s = standing(&f, &notes, &a100, "turn");
	is_int(s.helped, 0, "other classes do not");
	apply(&f, &h200, "note-turn", 1.5, 0.1);
	s = standing(&f, &notes, &h200, "turn");
	is_int(s.helped, 2, "applying the note itself counts for it");
	int64_t last = apply(&f, &h200, "transpose", 0.1, 0.9);
	s = standing(&f, &notes, &h200, "turn");
	is_int(s.refuted, 0, "an application where the symptom was absent says nothing of the note");
	s = standing(&f, &notes, &h200, "absent");
	is_int(s.refuted, 1, "and counts for a note without a condition");
	judge(&f, &h200, last, VALIDATION_FAILED);
	s = standing(&f, &notes, &h200, "absent");
	is_int(s.refuted, 0, "a checkpoint that was refuted since is no evidence");

	for (int i = 0; i < 2; i++)
		apply(&f, &a100, "transpose", i ? 1 : 0.8, 0);
	s = standing(&f, &notes, &a100, "turn");
	ok(s.refuted == 2 && !s.withdrawn && s.expected < 1.5 && offers(&f, &notes, &a100, ctx, "turn"),
	   "advice that was refuted twice is still offered, lower (%.2f)", s.expected);
	apply(&f, &a100, "transpose", 0.9, 0.2);
	s = standing(&f, &notes, &a100, "turn");
	ok(s.refuted == 3 && s.withdrawn, "the third refutation withdraws it");
	ok(!offers(&f, &notes, &a100, ctx, "turn"),
	   "advice that was refuted three times on a class of devices is no longer offered there");
	ok(offers(&f, &notes, &h200, ctx, "turn"), "on another class it is");
	apply(&f, &a100, "transpose", 8, 0.2);
	ok(offers(&f, &notes, &a100, ctx, "turn"), "it comes back when it gains on the whole");

	with_start = true;
	apply(&f, &cpu, "transpose", 2, 0);
	s = standing(&f, &notes, &cpu, "turn");
	is_int(s.helped, 0, "a comparison with a parent that was never tuned says nothing of the advice");
	tuned = true;
	apply(&f, &cpu, "transpose", 2, 0);
	s = standing(&f, &notes, &cpu, "turn");
	is_int(s.helped, 1, "one with a parent whose best are the parameters that its tuning starts with counts");
	with_start = tuned = false;

	struct buf said = BUF_INIT;
	s = standing(&f, &notes, &h200, "turn");
	knowledge_say(&s, &said);
	is_str(buf_text(&said), "2 of 2 tries faster, 2.45x on average", "the standing in words");
	buf_fini(&said);
	context_free(ctx);
	note_fini(&notes);
	fixture_fini(&f);
}

static void test_screen(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	char names[2][16] = { "transpose", "tb-tiling" }, *try[] = { names[0], names[1] };
	struct advisor tool = { .name = (char *)"coalescing", .try = try, .try_count = 2 };
	struct advisors tools = { .at = &tool, .count = 1 };
	is_int(figures_parse("load_efficiency < 0.5", &tool.condition, &e), 0, "a condition %s", e.text);
	struct advice a = { .tool = (char *)"coalescing", .try = mem_str("transpose, tb-tiling") };
	fixture_init(&f);
	for (int i = 0; i < 3; i++)
		apply(&f, &h200, "transpose", 0.9, i ? 0.1 : 0.8);
	is_int(knowledge_screen(f.db, &h200, &tools, &a, 1, &e), 0, "a tool's advice is screened %s", e.text);
	is_str(a.try, "transpose, tb-tiling", "one of three refutations was for another symptom");
	apply(&f, &h200, "transpose", 0.9, 0.2);
	is_int(knowledge_screen(f.db, &h200, &tools, &a, 1, &e), 0, "again %s", e.text);
	is_str(a.try, "tb-tiling", "a tool no longer suggests what was refuted three times");
	expr_free(tool.condition);
	free(a.try);
	fixture_fini(&f);
}

/* --- what is shipped ---------------------------------------------------------------------------------------------------- */

static void test_shipped(void)
{
	static const char *const folders[] = { "transforms" };
	struct library *lib = library_new(folders, 1);
	struct notes notes;
	struct err e = ERR_INIT;
	int kinds[NOTE_KINDS] = { 0 };
	if (!ok(library_notes(lib, &notes, &e) == 0, "the shipped notes are read %s", e.text))
		return;
	ok(notes.count >= 25 && notes.count <= 40, "there are %zu shipped notes", notes.count);
	for (size_t i = 0; i < notes.count; i++) {
		const struct note *n = &notes.at[i];
		struct transformation *t;
		kinds[n->kind]++;
		bool there = n->sources.count > 0;
		for (size_t k = 0; k < n->try.count; k++) {
			there &= library_find(lib, n->try.at[k], &t, &e) == 0;
			if (e.code == 0)
				transformation_free(t);
		}
		ok(there, "note %s names its source, and transformations that exist %s", n->name, e.text);
		char *name = mem_fmt(NOTE_PREFIX "%s", n->name);
		if (ok(library_find(lib, name, &t, &e) == 0, "it can be applied %s", e.text)) {
			is_str(t->name, name, "under its own name");
			transformation_free(t);
		}
		free(name);
	}
	for (int k = 0; k < NOTE_KINDS; k++)
		ok(kinds[k] >= 3, "%d notes are about %s", kinds[k], note_kind_names[k]);
	note_fini(&notes);
	library_free(lib);
}

int main(void)
{
	if (mkdtemp(folder) == NULL)
		return 1;
	test_reading();
	test_devices();
	test_standing();
	test_screen();
	test_shipped();
	folder_remove(folder);
	return tap_done();
}
