/* private: shared by the files of this folder. Names begin with api_ and are hidden from
 * the linker of a program.
 */
#ifndef API_PRIVATE_H
#define API_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>

#include "api/aprml.h"
#include "formats/format.h"
#include "stage/ring.h"

/* Where a model comes from. */
struct api_origin {
	char *path;                 /* NULL: one of the others */
	const void *memory;
	size_t memory_bytes;
	struct aprml_ranges ranges; /* read NULL: memory */
	enum format_use use;
	const struct format *format; /* NULL: the content decides */
	const struct aprml_ring *ring; /* opens a sealed model; NULL: none */
	bool sealed;                /* a sealed model may be opened without keys */
};

/* Keys of the program. */
struct aprml_ring {
	struct ring ring;
};

struct aprml {
	struct api_origin from; /* outlives the source, which names it in messages */
	struct source *source;
	struct source *inside;  /* the sealed source that source opens; or NULL */
	const struct format *format; /* of source; of one that opens another, no file is read in place */
	int held;               /* descriptor of the file, or of the folder; a handle of ranges
	                         * (core/remote.h); -1: none */
	struct err err;         /* of reading in order: the first error wins */
	bool in_body, ended;
	const uint8_t *p;       /* bytes of the body not yet returned */
	size_t n;

	bool in_tensors;        /* aprml_next was called: blobs can no longer be read */
	bool waits;             /* item was read after the last blob, and comes next */
	struct item item;
	struct api_blob {
		uint8_t *p;     /* NULL: not kept */
		size_t n;
	} *blobs;               /* one per blob of the plan; NULL: not read */
	pthread_mutex_t lock;   /* guards what follows: */
	struct api_view {
		void *map;      /* of whole pages around the tensor */
		size_t n;
	} *views;               /* one per tensor; NULL: none yet */
};

/* Open a model; the strings of o are copied. */
struct aprml *api_open(const struct api_origin *o, struct aprml_error *e);

/* Its name in messages. */
const char *api_name(const struct aprml *m);

/* Copy an error to the caller, who may have passed NULL. Returns -1. */
int api_fail(const struct err *from, struct aprml_error *e);

/* 0 if the program has passed a handle; else -1 with *e filled. */
int api_need(const void *handle, const char *what, struct aprml_error *e);

/* Move to the next item of any kind, past the rest of the current body. 1, 0 at the end if
 * everything was proved, or -1 with m->err filled. */
int api_item(struct aprml *m, struct item *item);

/* Make m->p the next bytes of the body; m->n is 0 at its end. 0 or -1. */
int api_refill(struct aprml *m);

void api_drop_blobs(struct aprml *m);
void api_drop_views(struct aprml *m);

#endif
