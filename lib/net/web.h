/* web: what the files of this room share about a connection. */
#ifndef NET_WEB_H
#define NET_WEB_H

#include <pthread.h>

#include "net/http.h"

#define WEB_IDLE 64

struct web {
	pthread_mutex_t mutex; /* of what follows */
	void *idle[WEB_IDLE];  /* connections that no thread uses */
	size_t idle_count;
	struct web_options o; /* with its defaults */
	const char *ca_file, *ca_folder, *netrc; /* of the environment, or NULL */
};

struct http {
	struct web *web;
	void *curl;
};

/* One request to u, without following redirects. first: u is the first address of the request,
 * for which ~/.netrc counts; trusted: the credentials may go there. */
int http_perform(struct http *h, const struct http_request *q, const struct url *u, bool first,
                 bool trusted, struct http_answer *a, struct err *e);

/* Whether a map "OLD=NEW" is valid. 0, or -1 with ERR_USAGE. */
int web_map_check(const char *map, struct err *e);

#endif
