/* stream: apr-pull to a pipe. An apr-unpack reads the model in place and writes the stream;
 * this process has the network and serves it (hub/serve.h).
 */
#ifndef CLI_PULL_STREAM_H
#define CLI_PULL_STREAM_H

#include "cli/select.h"
#include "cli/tool.h"
#include "hub/serve.h"
#include "hub/source.h"

struct stream_pull {
	const char *source;           /* as the user wrote it, and parsed */
	const struct hub_source *hub;
	struct select_options select; /* --only, --except */
	const char *policy;           /* refuse licences that it does not allow; or NULL */
	bool progress;
	struct serve_options serve;
	const struct pull_options *pull; /* fill the cache with it meanwhile; NULL: read in place */
};

/* Notes the licence, then streams the source to standard output, which this process closes. 0, or
 * -1 with e filled: ERR_CHILD if apr-unpack has printed the message. The caller is to end by
 * stream_exit, since threads may still fetch. */
int stream_pull(const struct stream_pull *p, struct err *e);

/* Prints the message of e and ends the process, with its threads. */
_Noreturn void stream_exit(struct err *e);

/* Becomes the apr-unpack that streams a local model. Only returns, -1, if that fails. */
int stream_unpack(const char *path, const struct select_options *select, struct err *e);

/* As the helper of another tool: apr-pull --serve FD. */
int stream_serve(int socket, const struct serve_options *o, struct err *e);

#endif
