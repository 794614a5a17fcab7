/* remote: a model whose bytes come through a socket. A thread of this process plays the helper,
 * a good one or one that lies. */
#include "core/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/dir.h"
#include "core/map.h"
#include "core/num.h"
#include "core/opened.h"
#include "core/range.h"
#include "core/reader.h"
#include "core/remote_wire.h"
#include "core/sandbox.h"
#include "core/signals.h"
#include "test.h"

#define BYTES 300000u
#define WINDOW 65536u

enum lie {
	NONE, SHORT_PACKET, ODD_PACKET, MANY, FAR, NOTHING, BAD_CODE, BAD_CHILD, NO_END, NO_WINDOW,
	NO_FILE, ENDS, WRONG_WHOLE, FAILS, FAILS_LONG
};

static uint8_t content[BYTES];
static enum lie lie;
static bool is_folder;
static const char *const names[] = { "a.gguf", "b/c.json", "b/d.json", "e.gguf" };

static void
answer(int socket, const struct remote_answer *a, size_t n, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof fd)];
	} control = { .room = { 0 } };
	struct iovec part = { (void *)(uintptr_t)a, n };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd >= 0) {
		m.msg_control = control.room;
		m.msg_controllen = sizeof control.room;
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
	}
	if (sendmsg(socket, &m, MSG_NOSIGNAL) < 0 && errno != EPIPE)
		perror("sendmsg");
	if (fd >= 0)
		close(fd);
}

static int
handle(uint32_t file)
{
	char path[40];
	int fd, ends[2], again;

	if (file == REMOTE_FOLDER) {
		if (pipe(ends) < 0)
			return -1;
		close(ends[0]);
		return ends[1];
	}
	fd = memfd_create("t", MFD_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (ftruncate(fd, BYTES) < 0)
		return -1;
	again = open(path, O_WRONLY | O_CLOEXEC);
	close(fd);
	return again;
}

static int
whole(void)
{
	int fd = memfd_create("w", MFD_CLOEXEC);

	if (write(fd, content, BYTES) != BYTES)
		return -1;
	return lie == WRONG_WHOLE && ftruncate(fd, 5) < 0 ? -1 : fd;
}

/* The lies that any answer can be. */
static size_t
spoil(struct remote_answer *a, size_t n)
{
	switch (lie) {
	case SHORT_PACKET:
		return REMOTE_ANSWER - 1;
	case ODD_PACKET:
		return REMOTE_ANSWER + 7;
	case BAD_CODE:
		a->code = 4000000000u;
		return sizeof *a;
	case BAD_CHILD:
		a->code = ERR_CHILD;
		return sizeof *a;
	case NO_END:
		a->code = ERR_IO;
		memset(&a->text, 'x', sizeof a->text);
		return sizeof *a;
	case FAILS:
	case FAILS_LONG:
		a->code = ERR_CHECKSUM;
		snprintf(a->text.why.object, sizeof a->text.why.object, "https://h/a\033b");
		snprintf(a->text.why.fact, sizeof a->text.why.fact, "%s", "is not what it was");
		snprintf(a->text.why.hint, sizeof a->text.why.hint, "look again");
		return lie == FAILS ? sizeof *a : REMOTE_ANSWER;
	default:
		return n;
	}
}

static int window_fd;
static uint8_t *mapped;

/* Answers one request. */
static void
serve_one(int socket, const struct remote_ask *q)
{
	struct remote_answer a = { .code = ERR_NONE };
	size_t n = REMOTE_ANSWER, i;
	int fd = -1;

	switch (q->what) {
	case REMOTE_BEGIN:
		a.n = lie == NOTHING ? 0 : WINDOW;
		a.file = is_folder ? REMOTE_FOLDER : 0;
		fd = lie == NO_WINDOW ? -1 : fcntl(window_fd, F_DUPFD_CLOEXEC, 3);
		break;
	case REMOTE_NAME:
		a.n = BYTES;
		n = sizeof a;
		if (q->file < sizeof names / sizeof *names)
			strcpy(a.text.name, names[q->file]);
		else
			a.missing = a.code = ERR_IO;
		break;
	case REMOTE_FIND:
		a.n = BYTES;
		for (i = 0; i < sizeof names / sizeof *names && strcmp(names[i], q->text) != 0; i++)
			;
		a.file = (uint32_t)i;
		if (i == sizeof names / sizeof *names) {
			a.code = ERR_IO;
			a.missing = 1;
			n = sizeof a;
		}
		break;
	case REMOTE_OPEN:
		fd = lie == NO_FILE ? -1 : handle(q->file);
		break;
	case REMOTE_READ:
		a.n = num_min(q->n, WINDOW);
		memcpy(mapped, content + q->at, (size_t)num_min(a.n, BYTES - q->at));
		a.n = lie == MANY ? q->n + 1 : lie == NOTHING ? 0 : a.n;
		a.at = lie == FAR ? WINDOW - a.n + 1 : 0;
		break;
	case REMOTE_WHOLE:
		fd = whole();
		break;
	}
	n = a.code == ERR_NONE && q->what != REMOTE_BEGIN ? spoil(&a, n) : n;
	answer(socket, &a, n, fd);
}

static void *
serve(void *ctx)
{
	int socket = *(int *)ctx;
	struct remote_ask q;
	ssize_t n;

	while ((n = recv(socket, &q, sizeof q, 0)) >= (ssize_t)REMOTE_ASK) {
		if (lie == ENDS && q.what == REMOTE_READ)
			break;
		serve_one(socket, &q);
	}
	close(socket);
	return NULL;
}

static pthread_t helper;
static int ends[2];

static void
begin(const char *path, enum lie how, bool folder)
{
	lie = how;
	is_folder = folder;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 ||
	    pthread_create(&helper, NULL, serve, &ends[1]) != 0)
		exit(1);
	remote_adopt(path, ends[0]);
}

static void
end(void)
{
	remote_end();
	pthread_join(helper, NULL);
}

/* ---- names ---- */

static void
test_names(void)
{
	static const struct {
		const char *operand, *name;
		bool is;
	} rows[] = {
		{ "m.gguf", "m.gguf", false },
		{ "https://h/m.gguf", "https://h/m.gguf", true },
		{ "https://h/m.gguf?X-Amz-Signature=secret", "https://h/m.gguf", true },
		{ "https://h/a@b#c", "https://h/a@b", true },
		{ "https://user:word@h:8/m?k", "https://h:8/m", true },
		{ "http://h?k", "http://h", true },
		{ "hf://o/r@main/x?y", "hf://o/r@main/x?y", true },
		{ "file:///a%20b/c", "/a b/c", false },
		{ "file://localhost/a%2", "/a%2", false },
		{ "file:///a%00b%zz", "/a%00b%zz", false },
		{ "file://host/a", "file://host/a", false },
		{ "./hf://o/r", "./hf://o/r", false },
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *name = remote_name(rows[i].operand);

		test_ok(name && strcmp(name, rows[i].name) == 0 && remote_is(name) == rows[i].is &&
		        strcmp(remote_source(name), rows[i].operand) == 0, "the name of %s is %s",
		        rows[i].operand, name ? name : "NULL");
	}
}

/* ---- a good helper ---- */

static void
test_reader(void)
{
	struct err e = ERR_INIT;
	struct reader r;
	struct stat st;
	uint8_t some[100], *all = malloc(BYTES);
	struct map map;
	const uint8_t *p;
	size_t n, at = 0;
	int fd;

	begin("https://h/a.gguf", NONE, false);
	test_ok(opened_stat("https://h/a.gguf", &st) == 0 && S_ISREG(st.st_mode) &&
	        st.st_size == BYTES, "the size is known");
	test_ok(reader_open(&r, "https://h/a.gguf", &e) == 0 && r.seekable && reader_left(&r) == BYTES,
	        "a reader opens the source");
	while (!reader_at_end(&r) && (p = reader_some(&r, BYTES, &n))) {
		memcpy(all + at, p, n);
		at += n;
	}
	test_ok(at == BYTES && memcmp(all, content, BYTES) == 0, "and reads every byte");
	test_ok(reader_seek(&r, 250001) == 0 && reader_u8(&r) == content[250001] &&
	        reader_holes(&r) == 0 && !reader_has_gap(&r, 2 << 20), "it seeks; there are no holes");
	fd = r.fd;
	test_ok(range_read(&(struct range){ fd, 7 }, 3, some, sizeof some) == 0 &&
	        memcmp(some, content + 10, sizeof some) == 0 &&
	        range_gap(&(struct range){ fd, 0 }, 0, BYTES) == 0, "a range is read");
	test_ok(range_read(&(struct range){ fd, BYTES - 9 }, 0, some, 10) < 0 && errno == 0,
	        "behind the end too few bytes are there");
	test_ok(pread(fd, some, 1, 0) < 0 && mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED,
	        "the handle itself cannot be read or mapped");
	test_ok(map_file(&map, fd, "m", &e) == 0 && map.n == BYTES &&
	        memcmp(map.p, content, BYTES) == 0, "a map has the whole file");
	map_close(&map);
	test_ok(remote_want("https://h/a.gguf", NULL, 5, 6, &e) == 0 &&
	        remote_want("https://h/a.gguf", NULL, 0, 0, &e) == 0 &&
	        remote_prove("https://h/a.gguf", &e) == 0 && e.code == ERR_NONE, "wishes and proofs");
	reader_close(&r);
	end();
	free(all);
}

static void
test_folder(void)
{
	struct dir_names list = { 0 };
	struct err e = ERR_INIT;
	struct reader r;
	struct stat st;
	int fd;

	begin("hf://o/r", NONE, true);
	test_ok(opened_stat("hf://o/r", &st) == 0 && S_ISDIR(st.st_mode), "a repository is a folder");
	fd = opened_folder("hf://o/r");
	test_ok(fd >= 0 && dir_list(fd, "hf://o/r", &list, &e) == 0 && list.n == 3 &&
	        strcmp(list.p[1], "b") == 0, "its names are listed, each once");
	dir_names_free(&list);
	test_ok(dir_look(fd, "e.gguf", &st) == 0 && st.st_size == BYTES && S_ISREG(st.st_mode) &&
	        dir_look(fd, "b", &st) == 0 && S_ISDIR(st.st_mode) &&
	        dir_look(fd, "x", &st) < 0 && errno == ENOENT, "files and folders differ");
	test_ok(dir_open(fd, "b/c.json", "hf://o/r/b/c.json", &r, &e) == 0 &&
	        reader_u8(&r) == content[0], "a file in a folder is read");
	reader_close(&r);
	test_ok(dir_open(fd, "x", "hf://o/r/x", &r, &e) < 0 && e.missing, "another one is missing");
	e = (struct err)ERR_INIT;
	test_ok(reader_open(&r, "hf://o/r", &e) < 0 && strcmp(e.fact, "is a directory") == 0,
	        "the folder itself is not a file");
	close(fd);
	end();
}

/* ---- a bad helper ---- */

static void
test_lies(void)
{
	static const struct {
		enum lie lie;
		const char *fact;
	} rows[] = {
		{ SHORT_PACKET, "its reader, apr-pull, gives a wrong answer" },
		{ ODD_PACKET, "its reader, apr-pull, gives a wrong answer" },
		{ MANY, "its reader, apr-pull, gives a wrong answer" },
		{ FAR, "its reader, apr-pull, gives a wrong answer" },
		{ NOTHING, "its reader, apr-pull, gives a wrong answer" },
		{ BAD_CODE, "its reader, apr-pull, gives a wrong answer" },
		{ BAD_CHILD, "its reader, apr-pull, gives a wrong answer" },
		{ FAILS_LONG, "its reader, apr-pull, gives a wrong answer" },
		{ NO_END, "xxxxxxxxxx" },
		{ NO_WINDOW, "its window cannot be mapped" },
		{ NO_FILE, "cannot be read" },
		{ ENDS, "its reader, apr-pull, has ended" },
		{ FAILS, "is not what it was" },
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct err e = ERR_INIT;
		struct reader r;

		begin("https://h/a", rows[i].lie, false);
		if (reader_open(&r, "https://h/a", &e) == 0)
			reader_u8(&r);
		test_ok(e.code != ERR_NONE && strncmp(e.fact, rows[i].fact, strlen(rows[i].fact)) == 0 &&
		        (rows[i].lie != FAILS || (e.code == ERR_CHECKSUM && !strchr(e.object, 27) &&
		                                  strcmp(e.hint, "look again") == 0)),
		        "lie %d: %s", rows[i].lie, e.fact);
		reader_close(&r);
		end();
	}
}

/* Whatever the packets hold: an answer that is accepted lies in the window, and has texts with
 * an end. */
static void
test_any_answer(void)
{
	static const uint64_t odd[] = { 0, 1, WINDOW - 1, WINDOW, WINDOW + 1, INT64_MAX,
		UINT64_MAX - 1, UINT64_MAX };
	static struct remote_ask q;
	static struct remote_answer a;
	uint32_t x = 1, taken = 0, wrong = 0;
	unsigned i;
	size_t k;

	for (i = 0; i < 40000; i++) {
		for (k = 0; k < sizeof a / 4; k += i % 3 ? 7 : 1)
			memcpy((uint8_t *)&a + 4 * k, &(uint32_t){ x = x * 1664525 + 1013904223 }, 4);
		q.what = x >> 8 & 7;
		q.n = odd[x >> 11 & 7];
		a.n = odd[x >> 14 & 7];
		a.at = odd[x >> 17 & 7];
		a.code = x >> 20 & 3 ? ERR_NONE : x >> 22 & 63;
		if (remote_check(&q, &a, x >> 28 & 1 ? sizeof a : REMOTE_ANSWER, WINDOW) < 0)
			continue;
		taken++;
		if (a.code == ERR_NONE && q.what == REMOTE_READ)
			wrong += a.n < 1 || a.n > q.n || a.at > WINDOW || a.n > WINDOW - a.at;
		wrong += a.code == ERR_CHILD || !memchr(a.text.name, 0, sizeof a.text.name);
		wrong += a.code != ERR_NONE && !memchr(a.text.why.hint, 0, sizeof a.text.why.hint);
	}
	test_ok(taken > 1000 && wrong == 0, "40000 answers, %u of them accepted, %u wrongly", taken,
	        wrong);
}

static void
test_whole_lie(void)
{
	struct err e = ERR_INIT;
	struct map map;
	int fd;

	begin("https://h/a", WRONG_WHOLE, false);
	fd = opened_file("https://h/a", O_RDONLY);
	test_ok(fd >= 0 && map_file(&map, fd, "m", &e) < 0 &&
	        strcmp(e.fact, "has changed while it was read") == 0, "a file of another size is refused");
	close(fd);
	end();
}

/* ---- what is lent ---- */

static int64_t
lend_bytes(void *ctx, uint64_t at, void *p, size_t n)
{
	(void)ctx;
	(void)at;
	memset(p, 0, n);
	return (int64_t)n;
}

/* Without a descriptor for the duplicate nothing stays open. */
static void
test_full(void)
{
	const struct remote_lender lender = { .read = lend_bytes };
	int kept = dup(0), last = dup(1), lent, again;
	struct rlimit old, few;

	getrlimit(RLIMIT_NOFILE, &old);
	few = old;
	few.rlim_cur = (rlim_t)last + 1;
	setrlimit(RLIMIT_NOFILE, &few);
	close(last);
	close(0); /* a duplicate does not get this number */
	lent = remote_lend(&lender, 10);
	open("/dev/null", O_RDONLY | O_CLOEXEC);
	again = open("/dev/null", O_RDONLY | O_CLOEXEC);
	test_ok(lent < 0 && again == last, "what cannot be lent is not kept");
	setrlimit(RLIMIT_NOFILE, &old);
	close(again);
	dup2(kept, 0);
	close(kept);
}

/* ---- the sandbox ---- */

/* In a process with the sandbox of apr-header, the source is read, and nothing else talks. */
static int
confined(void)
{
	struct err e = ERR_INIT;
	struct reader r;
	struct msghdr m = { .msg_iov = NULL };
	bool limited = strstr(sandbox_text((char[SANDBOX_TEXT]){ 0 }), "seccomp");

	sandbox_tool("apr-header");
	remote_adopt("https://h/a", ends[0]);
	sandbox_enter();
	if (reader_open(&r, "https://h/a", &e) < 0 || reader_u8(&r) != content[0] || e.code != ERR_NONE)
		return 1;
	if (limited && (socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0))
		return 2;
	if (limited && (sendmsg(0, &m, 0) >= 0 || errno != EPERM))
		return 3;
	if (limited && fork() >= 0)
		return 4;
	return 0;
}

static void
test_sandbox(void)
{
	int status = -1;
	pid_t pid;

	lie = NONE;
	is_folder = false;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		exit(1);
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		_exit(confined());
	}
	close(ends[0]);
	serve(&ends[1]);
	waitpid(pid, &status, 0);
	test_ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	        "inside the sandbox the source is read, and there is no other socket (%d)", status);
}

int
main(void)
{
	size_t i;

	signals_catch();
	for (i = 0; i < BYTES; i++)
		content[i] = (uint8_t)(i * 2654435761u >> 13);
	window_fd = memfd_create("window", MFD_CLOEXEC);
	if (ftruncate(window_fd, WINDOW) < 0)
		return 1;
	mapped = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, window_fd, 0);
	test_names();
	test_reader();
	test_folder();
	test_lies();
	test_any_answer();
	test_whole_lie();
	test_full();
	test_sandbox();
	return test_done();
}
