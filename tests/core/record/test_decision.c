/* core/record/decision: which search a job is of, and which of several jobs may decide in it. */
#include "core/record/decision.h"

#include "base/mem.h"
#include "core/record/fixture.h"
#include "core/record/job.h"
#include "tap.h"

/* A running optimize job that continues another one's search; NULL: it begins one. free() */
static char *optimize(struct db *db, const char *continued)
{
	struct err e = ERR_INIT;
	char *id = NULL,
	     *request = continued ? mem_fmt("{\"checkpoint\":1,\"continue\":\"%s\"}", continued) : mem_str("{\"checkpoint\":1}");
	if (job_create(db, "optimize", request, &id, &e) < 0 || job_start(db, id, &e) < 0)
		printf("# %s\n", e.text);
	free(request);
	return id;
}

static void decide(struct db *db, const char *search, int64_t checkpoint)
{
	struct decision d;
	struct err e = ERR_INIT;
	decision_init(&d);
	d.search = mem_str(search);
	d.seq = 1;
	d.policy = mem_str("greedy");
	d.checkpoint = checkpoint;
	d.reason = mem_str("the search starts here");
	is_int(decision_add(db, &d, &e), 0, "a search decides%s", e.text);
	decision_fini(&d);
}

static void is_search(struct db *db, const char *job, const char *search, const char *what)
{
	struct decision_list list;
	struct err e = ERR_INIT;
	decision_list(db, job, &list, &e);
	is_str(list.count ? list.at[0].search : "none", search, "%s", what);
	decision_list_fini(&list);
}

static void is_rival(struct db *db, const char *search, const char *job, const char *rival, const char *what)
{
	struct err e = ERR_INIT;
	char *got = NULL;
	decision_rival(db, search, job, &got, &e);
	is_str(got ? got : "none", rival, "%s", what);
	free(got);
}

int main(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	fixture_init(&f);
	int64_t root = fixture_checkpoint(&f, "root", 0);
	char *first = optimize(f.db, NULL), *other = optimize(f.db, NULL);
	decide(f.db, first, root);
	decide(f.db, other, root);
	char *second = optimize(f.db, first), *third = optimize(f.db, second), *fourth = optimize(f.db, first);
	is_search(f.db, second, first, "a job that continues a search is of that search");
	is_search(f.db, third, first, "a continued search is continued by the id of any of its jobs");
	is_search(f.db, other, other, "another search stays apart");
	is_search(f.db, "junknown", "none", "an unknown job is of no search");
	is_rival(f.db, first, second, first, "a search is not continued while the job that began it runs");
	job_done(f.db, first, "{}", &e);
	is_rival(f.db, first, second, "none", "the first job that was asked to continue it does");
	is_rival(f.db, first, third, second, "the next one must wait, although it names the job before it");
	is_rival(f.db, first, fourth, second, "as must one that names the search");
	job_done(f.db, second, "{}", &e);
	is_rival(f.db, first, fourth, third, "they come in the order in which they were asked");
	job_fail(f.db, third, &(struct err){ .code = ERR_WRONG }, "{}", &e);
	is_rival(f.db, first, fourth, "none", "one that failed holds up nobody");
	is_rival(f.db, other, other, "none", "a job is not its own rival");
	free(first);
	free(second);
	free(third);
	free(fourth);
	free(other);
	fixture_fini(&f);
	return tap_done();
}
