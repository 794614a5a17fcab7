/* out: what is synced, and what is not */
#include "core/out.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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

int
main(void)
{
	test_sync();
	test_sync_standard_output();
	return test_done();
}
