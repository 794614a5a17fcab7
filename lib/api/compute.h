/* private: what the files of this folder that compute share. Names begin with api_ and are hidden from
 * the linker of a program.
 */
#ifndef API_COMPUTE_H
#define API_COMPUTE_H

#include <pthread.h>

#include "api/private.h"
#include "core/thread.h"
#include "load/adapters.h"
#include "load/load.h"
#include "tokenizer/tokenizer.h"

/* Choose the level of the CPU, once in the process (APR_CPU, as in apr-quant(1); the best if that is not
 * a level of this CPU). It comes before anything that decodes, encodes or multiplies values. */
void api_level(void);

/* Where remarks go while a call runs. */
struct api_log {
	void (*log)(void *ctx, const char *text);
	void *ctx;
};

/* From now on, api_note of this thread goes to log; NULL: nowhere. Returns where it went before. */
const struct api_log *api_log_to(const struct api_log *log);
void api_note(const char *text);

/* Copy a structure of options of the program, which begins with its size, to the `size` bytes at to,
 * which hold the defaults. from NULL: they stay. least: the size of the first version. 0, or -1 with e
 * filled: it is shorter, or sets members that this library does not know. */
int api_options(void *to, size_t size, const void *from, size_t least, const char *name,
                struct err *e);

/* Copy a structure of `size` bytes to one of the program, which has set its size, the first member, and
 * put zeros behind what is known. least: the size of the first version. 0, or -1 if it is shorter. */
int api_fill(void *to, const void *from, size_t size, size_t least);

/* Store up to room of n ids or bytes, and their number. */
void api_give(void *to, size_t room, const void *from, size_t n, size_t item, size_t *count);

struct aprml_tokenizer {
	struct tokenizer *t;
	pthread_mutex_t lock; /* for encoding, which has scratch memory */
};

/* Takes t over, which may be NULL with e filled. NULL with e filled. */
struct aprml_tokenizer *api_tokenizer(struct tokenizer *t, struct err *e);

struct aprml_weights {
	struct load load;
	struct aprml_tokenizer *tokenizer;
	struct err none;      /* why there is no tokenizer */
	struct adapters adapters;
	struct low_rank *low; /* what they add, or NULL */
	size_t low_count;
};

/* A source at its first item with the model of m: m opened again in *again, or m itself if it comes
 * through a pipe and nothing has been read; it is then used up. NULL with e filled. */
struct aprml *api_fresh(struct aprml *m, struct aprml **again, struct err *e);

/* The same for a caller that reads these tensors of it. */
struct aprml *api_fresh_for(struct aprml *m, enum format_use use, struct aprml **again,
                            struct err *e);

/* Close what api_fresh has opened. */
void api_fresh_end(struct aprml *m, struct aprml *again);

#endif
