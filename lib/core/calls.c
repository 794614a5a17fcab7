#include "core/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE

#define RULES 440
#define HELPERS 8 /* sockets to helpers */
#define FIRST_NEW 424 /* Linux 5.1: numbers from here on are the same on all machines */
#define X32 0x40000000u
#define DENY(e) (SECCOMP_RET_ERRNO | (e))
#define AT(member) ((uint32_t)offsetof(struct seccomp_data, member))
#define ALWAYS 0

#define GET_TERMINAL 0x5401u    /* TCGETS: isatty */
#define GET_TERMINAL_2 0x802c542au
#define GET_SIZE 0x5413u        /* TIOCGWINSZ */

/* Allowed with any arguments: none of these calls opens, starts, signals or changes
 * anything that the process does not hold already. */
static const struct {
	uint16_t number, which;
} any[] = {
	/* bytes */
	{ SYS_read, 0 }, { SYS_write, 0 }, { SYS_pread64, 0 }, { SYS_pwrite64, 0 },
	{ SYS_readv, 0 }, { SYS_writev, 0 }, { SYS_lseek, 0 }, { SYS_tee, 0 },
	{ SYS_splice, 0 }, { SYS_fsync, 0 }, { SYS_fdatasync, 0 }, { SYS_ftruncate, 0 },
	{ SYS_fallocate, 0 }, { SYS_close, 0 },
	/* the type of a descriptor; the name, size and time of a file, also by path */
	{ SYS_fstat, 0 }, { SYS_newfstatat, 0 }, { SYS_fstatfs, 0 },
#ifdef SYS_stat
	{ SYS_stat, 0 }, { SYS_lstat, 0 },
#endif
	{ SYS_getdents64, CALLS_FOLDER }, { SYS_readlinkat, CALLS_FOLDER },
#ifdef SYS_readlink
	{ SYS_readlink, CALLS_FOLDER },
#endif
	/* memory */
	{ SYS_brk, 0 }, { SYS_munmap, 0 }, { SYS_mremap, 0 }, { SYS_mlock, 0 },
	{ SYS_munlock, 0 },
	{ SYS_mmap, CALLS_CODE }, { SYS_mprotect, CALLS_CODE },
	/* threads and waiting */
	{ SYS_futex, 0 }, { SYS_set_robust_list, 0 }, { SYS_get_robust_list, 0 },
	{ SYS_rseq, 0 }, { SYS_set_tid_address, 0 }, { SYS_sched_yield, 0 },
	{ SYS_sched_getaffinity, 0 }, { SYS_restart_syscall, 0 },
	{ SYS_nanosleep, 0 }, { SYS_clock_nanosleep, 0 }, { SYS_ppoll, 0 },
#ifdef SYS_poll
	{ SYS_poll, 0 },
#endif
	/* receiving signals, exiting, waiting for children */
	{ SYS_rt_sigaction, 0 }, { SYS_rt_sigprocmask, 0 }, { SYS_rt_sigreturn, 0 },
	{ SYS_sigaltstack, 0 }, { SYS_exit, 0 }, { SYS_exit_group, 0 }, { SYS_wait4, 0 },
	/* the identity of the process, and the time */
	{ SYS_getpid, 0 }, { SYS_gettid, 0 }, { SYS_getppid, 0 }, { SYS_getuid, 0 },
	{ SYS_geteuid, 0 }, { SYS_getgid, 0 }, { SYS_getegid, 0 }, { SYS_uname, 0 },
	{ SYS_sysinfo, 0 }, { SYS_getrusage, 0 }, { SYS_getcpu, 0 },
	{ SYS_clock_gettime, 0 }, { SYS_clock_getres, 0 }, { SYS_gettimeofday, 0 },
#ifdef SYS_time
	{ SYS_time, 0 },
#endif
	{ SYS_getrandom, 0 },
#ifdef SYS_arch_prctl
	{ SYS_arch_prctl, 0 },
#endif
};

/* A call is allowed if (argument & mask) equals value. Rows of one call are adjacent. */
struct rule {
	uint16_t number;
	uint8_t argument;
	uint32_t mask, value;
	unsigned which; /* bits of CALLS_, or ALWAYS */
};
#define ALL (~0u)

/* A clone that starts a thread, without new namespaces. */
#define NAMESPACES (CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWCGROUP | CLONE_PTRACE | CLONE_UNTRACED)
#define THREAD (CLONE_THREAD | CLONE_VM | CLONE_SIGHAND | CLONE_FILES)

static const struct rule some[] = {
	{ SYS_mmap, 2, PROT_EXEC, 0, ALWAYS },
	{ SYS_mprotect, 2, PROT_EXEC, 0, ALWAYS },
	{ SYS_fcntl, 1, ALL, F_GETFD, ALWAYS },
	{ SYS_fcntl, 1, ALL, F_SETFD, ALWAYS },
	{ SYS_fcntl, 1, ALL, F_GETFL, ALWAYS },
	{ SYS_fcntl, 1, ALL, F_DUPFD_CLOEXEC, ALWAYS },
	{ SYS_fcntl, 1, ALL, F_GETPIPE_SZ, ALWAYS },
	{ SYS_fcntl, 1, ALL, F_SETPIPE_SZ, ALWAYS },
	{ SYS_ioctl, 1, ALL, GET_TERMINAL, ALWAYS },
	{ SYS_ioctl, 1, ALL, GET_TERMINAL_2, ALWAYS },
	{ SYS_ioctl, 1, ALL, GET_SIZE, ALWAYS },
	{ SYS_clone, 0, NAMESPACES | THREAD, THREAD, CALLS_THREADS },
	{ SYS_prlimit64, 0, ALL, 0, ALWAYS }, /* the process's own limits */
	{ SYS_madvise, 2, ~31u, 0, ALWAYS }, /* higher values take pages from the whole machine */
};

/* Calls that open files. They fail with EACCES, as under Landlock. */
static const uint16_t opens[] = {
	SYS_openat,
#ifdef SYS_open
	SYS_open, SYS_creat,
#endif
};

struct filter {
	struct sock_filter rule[RULES];
	unsigned short n;
};

static void
add(struct filter *f, uint16_t code, uint32_t k, size_t yes, size_t no)
{
	if (f->n < RULES)
		f->rule[f->n++] = (struct sock_filter){ code, (uint8_t)yes, (uint8_t)no, k };
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

static void
add_machine(struct filter *f)
{
	load(f, AT(arch));
	add(f, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
	answer(f, SECCOMP_RET_KILL_PROCESS);
	load(f, AT(nr));
#ifdef __x86_64__
	/* The x32 numbers of the same calls. */
	add(f, BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1);
	answer(f, SECCOMP_RET_KILL_PROCESS);
#endif
}

/* Adds one comparison for each call of `any`, with a jump to the answer after the last
 * one. */
static void
add_any(struct filter *f, unsigned which)
{
	size_t i, n = sizeof any / sizeof *any, left;

	for (i = 0, left = 0; i < n; i++)
		left += !any[i].which || any[i].which & which;
	for (i = 0; i < n; i++)
		if (!any[i].which || any[i].which & which)
			add(f, BPF_JMP | BPF_JEQ | BPF_K, any[i].number, left--, 0);
	add(f, BPF_JMP | BPF_JA, 1, 0, 0);
	answer(f, SECCOMP_RET_ALLOW);
}

/* Adds the rules of one call, from r to end. */
static void
add_call(struct filter *f, const struct rule *r, const struct rule *end, unsigned which)
{
	size_t lines = 0;
	const struct rule *i;

	for (i = r; i < end; i++)
		if (i->which == ALWAYS || i->which & which)
			lines += 3u + (i->mask != ALL);
	add(f, BPF_JMP | BPF_JEQ | BPF_K, r->number, 0, lines + 1);
	for (i = r; i < end; i++) {
		if (i->which != ALWAYS && !(i->which & which))
			continue;
		load(f, AT(args[0]) + 8u * i->argument);
		if (i->mask != ALL)
			add(f, BPF_ALU | BPF_AND | BPF_K, i->mask, 0, 0);
		add(f, BPF_JMP | BPF_JEQ | BPF_K, i->value, 0, 1);
		answer(f, SECCOMP_RET_ALLOW);
	}
	answer(f, DENY(EPERM));
}

static void
build(struct filter *f, unsigned which, int broker, const int *helpers, size_t count)
{
	const struct rule own = { SYS_tgkill, 0, ALL, (uint32_t)getpid(), ALWAYS };
	struct rule from[1 + HELPERS], to[HELPERS];
	size_t i, end, n = sizeof some / sizeof *some;

	add_machine(f);
	add_any(f, which);
	for (i = 0; i < n; i = end) {
		for (end = i; end < n && some[end].number == some[i].number; end++)
			;
		add_call(f, &some[i], &some[end], which);
	}
	/* Signals to the process itself: from a handler that ends it, and from abort. */
	add_call(f, &own, &own + 1, which);
	if (broker >= 0)
		from[0] = (struct rule){ SYS_recvmsg, 0, ALL, (uint32_t)broker, ALWAYS };
	end = broker >= 0;
	for (i = 0; i < count && i < HELPERS; i++) {
		from[end++] = (struct rule){ SYS_recvmsg, 0, ALL, (uint32_t)helpers[i], ALWAYS };
		to[i] = (struct rule){ SYS_sendmsg, 0, ALL, (uint32_t)helpers[i], ALWAYS };
	}
	if (end > 0)
		add_call(f, from, from + end, which);
	if (i > 0)
		add_call(f, to, to + i, which);
	for (i = 0; i < sizeof opens / sizeof *opens; i++) {
		add(f, BPF_JMP | BPF_JEQ | BPF_K, opens[i], 0, 1);
		answer(f, DENY(EACCES));
	}
	add(f, BPF_JMP | BPF_JGE | BPF_K, FIRST_NEW, 0, 1);
	answer(f, DENY(ENOSYS));
	answer(f, DENY(EPERM));
}

bool
calls_known(void)
{
	uint32_t action = SECCOMP_RET_ERRNO;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

void
calls_limit(unsigned which, int broker, const int *helpers, size_t count)
{
	struct filter f = { .n = 0 };
	struct sock_fprog program = { .filter = f.rule };

	build(&f, which, broker, helpers, count);
	program.len = f.n;
	/* If the filter is full, install none: half a filter would be wrong. */
	if (f.n < RULES)
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
		        &program);
}

#else

bool
calls_known(void)
{
	return false;
}

void
calls_limit(unsigned which, int broker, const int *helpers, size_t count)
{
	(void)which;
	(void)broker;
	(void)helpers;
	(void)count;
}

#endif
