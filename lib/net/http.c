#include "net/http.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/mem.h"
#include "net/web.h"

/* One exchange on its way through libcurl. */
struct exchange {
	const struct http_request *q;
	struct http_answer *a;
	struct err *e;
	uint64_t got, limit, sent;
	size_t head_bytes;
	bool told;       /* head was called */
	bool enough;     /* the rest of the body is not needed */
	bool endless;    /* body or head were longer than allowed */
	bool refused;    /* a callback has failed */
	bool stalled;    /* nothing has arrived or left for too long */
	unsigned stall;  /* seconds */
	double last;     /* when a byte arrived or left */
};

/* ---- settings ---- */

static const char *
of_environment(const char *first, const char *second)
{
	const char *s = getenv(first);

	s = s && *s ? s : second ? getenv(second) : NULL;
	return s && *s ? s : NULL;
}

static void
start_library(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

struct web *
web_open(const struct web_options *o, struct err *e)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct web *w = mem_array(1, sizeof *w);
	size_t i;

	if (!w) {
		err_memory(e);
		return NULL;
	}
	pthread_mutex_init(&w->mutex, NULL);
	w->o = *o;
	w->o.connect = o->connect ? o->connect : 10;
	w->o.stall = o->stall ? o->stall : 30;
	w->o.tries = o->tries ? o->tries : 5;
	w->o.wait = o->wait ? o->wait : 1000;
	for (i = 0; i < o->map_count; i++)
		if (web_map_check(o->maps[i], e) < 0) {
			web_close(w);
			return NULL;
		}
	w->ca_file = of_environment("CURL_CA_BUNDLE", "SSL_CERT_FILE");
	w->ca_folder = of_environment("SSL_CERT_DIR", NULL);
	w->netrc = of_environment("NETRC", NULL);
	pthread_once(&once, start_library);
	return w;
}

void
web_close(struct web *w)
{
	size_t i;

	if (!w)
		return;
	for (i = 0; i < w->idle_count; i++)
		curl_easy_cleanup(w->idle[i]);
	pthread_mutex_destroy(&w->mutex);
	free(w);
}

/* A connection that another thread has left open, or a new one. */
static void *
take_idle(struct web *w)
{
	void *curl = NULL;

	pthread_mutex_lock(&w->mutex);
	if (w->idle_count)
		curl = w->idle[--w->idle_count];
	pthread_mutex_unlock(&w->mutex);
	return curl ? curl : curl_easy_init();
}

struct http *
http_open(struct web *w, struct err *e)
{
	struct http *h = mem_array(1, sizeof *h);

	if (h) {
		h->web = w;
		h->curl = take_idle(w);
	}
	if (!h || !h->curl) {
		free(h);
		err_memory(e);
		return NULL;
	}
	return h;
}

void
http_close(struct http *h)
{
	struct web *w = h ? h->web : NULL;

	if (!h)
		return;
	pthread_mutex_lock(&w->mutex);
	if (w->idle_count < WEB_IDLE) {
		w->idle[w->idle_count++] = h->curl;
		h->curl = NULL;
	}
	pthread_mutex_unlock(&w->mutex);
	if (h->curl)
		curl_easy_cleanup(h->curl);
	free(h);
}

/* ---- callbacks of the library ---- */

static bool
is_good(const struct http_answer *a)
{
	return a->status >= 200 && a->status < 300;
}

static size_t
on_header(char *p, size_t size, size_t n, void *to)
{
	struct exchange *x = to;
	size_t length = size * n;

	x->last = http_clock();
	x->head_bytes += length;
	x->endless = x->head_bytes > HTTP_HEADERS;
	if (x->endless)
		return 0;
	while (length && (p[length - 1] == '\n' || p[length - 1] == '\r'))
		length--;
	answer_line(x->a, p, length);
	return size * n;
}

/* Whether a 2xx answer has the bytes that were asked. */
static int
check_range(struct exchange *x)
{
	const struct http_request *q = x->q;
	struct http_answer *a = x->a;
	struct url_label label = url_label(&a->final);
	const char *name = label.text;

	if (q->method && strcmp(q->method, "GET") != 0)
		return 0;
	if (a->status == 206 && (!a->ranged || a->range_from != q->from ||
	                         (q->to && a->range_to > q->to))) {
		a->failure = HTTP_FINAL;
		return err_set(x->e, ERR_NETWORK, name,
		               "the server answers with other bytes than were asked");
	}
	if (a->ranged || !q->from)
		return 0;
	a->failure = HTTP_NO_RANGES;
	if (!q->if_range || strcmp(q->if_range, a->etag) == 0)
		return err_set(x->e, ERR_NETWORK, name, "the server sends whole files, not parts");
	a->failure = HTTP_CHANGED;
	return err_set(x->e, ERR_NETWORK, name, "the file has changed meanwhile");
}

static int
tell_head(struct exchange *x)
{
	if (x->told || !is_good(x->a))
		return 0;
	x->told = true;
	if (check_range(x) == 0 &&
	    (!x->q->head || x->q->head(x->q->ctx, x->a, x->e) == 0))
		return 0;
	x->refused = true;
	return -1;
}

/* Of an answer that is not 2xx, the first bytes are kept. */
static size_t
keep(struct exchange *x, const char *p, size_t n)
{
	struct http_answer *a = x->a;
	size_t some = n < HTTP_BODY - a->body_bytes ? n : HTTP_BODY - a->body_bytes;

	memcpy(a->body + a->body_bytes, p, some);
	a->body_bytes += some;
	a->body[a->body_bytes] = '\0';
	x->enough = a->body_bytes == HTTP_BODY;
	return x->enough ? 0 : n;
}

static size_t
on_data(char *p, size_t size, size_t n, void *to)
{
	struct exchange *x = to;
	size_t length = size * n, some = length;

	x->last = http_clock();
	if (x->q->stop && atomic_load(x->q->stop))
		return 0;
	if (!is_good(x->a))
		return keep(x, p, length);
	if (tell_head(x) < 0)
		return 0;
	if (length > x->limit - x->got) {
		/* A whole file in answer to a range: the rest of it is not wanted. */
		x->enough = x->q->to != 0;
		x->endless = !x->enough;
		some = (size_t)(x->limit - x->got);
	}
	if (some && x->q->data && x->q->data(x->q->ctx, p, some, x->e) < 0) {
		x->refused = true;
		return 0;
	}
	x->got += some;
	x->last = http_clock(); /* the disk may have been slow */
	return some == length ? length : 0;
}

static size_t
on_send(char *p, size_t size, size_t n, void *from)
{
	struct exchange *x = from;
	uint64_t left = x->q->body_bytes - x->sent;
	size_t length = size * n < left ? size * n : (size_t)left;
	ssize_t r;

	if (x->q->body) {
		memcpy(p, (const char *)x->q->body + x->sent, length);
		r = (ssize_t)length;
	} else {
		r = length ? pread(x->q->body_file, p, length, (off_t)(x->q->body_from + x->sent)) : 0;
	}
	if (r < 0 || (r == 0 && left))
		return CURL_READFUNC_ABORT;
	x->sent += (uint64_t)r;
	x->last = http_clock();
	return (size_t)r;
}

/* The library rewinds a body if a kept connection turns out to be closed. */
static int
on_seek(void *from, curl_off_t offset, int origin)
{
	struct exchange *x = from;

	if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > x->q->body_bytes)
		return CURL_SEEKFUNC_FAIL;
	x->sent = (uint64_t)offset;
	return CURL_SEEKFUNC_OK;
}

static int
on_progress(void *from, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	struct exchange *x = from;

	(void)a, (void)b, (void)c, (void)d;
	x->stalled = http_clock() - x->last > x->stall;
	return x->stalled || (x->q->stop && atomic_load(x->q->stop));
}

/* ---- a request ---- */

static int
add_line(struct curl_slist **list, const char *line)
{
	struct curl_slist *more = curl_slist_append(*list, line);

	if (!more)
		return -1;
	*list = more;
	return 0;
}

static int
add_lines(struct curl_slist **list, const struct http_request *q, bool trusted)
{
	char line[4096];
	size_t i;

	for (i = 0; i < q->header_count; i++)
		if (add_line(list, q->headers[i]) < 0)
			return -1;
	if (q->if_range && q->from) {
		snprintf(line, sizeof line, "If-Range: %s", q->if_range);
		if (add_line(list, line) < 0)
			return -1;
	}
	if (q->body_bytes && add_line(list, "Expect:") < 0)
		return -1;
	if (!q->authorization || !trusted)
		return 0;
	snprintf(line, sizeof line, "Authorization: %s", q->authorization);
	return add_line(list, line);
}

static void
set_method(CURL *c, const struct http_request *q, struct exchange *x)
{
	const char *method = q->method ? q->method : "GET";

	if (strcmp(method, "HEAD") == 0) {
		curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
	} else if (q->body_bytes || strcmp(method, "GET") != 0) {
		curl_easy_setopt(c, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(c, CURLOPT_READFUNCTION, on_send);
		curl_easy_setopt(c, CURLOPT_READDATA, x);
		curl_easy_setopt(c, CURLOPT_SEEKFUNCTION, on_seek);
		curl_easy_setopt(c, CURLOPT_SEEKDATA, x);
		curl_easy_setopt(c, CURLOPT_INFILESIZE_LARGE, (curl_off_t)q->body_bytes);
		curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, method);
	}
}

/* Before a connection is made. Without the option the system chooses. */
static int
on_socket(void *from, curl_socket_t fd, curlsocktype purpose)
{
	const struct exchange *x = from;
	const int half = (int)(x->q->held / 2); /* the kernel doubles it */

	if (purpose == CURLSOCKTYPE_IPCXN)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &half, sizeof half);
	return CURL_SOCKOPT_OK;
}

static void
set_range(CURL *c, const struct http_request *q)
{
	char range[64];

	if (!q->from && !q->to)
		return;
	if (q->to)
		snprintf(range, sizeof range, "%llu-%llu", (unsigned long long)q->from,
		         (unsigned long long)q->to - 1);
	else
		snprintf(range, sizeof range, "%llu-", (unsigned long long)q->from);
	curl_easy_setopt(c, CURLOPT_RANGE, range);
}

static void
set_network(CURL *c, const struct web *w, const struct http_request *q, bool first)
{
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_BUFFERSIZE, 512L << 10);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)w->o.connect);
	curl_easy_setopt(c, CURLOPT_USERAGENT, w->o.agent);
	curl_easy_setopt(c, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	if (w->ca_file)
		curl_easy_setopt(c, CURLOPT_CAINFO, w->ca_file);
	if (w->ca_folder)
		curl_easy_setopt(c, CURLOPT_CAPATH, w->ca_folder);
	if (first && !q->authorization) {
		curl_easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
		if (w->netrc)
			curl_easy_setopt(c, CURLOPT_NETRC_FILE, w->netrc);
	}
}

static void
set_callbacks(CURL *c, struct exchange *x)
{
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(c, CURLOPT_HEADERDATA, x);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_data);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, x);
	curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(c, CURLOPT_XFERINFODATA, x);
	curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
	if (!x->q->held)
		return;
	curl_easy_setopt(c, CURLOPT_SOCKOPTFUNCTION, on_socket);
	curl_easy_setopt(c, CURLOPT_SOCKOPTDATA, x);
}

/* ---- what came of it ---- */

static bool
is_temporary(CURLcode code)
{
	switch (code) {
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
	case CURLE_PARTIAL_FILE:
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
		return true;
	default:
		return false;
	}
}

static const char *
reason(CURLcode code, bool connected)
{
	switch (code) {
	case CURLE_COULDNT_RESOLVE_HOST:
		return "the host is not known";
	case CURLE_COULDNT_RESOLVE_PROXY:
		return "the host of the proxy is not known";
	case CURLE_COULDNT_CONNECT:
		return "no connection";
	case CURLE_OPERATION_TIMEDOUT:
		return connected ? "the server has stopped sending" : "the server does not answer";
	/* Which of these comes depends on the moment. */
	case CURLE_PARTIAL_FILE:
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
		return "the connection broke off";
	case CURLE_PEER_FAILED_VERIFICATION:
		return "the certificate of the server is not trusted";
	case CURLE_SSL_CONNECT_ERROR:
		return "the encrypted connection could not be set up";
	case CURLE_SSL_CACERT_BADFILE:
		return "the file of trusted certificates cannot be read";
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return "the answer is not HTTP";
	default:
		return curl_easy_strerror(code);
	}
}

static int
failed(struct exchange *x, CURLcode code)
{
	struct http_answer *a = x->a;
	struct url_label name = url_label(&a->final);

	if (x->refused) {
		a->failure = a->failure ? a->failure : HTTP_FINAL;
		return -1;
	}
	if (x->stalled)
		code = CURLE_OPERATION_TIMEDOUT;
	a->failure = is_temporary(code) ? HTTP_TEMPORARY : HTTP_FINAL;
	if (x->q->stop && atomic_load(x->q->stop))
		return err_set(x->e, ERR_NETWORK, name.text, "is no longer needed");
	if (x->endless && x->head_bytes > HTTP_HEADERS)
		return err_set(x->e, ERR_NETWORK, name.text,
		               "the headers of the answer have more than %u KiB", HTTP_HEADERS >> 10);
	if (x->endless)
		return err_set(x->e, ERR_NETWORK, name.text,
		               "the answer has more than the %llu bytes it may have",
		               (unsigned long long)x->limit);
	if (code == CURLE_OUT_OF_MEMORY)
		return err_memory(x->e);
	return err_set(x->e, ERR_NETWORK, name.text, "%s",
	               reason(code, a->status || x->got));
}

int
http_perform(struct http *h, const struct http_request *q, const struct url *u, bool first,
             bool trusted, struct http_answer *a, struct err *e)
{
	struct exchange x = { .q = q, .a = a, .e = e, .stall = h->web->o.stall, .last = http_clock() };
	struct curl_slist *lines = NULL;
	CURL *c = h->curl;
	CURLcode code;

	x.limit = q->limit ? q->limit : q->to ? q->to - q->from : HTTP_SMALL;
	a->final = *u;
	answer_reset(a);
	curl_easy_reset(c);
	if (add_lines(&lines, q, trusted) < 0) {
		curl_slist_free_all(lines);
		return err_memory(e);
	}
	curl_easy_setopt(c, CURLOPT_URL, u->text);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, lines);
	set_method(c, q, &x);
	set_range(c, q);
	set_network(c, h->web, q, first);
	set_callbacks(c, &x);
	code = curl_easy_perform(c);
	curl_slist_free_all(lines);
	if ((code != CURLE_OK && !x.enough) || tell_head(&x) < 0)
		return failed(&x, code);
	a->got = x.got;
	return 0;
}
