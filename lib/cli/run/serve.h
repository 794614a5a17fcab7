/* serve: answers requests, one on each line of an input, with a model that is loaded once.
 *
 * 	{"request":1,"text":"…","tokens":[1,2],"prompt_tokens":3,"end":"count"}
 * 	{"request":1,"error":"E002","message":"…","hint":"…"}
 *
 * An answer is one line, written before the next request is read, and depends on its request
 * alone. A request that cannot be answered has an error, and the next one is read. Members that
 * do not apply are left out: request if the request has none, text without a vocabulary, hint. Of
 * a request that asks for a stream, a line {"request","id","text","logprob"} comes before for each
 * token. end: "count", "end_of_text", "stop", "context" or "interrupted".
 *
 * Lines, prompts and numbers of values that are far beyond what the context has room for are refused
 * before they are read as a whole, so that memory depends on the context and not on the request.
 */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include <signal.h>

#include "cli/run/request.h"
#include "core/out.h"
#include "infer/sequence.h"

#define SERVE_LINE (64u << 20) /* bytes of a request, at most */

struct serve {
	int in;                         /* requests */
	struct out *out;                /* answers */
	struct sequence *sequence;
	struct tokenizer *tokenizer;    /* or NULL: only tokens can be asked for */
	struct request defaults;        /* of the command line */
	const volatile sig_atomic_t *interrupted;
};

/* Answers until the end of the input, or until it is interrupted. 0; or -1 with e filled if the
 * input cannot be read, or as out fails. */
int serve_lines(const struct serve *s, struct err *e);

#endif
