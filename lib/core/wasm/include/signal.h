/* signal: none is ever sent, so handlers are accepted and never run. */
#ifndef WASM_SIGNAL_H
#define WASM_SIGNAL_H

#include <stddef.h>
#include <__typedef_sigset_t.h>

typedef int sig_atomic_t;
typedef struct { void *si_addr; } siginfo_t;

struct sigaction {
	void (*sa_handler)(int);
	void (*sa_sigaction)(int, siginfo_t *, void *);
	sigset_t sa_mask;
	int sa_flags;
};

enum { SIGHUP = 1, SIGINT, SIGQUIT, SIGBUS = 7, SIGPIPE = 13, SIGTERM = 15, SIGXCPU = 24 };
enum { SIG_BLOCK, SIG_SETMASK, SA_SIGINFO };
#define SIG_DFL ((void (*)(int))0)
#define SIG_IGN ((void (*)(int))1)

#define sigfillset(set) (*(set) = 0, 0)
#define sigdelset(set, n) ((void)(set), (void)(n), 0)

static inline int
sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	(void)how, (void)set;
	if (old)
		*old = 0;
	return 0;
}
#define pthread_sigmask sigprocmask

static inline int
sigaction(int n, const struct sigaction *new, struct sigaction *old)
{
	(void)n, (void)new;
	if (old)
		*old = (struct sigaction){ .sa_handler = SIG_IGN };
	return 0;
}

static inline void
signal(int n, void (*handler)(int))
{
	(void)n, (void)handler;
}

static inline int
raise(int n)
{
	(void)n;
	__builtin_trap();
}

#endif
