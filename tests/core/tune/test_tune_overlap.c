/* core/tune/tune: compilers and devices work at the same time, by a worker without compiler and device whose answers wait for each
 * other. Nothing is timed: a tune in which one waits for the other where it need not would come to a stop here. What overlap brings
 * in time is what bench/tune measures. */
#include "core/tune/tune.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "bench/fake_worker.h"
#include "core/sample.h"

enum {
	POINTS = 40,
	LANES = 2 /* of sample_init's pool */,
	BOTH = 15 /* configurations on each device that meet one on the other */
};

/* What all workers see: a file that they map. */
struct board {
	_Atomic unsigned begun, compiled;             /* compilations that began, and that are done */
	_Atomic unsigned measured, on_device[2];      /* configurations of the search: done, and begun on each device */
	_Atomic bool seen[POINTS + 1], stuck, pairwise;
	_Atomic bool asked[POINTS + 1]; /* of a compiler */
};

static struct board *board;

static struct board *map_board(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return at == MAP_FAILED ? NULL : at;
}

/* For as long as a request may last; who waited so long lets everybody go on. */
static void wait_until(bool (*holds)(unsigned number), unsigned number)
{
	int64_t end = clock_now() + 30 * CLOCK_S;
	while (!holds(number) && !board->stuck) {
		board->stuck = clock_now() > end;
		clock_sleep(CLOCK_MS / 5);
	}
}

/* Compilers of the round behind the next one wait for the device. It has to go on with what is compiled while none of them ends.
 * Before its first configuration it needs a compiler itself, for the reference. */
static bool device_came_along(unsigned number)
{
	return board->on_device[0] == 0 || board->measured + LANES >= number / LANES * LANES;
}

static bool refuses(const char *defines)
{
	const char *at = strstr(defines, "X=");
	unsigned x = at ? (unsigned)atoi(at + 2) : 0;
	/* References compile a point once more, as it is and lifted. */
	if (x > 0 && x <= POINTS && atomic_exchange(&board->asked[x], true))
		return false;
	unsigned number = board->begun++;
	if (!board->pairwise && number < POINTS) /* later ones are for proofs */
		wait_until(device_came_along, number);
	board->compiled++;
	return false;
}

/* The device waits for the compilers, which have to go on while it is busy. */
static bool compilers_went_ahead(unsigned number)
{
	unsigned ahead = (number / LANES + 2) * LANES;
	return board->compiled >= (ahead < POINTS ? ahead : POINTS);
}

static bool other_came_along(unsigned number)
{
	return board->on_device[!fake_device] >= number;
}

static uint64_t time_of(const char *defines, enum fake_timing how)
{
	const char *at = strstr(defines, "X=");
	unsigned x = at ? (unsigned)atoi(at + 2) : 0;
	if (how == FAKE_SEARCHED && x > 0 && x <= POINTS && !atomic_exchange(&board->seen[x], true)) {
		unsigned number = ++board->on_device[fake_device != 0];
		if (!board->pairwise)
			wait_until(compilers_went_ahead, number - 1);
		else if (number <= BOTH)
			wait_until(other_came_along, number);
		board->measured++;
	}
	return 1000000 + 1000 * x;
}

static void overlaps(size_t devices)
{
	struct sample s;
	struct tune_result t;
	struct facts *facts = NULL;
	struct context *ctx = NULL;
	struct err e = ERR_INIT;
	size_t count = 0;
	memset(board, 0, sizeof *board);
	board->pairwise = devices == 2;
	sample_init(&s);
	is_int(context_parse("overlap",
			     "---\nkernel: k\nbackend: hlsl\ninputs:\n  n: int = {64}\n  A: f32[64] = random\n  C: out f32[64]\n"
			     "tune:\n  X: i for i = 1,40\n---\n```hlsl\n[numthreads(64, 1, 1)]\n"
			     "void k(uint3 id : SV_DispatchThreadID) { C[id.x] = X; }\n"
			     "```\n```lua host\nlaunch(\"k\", {1}, {64}, {A, C, n})\n"
			     "```\n",
			     &ctx, &e),
	       0, "a context of %d points %s", POINTS, e.text);
	is_int(pool_device_set(s.pool, "hlsl:all", &facts, &count, &e), 0, "devices %s", e.text);
	struct params *size = params_new();
	params_set_int(size, "n", false, 64);
	struct eval ev = { .pool = s.pool, .references = s.references };
	struct tune_request q = { .ctx = ctx, .baseline = ctx, .facts = facts, .device_count = devices, .size = size,
				  .budget = POINTS, .strategy = "exhaustive", .seed = 1 };
	int rc = tune_run(&ev, &q, s.db, sample_checkpoint(&s, ctx), "overlap", &t, &e);
	is_int(rc, 0, "a tune on %zu of them %s", devices, e.text);
	ok(rc == 0 && t.tried == POINTS && t.timed == POINTS && board->measured == POINTS, "all points are tried and timed once");
	if (devices == 1)
		ok(!board->stuck, "compiling and measuring overlap (%u compiled, %u measured)", board->compiled,
		   board->measured);
	else
		ok(!board->stuck, "both devices measure (%u and %u)", board->on_device[0], board->on_device[1]);
	if (rc == 0)
		tune_result_fini(&t);
	params_free(size);
	free(facts);
	context_free(ctx);
	sample_fini(&s);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "worker") == 0) {
		board = map_board(getenv("PEAKD_TEST_BOARD"));
		if (board == NULL)
			return 1;
		fake_time = time_of;
		fake_refuses = refuses;
		return fake_worker_main();
	}
	char file[] = "/tmp/peakd-board-XXXXXX";
	int fd = mkstemp(file);
	if (fd < 0 || ftruncate(fd, sizeof(struct board)) != 0 || (board = map_board(file)) == NULL)
		return 1;
	close(fd);
	setenv("PEAKD_TEST_BOARD", file, 1);
	setenv("PEAKD_BENCH_FAKE", "0 0 2", 1);
	overlaps(1);
	overlaps(2);
	unlink(file);
	munmap(board, sizeof *board);
	return tap_done();
}
