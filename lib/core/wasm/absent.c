/* Interfaces of lib/core/ that have no meaning in a module, which is itself a sandbox: helpers,
 * pipes, and models elsewhere. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/broker.h"
#include "core/embedded.h"
#include "core/part.h"
#include "core/pipe.h"
#include "core/remote.h"
#include "core/wasm/files.h"

static int
absent(void)
{
	errno = ENOSYS;
	return -1;
}

/* Libraries refer to it in functions that are not called. */
FILE *
fopen(const char *path, const char *mode)
{
	(void)path, (void)mode;
	absent();
	return NULL;
}

/* There is no folder of trusted keys (crypto/trusted.h). */
DIR *
opendir(const char *path)
{
	(void)path;
	errno = ENOENT;
	return NULL;
}

struct dirent *
readdir(DIR *d)
{
	(void)d;
	return NULL;
}

int
closedir(DIR *d)
{
	(void)d;
	return 0;
}

int
unlink(const char *path)
{
	(void)path;
	return absent();
}

int
mkostemp(char *name, int flags)
{
	(void)name, (void)flags;
	return absent();
}

void
pipe_widen(int fd)
{
	(void)fd;
}

ssize_t
pipe_tee(int from, int to, size_t max)
{
	(void)from, (void)to, (void)max;
	return absent();
}

ssize_t
pipe_send(int from, uint64_t offset, int to, size_t max)
{
	(void)from, (void)offset, (void)to, (void)max;
	return absent();
}

bool
broker_runs(void)
{
	return false;
}

int
broker_ask(const struct broker_ask *q, uint64_t *file)
{
	(void)q, (void)file;
	return absent();
}

void
broker_end(void)
{
}

void
broker_may_open(int folder, const char *name)
{
	(void)folder, (void)name;
}

int
part_open(int fd, uint64_t at, uint64_t n)
{
	(void)fd, (void)at, (void)n;
	return absent();
}

bool
part_of(int fd, struct part *p)
{
	(void)fd, (void)p;
	return false;
}

ssize_t
part_pread(int fd, void *to, size_t n, uint64_t at)
{
	return pread(fd, to, n, (off_t)at);
}

bool
embedded_is(const char *path)
{
	(void)path;
	return false;
}

bool
remote_is(const char *path)
{
	(void)path;
	return false;
}

const char *
remote_name(const char *operand)
{
	return operand;
}

const char *
remote_source(const char *name)
{
	return name;
}

void
remote_start(const char *path)
{
	(void)path;
}

int
remote_file(const char *path)
{
	(void)path;
	return absent();
}

int
remote_folder(const char *path)
{
	(void)path;
	return absent();
}

int
remote_stat(const char *path, struct stat *st)
{
	(void)path, (void)st;
	return absent();
}

bool
remote_holds(int fd)
{
	(void)fd;
	return false;
}

ssize_t
remote_read(int fd, uint64_t at, void *p, size_t n, uint64_t more)
{
	(void)fd, (void)at, (void)p, (void)n, (void)more;
	return absent();
}

int
remote_whole(int fd)
{
	(void)fd;
	return absent();
}

int
remote_fail(const char *name, struct err *e)
{
	return err_errno(e, name, "cannot be read");
}

/* A lent file has a descriptor like any other. */
int
remote_lend(const struct remote_lender *lender, uint64_t bytes)
{
	return file_lend(&(struct file_lender){ lender->read, lender->ctx }, bytes);
}

void
remote_return(int fd)
{
	(void)fd;
}
