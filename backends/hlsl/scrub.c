/* scrub: see device.h.
 *
 * On a GPU there are enough groups for every unit to run some, because each group takes the whole memory of a unit. The
 * threads of a software driver are units, too, and one that wakes up early could run all groups. So there are as many
 * groups as threads, and they wait for each other: a thread that waits in one group cannot begin another. PATIENCE ends
 * the wait where a busy machine does not let the others run, or where there are fewer threads than processors. */
#include "backends/hlsl/device.h"

#include <stdlib.h>
#include <unistd.h>

#include "backends/hlsl/glslang.h"
#include "base/embedded.h"
#include "base/mem.h"

enum {
	GROUPS_GPU = 1024,
	THREADS_MAX = 32,
	PATIENCE = 60000
}; /* llvmpipe ends loops after 65535 rounds, so some are written out */

static uint32_t threads_of(const struct backend_device *d)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (!d->shares_cpu)
		return 0;
	return cpus < 1 ? 1 : cpus < THREADS_MAX ? (uint32_t)cpus : THREADS_MAX;
}

bool hlsl_scrub_works(const struct backend_device *d)
{
	return d->scrub.handle != VK_NULL_HANDLE;
}

int hlsl_scrub_prepare(struct backend_device *d, struct err *e)
{
	static const struct spirv_binding binding = { .binding = 0 };
	struct glslang_output o;
	if (hlsl_scrub_works(d))
		return 0;
	hlsl_scrub_fini(d);
	int rc = hlsl_device_buffer_new(d, 16, false, &d->meeting, e);
	if (rc < 0)
		return rc;
	char *text =
		mem_fmt("#define WORDS %u\n#define EXPECTED %uu\n#define PATIENCE %d\n%s", d->limits.maxComputeSharedMemorySize / 4,
			threads_of(d), PATIENCE, embedded_file("backends/hlsl/scrub.hlsl"));
	if (!hlsl_glslang(text, "scrub", false, &o))
		rc = err_set(e, ERR_INTERNAL, "the kernel that overwrites shared memory: %s", o.log);
	struct hlsl_kernel code = { .name = "scrub", .words = o.words, .bytes = o.word_count * sizeof *o.words };
	if (rc == 0)
		rc = hlsl_device_pipeline_init(d, &d->scrub, &code, &binding, 1, 0, e);
	if (rc == 0)
		hlsl_device_bind(d, &d->scrub, 0, 0, d->meeting, 0);
	free(o.words);
	free(o.log);
	free(text);
	return rc;
}

void hlsl_scrub_fini(struct backend_device *d)
{
	hlsl_device_pipeline_fini(d, &d->scrub);
	hlsl_device_buffer_free(d, d->meeting);
	d->meeting = NULL;
}

void hlsl_scrub_record(struct backend_device *d, uint32_t word)
{
	uint32_t threads = threads_of(d);
	d->vk.CmdFillBuffer(d->commands, d->meeting->handle, 0, sizeof word, 0);
	d->vk.CmdFillBuffer(d->commands, d->meeting->handle, sizeof word, sizeof word, word);
	hlsl_device_barrier(d);
	hlsl_device_use(d, &d->scrub, 0);
	d->vk.CmdDispatch(d->commands, threads ? threads : GROUPS_GPU, 1, 1);
	hlsl_device_barrier(d);
}
