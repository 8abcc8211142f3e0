/* core/jobs/work: the layouts of requests and results agree with the tools: every argument that a tool's schema allows is a field
 * of its job's request. No field says two things, and what a job writes is read back. */
#include "core/jobs/work.h"

#include "base/mem.h"
#include "tap.h"

/* The tools that start a job, and its kind. */
static const struct {
	const char *tool, *kind;
} tools[] = {
	{ "validate", "validate" }, { "tune", "tune" },           { "compare", "compare" },
	{ "profile", "profile" },   { "transform", "transform" }, { "transform_submit", "submit" },
	{ "edit", "edit" },         { "draft", "draft" },
};

static bool has_field(const struct layout *l, const char *name)
{
	bool found = false;
	for (const struct layout_field *f = l->fields; f->name && !found; f++)
		found = f->type == LAYOUT_PART ? has_field(f->of, name) : strcmp(f->name, name) == 0;
	return found;
}

static void arguments(const char *tool, const struct engine_kind *kind)
{
	char *path = mem_fmt("schema/%s.input.json", tool);
	json_t *schema = json_load_file(path, 0, NULL), *property;
	const char *name;
	ok(schema != NULL, "%s is JSON", path);
	json_object_foreach(json_object_get(schema, "properties"), name, property)
	{
		/* These two are about the call. `later` of compare is for the job of `compare A pytorch`. */
		if (strcmp(name, "at") != 0 && strcmp(name, "wait_s") != 0)
			ok(has_field(kind->request, name) || (kind == &work_compare && has_field(work_pytorch.request, name)),
			   "%s: the argument %s is a field of the request", tool, name);
	}
	json_decref(schema);
	free(path);
}

static size_t count_fields(const struct layout *l, json_t *names)
{
	size_t n = 0;
	for (const struct layout_field *f = l->fields; f->name; f++) {
		if (f->type == LAYOUT_PART) {
			n += count_fields(f->of, names);
		} else {
			json_object_set_new(names, f->name, json_true());
			n++;
		}
	}
	return n;
}

static void names_once(const struct layout *l)
{
	json_t *names = json_object();
	size_t n = count_fields(l, names);
	is_int((long long)json_object_size(names), (long long)n, "%s: each field has a name of its own", l->name);
	for (const struct layout_field *f = l->fields; f->name; f++)
		if (f->type == LAYOUT_LIST)
			names_once(f->of);
	json_decref(names);
}

static void reads_itself(const struct layout *l)
{
	struct err e = ERR_INIT;
	void *object = layout_new(l), *again = layout_new(l);
	char *text = layout_write(l, object), *same = NULL;
	is_int(layout_read_text(l, text, again, &e), 0, "%s: an empty one is read%s", l->name, e.text);
	same = layout_write(l, again);
	is_str(same, text, "%s: and written the same", l->name);
	free(text);
	free(same);
	layout_free(l, object);
	layout_free(l, again);
}

int main(void)
{
	for (size_t i = 0; i < MEM_COUNT(tools); i++) {
		const struct engine_kind *kind = work_kind(tools[i].kind);
		ok(kind != NULL, "there is a job for the tool %s", tools[i].tool);
		if (kind)
			arguments(tools[i].tool, kind);
	}
	for (size_t i = 0; work_kinds[i]; i++) {
		names_once(work_kinds[i]->request);
		names_once(work_kinds[i]->result);
		reads_itself(work_kinds[i]->request);
		reads_itself(work_kinds[i]->result);
	}
	ok(work_kind("nothing") == NULL, "there is no job of an unknown kind");
	return tap_done();
}
