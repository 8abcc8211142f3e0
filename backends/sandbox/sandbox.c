/* sandbox: see sandbox.h. The order within a device worker: environment and limits, files, then the driver is opened, then system calls.
 * A driver's start may run a helper (nvidia-modprobe) and connect to its daemons; no kernel's text is there before. */
#include "backends/sandbox/sandbox.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "backends/sandbox/sandbox_calls.h"
#include "backends/sandbox/sandbox_files.h"
#include "backends/sandbox/sandbox_places.h"

enum { SCRATCH_FILE_MAX = 256 << 20 }; /* bytes */

struct sandbox_kernel sandbox_probe(void)
{
	const char *set = getenv("PEAKD_CAGE");
	return (struct sandbox_kernel){
		.landlock = sandbox_files_abi(), .seccomp = sandbox_calls_offered(), .off = set && strcmp(set, "off") == 0,
	};
}

void sandbox_lacks(const struct sandbox_kernel *k, struct buf *out)
{
	if (k->off) {
		buf_adds(out, "OFF by PEAKD_CAGE=off: kernels and compilers can read and write all that this user can; unset it");
		return;
	}
	if (k->landlock == 0)
		buf_adds(out, "no Landlock in this kernel: compiled code can include any file that this user can read; boot Linux 5.13 "
		              "or newer with landlock in lsm=, or run peakd as a user of its own");
	if (!k->seccomp)
		buf_addf(out, "%sno seccomp in this kernel: workers keep network and processes; run peakd where there is no network",
		         k->landlock == 0 ? "; " : "");
}

void sandbox_start(void)
{
	/* No core file: inputs and references would be in it. */
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	/* Mesa's and NVIDIA's caches live in the user's home, and would hand one kernel's code to the next worker. */
	setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
	setenv("CUDA_CACHE_DISABLE", "1", 1);
	setenv("__GL_SHADER_DISK_CACHE", "0", 1);
}

static int enter_files(int abi, enum sandbox_role role, bool *ret_writes, struct err *e)
{
	struct sandbox_files f;
	int rc = sandbox_files_init(&f, abi, e);
	if (rc < 0)
		return rc;
	switch (role) {
	case SANDBOX_COMPILE:
		*ret_writes = sandbox_places_compile(&f);
		break;
	case SANDBOX_DEVICE:
		sandbox_places_device(&f);
		break;
	}
	rc = sandbox_files_close(&f, e);
	sandbox_files_fini(&f);
	return rc;
}

static int refuse(const struct err *why, struct err *e)
{
	return err_set(e, ERR_UNSUPPORTED, "the worker's sandbox cannot be closed: %s. Something above peakd forbids it (a container's own "
	               "filter?); PEAKD_CAGE=off in the daemon's environment runs workers without", why->text);
}

int sandbox_enter(const struct sandbox_kernel *k, enum sandbox_role role, struct err *e)
{
	struct err why = ERR_INIT;
	bool writes = k->landlock == 0;
	int rc = 0;
	if (k->off)
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		rc = err_sys(&why, errno, "no_new_privs");
	if (rc == 0 && k->landlock > 0)
		rc = enter_files(k->landlock, role, &writes, &why);
	if (rc < 0)
		return refuse(&why, e);
	/* Drivers grow their anonymous shared memory as files, so only the compile role writes none, or small ones in its scratch folder. */
	if (role == SANDBOX_COMPILE) {
		rlim_t most = writes ? SCRATCH_FILE_MAX : 0;
		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){ most, most });
	}
	return 0;
}

int sandbox_close(const struct sandbox_kernel *k, struct err *e)
{
	struct err why = ERR_INIT;
	return k->off || !k->seccomp || sandbox_calls_close(&why) == 0 ? 0 : refuse(&why, e);
}
