/* core/record: killing the process at any instant loses no committed checkpoint. `test_kill N` kills N times. A child commits
 * checkpoints as the daemon does: checkpoint, evidence, head of the workflow and event in one transaction. It prints the number of
 * each after its commit; it is killed at a random moment; whatever it printed must be there, whole. */
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "core/record/event.h"
#include "core/record/job.h"
#include "core/record/workflow.h"
#include "fixture.h"
#include "tap.h"

enum { ROUNDS = 20 };

__attribute__((noreturn))
static void write_until_killed(const char *path, const char *job, int out)
{
	struct err e = ERR_INIT;
	struct store *s = NULL;
	struct db *db = NULL;
	int64_t head = 0;
	int rc = store_open(path, &s, &e);
	if (rc == 0)
		rc = store_take(s, &db, &e);
	if (rc == 0)
		rc = workflow_resolve(db, "line", &head, &e);
	for (int n = (int)getpid() * 100; rc >= 0; n++) {
		rc = fixture_commit(db, job, n, &head, &e);
		if (rc >= 0 && write(out, &head, sizeof head) != sizeof head)
			break;
	}
	fprintf(stderr, "# the writer failed: %s\n", e.text);
	_exit(1);
}

struct totals {
	int64_t printed; /* checkpoints that the writers said were committed */
	int64_t missing; /* of these, those that are not there or not whole */
	int64_t unsound; /* rounds after which the database was damaged */
	int64_t ended;   /* writers that ended before they were killed */
};

static void check_one(struct fixture *f, int64_t id, struct totals *t)
{
	struct err e = ERR_INIT;
	t->printed++;
	if (fixture_look(f->db, id, &e) < 0) {
		printf("# %s\n", e.text);
		t->missing++;
	}
}

/* wait_first: not before a first commit, so that also slow machines get somewhere. */
static void run_round(struct fixture *f, const char *job, bool wait_first, unsigned random, struct totals *t)
{
	int fds[2], status = 0;
	int64_t id, last = 0;
	struct err e = ERR_INIT;
	if (pipe(fds) != 0)
		abort();
	pid_t child = fork();
	if (child == 0)
		write_until_killed(f->path, job, fds[1]);
	close(fds[1]);
	if (wait_first && read(fds[0], &last, sizeof last) != sizeof last)
		last = 0;
	clock_sleep(random % 60000 * 1000);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	t->ended += !WIFSIGNALED(status);
	fixture_open(f);
	if (last)
		check_one(f, last, t);
	while (read(fds[0], &id, sizeof id) == sizeof id)
		check_one(f, last = id, t);
	close(fds[0]);
	int64_t head = 0;
	workflow_resolve(f->db, "line", &head, &e);
	if (head < last) {
		printf("# head %lld, printed %lld\n", (long long)head, (long long)last);
		t->missing++;
	}
	if (store_check(f->db, &e) < 0) {
		printf("# %s\n", e.text);
		t->unsound++;
	}
	fixture_close(f);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
	struct fixture f;
	struct err e = ERR_INIT;
	struct totals t = { .printed = 0 };
	char *job = NULL;
	fixture_init(&f);
	is_int(workflow_create(f.db, "line", fixture_checkpoint(&f, "root", 0), &e), 0, "a workflow to write to");
	is_int(job_create(f.db, "test", "x", &job, &e), 0, "and a job");
	fixture_close(&f);
	for (int i = 0; i < rounds; i++) {
		unsigned random;
		hash_random(&random, sizeof random);
		run_round(&f, job, i % 2, random, &t);
	}
	ok(t.printed >= rounds / 2, "writers committed %lld checkpoints in %d rounds", (long long)t.printed, rounds);
	is_int(t.missing, 0, "every one that was committed is there, with its evidence");
	is_int(t.unsound, 0, "the database is sound after every kill");
	is_int(t.ended, 0, "every writer worked until it was killed");
	fixture_open(&f);
	struct event_list events = { .count = 0 };
	event_since(f.db, job, 0, 0, &events, &e);
	int64_t gaps = 0;
	for (size_t i = 0; i < events.count; i++)
		gaps += events.at[i].seq != (int64_t)i + 1;
	is_int(gaps, 0, "and %zu events are numbered without a gap", events.count);
	event_list_fini(&events);
	free(job);
	fixture_fini(&f);
	return tap_done();
}
