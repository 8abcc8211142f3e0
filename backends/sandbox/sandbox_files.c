/* sandbox_files: see sandbox_files.h. Numbers and structures: linux/landlock.h of Linux 6.12 and Documentation/userspace-api/landlock.rst. */
#include "backends/sandbox/sandbox_files.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	SYS_CREATE = 444, SYS_ADD = 445, SYS_RESTRICT = 446, /* the same on every architecture */
	VERSION = 1, PATH_BENEATH = 1,
};
#define RIGHT(n) (UINT64_C(1) << (n))
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
#define OF_FILES (RIGHT(0) | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE)

struct ruleset { uint64_t files, net, scoped; };
struct beneath { uint64_t access; int32_t parent; } __attribute__((packed));

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
	/* Trailing zeros of a structure that is longer than the kernel's are accepted. */
	*f = (struct sandbox_files){ .fd = (int)syscall(SYS_CREATE, &rules, sizeof rules, 0), .abi = abi };
	return f->fd < 0 ? err_sys(e, errno, "Landlock (ABI %d) makes no rule set", abi) : 0;
}

void sandbox_files_allow(struct sandbox_files *f, const char *path, enum sandbox_files_use use)
{
	static const uint64_t rights[] = {
		[SANDBOX_FILES_READ] = READ_FILE | READ_DIR,
		[SANDBOX_FILES_DEVICE] = READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | IOCTL_DEVICE,
		[SANDBOX_FILES_SCRATCH] = READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | MAKE_REGULAR | REMOVE_FILE | MAKE_FOLDER |
		                       REMOVE_FOLDER | REFER,
		[SANDBOX_FILES_EMPTY] = READ_DIR | REMOVE_FOLDER,
		[SANDBOX_FILES_SHARE] = READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | MAKE_REGULAR | REMOVE_FILE,
	};
	struct stat st;
	int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return;
	struct beneath rule = { .access = rights[use] & all_rights(f->abi), .parent = fd };
	if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
		rule.access &= OF_FILES;
	/* A file system of the kernel's own (a pipe, say) takes no rule: then it stays forbidden. */
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
	if (syscall(SYS_RESTRICT, f->fd, 0) != 0)
		return err_sys(e, errno, "Landlock (ABI %d) does not close", f->abi);
	return 0;
}

void sandbox_files_fini(struct sandbox_files *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}
