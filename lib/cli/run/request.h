/* request: what a line of apr-run --serve-stdin asks for, a JSON object.
 *
 * 	request         any value: the answer has it too
 * 	prompt          the text to be continued
 * 	tokens          instead of prompt: an array of token ids
 * 	n               the most tokens, at least 1
 * 	stop            a text that ends the generation, or an array of such texts
 * 	stream          true: an object for each token comes before the answer
 * 	temp, top_k, top_p, min_p, repeat_penalty, seed
 * 	                as the options of these names (generate/sampler.h)
 *
 * A member that is not there has the value of the command line. Other members are errors, so that
 * a misspelled one is not ignored.
 */
#ifndef CLI_REQUEST_H
#define CLI_REQUEST_H

#include <stdbool.h>

#include "core/json.h"
#include "generate/sampler.h"
#include "tokenizer/tokenizer.h"

#define REQUEST_STOPS 64 /* maximum number of stop texts */

struct request {
	json_t *root;             /* owned; its texts are used below */
	const json_t *name;       /* "request", or NULL */
	const char *prompt;       /* or NULL: */
	struct tokens tokens;     /* owned */
	const char *const *stops; /* none empty; */
	size_t stop_count;
	const char *own[REQUEST_STOPS]; /* those of the request, if it has some */
	struct sampler_options sampler;
	uint64_t count;
	bool stream;
};

/* Reads n bytes. r holds what the command line says, with root NULL. 0, or -1 with e filled: ERR_USAGE
 * names the member, ERR_CORRUPT is not JSON, ERR_MEMORY. If the text is an object with that
 * member, r->name is set in either case. request_free is due in any case. */
int request_read(struct request *r, const void *text, size_t n, struct err *e);

void request_free(struct request *r);

#endif
