/* private: what the files of this folder share. Names begin with api_, which the linker of a
 * program does not see.
 */
#ifndef API_PRIVATE_H
#define API_PRIVATE_H

#include <stdbool.h>

#include "api/aprml.h"
#include "formats/format.h"

struct aprml {
	char *path;             /* outlives the source, which names it in faults */
	struct source *source;
	const struct format *format;
	int held;               /* the file, or the folder of several; -1: nothing */
	struct err err;         /* of reading in order: the first fault wins */
	bool in_body, ended;
	const uint8_t *p;       /* bytes of the body not yet handed on */
	size_t n;

	bool in_tensors;        /* aprml_next was called: what comes before tensors is over */
	bool waits;             /* item is the next, met behind the last blob */
	struct item item;
	struct api_blob {
		uint8_t *p;     /* NULL: was not kept */
		size_t n;
	} *blobs;               /* of each of the plan; NULL: not read */
};

/* Hand a fault to the caller. -1. */
int api_fail(const struct err *from, struct aprml_error *e);

/* The next item of any kind, over what is left of the last: 1; 0 at the proved end; -1 with
 * m->err filled. */
int api_item(struct aprml *m, struct item *item);

/* More bytes of the body into m->p; none left at its end. 0 or -1. */
int api_refill(struct aprml *m);

void api_drop_blobs(struct aprml *m);

#endif
