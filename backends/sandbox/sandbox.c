/* sandbox: see sandbox.h. The order in a device worker: environment and limits, files, then the driver is opened, then
 * system calls. A driver's start may run a helper (nvidia-modprobe) and connect to its daemons; no kernel's text has
 * arrived by then. */
#include "backends/sandbox/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/mem.h"

enum { SCRATCH_FILE_MAX = 256 << 20 /* bytes */, SCRATCH_OPEN_MAX = 8 };

struct sandbox_kernel sandbox_probe(void)
{
	const char *set = getenv("PEAKD_SANDBOX");
	return (struct sandbox_kernel){ .landlock = sandbox_files_abi(),
					.seccomp = sandbox_calls_offered(),
					.off = set && strcmp(set, "off") == 0 };
}

void sandbox_lacks(const struct sandbox_kernel *k, struct buf *out)
{
	if (k->off) {
		buf_adds(out, "OFF by PEAKD_SANDBOX=off: kernels and compilers can read and write all that this user "
			      "can; unset it");
		return;
	}
	if (k->landlock == 0)
		buf_adds(out, "no Landlock in this kernel: compiled code can include any file that this user can read. Boot Linux "
			      "5.13 or newer with landlock in lsm=, or give peakd its own user");
	if (!k->seccomp)
		buf_addf(out,
			 "%sno seccomp in this kernel: workers keep network and processes; run peakd where there is no "
			 "network",
			 k->landlock == 0 ? "; " : "");
}

void sandbox_start(void)
{
	/* A core file would hold inputs and references. */
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	/* The caches of Mesa and NVIDIA live in the user's home, and would pass one kernel's code to the next
	 * worker. */
	setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
	setenv("CUDA_CACHE_DISABLE", "1", 1);
	setenv("__GL_SHADER_DISK_CACHE", "0", 1);
}

/* --- scratch: TMPDIR/peakd-UID/PID, for compilers that write files ------------------------------------------------ */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)at;
	(void)(type == FTW_DP ? rmdir(path) : unlink(path));
	return 0;
}

/* Removes the folder with all that is in it. Follows no links. */
static void remove_folder(const char *path)
{
	nftw(path, remove_one, SCRATCH_OPEN_MAX, FTW_DEPTH | FTW_PHYS);
}

/* Makes the folder, allows it and makes it this process's TMPDIR. False when it cannot be made, or its parent belongs
 * to somebody else. */
static bool make_scratch(struct sandbox_files *f)
{
	const char *base = getenv("TMPDIR");
	char *users = mem_fmt("%s/peakd-%u", base && *base == '/' ? base : "/tmp", (unsigned)geteuid());
	char *own = mem_fmt("%s/%ld", users, (long)getpid());
	struct stat st;
	bool made = (mkdir(users, 0700) == 0 || errno == EEXIST) && lstat(users, &st) == 0 && S_ISDIR(st.st_mode) &&
		    st.st_uid == geteuid() && (st.st_mode & 077) == 0;
	if (made) {
		/* Workers that were killed left theirs behind. Other names are other people's, such as the daemon's sockets. */
		DIR *d = opendir(users);
		struct dirent *entry;
		while (d && (entry = readdir(d)) != NULL) {
			char *end;
			long pid = strtol(entry->d_name, &end, 10);
			char *left = mem_fmt("%s/%s", users, entry->d_name);
			if (*end == '\0' && pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH)
				remove_folder(left);
			free(left);
		}
		if (d)
			closedir(d);
		made = mkdir(own, 0700) == 0 || errno == EEXIST;
	}
	if (made) {
		sandbox_files_allow(f, users, SANDBOX_FILES_EMPTY); /* so that sandbox_end can remove our own folder */
		sandbox_files_allow(f, own, SANDBOX_FILES_SCRATCH);
		setenv("TMPDIR", own, 1);
	}
	free(own);
	free(users);
	return made;
}

void sandbox_end(void)
{
	const char *own = getenv("TMPDIR");
	char *name = mem_fmt("/peakd-%u/%ld", (unsigned)geteuid(), (long)getpid());
	size_t n = strlen(name), len = own ? strlen(own) : 0;
	if (len > n && strcmp(own + len - n, name) == 0)
		remove_folder(own);
	free(name);
}

/* --- files that stay reachable ----------------------------------------------------------------------------------- */

/* Found with strace of NVRTC, glslang and lavapipe; generous where a closed driver may look. */

/* The folder that a file is in, as it is written and as it really is: libraries are often links into a versioned
 * folder. */
static void allow_folder_of(struct sandbox_files *f, const char *file)
{
	char real[PATH_MAX];
	const char *const names[] = { file, realpath(file, real) };
	for (size_t i = 0; i < MEM_COUNT(names); i++) {
		const char *end = names[i] ? strrchr(names[i], '/') : NULL;
		if (end == NULL || end == names[i])
			continue;
		char *folder = mem_strn(names[i], (size_t)(end - names[i]));
		sandbox_files_allow(f, folder, SANDBOX_FILES_READ);
		free(folder);
	}
}

/* Folders (or, with files, folders of files) in a variable that ld.so or a loader reads, separated by colons. */
static void allow_listed(struct sandbox_files *f, const char *variable, bool files)
{
	const char *at = getenv(variable);
	while (at && *at) {
		size_t n = strcspn(at, ":");
		char *path = mem_strn(at, n);
		if (files)
			allow_folder_of(f, path);
		else if (path[0] == '/' && path[1])
			sandbox_files_allow(f, path, SANDBOX_FILES_READ);
		free(path);
		at += n + (at[n] == ':');
	}
}

/* Files of packages and of the kernel, but nobody's own: no home, no /tmp, no /var, of /etc only what loaders read. */
static void allow_drivers(struct sandbox_files *f)
{
	static const char *const read[] = { "/usr",
					    "/lib",
					    "/lib64",
					    "/opt/cuda",
					    "/opt/nvidia",
					    "/opt/rocm",
					    "/nix/store",
					    "/run/opengl-driver",
					    "/run/nvidia",
					    "/sys",
					    "/etc/ld.so.cache",
					    "/etc/vulkan",
					    "/etc/glvnd",
					    "/etc/drirc",
					    "/etc/nvidia",
					    "/etc/localtime",
					    "/proc/driver",
					    "/proc/cpuinfo",
					    "/proc/meminfo",
					    "/proc/devices",
					    "/proc/modules",
					    "/proc/version",
					    "/proc/stat",
					    "/proc/filesystems",
					    "/proc/sys/vm",
					    "/proc/sys/kernel" };
	static const char *const use[] = { "/dev/null",      "/dev/zero",    "/dev/random",
					   "/dev/urandom",   "/dev/dri",     "/dev/dxg",
					   "/dev/kfd",       "/dev/udmabuf", "/proc/self" /* where drivers name their threads */,
					   "/tmp/nvidia-mps" };
	for (size_t i = 0; i < MEM_COUNT(read); i++)
		sandbox_files_allow(f, read[i], SANDBOX_FILES_READ);
	for (size_t i = 0; i < MEM_COUNT(use); i++)
		sandbox_files_allow(f, use[i], SANDBOX_FILES_DEVICE);
	sandbox_files_allow_all(f, "/dev/nvidia*", SANDBOX_FILES_DEVICE);
	allow_listed(f, "CUDA_MPS_PIPE_DIRECTORY", false);
	allow_listed(f, "LD_LIBRARY_PATH", false);
	allow_listed(f, "VK_DRIVER_FILES", true);
	allow_listed(f, "VK_ICD_FILENAMES", true);
	allow_listed(f, "VK_LAYER_PATH", false);
	allow_listed(f, "PEAKD_CUDA_DRIVER", true);
	allow_listed(f, "PEAKD_HIP_RUNTIME", true);
}

/* --- entering and closing ----------------------------------------------------------------------------------------- */

static int refuse(const struct err *why, struct err *e)
{
	return err_set(e, ERR_UNSUPPORTED,
		       "the worker's sandbox cannot be closed: %s. Something above peakd forbids it (a container's own "
		       "filter?); PEAKD_SANDBOX=off in the daemon's environment runs workers without",
		       why->text);
}

int sandbox_enter(const struct sandbox_kernel *k, enum sandbox_role role, const struct sandbox_needs *needs, struct err *e)
{
	struct err why = ERR_INIT;
	struct sandbox_files f;
	struct stat st;
	bool writes = k->landlock == 0; /* the role may write files */
	int rc = 0;
	if (k->off)
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		rc = err_sys(&why, errno, "no_new_privs");
	if (rc == 0 && k->landlock > 0)
		rc = sandbox_files_init(&f, k->landlock, &why);
	if (rc == 0 && k->landlock > 0) {
		for (unsigned i = 0; i < needs->read_count; i++)
			if (stat(needs->read[i], &st) == 0 && S_ISDIR(st.st_mode))
				sandbox_files_allow(&f, needs->read[i],
						    role >= SANDBOX_PROGRAM ? SANDBOX_FILES_RUN : SANDBOX_FILES_READ);
			else
				allow_folder_of(&f, needs->read[i]);
		if (role != SANDBOX_COMPILE)
			allow_drivers(&f);
		writes = (role == SANDBOX_BUILDER || (role == SANDBOX_COMPILE && needs->scratch)) && make_scratch(&f);
		rc = sandbox_files_close(&f, &why);
	}
	if (rc < 0)
		return refuse(&why, e);
	/* Drivers keep anonymous shared memory in files, so only the compile role is limited: to no file, or small ones
	 * in its scratch folder. */
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
	return k->off || !k->seccomp || sandbox_calls_close(SANDBOX_CALLS_ALONE, &why) == 0 ? 0 : refuse(&why, e);
}

/* --- another program -------------------------------------------------------------------------------------------------- */

/* PREFIX of PREFIX/bin/NAME, where an interpreter's libraries lie. */
static void need_prefix(struct sandbox_needs *needs, const char *path)
{
	char *to = needs->read[needs->read_count];
	snprintf(to, PATH_MAX, "%s", path);
	for (int i = 0; i < 2 && strrchr(to, '/'); i++)
		*strrchr(to, '/') = '\0';
	needs->read_count += *to != '\0';
}

int sandbox_exec(char *const *argv, enum sandbox_role role, struct err *e)
{
	enum sandbox_calls calls = role == SANDBOX_BUILDER ? SANDBOX_CALLS_START : SANDBOX_CALLS_EXECUTE;
	struct sandbox_kernel kernel = sandbox_probe();
	struct sandbox_needs needs = { .read = { "/usr", "/lib", "/lib64" }, .read_count = 3 };
	struct err why = ERR_INIT;
	char *path = strchr(argv[0], '/') ? mem_str(argv[0]) : folder_find_program(getenv("PATH"), argv[0]), real[PATH_MAX];
	if (path == NULL)
		return err_set(e, ERR_NOT_FOUND, "%s is in no folder of $PATH", argv[0]);
	/* A virtual environment's interpreter is a link, and both ends have libraries. */
	need_prefix(&needs, path);
	if (realpath(path, real))
		need_prefix(&needs, real);
	sandbox_start();
	int rc = sandbox_enter(&kernel, role, &needs, e);
	if (rc == 0 && !kernel.off && kernel.seccomp && sandbox_calls_close(calls, &why) < 0)
		rc = refuse(&why, e);
	if (rc == 0) {
		execv(path, argv);
		rc = err_sys(e, errno, "%s cannot be executed", path);
	}
	free(path);
	return rc;
}
