/* calls: the system calls that a process in the sandbox (core/sandbox.h) may make. The list
 * also limits arguments where a call is dangerous only with some of them.
 *
 * All other calls fail: with EACCES if they open files, which the C library expects; with
 * ENOSYS if they came with Linux 5.1 or later, so that the C library falls back to older
 * calls; else with EPERM. A newer C library therefore sees an old kernel and keeps working.
 */
#ifndef CORE_CALLS_H
#define CORE_CALLS_H

#include <stdbool.h>
#include <stddef.h>

enum {
	CALLS_THREADS = 1, /* start threads */
	CALLS_CODE = 2,    /* make memory executable (PCRE2's compiler) */
	CALLS_FOLDER = 4   /* list an open folder and read links */
};

/* Whether this build and machine have a system call filter. */
bool calls_known(void);

/* Installs the filter for the rest of the process's life. broker: the socket that may receive
 * descriptors, or -1. helpers: up to 8 sockets that may also send (core/remote.h). */
void calls_limit(unsigned which, int broker, const int *helpers, size_t count);

#endif
