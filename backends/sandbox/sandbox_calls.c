/* sandbox_calls: see sandbox_calls.h. libseccomp knows the numbers and the other ABIs of the machine (32-bit and x32 calls end the process). */
#include "backends/sandbox/sandbox_calls.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

/* LeakSanitizer stops the process's threads with ptrace, from a process that shares its memory, when the worker ends. */
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

/* Names, since old headers lack numbers; a name that libseccomp does not know is a call that this machine does not have. */
static const char *const denied[] = {
	/* talk to others: what is connected stays connected */
	"connect", "bind", "listen", "accept", "accept4",
	/* start, change, watch or end processes */
	"execve", "execveat", "fork", "vfork", "setsid", "setpgid", "setns", "unshare", "process_vm_readv", "process_vm_writev",
	"process_madvise", "pidfd_open", "pidfd_getfd", "pidfd_send_signal", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "tkill", "kcmp",
	/* become somebody else */
	"setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups", "setfsuid", "setfsgid", "capset",
	"personality",
	/* file systems, and files by other ways than their names */
	"mount", "umount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig", "fsmount", "fspick", "move_mount", "open_tree",
	"mount_setattr", "quotactl", "quotactl_fd", "name_to_handle_at", "open_by_handle_at", "swapon", "swapoff", "mknod", "mknodat",
	"fanotify_init", "uselib", "acct", "memfd_secret",
	/* owners, modes and times of files by their names: Landlock leaves these open */
	"chmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchownat", "utime", "utimes", "utimensat", "futimesat",
	"setxattr", "lsetxattr", "removexattr", "lremovexattr",
	/* the kernel itself, and interfaces that are wide or go around this filter */
	"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "bpf", "perf_event_open", "keyctl", "add_key",
	"request_key", "io_uring_setup", "io_uring_enter", "io_uring_register", "userfaultfd", "reboot", "syslog", "sethostname",
	"setdomainname", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "stime", "iopl", "ioperm", "modify_ldt",
	"lookup_dcookie", "nfsservctl", "vhangup", "vmsplice",
	/* System V shared memory and queues of the same user's other programs */
	"shmget", "shmat", "semget", "semop", "msgget", "msgsnd", "msgrcv",
};

bool sandbox_calls_offered(void)
{
	unsigned action = SECCOMP_RET_ERRNO;
	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

static int deny(scmp_filter_ctx filter, const char *name)
{
	int number = seccomp_syscall_resolve_name(name);
	int rc = number < 0 ? 0 : seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0);
	return rc == -EDOM || rc == -EFAULT ? 0 : rc; /* not a call of this architecture */
}

/* Calls that are fine towards oneself. A process id of 0 means the caller, but kill's means its group: the launcher's too. */
static int deny_by_argument(scmp_filter_ctx filter)
{
	const uint32_t no = SCMP_ACT_ERRNO(EPERM);
	const scmp_datum_t self = (scmp_datum_t)getpid();
	int rc = 0;
	if (rc == 0)
		rc = seccomp_rule_add(filter, no, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_NE, AF_UNIX, 0));
	if (rc == 0)
		rc = seccomp_rule_add(filter, no, SCMP_SYS(kill), 1, SCMP_A0(SCMP_CMP_NE, self, 0));
	if (rc == 0)
		rc = seccomp_rule_add(filter, no, SCMP_SYS(tgkill), 1, SCMP_A0(SCMP_CMP_NE, self, 0));
	if (rc == 0)
		rc = seccomp_rule_add(filter, no, SCMP_SYS(prlimit64), 1, SCMP_A0(SCMP_CMP_NE, 0, 0));
	if (rc == 0 && !SANITIZED)
		rc = seccomp_rule_add(filter, no, SCMP_SYS(ptrace), 0);
	/* Threads yes, processes no. clone3 hides its flags in memory, so it does not exist here: libraries then use clone. */
	if (rc == 0 && !SANITIZED)
		rc = seccomp_rule_add(filter, no, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
	if (rc == 0)
		rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	/* Characters pushed into the terminal are typed by its user. */
	if (rc == 0)
		rc = seccomp_rule_add(filter, no, SCMP_SYS(ioctl), 1, SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, 0x5412 /* TIOCSTI */));
	return rc;
}

int sandbox_calls_close(struct err *e)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int rc = filter ? 0 : -ENOMEM;
	if (rc == 0)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	/* A search tree: the calls that drivers make all the time meet a handful of comparisons, not a hundred. */
	if (rc == 0)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	/* Else kernels before 5.16 slow the whole process down, against attacks from within it that are no concern here. */
	if (rc == 0)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
	for (size_t i = 0; i < MEM_COUNT(denied) && rc == 0; i++)
		rc = deny(filter, denied[i]);
	if (rc == 0)
		rc = deny_by_argument(filter);
	if (rc == 0)
		rc = seccomp_load(filter);
	if (filter)
		seccomp_release(filter);
	return rc == 0 ? 0 : err_sys(e, -rc, "the system call filter (seccomp) does not close");
}
