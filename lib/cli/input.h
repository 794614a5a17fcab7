/* input: the stream that a filter reads: standard input, or a FILE of any format, read by the
 * apr-unpack beside the running program. A filter therefore links no container and no codec.
 */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cli/tool.h"
#include "core/err.h"
#include "model/flow.h"

struct input {
	struct source *source;
	const char *path;  /* NULL: standard input */
	pid_t child;       /* 0: none */
	const char *const *run; /* arguments of the child, if input_prepare_run gave them */
	int go;            /* a byte sent here starts the child; -1: it has started */
	int from;          /* the stream comes from this descriptor */
	int *lent;         /* the file, or the files of a folder, open for both processes; */
	size_t lent_count; /* 0: none, and tensors then come through the pipe */
	int held;          /* descriptor that identifies the file, or -1 */
	bool trusts;       /* input_trust names this input, and */
	bool bytes_signed; /* input_is_signed_apr1 */
};

/* Starts the reader of a FILE that will be opened later; the reader waits until then.
 * Call this before the first input_open, which enters the sandbox (core/sandbox.h), where
 * a child cannot be started. Call it for each input except the first, and again for one
 * that is read twice. path: the same pointer as for input_open. */
void input_prepare(const char *path);

/* The same for a stream that another program of the suite writes: run has its name, its arguments and
 * NULL, and must outlive the input. path: what messages call it, and the pointer for input_open. */
void input_prepare_run(const char *path, const char *const *run);

/* Opens an input; path NULL or "-": standard input. Enters the sandbox before a byte is
 * read. input_open refuses a sealed model (E005); input_open_sealed accepts it. */
int input_open(struct input *in, const char *path, struct err *e);
int input_open_sealed(struct input *in, const char *path, struct err *e);

/* Whether the model at this path can be opened twice: neither standard input nor a
 * pipe. */
bool input_reopens(const char *path);

/* Opens the input of `first` again. E002 if its tensors have changed (name, type,
 * shape). */
int input_reopen(struct input *again, const struct input *first, struct err *e);

/* Requires that the model at path (NULL or "-": standard input) is signed by the public
 * key in the file `key`; "": by a key in the folder of trusted keys, as the setting
 * require_signature demands; NULL: no requirement. The reader is then the apr-verify beside
 * the program, so that other tools do not link the verifier: a FILE is verified before
 * its first byte arrives, standard input before its end. For an APR version 1 file with a
 * signature over its bytes, the reader is apr-unpack --trusted-key. At most two calls, with the
 * same key. */
void input_trust(const char *path, const char *key);
#define OPT_TRUSTED(to) \
	TEXT(0, "trusted-key", "KEY", to, \
	     "require a signature by the public key in the file KEY")

/* Whether path is an APR version 1 file with a signature over its bytes. */
bool input_is_signed_apr1(const char *path);

/* Refuses an output that would replace the file at path (NULL: none), or a file of the folder at path:
 * an input beside the one that filter_sink knows. Before or after the others are opened. 0, or -1
 * with ERR_USAGE. */
int input_spare(const char *path, const struct output_options *to, struct err *e);
int input_spare_all(const char *const *paths, size_t n, const struct output_options *to, struct err *e);

/* Closes the input and waits for the child. Call it in every case. If the child has
 * failed, it has printed a message, and e becomes ERR_CHILD with its status, whatever it
 * held. Returns 0 if e then holds no error. */
int input_close(struct input *in, struct err *e);

/* Whether a tool may stop reading after this tensor. This is so only if INPUT_FAR bytes
 * of a FILE follow: then the pipe blocks its reader, which cannot have found an error at
 * the end. Standard input and a verified input are always read to the end. */
#define INPUT_FAR (16u << 20)
bool input_may_stop(const struct input *in, size_t tensor);

/* Closes the input before its end. The broken pipe of the child is not an error. Standard
 * input is read to its end (tool_drain). */
int input_abandon(struct input *in, struct err *e);

#endif
