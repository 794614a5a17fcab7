/* pipe: what a pipe can do that a file cannot: hold more, and hand the same pages on
 * without copying them.
 */
#ifndef CORE_PIPE_H
#define CORE_PIPE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PIPE_BYTES (1 << 20) /* what both ends ask for */

/* Let a pipe hold PIPE_BYTES, where it is one, holds less, and the system allows it:
 * larger pieces, fewer turns. */
void pipe_widen(int fd);

/* Send some of the next max bytes of a pipe into another one, from which they are still
 * to be read: at least 1, or -1 with errno. EINVAL: these are no two pipes. */
ssize_t pipe_tee(int from, int to, size_t max);

/* Send some bytes of a file, from an offset, into a pipe: 0 at its end, or -1 with
 * errno. EINVAL: these two cannot. What the reader of the pipe gets is what the file
 * holds when it reads, which may have changed by then. */
ssize_t pipe_send(int from, uint64_t offset, int to, size_t max);

#endif
