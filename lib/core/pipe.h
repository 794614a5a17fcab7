/* pipe: larger pipe buffers, and moving pages between pipes without copying them.
 */
#ifndef CORE_PIPE_H
#define CORE_PIPE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PIPE_BYTES (1 << 20) /* size that both ends ask for */

/* If fd is a pipe that holds less, makes it hold PIPE_BYTES if the system allows it. Larger
 * pieces mean fewer switches between processes. */
void pipe_widen(int fd);

/* Duplicates up to max bytes of a pipe into another pipe; they stay in the first one to be
 * read. Returns how many, at least 1, or -1 with errno. EINVAL: one of them is not a
 * pipe. */
ssize_t pipe_tee(int from, int to, size_t max);

/* Splices up to max bytes of a file, from an offset, into a pipe. Returns how many, 0 at
 * the end of the file, or -1 with errno. EINVAL: not supported for these two. The reader of
 * the pipe sees what the file holds at the time of reading, which may have changed. */
ssize_t pipe_send(int from, uint64_t offset, int to, size_t max);

#endif
