/* backends/sandbox: for each denial a child enters the sandbox, tries, and exits with the errno that it got. */
#include "backends/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/hip/hip.h"
#include "backends/worker/backend.h"
#include "base/mem.h"
#include "tap.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static char folder[] = "/tmp/peakd-sandbox-XXXXXX";

/* Returns 0 or the errno of one attempt. */
typedef int (*attempt)(const char *arg);

static int result(long r)
{
	return r < 0 ? errno : 0;
}

/* The result of `try` in the sandbox; -1 when the child was killed. */
static int in_sandbox(struct sandbox_kernel k, enum sandbox_role role, attempt try, const char *arg)
{
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		struct err e = ERR_INIT;
		struct sandbox_needs needs;
		sandbox_start();
		backend_sandbox_needs(role, &needs);
		if (sandbox_enter(&k, role, &needs, &e) < 0 || sandbox_close(&k, &e) < 0) {
			fprintf(stderr, "# %s\n", e.text);
			_exit(250);
		}
		_exit(try(arg));
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* --- attempts ------------------------------------------------------------------------------------------------------- */

static int try_read(const char *path) { return result(open(path, O_RDONLY)); }
static int try_list(const char *path) { return result(open(path, O_RDONLY | O_DIRECTORY)); }
static int try_write(const char *path) { return result(open(path, O_WRONLY)); }
static int try_create(const char *path) { return result(open(path, O_WRONLY | O_CREAT, 0600)); }
static int try_unlink(const char *path) { return result(unlink(path)); }
static int try_chmod(const char *path) { return result(chmod(path, 0777)); }
static int try_inet(const char *arg) { (void)arg; return result(socket(AF_INET, SOCK_STREAM, 0)); }
static int try_inet6(const char *arg) { (void)arg; return result(socket(AF_INET6, SOCK_DGRAM, 0)); }
static int try_netlink(const char *arg) { (void)arg; return result(socket(AF_NETLINK, SOCK_RAW, 0)); }
static int try_pair(const char *arg) { int fd[2]; (void)arg; return result(socketpair(AF_UNIX, SOCK_STREAM, 0, fd)); }

static int try_connect(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
	return result(connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&to, sizeof to));
}

/* In the name space without files; its name is the process's number. */
static int try_listen(const char *arg)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	(void)arg;
	snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "peakd-test-%d", (int)getpid());
	return bind(fd, (struct sockaddr *)&at, sizeof at) == 0 ? result(listen(fd, 1)) : errno;
}

static int try_exec(const char *path)
{
	char *const argv[] = { (char *)(uintptr_t)path, NULL };
	execv(path, argv);
	return errno;
}

static int try_fork(const char *arg)
{
	(void)arg;
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	return result(pid);
}

static int try_ptrace(const char *arg) { (void)arg; return result(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL)); }
static int try_kill(const char *arg) { (void)arg; return result(kill(getppid(), 0)); }
static int try_kill_group(const char *arg) { (void)arg; return result(kill(0, 0)); }
static int try_setsid(const char *arg) { (void)arg; return result(setsid()); }

static int try_peek(const char *arg)
{
	char byte;
	struct iovec here = { &byte, 1 }, there = { folder, 1 };
	(void)arg;
	return result(process_vm_readv(getppid(), &here, 1, &there, 1, 0));
}

static int try_uring(const char *arg) { (void)arg; return result(syscall(SYS_io_uring_setup, 1, NULL)); }
static int try_bpf(const char *arg) { (void)arg; return result(syscall(SYS_bpf, 0, NULL, 0)); }
static int try_perf(const char *arg) { (void)arg; return result(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0)); }
static int try_keys(const char *arg) { (void)arg; return result(syscall(SYS_keyctl, 0, -3, 0)); }
static int try_mount(const char *arg) { (void)arg; return result(syscall(SYS_mount, "none", folder, "tmpfs", 0, NULL)); }
static int try_unshare(const char *arg) { (void)arg; return result(syscall(SYS_unshare, 0x10000000)); }

static void *idle(void *arg)
{
	return arg;
}

/* What drivers and their compilers of code do all the time. */
static int try_work(const char *arg)
{
	pthread_t t;
	(void)arg;
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int memory = memfd_create("x", MFD_CLOEXEC);
	if (code == MAP_FAILED || mprotect(code, 4096, PROT_READ | PROT_EXEC) != 0 || memory < 0)
		return 1;
	if (pthread_create(&t, NULL, idle, NULL) != 0 || pthread_join(t, NULL) != 0)
		return 2;
	return kill(getpid(), 0) == 0 ? 0 : 3;
}

/* arg: MiB. */
static int try_grow(const char *arg)
{
	return result(ftruncate(memfd_create("x", MFD_CLOEXEC), (off_t)atoi(arg) << 20));
}

static int try_core(const char *arg)
{
	struct rlimit core;
	(void)arg;
	return getrlimit(RLIMIT_CORE, &core) != 0 || core.rlim_max != 0;
}

/* Landlock and seccomp need this flag: set-uid programs gain nothing. */
static int try_gain(const char *arg)
{
	char line[256];
	(void)arg;
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, "NoNewPrivs:\t1", 13) == 0)
			return 0;
	return 1;
}

/* --- tables --------------------------------------------------------------------------------------------------------- */

struct row { const char *what; attempt try; int want; };

static const struct row calls[] = {
	{ "an internet socket", try_inet, EPERM },
	{ "a datagram socket of IPv6", try_inet6, EPERM },
	{ "netlink", try_netlink, EPERM },
	{ "a connection to a Unix socket", try_connect, EPERM },
	{ "a service on a Unix socket", try_listen, EPERM },
	{ "another program", try_exec, EPERM },
	{ "a debugger's look at the daemon", try_ptrace, EPERM },
	{ "its memory", try_peek, EPERM },
	{ "a signal to the daemon", try_kill, EPERM },
	{ "one to the group", try_kill_group, EPERM },
	{ "a session of its own", try_setsid, EPERM },
	{ "a child that outlives the worker", try_fork, EPERM },
	{ "io_uring", try_uring, EPERM },
	{ "bpf", try_bpf, EPERM },
	{ "performance counters", try_perf, EPERM },
	{ "the key ring", try_keys, EPERM },
	{ "a mount", try_mount, EPERM },
	{ "a name space", try_unshare, EPERM },
	{ "a pair of sockets", try_pair, 0 },
	{ "threads, executable memory, anonymous files, a signal to oneself", try_work, 0 },
	{ "no core file", try_core, 0 },
};

static void test_calls(struct sandbox_kernel k)
{
	char *socket_path = mem_fmt("%s/none", folder);
	for (size_t i = 0; i < MEM_COUNT(calls); i++) {
		if (SANITIZED && (calls[i].try == try_fork || calls[i].try == try_ptrace)) {
			SKIP(1, "LeakSanitizer needs %s", calls[i].what);
			continue;
		}
		const char *arg = calls[i].try == try_exec ? "/bin/true" : socket_path;
		is_int(in_sandbox(k, SANDBOX_DEVICE, calls[i].try, arg), calls[i].want, "device: %s", calls[i].what);
		is_int(in_sandbox(k, SANDBOX_COMPILE, calls[i].try, arg), calls[i].want, "compile: %s", calls[i].what);
	}
	free(socket_path);
}

/* In a process that keeps the calls of another program. */
static int as_program(attempt try)
{
	struct err e = ERR_INIT;
	int status;
	pid_t pid = fork();
	if (pid == 0)
		_exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || sandbox_calls_close(SANDBOX_CALLS_EXECUTE, &e) ? 250
													      : try("/none"));
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_program(void)
{
	is_int(as_program(try_listen), 0, "program: CUDA's start listens on a Unix socket");
	is_int(as_program(try_connect), EPERM, "program: a connection to a Unix socket");
	is_int(as_program(try_inet), EPERM, "program: an internet socket");
	is_int(as_program(try_fork), SANITIZED ? 0 : EPERM, "program: a child that outlives it");
}

static void test_files(struct sandbox_kernel k)
{
	struct gpu_rtc rtc;
	char *secret = mem_fmt("%s/secret", folder), *fresh = mem_fmt("%s/fresh", folder), *link = mem_fmt("%s/link", folder);
	char *other = mem_fmt("/proc/%d/environ", (int)getpid());
	if (close(open(secret, O_WRONLY | O_CREAT, 0600)) != 0 || symlink(secret, link) != 0)
		abort();
	for (enum sandbox_role role = SANDBOX_COMPILE; role <= SANDBOX_DEVICE; role++) {
		const char *name = role == SANDBOX_COMPILE ? "compile" : "device";
		is_int(in_sandbox(k, role, try_read, secret), EACCES, "%s: a user's file is not read", name);
		is_int(in_sandbox(k, role, try_read, link), EACCES, "%s: a user's file is not read through a link", name);
		is_int(in_sandbox(k, role, try_write, secret), EACCES, "%s: a user's file is not written", name);
		is_int(in_sandbox(k, role, try_unlink, secret), EACCES, "%s: a user's file is not removed", name);
		is_int(in_sandbox(k, role, try_create, fresh), EACCES, "%s: no file is created", name);
		is_int(in_sandbox(k, role, try_list, folder), EACCES, "%s: no folder is listed", name);
		is_int(in_sandbox(k, role, try_read, "/etc/passwd"), EACCES, "%s: /etc/passwd is not read", name);
		is_int(in_sandbox(k, role, try_read, other), EACCES, "%s: the daemon's environment is not read", name);
		if (k.seccomp)
			is_int(in_sandbox(k, role, try_chmod, secret), EPERM, "%s: no mode is changed", name);
	}
	is_int(in_sandbox(k, SANDBOX_COMPILE, try_read, "/usr/include/stdio.h"), EACCES,
	       "compile: the host's headers are not read");
	is_int(in_sandbox(k, SANDBOX_COMPILE, try_read, "/proc/self/environ"), EACCES, "compile: its own environment is not read");
	is_int(in_sandbox(k, SANDBOX_COMPILE, try_read, "/sys/devices/system/cpu/possible"), EACCES, "compile: /sys is not read");
	if (hip_library_rtc(&rtc, NULL) < 0)
		is_int(in_sandbox(k, SANDBOX_COMPILE, try_grow, "1"), EFBIG, "compile: no file grows, not even in memory");
	is_int(in_sandbox(k, SANDBOX_COMPILE, try_grow, "257"), EFBIG, "compile: no file exceeds 256 MiB");
	is_int(in_sandbox(k, SANDBOX_DEVICE, try_grow, "257"), 0, "device: anonymous memory of drivers exceeds 256 MiB");
	is_int(in_sandbox(k, SANDBOX_DEVICE, try_read, "/sys/devices/system/cpu/possible"), 0, "device: /sys is read");
	is_int(in_sandbox(k, SANDBOX_DEVICE, try_write, "/dev/null"), 0, "device: /dev/null is written");
	is_int(in_sandbox(k, SANDBOX_DEVICE, try_gain, NULL), 0, "device: it cannot gain privileges");
	is_int(access(secret, F_OK), 0, "the user's file still exists");
	unlink(secret);
	unlink(link);
	free(secret);
	free(fresh);
	free(link);
	free(other);
}

static void test_words(void)
{
	struct buf text = BUF_INIT;
	sandbox_lacks(&(struct sandbox_kernel){ .landlock = 7, .seccomp = true }, &text);
	is_str(buf_text(&text), "", "a complete sandbox lacks nothing");
	sandbox_lacks(&(struct sandbox_kernel){ .landlock = 0, .seccomp = true }, &text);
	has_str(buf_text(&text), "no Landlock", "missing Landlock is reported");
	ok(strstr(buf_text(&text), "no seccomp") == NULL, "only missing Landlock is reported");
	buf_clear(&text);
	sandbox_lacks(&(struct sandbox_kernel){ .landlock = 1 }, &text);
	has_str(buf_text(&text), "no seccomp", "missing seccomp is reported");
	buf_clear(&text);
	sandbox_lacks(&(struct sandbox_kernel){ .landlock = 7, .seccomp = true, .off = true }, &text);
	has_str(buf_text(&text), "PEAKD_SANDBOX=off", "a sandbox that is switched off is reported");
	buf_fini(&text);
	setenv("PEAKD_SANDBOX", "off", 1);
	ok(sandbox_probe().off, "PEAKD_SANDBOX=off switches the sandbox off");
	setenv("PEAKD_SANDBOX", "on", 1);
	ok(!sandbox_probe().off, "PEAKD_SANDBOX=on does not switch it off");
	unsetenv("PEAKD_SANDBOX");
}

/* Workers keep working on kernels that lack a part, and without a sandbox. */
static void test_without(struct sandbox_kernel k)
{
	struct sandbox_kernel off = k, no_files = k, no_calls = k;
	off.off = true;
	no_files.landlock = 0;
	no_calls.seccomp = false;
	is_int(in_sandbox(off, SANDBOX_COMPILE, try_read, "/etc/passwd"), 0, "off: files are read");
	is_int(in_sandbox(off, SANDBOX_COMPILE, try_inet, NULL), 0, "off: sockets are made");
	is_int(in_sandbox(no_files, SANDBOX_COMPILE, try_read, "/etc/passwd"), 0, "without Landlock: files are read");
	if (k.seccomp)
		is_int(in_sandbox(no_files, SANDBOX_COMPILE, try_inet, NULL), EPERM, "without Landlock: sockets are still refused");
	if (k.landlock)
		is_int(in_sandbox(no_calls, SANDBOX_COMPILE, try_read, "/etc/passwd"), EACCES,
		       "without seccomp: files are still refused");
}

/* Older kernels: this one accepts the rule set of every ABI up to its own. */
static void test_abis(int newest)
{
	for (int abi = 1; abi <= newest && abi <= 7; abi++) {
		struct sandbox_kernel k = { .landlock = abi };
		is_int(in_sandbox(k, SANDBOX_DEVICE, try_read, "/etc/passwd"), EACCES, "Landlock's ABI %d can be applied", abi);
	}
}

int main(void)
{
	struct sandbox_kernel k = sandbox_probe();
	printf("# Landlock ABI %d, seccomp %s\n", k.landlock, k.seccomp ? "yes" : "no");
	k.off = false;
	if (mkdtemp(folder) == NULL)
		abort();
	test_words();
	if (k.seccomp) {
		test_calls(k);
		test_program();
	} else {
		SKIP(1, "this kernel has no seccomp");
	}
	if (k.landlock)
		test_files(k);
	else
		SKIP(1, "this kernel has no Landlock");
	test_abis(k.landlock);
	test_without(k);
	rmdir(folder);
	return tap_done();
}
