#include "core/sandbox.h"

#include <stdbool.h>
#include <stdio.h>

#if defined(__SANITIZE_ADDRESS__)
#define APR_NO_SANDBOX
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define APR_NO_SANDBOX
#endif
#endif

#ifndef APR_NO_SANDBOX

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/dir.h"
#include "core/spool.h"

/* ---- Landlock ---- */

/* The first version has no right to link or rename into another folder, and so
 * forbids that always: a model folder could not be written. */
#define OLDEST 2
#define TRUNCATE (1u << 14) /* since version 3; the headers here are older */

#define READ_FILES LANDLOCK_ACCESS_FS_READ_FILE
#define READ_FOLDER (READ_FILES | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE_FOLDER (READ_FOLDER | LANDLOCK_ACCESS_FS_WRITE_FILE | \
	LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR | \
	LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | \
	LANDLOCK_ACCESS_FS_REFER)
#define SPOOL_FOLDER (READ_FILES | LANDLOCK_ACCESS_FS_WRITE_FILE | \
	LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE)

static bool entered, has_rules;
static int rules = -1;

static int
landlock_version(void)
{
	long n = syscall(SYS_landlock_create_ruleset, NULL, 0,
	                 LANDLOCK_CREATE_RULESET_VERSION);

	return n < OLDEST ? 0 : (int)n;
}

/* Everything is forbidden that is not allowed by a rule. */
static int
rules_fd(void)
{
	struct landlock_ruleset_attr all = {
		.handled_access_fs = (LANDLOCK_ACCESS_FS_REFER << 1) - 1,
	};
	int version;

	if (has_rules || entered)
		return rules;
	has_rules = true;
	version = landlock_version();
	if (version >= 3)
		all.handled_access_fs |= TRUNCATE;
	if (version)
		rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
	return rules;
}

/* What is not there needs no right; what cannot be had is missed where it is used. */
static void
allow(const char *path, uint64_t rights)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = rights };
	int fd = rules_fd() < 0 ? -1 : open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return;
	rule.parent_fd = fd;
	syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
	close(fd);
}

static bool
is_file(const char *path)
{
	return path && *path && strcmp(path, "-") != 0;
}

/* The folder of a path without slashes at its end, in a new string. */
static char *
folder_of(const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	while (n > 0 && path[n - 1] != '/')
		n--;
	while (n > 1 && path[n - 1] == '/')
		n--;
	return n ? strndup(path, n) : strdup(".");
}

static void
allow_in(const char *folder, const char *within, uint64_t rights)
{
	char path[4096];

	if (snprintf(path, sizeof path, "%s%s", folder, within) < (int)sizeof path)
		allow(path, rights);
}

/* A list of files may have any name, and is JSON: its first byte says so. */
static bool
is_list(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char c = 0;
	bool list = fd >= 0 && read(fd, &c, 1) == 1 && c == '{';

	if (fd >= 0)
		close(fd);
	return list;
}

void
sandbox_read(const char *path)
{
	const char *name;
	struct stat st;
	char *folder;

	if (!is_file(path) || stat(path, &st) < 0)
		return;
	name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	allow(path, S_ISDIR(st.st_mode) ? READ_FOLDER : READ_FILES);
	if (S_ISDIR(st.st_mode))
		folder = strdup(path);
	else if (S_ISREG(st.st_mode) && (dir_is_several(name) || is_list(path)))
		folder = folder_of(path);
	else
		return;
	if (folder) {
		allow(folder, READ_FOLDER);
		/* Where the links of a cache's snapshot lead (core/dir.h). */
		allow_in(folder, "/../../blobs", READ_FILES);
	}
	free(folder);
}

void
sandbox_write(const char *path)
{
	struct stat st;
	char *folder;

	if (!is_file(path))
		return;
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		allow(path, LANDLOCK_ACCESS_FS_WRITE_FILE); /* a device, a named pipe */
		return;
	}
	folder = folder_of(path);
	if (folder)
		allow(folder, WRITE_FOLDER);
	free(folder);
}

void
sandbox_spool(void)
{
	allow(spool_folder(), SPOOL_FOLDER);
}

/* ---- seccomp ---- */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE

#define RULES 256
#define DENY(e) (SECCOMP_RET_ERRNO | (e))
#define AT(member) ((uint32_t)offsetof(struct seccomp_data, member))

/* A list of what is forbidden, not of what is allowed: the C library may use others
 * tomorrow. */
static const uint16_t forbidden[] = {
	/* sockets */
	SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen, SYS_accept,
	SYS_accept4, SYS_sendto, SYS_sendmsg, SYS_sendmmsg,
	/* programs and processes, others and the own one's rights */
	SYS_execve, SYS_execveat, SYS_kill, SYS_tkill, SYS_rt_sigqueueinfo,
	SYS_rt_tgsigqueueinfo, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
	SYS_kcmp, SYS_pidfd_open, SYS_pidfd_getfd, SYS_pidfd_send_signal,
	SYS_process_madvise, SYS_setns, SYS_unshare, SYS_personality, SYS_setuid,
	SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid,
	SYS_setgroups, SYS_capset,
#ifdef SYS_fork
	SYS_fork, SYS_vfork,
#endif
	/* the file system as a whole, and what Landlock does not cover */
	SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_open_tree, SYS_move_mount,
	SYS_fsopen, SYS_fsmount, SYS_fsconfig, SYS_fspick, SYS_swapon, SYS_swapoff,
	SYS_open_by_handle_at, SYS_fchmodat, SYS_fchownat, SYS_fchown, SYS_setxattr,
	SYS_lsetxattr, SYS_fsetxattr, SYS_mknodat, SYS_symlinkat, SYS_utimensat,
#ifdef SYS_chmod
	SYS_chmod, SYS_chown, SYS_lchown, SYS_mknod, SYS_symlink,
#endif
	/* the machine */
	SYS_bpf, SYS_perf_event_open, SYS_io_uring_setup, SYS_io_uring_enter,
	SYS_io_uring_register, SYS_userfaultfd, SYS_keyctl, SYS_add_key, SYS_request_key,
	SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_reboot,
	SYS_acct, SYS_quotactl, SYS_syslog, SYS_sethostname, SYS_setdomainname,
	SYS_settimeofday, SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime,
	SYS_fanotify_init,
	/* memory of other processes */
	SYS_shmget, SYS_shmat, SYS_semget, SYS_msgget, SYS_mq_open,
};

struct filter {
	struct sock_filter rule[RULES];
	unsigned short n;
};

static void
add(struct filter *f, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	if (f->n < RULES)
		f->rule[f->n++] = (struct sock_filter){ code, yes, no, k };
}

static void
load(struct filter *f, uint32_t at)
{
	add(f, BPF_LD | BPF_W | BPF_ABS, at, 0, 0);
}

static void
answer(struct filter *f, uint32_t what)
{
	add(f, BPF_RET | BPF_K, what, 0, 0);
}

/* Is the loaded number this one? If so, what follows is looked at, else n rules are
 * skipped. */
static void
skip_unless(struct filter *f, uint32_t number, uint8_t n)
{
	add(f, BPF_JMP | BPF_JEQ | BPF_K, number, 0, n);
}

static void
build(struct filter *f)
{
	size_t i;

	load(f, AT(arch));
	add(f, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
	answer(f, SECCOMP_RET_KILL_PROCESS);
	load(f, AT(nr));
#ifdef __x86_64__
	/* The x32 names of the same calls. */
	add(f, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
	answer(f, SECCOMP_RET_KILL_PROCESS);
#endif
	for (i = 0; i < sizeof forbidden / sizeof *forbidden; i++) {
		skip_unless(f, forbidden[i], 1);
		answer(f, DENY(EPERM));
	}
	/* Its flags lie in memory. "Not known" sends the C library to clone. */
	skip_unless(f, SYS_clone3, 1);
	answer(f, DENY(ENOSYS));
	skip_unless(f, SYS_clone, 4);
	load(f, AT(args[0]));
	add(f, BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1);
	answer(f, SECCOMP_RET_ALLOW);
	answer(f, DENY(EPERM));
	/* Signals to itself: of a handler that ends the process, of abort. */
	skip_unless(f, SYS_tgkill, 4);
	load(f, AT(args[0]));
	add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)getpid(), 0, 1);
	answer(f, SECCOMP_RET_ALLOW);
	answer(f, DENY(EPERM));
	/* What would be as if it were typed. */
	skip_unless(f, SYS_ioctl, 4);
	load(f, AT(args[1]));
	add(f, BPF_JMP | BPF_JEQ | BPF_K, TIOCSTI, 1, 0);
	add(f, BPF_JMP | BPF_JEQ | BPF_K, TIOCLINUX, 0, 1);
	answer(f, DENY(EPERM));
	answer(f, SECCOMP_RET_ALLOW);
}

static bool
has_seccomp(void)
{
	uint32_t action = SECCOMP_RET_ERRNO;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

static void
filter_calls(void)
{
	struct filter f = { .n = 0 };
	struct sock_fprog program = { .filter = f.rule };

	build(&f);
	program.len = f.n;
	/* Room for all of it, or none: half a filter would be a wrong one. */
	if (f.n < RULES)
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
		        &program);
}

#else

static bool
has_seccomp(void)
{
	return false;
}

static void
filter_calls(void)
{
}

#endif

/* ---- both ---- */

void
sandbox_enter(void)
{
	int fd;

	if (entered)
		return;
	fd = rules_fd();
	entered = true;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
		if (fd >= 0)
			syscall(SYS_landlock_restrict_self, fd, 0);
		filter_calls();
	}
	if (fd >= 0)
		close(fd);
}

const char *
sandbox_text(char text[SANDBOX_TEXT])
{
	int version = landlock_version();
	bool seccomp = has_seccomp();

	if (version)
		snprintf(text, SANDBOX_TEXT, "landlock %d%s", version, seccomp ? ", seccomp" : "");
	else
		snprintf(text, SANDBOX_TEXT, "%s",
		         seccomp ? "seccomp" : "none (the kernel has neither)");
	return text;
}

#else

void
sandbox_read(const char *path)
{
	(void)path;
}

void
sandbox_write(const char *path)
{
	(void)path;
}

void
sandbox_spool(void)
{
}

void
sandbox_enter(void)
{
}

const char *
sandbox_text(char text[SANDBOX_TEXT])
{
	snprintf(text, SANDBOX_TEXT, "none (this build is made without)");
	return text;
}

#endif
