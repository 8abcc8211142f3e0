/* sandbox_locks: see sandbox.h. Landlock's numbers and structures are those of linux/landlock.h of Linux 6.12 and
 * Documentation/userspace-api/landlock.rst: Debian 12's header ends at ABI 2. libseccomp knows the numbers of system
 * calls and the machine's other ABIs (32-bit and x32 calls end the process). */
#include "backends/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

/* --- files -------------------------------------------------------------------------------------------------------- */

enum {
	SYS_CREATE = 444,
	SYS_ADD = 445,
	SYS_RESTRICT = 446, /* the same on every architecture */
	VERSION = 1,
	PATH_BENEATH = 1,
};
#define RIGHT(n) (UINT64_C(1) << (n))
#define EXECUTE RIGHT(0)
#define WRITE_FILE RIGHT(1)
#define READ_FILE RIGHT(2)
#define READ_DIR RIGHT(3)
#define REMOVE_FOLDER RIGHT(4)
#define REMOVE_FILE RIGHT(5)
#define MAKE_FOLDER RIGHT(7)
#define MAKE_REGULAR RIGHT(8)
#define REFER RIGHT(13)
#define TRUNCATE RIGHT(14)
#define IOCTL_DEVICE RIGHT(15)
/* Rights that a rule on something other than a folder may name: execute, write, read, truncate, ioctl. */
#define OF_FILES (EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE)

struct ruleset {
	uint64_t files, net, scoped;
};
struct beneath {
	uint64_t access;
	int32_t parent;
} __attribute__((packed));

/* Everything that an ABI can forbid of files: 13 rights at first, then refer (2), truncate (3), ioctl (5). */
static uint64_t all_rights(int abi)
{
	return RIGHT(13) - 1 + (abi >= 2 ? RIGHT(13) : 0) + (abi >= 3 ? TRUNCATE : 0) + (abi >= 5 ? IOCTL_DEVICE : 0);
}

int sandbox_files_abi(void)
{
	long abi = syscall(SYS_CREATE, NULL, 0, VERSION);
	return abi > 0 ? (int)abi : 0;
}

int sandbox_files_init(struct sandbox_files *f, int abi, struct err *e)
{
	struct ruleset rules = {
		.files = all_rights(abi),
		.net = abi >= 4 ? RIGHT(0) | RIGHT(1) : 0, /* bind and connect of TCP */
		.scoped = abi >= 6 ? RIGHT(0) : 0,         /* abstract Unix sockets; signals are sandbox_calls' */
	};
	/* A kernel with a shorter structure accepts trailing zeros. */
	*f = (struct sandbox_files){ .fd = (int)syscall(SYS_CREATE, &rules, sizeof rules, 0), .abi = abi };
	return f->fd < 0 ? err_sys(e, errno, "Landlock (ABI %d) cannot make a rule set", abi) : 0;
}

void sandbox_files_allow(struct sandbox_files *f, const char *path, enum sandbox_files_use use)
{
	static const uint64_t rights[] = {
		[SANDBOX_FILES_READ] = READ_FILE | READ_DIR,
		[SANDBOX_FILES_RUN] = READ_FILE | READ_DIR | EXECUTE,
		[SANDBOX_FILES_DEVICE] = READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | IOCTL_DEVICE,
		[SANDBOX_FILES_SCRATCH] = READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | MAKE_REGULAR | REMOVE_FILE | MAKE_FOLDER |
					  REMOVE_FOLDER | REFER,
		[SANDBOX_FILES_EMPTY] = READ_DIR | REMOVE_FOLDER,
	};
	struct stat st;
	int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return;
	struct beneath rule = { .access = rights[use] & all_rights(f->abi), .parent = fd };
	if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
		rule.access &= OF_FILES;
	/* The kernel's own file systems (pipes) accept no rule, and stay forbidden. */
	syscall(SYS_ADD, f->fd, PATH_BENEATH, &rule, 0);
	close(fd);
}

void sandbox_files_allow_all(struct sandbox_files *f, const char *pattern, enum sandbox_files_use use)
{
	glob_t found;
	if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		sandbox_files_allow(f, found.gl_pathv[i], use);
	globfree(&found);
}

int sandbox_files_close(struct sandbox_files *f, struct err *e)
{
	int rc = syscall(SYS_RESTRICT, f->fd, 0) == 0 ? 0 : err_sys(e, errno, "Landlock (ABI %d) cannot be applied", f->abi);
	close(f->fd);
	return rc;
}

/* --- system calls ------------------------------------------------------------------------------------------------- */

/* When the worker ends, LeakSanitizer stops its threads with ptrace, from a process that shares its memory. */
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

/* Names, since old headers lack numbers. A name that libseccomp does not know is a call that this machine lacks. */
/* clang-format off */
static const char *const denied[] = {
	/* talking to others; existing connections stay */
	"connect", "bind", "listen", "accept", "accept4",
	/* starting, changing, watching or ending processes */
	"execve", "execveat", "fork", "vfork", "setsid", "setpgid", "setns", "unshare", "process_vm_readv",
	"process_vm_writev", "process_madvise", "pidfd_open", "pidfd_getfd", "pidfd_send_signal", "rt_sigqueueinfo",
	"rt_tgsigqueueinfo", "tkill", "kcmp",
	/* becoming another user */
	"setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups", "setfsuid", "setfsgid",
	"capset", "personality",
	/* file systems, and files reached other than by name */
	"mount", "umount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig", "fsmount", "fspick", "move_mount",
	"open_tree", "mount_setattr", "quotactl", "quotactl_fd", "name_to_handle_at", "open_by_handle_at", "swapon",
	"swapoff", "mknod", "mknodat", "fanotify_init", "uselib", "acct", "memfd_secret",
	/* owners, modes and times of files: Landlock leaves these open */
	"chmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchownat", "utime", "utimes", "utimensat", "futimesat",
	"setxattr", "lsetxattr", "removexattr", "lremovexattr",
	/* the kernel itself, and interfaces that are broad or bypass this filter */
	"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "bpf", "perf_event_open",
	"keyctl", "add_key", "request_key", "io_uring_setup", "io_uring_enter", "io_uring_register", "userfaultfd",
	"reboot", "syslog", "sethostname", "setdomainname", "settimeofday", "clock_settime", "clock_adjtime",
	"adjtimex", "stime", "iopl", "ioperm", "modify_ldt", "lookup_dcookie", "nfsservctl", "vhangup", "vmsplice",
	/* System V shared memory and queues of this user's other programs */
	"shmget", "shmat", "semget", "semop", "msgget", "msgsnd", "msgrcv",
};
/* clang-format on */

bool sandbox_calls_offered(void)
{
	unsigned action = SECCOMP_RET_ERRNO;
	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

/* Whether a call that is denied to others is this process's own. */
static bool is_allowed(enum sandbox_calls may, const char *name)
{
	static const struct {
		const char *name;
		enum sandbox_calls least;
	} allowed[] = {
		{ "execve", SANDBOX_CALLS_EXECUTE },
		/* CUDA does not start in a process that cannot listen on a Unix socket; there are no other sockets. */
		{ "bind", SANDBOX_CALLS_EXECUTE },
		{ "listen", SANDBOX_CALLS_EXECUTE },
		{ "accept", SANDBOX_CALLS_EXECUTE },
		{ "accept4", SANDBOX_CALLS_EXECUTE },
		{ "fork", SANDBOX_CALLS_START },
		{ "vfork", SANDBOX_CALLS_START },
		{ "setsid", SANDBOX_CALLS_START },
		{ "setpgid", SANDBOX_CALLS_START },
	};
	for (size_t i = 0; i < MEM_COUNT(allowed); i++)
		if (strcmp(allowed[i].name, name) == 0)
			return may >= allowed[i].least;
	return false;
}

int sandbox_calls_close(enum sandbox_calls may, struct err *e)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int rc = filter ? 0 : -ENOMEM;
	if (rc == 0)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	/* A search tree: frequent calls of drivers cost a handful of comparisons, not a hundred. */
	if (rc == 0)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	/* Otherwise kernels before 5.16 slow down the whole process, against attacks from within it, which do not
	 * matter here. */
	if (rc == 0)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
	for (size_t i = 0; i < MEM_COUNT(denied) && rc == 0; i++) {
		int number = is_allowed(may, denied[i]) ? -1 : seccomp_syscall_resolve_name(denied[i]);
		rc = number < 0 ? 0 : seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0);
		rc = rc == -EDOM || rc == -EFAULT ? 0 : rc; /* not a call of this architecture */
	}
	if (rc == 0) {
		const uint32_t no = SCMP_ACT_ERRNO(EPERM);
		const scmp_datum_t self = (scmp_datum_t)getpid();
		const struct {
			int call;
			uint32_t action;
			unsigned arguments;
			struct scmp_arg_cmp argument;
		} rules[] = {
			{ SCMP_SYS(socket), no, 1, SCMP_A0(SCMP_CMP_NE, AF_UNIX, 0) },
			/* A process may aim these at itself. An id of 0 means the caller, but for kill its group, which
			 * includes the launcher. */
			{ SCMP_SYS(kill), no, 1, SCMP_A0(SCMP_CMP_NE, self, 0) },
			{ SCMP_SYS(tgkill), no, 1, SCMP_A0(SCMP_CMP_NE, self, 0) },
			{ SCMP_SYS(prlimit64), no, 1, SCMP_A0(SCMP_CMP_NE, 0, 0) },
			/* Characters pushed into the terminal would count as typed by its user. */
			{ SCMP_SYS(ioctl), no, 1, SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, 0x5412 /* TIOCSTI */) },
			/* Threads, but no processes. clone3 hides its flags in memory, so it answers ENOSYS and libraries use
			 * clone. */
			{ SCMP_SYS(clone3), SCMP_ACT_ERRNO(ENOSYS), 0, { 0 } },
			{ SCMP_SYS(clone), no, 1,
			  may == SANDBOX_CALLS_START ? SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER)
						     : SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0) },
			{ SCMP_SYS(ptrace), no, 0, { 0 } },
		};
		for (size_t i = 0; i < MEM_COUNT(rules) - (SANITIZED ? 2 : 0) && rc == 0; i++)
			rc = seccomp_rule_add_array(filter, rules[i].action, rules[i].call, rules[i].arguments, &rules[i].argument);
	}
	if (rc == 0)
		rc = seccomp_load(filter);
	if (filter)
		seccomp_release(filter);
	return rc == 0 ? 0 : err_sys(e, -rc, "the system call filter (seccomp) cannot be applied");
}
