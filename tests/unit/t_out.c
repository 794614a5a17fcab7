/* out: what is synced, and what is not */
#include "core/out.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

static int synced;

/* The library's calls end here. */
int
fsync(int fd)
{
	(void)fd;
	synced++;
	return 0;
}

int
fdatasync(int fd)
{
	(void)fd;
	synced++;
	return 0;
}

static int
syncs_of(const struct out_options *options)
{
	struct err e = ERR_INIT;
	struct out o;

	synced = 0;
	if (out_open(&o, options, &e) == 0 && out_put(&o, "bytes", 5) == 0 &&
	    out_finish(&o) == 0)
		return synced;
	out_abandon(&o);
	return -1;
}

static void
test_sync(void)
{
	char folder[] = "/tmp/t_out.XXXXXX", path[64];
	struct out_options options = { .path = path, .input = -1 };

	test_ok(mkdtemp(folder) != NULL, "a folder");
	snprintf(path, sizeof path, "%s/made", folder);
	/* The file, and the folder that has its name. */
	test_ok(syncs_of(&options) == 2 && access(path, F_OK) == 0, "a name: two syncs");
	options.no_sync = options.force = true;
	test_ok(syncs_of(&options) == 0, "no_sync: none");
	unlink(path);
	rmdir(folder);
}

static void
test_sync_standard_output(void)
{
	struct out_options options = { .input = -1 };
	char path[] = "/tmp/t_out.XXXXXX";
	int saved = dup(STDOUT_FILENO), fd = mkstemp(path), whole, none;

	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	whole = syncs_of(&options);
	close(fd);
	fd = open(path, O_RDWR | O_TRUNC); /* out_finish has closed it */
	dup2(fd, STDOUT_FILENO);
	options.no_sync = true;
	none = syncs_of(&options);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	unlink(path);
	test_ok(whole == 1, "standard output: one sync before its head");
	test_ok(none == 0, "standard output, no_sync: none");
}

/* Takes an output in place of a file. */
struct taken {
	uint8_t p[3 * OUT_WINDOW];
	uint64_t n, ended; /* bytes in order so far; of the complete output */
	uint64_t left;     /* bytes until it is full */
	bool back;         /* a write went back */
};

static int
take(void *ctx, uint64_t at, const void *p, size_t n)
{
	struct taken *t = ctx;

	if (at + n > sizeof t->p || n > t->left)
		return -1;
	memcpy(t->p + at, p, n);
	t->left -= n;
	t->back |= at < t->n;
	t->n = at + n > t->n ? at + n : t->n;
	return 0;
}

static int
taken_end(void *ctx, uint64_t bytes)
{
	((struct taken *)ctx)->ended = bytes;
	return 0;
}

static bool
puts_all(struct out *o, const uint8_t *bytes, size_t n, bool patches)
{
	return out_put(o, "head", 4) == 0 && out_put(o, "patch", 5) == 0 &&
	       out_put(o, bytes, n) == 0 && out_hole(o, 100) == 0 && out_put(o, "end", 3) == 0 &&
	       (!patches || out_patch(o, 4, "PATCH", 5) == 0) && out_finish(o) == 0;
}

static void
test_taker(void)
{
	static struct taken t;
	static uint8_t bytes[OUT_WINDOW + 5];
	struct out_taker to = { .write = take, .end = taken_end, .ctx = &t };
	struct out_options options = { .to = &to, .input = -1 };
	struct err e = ERR_INIT;
	struct sigaction old;
	struct out o;

	memset(bytes, 'b', sizeof bytes);
	t.left = UINT64_MAX;
	test_ok(out_open(&o, &options, &e) == 0 && o.seekable && puts_all(&o, bytes, sizeof bytes, true) &&
	        t.ended == sizeof bytes + 112 && t.n == t.ended && t.back, "a program takes the bytes");
	test_ok(memcmp(t.p, "headPATCHb", 10) == 0 && t.p[t.n - 4] == 0 && t.p[t.n - 103] == 0 &&
	        t.p[t.n - 104] == 'b' && t.p[t.n - 1] == 'd', "patches and holes too");
	out_abandon(&o);
	t.n = t.ended = t.back = 0;
	to.appends = true;
	test_ok(out_open(&o, &options, &e) == 0 && !o.seekable &&
	        puts_all(&o, bytes, sizeof bytes, false) && t.ended && !t.back, "it may only append");
	out_abandon(&o);
	t.ended = 0;
	t.left = OUT_WINDOW;
	test_ok(out_open(&o, &options, &e) == 0 && !puts_all(&o, bytes, sizeof bytes, false) &&
	        e.code == ERR_IO && !t.ended, "it is full: %s", e.fact);
	out_abandon(&o);
	test_ok(sigaction(SIGTERM, NULL, &old) == 0 && old.sa_handler == SIG_DFL,
	        "outputs of a program catch no signal");
}

int
main(void)
{
	test_sync();
	test_taker();
	test_sync_standard_output();
	return test_done();
}
