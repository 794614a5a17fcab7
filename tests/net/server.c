#include "server.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define LIMIT_PATHS 4096
#define STACK (512 << 10)

struct server server = { .cdn_host = "127.0.0.1", .page = 1000 };

static SSL_CTX *tls;

/* What is counted, and the answers that are under way. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct {
	char *path;
	unsigned long requests;
	unsigned long long bytes;
} counts[LIMIT_PATHS];
static size_t paths;
static unsigned long active, stalls;

static size_t
count_find(const char *path)
{
	size_t i;

	for (i = 0; i < paths; i++)
		if (strcmp(counts[i].path, path) == 0)
			return i;
	if (paths < LIMIT_PATHS - 1)
		counts[paths++].path = strdup(path);
	return paths - 1;
}

void
count_request(const char *path)
{
	pthread_mutex_lock(&mutex);
	counts[count_find(path)].requests++;
	pthread_mutex_unlock(&mutex);
}

void
count_bytes(const char *path, size_t n)
{
	pthread_mutex_lock(&mutex);
	counts[count_find(path)].bytes += n;
	pthread_mutex_unlock(&mutex);
}

void
count_stall(void)
{
	pthread_mutex_lock(&mutex);
	stalls++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static void
idle_serve(struct answer *a)
{
	a->status = 200;
	pthread_mutex_lock(&mutex);
	while (active > 0)
		pthread_cond_wait(&changed, &mutex);
	for (size_t i = 0; i < paths; i++)
		text_print(&a->body, "%lu %llu %s\n", counts[i].requests, counts[i].bytes,
				counts[i].path);
	pthread_mutex_unlock(&mutex);
}

static void
stalled_serve(struct answer *a, unsigned long wanted)
{
	pthread_mutex_lock(&mutex);
	while (stalls < wanted)
		pthread_cond_wait(&changed, &mutex);
	answer_text(a, 200, "%lu\n", stalls);
	pthread_mutex_unlock(&mutex);
}

/* Answers the test itself: neither counted nor logged. */
static bool
control_serve(struct conn *c, const struct request *r)
{
	struct answer a = { .fd = -1 };
	struct text head = { 0 };

	if (strncmp(r->path, "/_stalled/", 10) == 0)
		stalled_serve(&a, strtoul(r->path + 10, NULL, 10));
	else if (strcmp(r->path, "/_idle") == 0)
		idle_serve(&a);
	else
		return false;
	text_print(&head, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", a.body.n);
	conn_write(c, head.at, head.n);
	conn_write(c, a.body.at, a.body.n);
	c->broken = true;
	text_free(&head);
	text_free(&a.body);
	return true;
}

static void
request_serve(struct conn *c, const struct request *r)
{
	struct answer a = { .fd = -1, .status = 200 };
	struct fault f;

	fault_find(r, &f);
	if (f.status == 0 && f.location == NULL && !f.loop && f.body == NULL &&
			!upload_serve(c, r, &a) && !models_serve(c, r, &a) && !registry_serve(c, r, &a) &&
			!(strncmp(r->path, "/files/", 7) == 0 && answer_file(&a, r->path + 1)))
		answer_text(&a, 404, "Not Found");
	if (a.fd >= 0 && a.etag[0] == '\0' && strncmp(r->path, "/files/", 7) == 0)
		file_sha256(r->path + 1, a.etag);
	answer_send(c, r, &a, &f);
	if (a.fd >= 0)
		close(a.fd);
	text_free(&a.headers);
	text_free(&a.body);
	fault_free(&f);
}

/* Counts an answer that begins or ends. */
static void
active_add(unsigned long n)
{
	pthread_mutex_lock(&mutex);
	active += n;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static void
requests_serve(struct conn *c)
{
	while (!c->broken) {
		struct request r = { 0 };
		const char *close_wanted;

		if (!request_read(c, &r)) {
			c->broken = true;
		} else if (!control_serve(c, &r)) {
			active_add(1);
			request_serve(c, &r);
			close_wanted = request_header(&r, "connection");
			if (close_wanted != NULL && strcasecmp(close_wanted, "close") == 0)
				c->broken = true;
			active_add(-1UL);
		}
		request_free(&r);
	}
}

static void *
conn_serve(void *arg)
{
	struct conn *c = arg;

	if (c->ssl == NULL || (SSL_set_fd(c->ssl, c->fd) == 1 && SSL_accept(c->ssl) == 1))
		requests_serve(c);
	SSL_free(c->ssl);
	close(c->fd);
	free(c);
	return NULL;
}

/* The four ports, in the order of server.port. */
static int listeners[4];

/* Accepts clients of one port. */
static void *
port_serve(void *arg)
{
	const int *listener = arg;
	size_t port = (size_t)(listener - listeners);
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&small, STACK);
	for (;;) {
		struct conn *c = calloc(1, sizeof(*c));
		pthread_t thread;

		if (c == NULL)
			abort();
		c->fd = accept4(*listener, NULL, NULL, SOCK_CLOEXEC);
		if (c->fd < 0) {
			perror("server: accept");
			free(c);
			continue;
		}
		/* Bytes that were sent, and that the client has not read, should be few. */
		setsockopt(c->fd, SOL_SOCKET, SO_SNDBUF, &(int){ 131072 }, sizeof(int));
		setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
		c->cdn = port % 2 == 1;
		c->ssl = port >= 2 ? SSL_new(tls) : NULL;
		if (pthread_create(&thread, &small, conn_serve, c) != 0)
			abort();
	}
}

static int
port_open(int *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, n) != 0 || listen(fd, 128) != 0 ||
			getsockname(fd, (struct sockaddr *)&a, &n) != 0) {
		perror("server: port");
		exit(1);
	}
	*port = ntohs(a.sin_port);
	return fd;
}

static void
options_read(int argc, char **argv)
{
	static const struct option options[] = { { "page", required_argument, NULL, 'p' },
		{ "chunk", required_argument, NULL, 'k' },
		{ "cdn-host", required_argument, NULL, 'c' }, { 0 } };
	int o;

	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (o == 'p')
			server.page = strtoul(optarg, NULL, 10);
		else if (o == 'k')
			server.chunk = strtoul(optarg, NULL, 10);
		else if (o == 'c')
			server.cdn_host = optarg;
		else
			exit(2);
	}
	if (optind + 1 != argc || server.page == 0) {
		fprintf(stderr, "usage: server [--page N] [--chunk N] [--cdn-host NAME] ROOT\n");
		exit(2);
	}
	server.root = argv[optind];
}

int
main(int argc, char **argv)
{
	char ca[4096];
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	options_read(argc, argv);
	snprintf(ca, sizeof(ca), "%s/ca.pem", server.root);
	tls = certificate_new(ca);
	if (tls == NULL) {
		fprintf(stderr, "server: no certificate in %s\n", ca);
		return 1;
	}
	for (int i = 0; i < 4; i++)
		listeners[i] = port_open(&server.port[i]);
	printf("%d %d %d %d\n", server.port[0], server.port[1], server.port[2], server.port[3]);
	fflush(stdout);
	for (int i = 1; i < 4; i++)
		if (pthread_create(&thread, NULL, port_serve, &listeners[i]) != 0)
			return 1;
	port_serve(&listeners[0]);
	return 0;
}
