/* watch: a reader beside a download. What it has read turns out to be void if the file begins
 * anew; then the flow must not end well, though the new bytes are complete and verified. */
#include "hub/watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hub/flow.h"
#include "hub/pull.h"
#include "test.h"

enum { SIZE = 8192 };

struct trial {
	int folder;
	struct partial part;
	struct watch w;
	struct err e;
};

static char name[] = "/tmp/t_watch.XXXXXX";

/* A download has brought the whole file, and nothing has been read. */
static bool
begin(struct trial *t, const char *file)
{
	uint8_t bytes[SIZE];

	memset(t, 0, sizeof *t);
	memset(bytes, 'a', sizeof bytes);
	t->folder = open(name, O_RDONLY | O_DIRECTORY);
	watch_open(&t->w, "m", SIZE);
	if (partial_open(&t->part, t->folder, file, SIZE, "", "", &t->e) < 0 ||
	    partial_put(&t->part, 0, bytes, sizeof bytes) < 0)
		return false;
	watch_attach(&t->w, &t->part);
	return true;
}

static bool
reads(struct trial *t)
{
	uint8_t bytes[100];
	uint64_t got = 0;

	return watch_await(&t->w, 0, sizeof bytes, true, &got, &t->e) == 1 && got == sizeof bytes &&
	       watch_read(&t->w, 0, bytes, sizeof bytes, &t->e) == 0 && bytes[99] == 'a';
}

/* The download ends, with the file under that name. */
static void
finish(struct trial *t, const char *file)
{
	char path[64];

	watch_detach(&t->w);
	partial_close(&t->part);
	snprintf(path, sizeof path, "%s/%s", name, file);
	watch_give(&t->w, 0, path, NULL);
}

static int
flow_ends(struct trial *t, struct err *e)
{
	struct pull pull = { .n = 1 };
	struct flow f = { .pull = &pull, .watches = &t->w, .ended = true };

	return flow_end(&f, e);
}

static bool
has_changed(int r, const struct err *e)
{
	return r < 0 && e->code == ERR_NETWORK;
}

/* True if check, whole and the flow's end, all or none of them, fail. */
static bool
is_void(struct trial *t, bool want)
{
	struct err a = ERR_INIT, b = ERR_INIT, c = ERR_INIT;

	return has_changed(watch_check(&t->w, &a), &a) == want &&
	       has_changed(watch_whole(&t->w, &b), &b) == want &&
	       has_changed(flow_ends(t, &c), &c) == want;
}

static void
end(struct trial *t)
{
	if (t->w.fd >= 0)
		close(t->w.fd);
	close(t->folder);
}

int
main(void)
{
	struct trial t;

	if (!mkdtemp(name))
		return 1;
	test_ok(begin(&t, "a") && reads(&t), "bytes are read while the file arrives");
	finish(&t, "a");
	test_ok(is_void(&t, false), "the same file, complete, ends well");
	end(&t);

	begin(&t, "b");
	watch_void(&t.w);
	finish(&t, "b");
	test_ok(is_void(&t, false), "a file that begins anew before anything was read ends well");
	end(&t);

	test_ok(begin(&t, "c") && reads(&t), "bytes are read again");
	watch_void(&t.w);
	finish(&t, "c");
	test_ok(is_void(&t, true), "bytes that were read and are void: nothing ends well");
	end(&t);

	test_ok(begin(&t, "d") && reads(&t), "bytes are read of one file");
	finish(&t, "a");
	test_ok(is_void(&t, true), "another file in its place: nothing ends well");
	unlinkat(t.folder, "a", 0);
	unlinkat(t.folder, "b", 0);
	unlinkat(t.folder, "c", 0);
	unlinkat(t.folder, "d", 0);
	end(&t);
	rmdir(name);
	return test_done();
}
