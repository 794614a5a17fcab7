#include "core/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/broker.h"
#include "core/calls.h"
#include "core/dir.h"
#include "core/embedded.h"
#include "core/opened.h"
#include "core/place.h"
#include "core/remote.h"

#if defined(__SANITIZE_ADDRESS__)
#define APR_NO_SANDBOX
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define APR_NO_SANDBOX
#endif
#endif

/* ---- the needs of each tool ---- */

#define FILTER (SANDBOX_OUTPUT | SANDBOX_THREADS)

static const struct sandbox_row rows[] = {
	{ "apr-unpack", SANDBOX_BESIDE | SANDBOX_SPOOL | SANDBOX_OUTPUT },
	{ "apr-meta", SANDBOX_BESIDE | SANDBOX_SPOOL | SANDBOX_OUTPUT },
	{ "apr-header", SANDBOX_BESIDE | SANDBOX_SPOOL },
	{ "apr-lint", SANDBOX_BESIDE | SANDBOX_SPOOL },
	{ "apr-debug", SANDBOX_BESIDE | SANDBOX_SPOOL },
	{ "apr-tok", SANDBOX_BESIDE | SANDBOX_SPOOL | SANDBOX_CODE },
	{ "apr-run", SANDBOX_BESIDE | SANDBOX_SPOOL | SANDBOX_CODE | SANDBOX_THREADS },
	{ "apr-canary", SANDBOX_BESIDE | SANDBOX_SPOOL | SANDBOX_CODE | SANDBOX_THREADS |
	  SANDBOX_OUTPUT },
	{ "apr-fit", SANDBOX_BESIDE | SANDBOX_SPOOL | SANDBOX_CODE | SANDBOX_THREADS },
	{ "apr-imatrix", SANDBOX_BESIDE | SANDBOX_SPOOL | SANDBOX_CODE | SANDBOX_THREADS |
	  SANDBOX_OUTPUT },
	{ "apr-gate", SANDBOX_BESIDE | SANDBOX_SPOOL | SANDBOX_CODE | SANDBOX_THREADS |
	  SANDBOX_OUTPUT },
	{ "apr-lora", FILTER | SANDBOX_BESIDE | SANDBOX_SPOOL | SANDBOX_CODE },
	{ "apr-distill", FILTER | SANDBOX_BESIDE | SANDBOX_SPOOL | SANDBOX_CODE },
	{ "apr-pack", FILTER | SANDBOX_SPOOL },
	{ "apr-adapt", FILTER | SANDBOX_SPOOL },
	{ "apr-quant", FILTER | SANDBOX_SPOOL },
	{ "apr-merge", FILTER | SANDBOX_SPOOL },
	{ "apr-lowrank", FILTER | SANDBOX_SPOOL },
	{ "apr-prune", FILTER | SANDBOX_SPOOL },
	{ "apr-encrypt", FILTER | SANDBOX_SPOOL },
	{ "apr-decrypt", FILTER | SANDBOX_SPOOL },
	{ "apr-get", FILTER },
	{ "apr-sign", FILTER },
	{ "apr-verify", FILTER },
	{ "apr-sum", SANDBOX_THREADS },
	{ "apr-check", SANDBOX_BESIDE | SANDBOX_SPOOL | SANDBOX_CODE | SANDBOX_THREADS },
	{ "apr-stats", SANDBOX_THREADS },
	{ "apr-predict", SANDBOX_SPOOL | SANDBOX_THREADS },
	{ "apr-diff", SANDBOX_BESIDE | SANDBOX_SPOOL | SANDBOX_CODE | SANDBOX_THREADS },
	{ "apr-explain", SANDBOX_THREADS },
	{ "apr-seal", SANDBOX_OUTPUT },
	{ "apr-rename", SANDBOX_OUTPUT },
	{ "apr-sparse", SANDBOX_OUTPUT },
	{ "apr-open", SANDBOX_OUTPUT },
	{ "apr-keygen", SANDBOX_OUTPUT },
	{ "apr-embed", SANDBOX_OUTPUT },
};
#define ROWS (sizeof rows / sizeof *rows)

static unsigned needs;
static bool entered;

const struct sandbox_row *
sandbox_row(size_t i)
{
	return i < ROWS ? &rows[i] : NULL;
}

void
sandbox_tool(const char *name)
{
	size_t i;

	needs = 0;
	for (i = 0; i < ROWS; i++)
		if (strcmp(rows[i].tool, name) == 0)
			needs = rows[i].needs;
}

/* ---- what is declared ---- */

/* Files that refer to others may have any name. Their first bytes: JSON, a list of files; and
 * MESSAGE, the key of a message's first field, a number, as in ONNX, whose files may lie in folders
 * below. */
#define MESSAGE '\b'

/* The first byte of a file, or 0. */
static char
first_of(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char c = 0;

	if (fd >= 0 && read(fd, &c, 1) != 1)
		c = 0;
	if (fd >= 0)
		close(fd);
	return c;
}

void
sandbox_read(const char *path)
{
	const char *name;
	struct stat st;
	bool several = false;
	char first = 0;

	if (!path || !*path || strcmp(path, "-") == 0 || entered)
		return;
	if (remote_is(path) || embedded_is(path)) {
		opened_add(path, false);
		return;
	}
	name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	if (needs & SANDBOX_BESIDE && stat(path, &st) == 0) {
		first = S_ISREG(st.st_mode) ? first_of(path) : 0;
		several = S_ISDIR(st.st_mode) || first == '{' || first == MESSAGE ||
		          (S_ISREG(st.st_mode) && dir_is_several(name));
	}
	opened_add(path, several);
	if (first == MESSAGE)
		broker_may_open_below();
}

void
sandbox_write(const char *path, bool force)
{
	if (needs & SANDBOX_OUTPUT && !entered)
		place_declare(path, force);
}

void
sandbox_spool(void)
{
	if (needs & SANDBOX_SPOOL && !entered)
		broker_may_spool();
}

void
sandbox_prepare(void)
{
	if (!entered)
		broker_start();
}

#ifndef APR_NO_SANDBOX

/* ---- Landlock ---- */

/* The kernel's struct landlock_ruleset_attr; the headers may be older than the kernel. */
struct rules {
	uint64_t files, net, scoped;
};
#define CREATE_VERSION 1u

static int
landlock_version(void)
{
	long n = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);

	return n < 1 ? 0 : (int)n;
}

/* Handles every right that this version of Landlock knows, and allows none. */
static void
forbid(void)
{
	int version = landlock_version(), fd;
	/* Rights to files: 13 in version 1, then linking elsewhere, truncating, and
	 * device control. Then TCP; then sockets and signals of other processes. */
	unsigned rights = version >= 5 ? 16 : version >= 3 ? 15 : version >= 2 ? 14 : 13;
	struct rules all = { .files = (UINT64_C(1) << rights) - 1,
		.net = version >= 4 ? 3 : 0, .scoped = version >= 6 ? 3 : 0 };

	if (!version)
		return;
	fd = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
	if (fd < 0)
		return;
	syscall(SYS_landlock_restrict_self, fd, 0);
	close(fd);
}

/* ---- inherited descriptors ---- */

/* Descriptors that this process opened close on exec; inherited ones do not. */
static void
close_inherited(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	if (fd > 2 && flags >= 0 && !(flags & FD_CLOEXEC))
		close(fd);
}

static void
close_all_inherited(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *x;
	int fd;

	if (!d)
		for (fd = 3; fd < 1024; fd++)
			close_inherited(fd);
	while (d && (x = readdir(d)))
		close_inherited(atoi(x->d_name));
	if (d)
		closedir(d);
}

/* ---- both ---- */

static void
restrict_process(void)
{
	int helpers[REMOTES];
	size_t count = remote_sockets(helpers);
	unsigned which = (needs & SANDBOX_THREADS ? CALLS_THREADS : 0) |
	                 (needs & SANDBOX_CODE ? CALLS_CODE : 0) |
	                 (needs & SANDBOX_BESIDE ? CALLS_FOLDER : 0);

	close_all_inherited();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return;
	forbid();
	calls_limit(which, broker_socket(), helpers, count);
}

const char *
sandbox_text(char text[SANDBOX_TEXT])
{
	int version = landlock_version();
	bool seccomp = calls_known();

	if (version)
		snprintf(text, SANDBOX_TEXT, "landlock %d%s", version, seccomp ? ", seccomp" : "");
	else
		snprintf(text, SANDBOX_TEXT, "%s",
		         seccomp ? "seccomp" : "none (the kernel has neither)");
	return text;
}

#else

static void
restrict_process(void)
{
}

const char *
sandbox_text(char text[SANDBOX_TEXT])
{
	snprintf(text, SANDBOX_TEXT, "none (this build is made without)");
	return text;
}

#endif

void
sandbox_enter(void)
{
	if (entered)
		return;
	broker_start();
	entered = true;
	restrict_process();
}
