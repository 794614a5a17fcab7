#include "core/pipe.h"

#include <errno.h>
#include <fcntl.h>

void
pipe_widen(int fd)
{
	int bytes = fcntl(fd, F_GETPIPE_SZ); /* -1: not a pipe */

	if (bytes > 0 && bytes < PIPE_BYTES)
		(void)fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES);
}

ssize_t
pipe_tee(int from, int to, size_t max)
{
	ssize_t n;

	do
		n = tee(from, to, max, 0);
	while (n < 0 && errno == EINTR);
	return n;
}

ssize_t
pipe_send(int from, uint64_t offset, int to, size_t max)
{
	loff_t at = (loff_t)offset;
	ssize_t n;

	do
		n = splice(from, &at, to, NULL, max, 0);
	while (n < 0 && errno == EINTR);
	return n;
}
