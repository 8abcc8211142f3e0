/* sanitize: the log files of compute-sanitizer, read; see sanitize.h. A log is lines behind "========= "; a report begins at the left
 * margin and goes on indented. */
#include "core/judge/sanitize.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define MARK "========="
enum { LINE_BYTES = 600 };

/* One report while it is read. */
struct report {
	char *what, *place, *detail;
	size_t hazards;      /* "[508 hazards]"; 0 not told */
};

static const char *const beginnings[] = {
	"Invalid ", "Misaligned ", "Uninitialized ", "Unused memory", "Race reported", "Error: Race", "Warning: Race", "Warning: Potential",
	"Error: Potential", "Barrier error", "Divergent thread", "Stack overflow", "Illegal instruction", "Malloc/Free", "Leaked ",
	"Hardware stack", "Out-of-range", "Host write", "Host read", "Warp assert", "Device assert", "Fatal UVM", "Invalid",
};

/* The tool's own troubles. */
static const char *const troubles[] = {
	"Internal Sanitizer Error", "Error: Target application terminated before", "Unable to find injection", "Error: No attachable process",
	"Device not supported", "Error: Failed to", "Insufficient", "Error: The application did not", "Unsupported", "Cannot ",
};

static bool begins(const char *text, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strncmp(text, list[i], strlen(list[i])) == 0)
			return true;
	return false;
}

static void report_fini(struct report *r)
{
	free(r->what);
	free(r->place);
	free(r->detail);
	*r = (struct report){ .what = NULL };
}

/* "matmul(float *, int)+0x1a0 in device:12", "0x160 in device:12:matmul(float *)" and older "0x00000160 in device:12:matmul". */
static void read_place(const char *place, struct sanitize_finding *f)
{
	const char *in = place ? strstr(place, " in ") : NULL;
	const char *colon = in ? strchr(in + 4, ':') : NULL;
	f->region = colon ? mem_strn(in + 4, (size_t)(colon - in - 4)) : mem_str("");
	f->line = colon ? strtol(colon + 1, NULL, 10) : 0;
	const char *name = place ? place : "", *behind = colon ? strchr(colon + 1, ':') : NULL;
	if (strncmp(name, "0x", 2) == 0)
		name = behind ? behind + 1 : "";
	f->kernel = mem_strn(name, strcspn(name, "(+ "));
	/* A region's name may come with a folder in front. */
	const char *slash = strrchr(f->region, '/');
	if (slash) {
		char *base = mem_str(slash + 1);
		free(f->region);
		f->region = base;
	}
}

static void finding_fini(struct sanitize_finding *f)
{
	free(f->what);
	free(f->region);
	free(f->kernel);
	free(f->detail);
}

static void end_report(struct sanitize_log *log, struct report *r)
{
	struct sanitize_finding f = { .what = NULL };
	if (r->what == NULL)
		return;
	read_place(r->place, &f);
	f.what = mem_str(r->what);
	f.detail = mem_str(r->detail ? r->detail : "");
	f.count = r->hazards ? r->hazards : 1;
	report_fini(r);
	for (size_t i = 0; i < log->count; i++) {
		struct sanitize_finding *old = &log->at[i];
		if (old->line == f.line && strcmp(old->what, f.what) == 0 && strcmp(old->region, f.region) == 0 && strcmp(old->kernel, f.kernel) == 0) {
			old->count += f.count;
			finding_fini(&f);
			return;
		}
	}
	*MEM_PUSH(log->at, log->count) = f;
}

static void add_detail(struct report *r, const char *text)
{
	char *joined = r->detail ? mem_fmt("%s; %s", r->detail, text) : mem_str(text);
	free(r->detail);
	r->detail = joined;
}

static void read_hazards(struct report *r, const char *text)
{
	const char *open = strrchr(text, '['), *end = open ? strstr(open, " hazard") : NULL;
	if (end)
		r->hazards = strtoul(open + 1, NULL, 10);
}

/* The first line of a race names a place itself: "Race reported between Write access at sum(int *)+0x250 in device:16". */
static void begin_report(struct sanitize_log *log, struct report *r, const char *text)
{
	end_report(log, r);
	const char *at = strstr(text, " at ");
	/* Potential hazards name an address there, not a place. */
	if (at && strstr(at, " in ") && strncmp(at + 4, "__", 2) != 0) {
		r->what = mem_strn(text, (size_t)(at - text));
		r->place = mem_str(at + 4);
	} else {
		const char *address = strstr(text, " at __");
		r->what = mem_strn(text, address ? (size_t)(address - text) : strcspn(text, "\n"));
	}
	read_hazards(r, text);
}

static void continue_report(struct report *r, const char *text)
{
	if (r->what == NULL)
		return;
	if (strncmp(text, "at ", 3) == 0 && r->place == NULL) {
		r->place = mem_str(text + 3);
	} else if (strncmp(text, "and ", 4) == 0 && strstr(text, " access at ")) {
		char *what = mem_fmt("%s %.*s", r->what, (int)(strstr(text, " at ") - text), text);
		free(r->what);
		r->what = what;
		add_detail(r, text);
		read_hazards(r, text);
	} else if (strncmp(text, "by thread", 9) == 0 || strncmp(text, "Address ", 8) == 0 || strncmp(text, "Access to ", 10) == 0 || strncmp(text, "and is ", 7) == 0 ||
	           strncmp(text, "Access at ", 10) == 0) {
		add_detail(r, text);
	}
}

static void read_line(struct sanitize_log *log, struct report *r, const char *text)
{
	size_t indent = strspn(text, " ");
	const char *words = text + indent;
	if (strstr(words, "SUMMARY:")) {
		end_report(log, r);
		log->complete = true;
	} else if (*words == '\0') {
		end_report(log, r);
	} else if (indent > 1) {
		continue_report(r, words);
	} else if (begins(words, troubles, MEM_COUNT(troubles))) {
		end_report(log, r);
		if (log->failure == NULL)
			log->failure = mem_str(words);
	} else if (begins(words, beginnings, MEM_COUNT(beginnings))) {
		begin_report(log, r, words);
	} else {
		end_report(log, r); /* errors of API calls, banners, notes */
	}
}

void sanitize_log_add(struct sanitize_log *log, const char *text)
{
	struct report r = { .what = NULL };
	for (size_t n; *text; text += n + (text[n] == '\n')) {
		char line[LINE_BYTES];
		n = strcspn(text, "\n");
		if (strncmp(text, MARK, sizeof MARK - 1) != 0)
			continue;
		size_t len = n - (sizeof MARK - 1);
		len = len < sizeof line ? len : sizeof line - 1;
		memcpy(line, text + sizeof MARK - 1, len);
		while (len && (line[len - 1] == '\r' || line[len - 1] == ' '))
			len--;
		line[len] = '\0';
		read_line(log, &r, line);
	}
	end_report(log, &r);
}

void sanitize_log_fini(struct sanitize_log *log)
{
	for (size_t i = 0; i < log->count; i++)
		finding_fini(&log->at[i]);
	free(log->at);
	free(log->failure);
	*log = (struct sanitize_log){ .at = NULL };
}

/* The region's line, without the white space around it; NULL when there is none. free() */
static char *source_line(const struct context *ctx, const struct sanitize_finding *f)
{
	int region = context_region_parse(f->region);
	const char *text = region < 0 ? NULL : context_region(ctx, (enum region)region);
	for (long i = 1; text && i < f->line; i++) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	if (text == NULL || f->line < 1)
		return NULL;
	text += strspn(text, " \t");
	return mem_strn(text, strcspn(text, "\n"));
}

static int more_often(const void *a, const void *b)
{
	const struct sanitize_finding *x = a, *y = b;
	return (x->count < y->count) - (x->count > y->count);
}

void sanitize_log_show(const struct sanitize_log *log, const struct context *ctx, size_t max, struct buf *out)
{
	if (log->count == 0)
		return;
	struct sanitize_finding *sorted = mem_copy(log->at, log->count * sizeof *sorted);
	qsort(sorted, log->count, sizeof *sorted, more_often);
	for (size_t i = 0; i < log->count && i < max; i++) {
		const struct sanitize_finding *f = &sorted[i];
		char *source = source_line(ctx, f);
		buf_adds(out, f->what);
		if (f->line)
			buf_addf(out, " at %s:%ld", f->region, f->line);
		if (*f->kernel)
			buf_addf(out, " in %s", f->kernel);
		buf_addf(out, ", told %zu time%s\n", f->count, f->count == 1 ? "" : "s");
		if (source)
			buf_addf(out, "    %ld | %s\n", f->line, source);
		if (*f->detail)
			buf_addf(out, "    %s\n", f->detail);
		free(source);
	}
	if (log->count > max)
		buf_addf(out, "and %zu more places\n", log->count - max);
	free(sorted);
}
