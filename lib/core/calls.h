/* calls: the system calls that a process in the sandbox (core/sandbox.h) may make: a list
 * of what is allowed, with their arguments where the danger lies in those.
 *
 * Anything else answers EPERM; what opens files EACCES, which the C library expects; and
 * calls that came with Linux 5.1 or later ENOSYS, so that the C library goes on with the
 * older ones. So a C library that calls something new finds an old kernel, and not an
 * end.
 */
#ifndef CORE_CALLS_H
#define CORE_CALLS_H

#include <stdbool.h>

enum {
	CALLS_THREADS = 1, /* start threads */
	CALLS_CODE = 2,    /* make memory executable: PCRE2 compiles patterns */
	CALLS_FOLDER = 4   /* list a folder that is open, and read links */
};

/* Can it be done here? */
bool calls_known(void);

/* From here on. socket: the one from which descriptors are taken, or -1. */
void calls_limit(unsigned which, int socket);

#endif
