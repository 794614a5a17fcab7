#include "core/netbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define APR_NO_SANDBOX
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define APR_NO_SANDBOX
#endif
#endif

static bool entered, offline;

#ifndef APR_NO_SANDBOX

/* ---- Landlock: the kernel's structures and bits; the headers may be older ---- */

struct rules {
	uint64_t files, net, scoped;
};
struct __attribute__((packed)) beneath {
	uint64_t allowed;
	int32_t fd;
};
#define CREATE_VERSION 1u
#define RULE_BENEATH 1

#define READ_FILE (1u << 2)
#define READ_FOLDER (1u << 3)
/* Writing, removing files and folders, making folders, files and links, moving between folders,
 * truncating; not executing, devices, sockets, pipes. */
#define WRITE_FILE (1u << 1 | 1u << 14)
#define WRITE_FOLDER (WRITE_FILE | 1u << 4 | 1u << 5 | 1u << 7 | 1u << 8 | 1u << 12 | 1u << 13)

/* The rules so far, or -1: the kernel has no Landlock. known: the rights it has. */
static int
rules_of(uint64_t *known)
{
	static struct rules all;
	static int fd = -2;
	long version;
	unsigned rights;

	if (fd == -2) {
		version = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);
		rights = version >= 5 ? 16 : version >= 3 ? 15 : version >= 2 ? 14 : 13;
		all = (struct rules){ .files = (UINT64_C(1) << rights) - 1, .scoped = version >= 6 ? 3 : 0 };
		fd = version < 1 ? -1 : (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
	}
	*known = all.files;
	return fd;
}

static void
declare(const char *path, bool writes)
{
	uint64_t known, rights;
	struct beneath b;
	struct stat st;
	int rules = rules_of(&known), fd;

	fd = path && *path && !entered && rules >= 0 ? open(path, O_PATH | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0) {
		bool folder = S_ISDIR(st.st_mode);

		rights = READ_FILE | (folder ? READ_FOLDER : 0) |
		         (writes ? folder ? WRITE_FOLDER : WRITE_FILE : 0);
		b = (struct beneath){ .allowed = rights & known, .fd = fd };
		syscall(SYS_landlock_add_rule, rules, RULE_BENEATH, &b, 0);
	}
	close(fd);
}

static void
limit_files(void)
{
	static const char *const system[] = { "/etc", "/usr", "/lib", "/lib64", "/run", "/proc",
		"/var/lib/nss_db", "/var/lib/sss" };
	uint64_t known;
	int rules = rules_of(&known);
	size_t i;

	if (rules < 0)
		return;
	for (i = 0; i < sizeof system / sizeof *system; i++)
		declare(system[i], false);
	declare("/dev", true);
	syscall(SYS_landlock_restrict_self, rules, 0);
	close(rules);
}

/* ---- seccomp ---- */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE

#define X32 0x40000000u
#define TYPE_INPUT 0x5412u /* TIOCSTI */
#define AT(member) ((uint32_t)offsetof(struct seccomp_data, member))
#define RULES 320

/* Fail with EPERM. */
static const uint16_t denied[] = {
	SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp,
	SYS_kill, SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_setns, SYS_unshare,
	SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_swapon, SYS_swapoff, SYS_bpf,
	SYS_perf_event_open, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_init_module,
	SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_reboot, SYS_userfaultfd,
	SYS_personality, SYS_open_by_handle_at, SYS_listen, SYS_accept, SYS_accept4, SYS_mknodat,
	SYS_fchmod, SYS_fchmodat, SYS_fchown, SYS_fchownat, SYS_utimensat, SYS_setxattr,
	SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr,
	SYS_setuid, SYS_setgid, SYS_setresuid, SYS_setresgid, SYS_setgroups, SYS_capset,
	SYS_setpriority, SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_settimeofday,
	SYS_clock_settime, SYS_sethostname, SYS_setdomainname, SYS_acct, SYS_syslog, SYS_vhangup,
	SYS_quotactl, SYS_shmget, SYS_msgget, SYS_semget, SYS_mq_open,
#ifdef SYS_fork
	SYS_fork, SYS_vfork, SYS_chmod, SYS_chown, SYS_lchown, SYS_mknod, SYS_utime, SYS_utimes,
	SYS_futimesat,
#endif
#ifdef SYS_iopl
	SYS_iopl, SYS_ioperm, SYS_modify_ldt,
#endif
};

/* Fail with ENOSYS, so that the C library uses older calls: clone3, whose flags a filter cannot
 * see, and pidfds, io_uring, new ways to mount, to change modes and attributes. */
static const uint16_t unknown[] = { 424, 425, 426, 427, 428, 429, 430, 431, 432, 433, 434, 435,
	438, 440, 442, 443, 447, 448, 452, 463, 466, 469 };

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

/* The answer if the call has this number. */
static void
deny(struct filter *f, uint32_t number, uint32_t error)
{
	add(f, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
	add(f, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error, 0, 0);
}

/* clone only for a thread; no ioctl that types; socket only of four families, or not at all. */
static void
add_arguments(struct filter *f)
{
	static const uint32_t families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
	size_t i;

	add(f, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4);
	add(f, BPF_LD | BPF_W | BPF_ABS, AT(args[0]), 0, 0);
	add(f, BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1);
	add(f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	add(f, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
	add(f, BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 4);
	add(f, BPF_LD | BPF_W | BPF_ABS, AT(args[1]), 0, 0);
	add(f, BPF_JMP | BPF_JEQ | BPF_K, TYPE_INPUT, 1, 0);
	add(f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	add(f, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
	if (offline) {
		deny(f, SYS_socket, EPERM);
		return;
	}
	add(f, BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 7);
	add(f, BPF_LD | BPF_W | BPF_ABS, AT(args[0]), 0, 0);
	for (i = 0; i < 4; i++)
		add(f, BPF_JMP | BPF_JEQ | BPF_K, families[i], (uint8_t)(4 - i), 0);
	add(f, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
	add(f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

static void
limit_calls(void)
{
	struct filter f = { .n = 0 };
	struct sock_fprog program = { .filter = f.rule };
	size_t i;

	add(&f, BPF_LD | BPF_W | BPF_ABS, AT(arch), 0, 0);
	add(&f, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
	add(&f, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
	add(&f, BPF_LD | BPF_W | BPF_ABS, AT(nr), 0, 0);
#ifdef __x86_64__
	add(&f, BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1);
	add(&f, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
#endif
	for (i = 0; i < sizeof denied / sizeof *denied; i++)
		deny(&f, denied[i], EPERM);
	for (i = 0; i < sizeof unknown / sizeof *unknown; i++)
		deny(&f, unknown[i], ENOSYS);
	add_arguments(&f);
	add(&f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	program.len = f.n;
	if (f.n < RULES)
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

#else

static void
limit_calls(void)
{
}

#endif

static void
restrict_process(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return;
	limit_files();
	limit_calls();
}

#else

static void
declare(const char *path, bool writes)
{
	(void)path;
	(void)writes;
}

static void
restrict_process(void)
{
}

#endif

void
netbox_may_read(const char *path)
{
	declare(path, false);
}

void
netbox_may_write(const char *path)
{
	declare(path, true);
}

void
netbox_offline(void)
{
	offline = true;
}

void
netbox_enter(void)
{
	if (entered)
		return;
	restrict_process();
	entered = true;
}
