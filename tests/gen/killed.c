/* killed: runs a command, and ends it at one of its system calls, or counts them.
 *
 *     killed N COMMAND…        kills the command and its children as the Nth system call of
 *                              them all begins. Exit 0, or 1 if they end before that.
 *     killed count COMMAND…    prints the number of system calls, and of bytes that they read
 *                              and write
 *     killed short COMMAND…    the first pwrite of the command itself writes half of its bytes
 *     killed full COMMAND…     and the second one fails with ENOSPC
 *
 * count, short and full end with the exit status of the command. Exit 77: not possible here.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 64
#define SKIP 77

static struct process {
	pid_t pid;
	uint64_t call;     /* the system call that it is in */
	bool fails;        /* this call is to fail */
} list[PROCESSES];
static pid_t first;
static uint64_t kill_at, calls, bytes_read, bytes_written;
static bool shortens, fills;
static unsigned writes;    /* pwrites of the first process so far */

_Noreturn static void
skip(const char *what)
{
	fprintf(stderr, "killed: %s: %s\n", what, strerror(errno));
	exit(SKIP);
}

static struct process *
process_of(pid_t pid)
{
	size_t i;

	for (i = 0; i < PROCESSES; i++)
		if (list[i].pid == pid || list[i].pid == 0) {
			list[i].pid = pid;
			return &list[i];
		}
	skip("too many processes");
}

static void
kill_all(void)
{
	int status;
	pid_t pid;
	size_t i;

	for (i = 0; i < PROCESSES && list[i].pid; i++)
		kill(list[i].pid, SIGKILL);
	/* A child that has not run yet, and is not in the list, would end after this process, and
	 * hold the lock of the file until then. */
	while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR)
		if (pid > 0 && WIFSTOPPED(status))
			kill(pid, SIGKILL);
	exit(0);
}

/* Shortens a pwrite, or lets it fail. */
static void
spoil(struct process *p)
{
#ifdef __x86_64__
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, p->pid, NULL, &r) < 0)
		skip("PTRACE_GETREGS");
	writes++;
	if (writes == 1 && shortens)
		r.rdx = r.rdx > 1 ? r.rdx / 2 : 1;
	else if (writes == 2 && fills) {
		r.orig_rax = (unsigned long long)-1;
		p->fails = true;
	}
	ptrace(PTRACE_SETREGS, p->pid, NULL, &r);
#else
	(void)p;
	errno = ENOSYS;
	skip("registers of this machine");
#endif
}

static void
set_result(struct process *p)
{
#ifdef __x86_64__
	struct user_regs_struct r;

	ptrace(PTRACE_GETREGS, p->pid, NULL, &r);
	r.rax = (unsigned long long)-ENOSPC;
	ptrace(PTRACE_SETREGS, p->pid, NULL, &r);
#endif
	p->fails = false;
}

static void
begin_call(struct process *p, uint64_t number)
{
	p->call = number;
	if (++calls == kill_at)
		kill_all();
	if ((shortens || fills) && p->pid == first && number == SYS_pwrite64)
		spoil(p);
}

static void
end_call(struct process *p, int64_t result)
{
	uint64_t n = result > 0 ? (uint64_t)result : 0;

	if (p->fails)
		set_result(p);
	if (p->call == SYS_read || p->call == SYS_pread64 || p->call == SYS_readv)
		bytes_read += n;
	if (p->call == SYS_write || p->call == SYS_pwrite64 || p->call == SYS_writev)
		bytes_written += n;
}

static void
on_call(struct process *p)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, p->pid, sizeof info, &info) < 0)
		skip("PTRACE_GET_SYSCALL_INFO");
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
		begin_call(p, info.entry.nr);
	else if (info.op == PTRACE_SYSCALL_INFO_EXIT)
		end_call(p, info.exit.rval);
}

/* Follows all processes until they have ended. Returns the exit status of the first. */
static int
follow(void)
{
	int status, code = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		int sig = 0;

		if (pid <= 0)
			continue;
		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			if (pid == first)
				code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
			continue;
		}
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			on_call(process_of(pid));
		else if (status >> 16 == 0 && WSTOPSIG(status) != SIGSTOP)
			sig = WSTOPSIG(status);
		(void)process_of(pid);
		ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(intptr_t)sig);
	}
	return code;
}

int
main(int argc, char **argv)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
	                     PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	int status;

	if (argc < 3)
		return 2;
	kill_at = strtoull(argv[1], NULL, 10);
	shortens = strcmp(argv[1], "short") == 0 || strcmp(argv[1], "full") == 0;
	fills = strcmp(argv[1], "full") == 0;
	first = fork();
	if (first == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(SKIP);
		raise(SIGSTOP);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (first < 0 || waitpid(first, &status, 0) < 0 || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, first, NULL, (void *)options) < 0)
		skip("ptrace");
	ptrace(PTRACE_SYSCALL, process_of(first)->pid, NULL, NULL);
	status = follow();
	if (kill_at)
		return status == SKIP ? SKIP : 1;
	if (strcmp(argv[1], "count") == 0)
		printf("calls %" PRIu64 " read %" PRIu64 " written %" PRIu64 "\n", calls,
		       bytes_read, bytes_written);
	return status;
}
