#include "cli/passphrase.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "core/text.h"

/* Reads a line and waits for it in ppoll, with the signal mask `mask` unless it is NULL;
 * signals are unblocked nowhere else. Returns 0; -1 with e filled; or -1 with *caught set
 * and e unchanged. */
static int
read_line(int fd, const char *name, const sigset_t *mask, volatile sig_atomic_t *caught,
          struct secret *s, struct err *e)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int r;

	for (;;) {
		r = secret_read_line(s, fd, name, e);
		if (r == 0 || e->code != ERR_NONE || (caught && *caught))
			return r;
		if (ppoll(&p, 1, NULL, mask) < 0 && errno != EINTR)
			return err_errno(e, name, "cannot be read");
		if (caught && *caught)
			return -1;
	}
}

/* ---- the terminal ---- */

/* Signals that could leave the terminal without echo. The first two, which the terminal
 * sends to a background process, are raised by our own calls. The others stay blocked
 * until ppoll, so that none is lost just before a read. */
static const int watched[] = {
	SIGTTIN, SIGTTOU, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP
};
enum { WATCHED = sizeof watched / sizeof *watched, OWN = 2 };

struct watch {
	struct sigaction old[WATCHED];
	sigset_t mask; /* the mask to restore */
};

static volatile sig_atomic_t caught;

static void
catch(int sig)
{
	caught = sig;
}

/* Makes the watched signals interrupt the wait instead of ending or stopping the process.
 * A signal that was ignored stays ignored. */
static void
watch(struct watch *w)
{
	struct sigaction sa = { .sa_handler = catch };
	sigset_t late;
	size_t i;

	sigemptyset(&sa.sa_mask);
	sigemptyset(&late);
	caught = 0;
	for (i = 0; i < WATCHED; i++) {
		sigaction(watched[i], NULL, &w->old[i]);
		if (w->old[i].sa_handler == SIG_IGN)
			continue;
		if (i >= OWN)
			sigaddset(&late, watched[i]);
	}
	sigprocmask(SIG_BLOCK, &late, &w->mask);
	for (i = 0; i < WATCHED; i++)
		if (w->old[i].sa_handler != SIG_IGN)
			sigaction(watched[i], &sa, NULL);
}

/* Restores handlers and mask. A signal that arrived after the last ppoll now reaches the
 * old handler. */
static void
unwatch(const struct watch *w)
{
	size_t i;

	for (i = 0; i < WATCHED; i++)
		sigaction(watched[i], &w->old[i], NULL);
	sigprocmask(SIG_SETMASK, &w->mask, NULL);
}

static bool
stops(int sig)
{
	return sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

/* Sets the terminal and discards pending input: the rest of a line that was too long must
 * not become a command. */
static int
set_terminal(int tty, const struct termios *t)
{
	int r;

	do
		r = tcsetattr(tty, TCSAFLUSH, t);
	while (r < 0 && errno == EINTR && caught != SIGTTOU);
	return r;
}

static void
put(int tty, const char *text)
{
	if (write(tty, text, strlen(text)) < 0) {
		/* The prompt is optional; the read fails if the terminal is gone. */
	}
}

/* Reads one line without echo. Returns 0; -1 with e filled; or -1 with e unchanged: a
 * signal was caught. */
static int
read_hidden(int tty, const char *prompt, const sigset_t *mask, struct secret *s,
            struct err *e)
{
	struct termios old, hidden;
	int r;

	if (tcgetattr(tty, &old) < 0)
		return err_errno(e, "/dev/tty", "cannot be used");
	hidden = old;
	hidden.c_lflag &= ~(tcflag_t)ECHO;
	hidden.c_lflag |= ICANON | ECHONL;
	s->n = 0;
	if (set_terminal(tty, &hidden) < 0)
		return caught ? -1 : err_errno(e, "/dev/tty", "cannot be used");
	put(tty, prompt);
	r = read_line(tty, "/dev/tty", mask, &caught, s, e);
	set_terminal(tty, &old);
	return r;
}

/* As read_hidden, and raises a caught signal again once the echo is back. */
static int
ask(int tty, const char *prompt, struct secret *s, struct err *e)
{
	struct watch w;
	int r, sig;

	do {
		watch(&w);
		r = read_hidden(tty, prompt, &w.mask, s, e);
		sig = caught;
		unwatch(&w);
		if (sig)
			raise(sig);
	} while (r < 0 && e->code == ERR_NONE && stops(sig));
	if (r < 0)
		err_set(e, ERR_USAGE, NULL, "no passphrase was given");
	return r;
}

static int
ask_twice(int tty, struct secret *s, struct err *e)
{
	struct secret again;
	int r;

	if (secret_alloc(&again, s->cap, e) < 0)
		return -1;
	r = ask(tty, "Repeat the passphrase: ", &again, e);
	if (r == 0 && !secret_equal(s, &again))
		r = err_set(e, ERR_USAGE, NULL, "the two passphrases differ");
	secret_free(&again);
	return r;
}

static int
from_terminal(const char *what, bool create, struct secret *s, struct err *e)
{
	char name[256], prompt[320];
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), r;

	if (tty < 0) {
		err_set(e, ERR_USAGE, what, "needs a passphrase, but there is no terminal");
		return err_hint(e, "--passphrase-file, --passphrase-fd or --passphrase-env");
	}
	text_quote(name, sizeof name, what, strlen(what));
	snprintf(prompt, sizeof prompt, "Passphrase for %s: ", name);
	r = ask(tty, prompt, s, e);
	if (r == 0 && create && s->n > 0)
		r = ask_twice(tty, s, e);
	close(tty);
	return r;
}

/* ---- the other sources ---- */

/* Whether fd is standard input by another name. */
static bool
is_stdin(int fd)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && fstat(STDIN_FILENO, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino && !S_ISCHR(a.st_mode);
}

static int
from_descriptor(int fd, const char *name, struct secret *s, struct err *e)
{
	if (is_stdin(fd))
		return err_set(e, ERR_USAGE, name,
		               "is standard input, which cannot carry a passphrase");
	return read_line(fd, name, NULL, NULL, s, e);
}

static int
from_number(uint64_t fd, struct secret *s, struct err *e)
{
	char name[64];

	snprintf(name, sizeof name, "descriptor %" PRIu64, fd);
	if (fd <= STDERR_FILENO || fd > INT32_MAX)
		return err_set(e, ERR_USAGE, name, "cannot carry a passphrase");
	if (fcntl((int)fd, F_GETFD) < 0)
		return err_set(e, ERR_USAGE, name, "is not open");
	return from_descriptor((int)fd, name, s, e);
}

static int
from_file(const char *path, struct secret *s, struct err *e)
{
	int fd, r;

	if (strcmp(path, "-") == 0)
		return err_set(e, ERR_USAGE, path,
		               "is standard input, which cannot carry a passphrase");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return err_errno(e, path, "cannot be opened");
	r = from_descriptor(fd, path, s, e);
	close(fd);
	return r;
}

static int
from_variable(const char *name, struct secret *s, struct err *e)
{
	char *value = getenv(name);
	size_t n;

	if (!value)
		return err_set(e, ERR_USAGE, name, "is not set in the environment");
	n = strlen(value);
	if (n <= s->cap) {
		memcpy(s->p, value, n);
		s->n = n;
	}
	secret_wipe(value, n);
	unsetenv(name);
	if (n > s->cap)
		return err_set(e, ERR_USAGE, name, "is longer than %zu bytes", s->cap);
	return 0;
}

/* ---- */

bool
passphrase_given(const struct passphrase_options *o)
{
	return o->file || o->env || o->fd;
}

int
passphrase_get(const struct passphrase_options *o, const char *what, bool create,
               struct secret *s, struct err *e)
{
	int r;

	if (secret_alloc(s, PASSPHRASE_BYTES, e) < 0)
		return -1;
	if (!!o->file + !!o->env + !!o->fd > 1)
		return err_set(e, ERR_USAGE, NULL, "the passphrase has more than one source");
	if (o->file)
		r = from_file(o->file, s, e);
	else if (o->env)
		r = from_variable(o->env, s, e);
	else if (o->fd)
		r = from_number(o->fd, s, e);
	else
		r = from_terminal(what, create, s, e);
	if (r == 0 && create && s->n == 0)
		r = err_set(e, ERR_USAGE, what, "its passphrase must not be empty");
	return r;
}

struct key_secret *
passphrase_key(const char *path, const struct passphrase_options *o, struct err *e)
{
	struct key_secret *k = key_secret_read(path, e);
	struct secret s = { 0 };
	int r = 0;

	if (!k)
		return NULL;
	if (key_secret_is_encrypted(k)) {
		r = passphrase_get(o, path, false, &s, e);
		if (r == 0)
			r = key_secret_unlock(k, s.p, s.n, e);
		secret_free(&s);
	}
	if (r == 0)
		return k;
	key_secret_free(k);
	if (!e->object[0])
		text_quote(e->object, sizeof e->object, path, strlen(path));
	return NULL;
}
