#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "cli/passphrase.h"
#include "test.h"

static char folder[] = "/tmp/apr-t_passphrase-XXXXXX";
static char file[64];

static void
write_file(const char *text, size_t n)
{
	FILE *f = fopen(file, "w");

	if (!f || fwrite(text, 1, n, f) != n || fclose(f) != 0)
		test_ok(0, "test file");
}

/* Does it give want (NULL: fail with that code)? */
static void
gives(const struct passphrase_options *o, bool create, const char *want, enum err_code code,
      const char *what)
{
	struct err e = ERR_INIT;
	struct secret s;
	int r = passphrase_get(o, "the key", create, &s, &e);

	if (want)
		test_ok(r == 0 && s.n == strlen(want) && memcmp(s.p, want, s.n) == 0, "%s",
		        what);
	else
		test_ok(r < 0 && e.code == code, "%s: %s: %s", what, e.object, e.fact);
	secret_free(&s);
}

static void
from_files(void)
{
	struct passphrase_options o = { .file = file };
	char longest[PASSPHRASE_BYTES + 3];

	write_file("first\nsecond\n", 13);
	gives(&o, false, "first", 0, "file: its first line");
	write_file(" a b ", 5);
	gives(&o, true, " a b ", 0, "file: no newline, blanks are kept");
	write_file("a\r\n", 3);
	gives(&o, false, "a", 0, "file: carriage return dropped");
	write_file("", 0);
	gives(&o, false, "", 0, "file: empty opens");
	gives(&o, true, NULL, ERR_USAGE, "file: empty creates nothing");
	write_file("a\0b\n", 4);
	gives(&o, false, NULL, ERR_USAGE, "file: a NUL");
	memset(longest, 'x', sizeof longest);
	longest[PASSPHRASE_BYTES] = '\n';
	write_file(longest, sizeof longest);
	longest[PASSPHRASE_BYTES] = '\0';
	gives(&o, false, longest, 0, "file: the longest");
	longest[PASSPHRASE_BYTES] = 'x';
	write_file(longest, sizeof longest);
	gives(&o, false, NULL, ERR_USAGE, "file: longer");
	o.file = "-";
	gives(&o, false, NULL, ERR_USAGE, "file: standard input");
	o.file = folder;
	gives(&o, false, NULL, ERR_IO, "file: a directory");
	o.file = "/nowhere";
	gives(&o, false, NULL, ERR_IO, "file: missing");
}

static void
from_descriptors(void)
{
	struct passphrase_options o = { .fd = 0 };
	int p[2], keep = dup(0);
	char rest[8];

	if (pipe(p) < 0 || write(p[1], "one\ntwo\nthree", 13) != 13)
		return;
	close(p[1]);
	o.fd = (uint64_t)p[0];
	gives(&o, false, "one", 0, "descriptor: a line");
	gives(&o, false, "two", 0, "descriptor: the next line was left in it");
	test_ok(read(p[0], rest, sizeof rest) == 5, "descriptor: and so is the rest");
	close(p[0]);
	gives(&o, false, NULL, ERR_USAGE, "descriptor: closed");
	if (pipe(p) < 0)
		return;
	dup2(p[0], 0);
	o.fd = (uint64_t)p[0];
	gives(&o, false, NULL, ERR_USAGE, "descriptor: standard input by another number");
	o = (struct passphrase_options){ .file = "/dev/stdin" };
	gives(&o, false, NULL, ERR_USAGE, "file: standard input by another name");
	dup2(keep, 0);
	close(keep);
	close(p[0]);
	close(p[1]);
	o = (struct passphrase_options){ .fd = 1 };
	gives(&o, false, NULL, ERR_USAGE, "descriptor: standard output");
}

static void
from_variables(void)
{
	struct passphrase_options o = { .env = "T_PASSPHRASE" };

	setenv("T_PASSPHRASE", "w\xc3\xb6rd", 1);
	gives(&o, true, "w\xc3\xb6rd", 0, "variable");
	test_ok(getenv("T_PASSPHRASE") == NULL, "variable: gone, so no child inherits it");
	gives(&o, false, NULL, ERR_USAGE, "variable: not set");
	setenv("T_PASSPHRASE", "", 1);
	gives(&o, true, NULL, ERR_USAGE, "variable: empty creates nothing");
	o.file = file;
	gives(&o, false, NULL, ERR_USAGE, "two sources");
}

/* ---- a person at a terminal ---- */

struct person {
	const char *types[2]; /* one line for each prompt */
	bool create;
	int signal;           /* sent at the first prompt */
};

/* The child's exit code: 0 and the passphrase on fd, or the fault's. */
static void
child(int master, const struct person *who, int fd)
{
	struct passphrase_options o = { 0 };
	struct err e = ERR_INIT;
	struct secret s;
	int tty, r;

	signal(SIGINT, SIG_DFL); /* a shell's background job ignores it */
	signal(SIGTSTP, SIG_DFL);
	setsid();
	tty = open(ptsname(master), O_RDWR);
	close(master); /* or nobody would ever hang up */
	ioctl(tty, TIOCSCTTY, 0);
	r = passphrase_get(&o, "a\x1bkey", who->create, &s, &e);
	if (r == 0 && write(fd, s.p, s.n) < 0)
		_exit(99);
	secret_free(&s);
	_exit(r == 0 ? 0 : (int)e.code);
}

/* Reads what the terminal shows until it ends in ": " (a prompt). */
static void
await(int master, char *shown, size_t size)
{
	size_t n = strlen(shown);

	while (n + 1 < size) {
		ssize_t got = read(master, shown + n, 1);

		if (got <= 0)
			return;
		shown[++n] = '\0';
		if (n > 1 && strcmp(shown + n - 2, ": ") == 0)
			return;
	}
}

/* Returns the child's wait status; what was shown, what it got, and whether the
 * terminal echoes again. */
static int
talk(const struct person *who, char shown[512], char got[64], bool *echo)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), p[2], status = -1, i, keep;
	struct termios t;
	ssize_t n;
	pid_t pid;

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 || pipe(p) < 0)
		return -1;
	keep = open(ptsname(master), O_RDWR | O_NOCTTY);
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		child(master, who, p[1]);
	close(p[1]);
	shown[0] = '\0';
	for (i = 0; i < (who->create ? 2 : 1); i++) {
		await(master, shown, 512);
		if (who->signal)
			kill(pid, who->signal);
		if (who->signal == SIGTSTP)
			await(master, shown, 512);
		if (who->types[i] && write(master, who->types[i], strlen(who->types[i])) < 0)
			return -1;
	}
	n = read(p[0], got, 63);
	got[n < 0 ? 0 : n] = '\0';
	waitpid(pid, &status, 0);
	tcgetattr(keep, &t);
	*echo = t.c_lflag & ECHO;
	fcntl(master, F_SETFL, O_NONBLOCK);
	n = read(master, shown + strlen(shown), 500 - strlen(shown));
	(void)n;
	close(p[0]);
	close(keep);
	close(master);
	return status;
}

static void
terminal(void)
{
	struct person who = { { "hidden\n", "hidden\n" }, false, 0 };
	char shown[512] = "", got[64] = "";
	bool echo = false;
	int status = talk(&who, shown, got, &echo);

	test_ok(status == 0 && strcmp(got, "hidden") == 0, "terminal: asked once to open");
	test_ok(!strstr(shown, "hidden") && strstr(shown, "Passphrase for a\\x1bkey: "),
	        "terminal: not shown, and the prompt is escaped");
	test_ok(echo, "terminal: echo is back");
	who.create = true;
	status = talk(&who, shown, got, &echo);
	test_ok(status == 0 && strcmp(got, "hidden") == 0, "terminal: asked twice to create");
	who.types[1] = "hiddem\n";
	status = talk(&who, shown, got, &echo);
	test_ok(WIFEXITED(status) && WEXITSTATUS(status) == ERR_USAGE && echo,
	        "terminal: two that differ");
	who = (struct person){ { NULL, NULL }, false, SIGINT };
	status = talk(&who, shown, got, &echo);
	test_ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT, "terminal: interrupted");
	test_ok(echo, "terminal: echo is back then too");
	who = (struct person){ { "hidden\n", NULL }, false, SIGTSTP };
	status = talk(&who, shown, got, &echo);
	test_ok(status == 0 && strcmp(got, "hidden") == 0, "terminal: asked again after a stop");
}

static void
no_terminal(void)
{
	struct passphrase_options o = { 0 };
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		struct err e = ERR_INIT;
		struct secret s;

		setsid();
		passphrase_get(&o, "key", false, &s, &e);
		secret_free(&s);
		_exit(e.code == ERR_USAGE && e.hint[0] ? 7 : 1);
	}
	waitpid(pid, &status, 0);
	test_ok(WIFEXITED(status) && WEXITSTATUS(status) == 7, "no terminal: a hint");
}

/* ---- a key file with its passphrase ---- */

static void
key_file(void)
{
	struct passphrase_options o = { .env = "T_PASSPHRASE" };
	struct err e = ERR_INIT, f = ERR_INIT;
	struct key_secret *k = key_secret_new(&e), *r;
	char path[64];

	snprintf(path, sizeof path, "%s/key", folder);
	key_secret_write(k, path, (const uint8_t *)"pw", 2, KEY_COST_LEAST, false, &e);
	setenv("T_PASSPHRASE", "pw", 1);
	r = passphrase_key(path, &o, &e);
	test_ok(r && !key_secret_is_encrypted(r), "key file unlocked");
	key_secret_free(r);
	setenv("T_PASSPHRASE", "wp", 1);
	r = passphrase_key(path, &o, &f);
	test_ok(!r && f.code == ERR_DECRYPT && strcmp(f.object, path) == 0,
	        "wrong passphrase: %s: %s", f.object, f.fact);
	key_secret_write(k, path, NULL, 0, KEY_COST_LEAST, true, &e);
	o.env = NULL;
	r = passphrase_key(path, &o, &e);
	test_ok(r != NULL, "an open key file asks nobody");
	key_secret_free(r);
	key_secret_free(k);
	unlink(path);
}

int
main(void)
{
	alarm(60);
	if (!mkdtemp(folder))
		return 1;
	snprintf(file, sizeof file, "%s/pass", folder);
	from_files();
	from_descriptors();
	from_variables();
	terminal();
	no_terminal();
	key_file();
	unlink(file);
	test_ok(rmdir(folder) == 0, "nothing is left behind");
	return test_done();
}
