/* broker_parts: what the two halves of the broker share: broker.c is the process in the sandbox,
 * broker_serve.c the helper and its start.
 */
#ifndef CORE_BROKER_PARTS_H
#define CORE_BROKER_PARTS_H

#include <signal.h>

#include "core/broker.h"

struct broker_answer {
	int error; /* errno, or 0 */
	uint64_t file;
};

extern struct broker_state {
	/* What was declared. */
	bool may_spool;
	struct broker_folder {
		int fd;
		char name[257]; /* may be opened under any name */
	} folders[BROKER_FOLDERS];
	size_t folder_count;
	bool input_below;     /* files in folders below may be opened */

	volatile sig_atomic_t end; /* this process's end of the socket, or -1 */
	volatile sig_atomic_t child;
	int refused; /* errno of the failed start, or 0 */
	bool serves;
} broker;

#endif
