/* input: where a filter's stream comes from: standard input, or a FILE of any
 * format, read by the apr-unpack beside the running program. So a filter links
 * no container and no codec.
 */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/err.h"
#include "model/flow.h"

struct input {
	struct source *source;
	const char *path;  /* NULL: standard input */
	pid_t child;       /* 0: none */
	int go;            /* the child begins when a byte comes by this; -1: it has */
	int from;          /* where its stream comes from */
	int lent;          /* the file, open for both, or -1: it is none */
	int held;          /* descriptor that identifies the file, or -1 */
	bool trusts;       /* it is the one that input_trust is about, and */
	bool bytes_signed; /* input_is_signed_apr1 */
};

/* Start the reader of a FILE that is to be opened later, while that is allowed: the
 * first input_open enters the sandbox (core/sandbox.h), from which no child can be
 * started. For each input but the first, and again for one that is read again; path: the
 * pointer that input_open will be given. It waits until then. */
void input_prepare(const char *path);

/* path NULL or "-": standard input. Enters the sandbox before a byte is read. A sealed
 * model is refused (E005), but by the second, for tools that can do with one. */
int input_open(struct input *in, const char *path, struct err *e);
int input_open_sealed(struct input *in, const char *path, struct err *e);

/* Can a model at this path be opened a second time? Not standard input, nor a pipe. */
bool input_reopens(const char *path);

/* Open once more what first has open; where the tensors are no longer the same (name, type,
 * shape): E002. */
int input_reopen(struct input *again, const struct input *first, struct err *e);

/* From now on the model at path (NULL or "-": standard input) must be signed by the public
 * key in the file key; NULL: as it is. Its reader is then the apr-verify beside the
 * program, so that no tool links what verifies: a FILE is verified before a byte of it
 * comes, and standard input before its end is seen. Of an APR version 1 file with a
 * signature over its bytes it is apr-unpack --trusted-key. */
void input_trust(const char *path, const char *key);
#define OPT_TRUSTED(to) \
	TEXT(0, "trusted-key", "KEY", to, \
	     "require a signature by the public key in the file KEY")

/* Is it an APR version 1 file with a signature over its bytes? */
bool input_is_signed_apr1(const char *path);

/* Close, and end the child. If it failed by itself it has spoken, and e becomes
 * ERR_CHILD with its status, whatever we saw of it. Call it always. Returns 0 if
 * e holds no fault then. */
int input_close(struct input *in, struct err *e);

/* A tool that wants nothing behind this tensor: may it stop there? Only where a
 * FILE has so much more (INPUT_FAR) that its reader, held up by the pipe, is not
 * at the end yet and cannot have found a fault there. What comes by standard
 * input is read to its end, whoever writes it, and so is what is verified. */
#define INPUT_FAR (16u << 20)
bool input_may_stop(const struct input *in, size_t tensor);

/* Close before the end of the stream was wanted: what the child says of its
 * broken pipe is no fault. Standard input is read to its end (tool_drain). */
int input_abandon(struct input *in, struct err *e);

#endif
