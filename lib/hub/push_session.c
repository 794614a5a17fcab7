#include "hub/push_session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/dir.h"
#include "core/mem.h"
#include "crypto/digest.h"
#include "net/url.h"

#define ETAG 256

/* ---- parts ---- */

static void
forget_parts(struct push_session *s)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		free(s->address[i]);
		free(s->etag[i]);
	}
	free(s->address);
	free(s->etag);
	free(s->complete);
	s->address = s->etag = NULL;
	s->complete = NULL;
	s->n = s->sent = 0;
}

/* Room for the parts. 0, or -1: sizes that are not possible, or no memory. */
static int
make_parts(struct push_session *s, uint64_t chunk, const char *complete)
{
	uint64_t n = chunk == 0 ? 0 : s->size / chunk + (s->size % chunk != 0);

	forget_parts(s);
	if (n == 0 || n > SESSION_PARTS)
		return -1;
	s->chunk = chunk;
	s->complete = mem_text(complete, strlen(complete));
	s->address = mem_array((size_t)n, sizeof *s->address);
	s->etag = mem_array((size_t)n, sizeof *s->etag);
	s->n = s->address && s->etag ? (size_t)n : 0;
	return s->n && s->complete ? 0 : -1;
}

/* Takes the address of part i. */
static int
set_address(struct push_session *s, size_t i, const char *text)
{
	struct err unused = ERR_INIT;
	struct url u;

	if (url_parse(&u, text, &unused) < 0)
		return -1;
	s->address[i] = mem_text(text, strlen(text));
	return s->address[i] ? 0 : -1;
}

static int
set_etag(struct push_session *s, size_t i, const char *etag)
{
	char *copy = strlen(etag) < ETAG ? mem_text(etag, strlen(etag)) : NULL;

	if (!copy)
		return -1;
	s->sent += !s->etag[i];
	free(s->etag[i]);
	s->etag[i] = copy;
	return 0;
}

/* ---- the record ---- */

/* The first line. */
static int
parse_session(struct push_session *s, const json_t *o)
{
	const json_t *addresses = json_object_get(o, "addresses"), *v;
	const char *oid, *complete;
	uint64_t size, chunk;
	struct err unused = ERR_INIT;
	struct url u;
	size_t i;

	if (json_member_text(o, "oid", &oid) < 0 || strcmp(oid, s->oid) != 0 ||
	    json_member_u64(o, "size", &size) < 0 || size != s->size ||
	    json_member_u64(o, "chunk", &chunk) < 0 ||
	    json_member_text(o, "complete", &complete) < 0 || url_parse(&u, complete, &unused) < 0 ||
	    make_parts(s, chunk, complete) < 0 || json_array_size(addresses) != s->n)
		return -1;
	json_array_foreach(addresses, i, v)
		if (!json_is_string(v) || set_address(s, i, json_string_value(v)) < 0)
			return -1;
	return 0;
}

static int
parse_part(struct push_session *s, const json_t *o)
{
	const char *etag;
	uint64_t part;

	return json_member_u64(o, "part", &part) < 0 || part == 0 || part > s->n ||
	       json_member_text(o, "etag", &etag) < 0 ? -1 : set_etag(s, (size_t)part - 1, etag);
}

void
session_parse(struct push_session *s, const char *text, size_t n)
{
	const char *end = text + n, *line = text, *stop;
	struct err unused = ERR_INIT;
	bool good = true;

	forget_parts(s);
	/* A line without its end was being written. */
	for (; good && line < end && (stop = memchr(line, '\n', (size_t)(end - line))); line = stop + 1) {
		json_t *o = json_parse(line, (size_t)(stop - line), ERR_CORRUPT, "record", &unused);

		good = o && (line == text ? parse_session(s, o) : parse_part(s, o)) == 0;
		json_decref(o);
	}
	if (!good)
		forget_parts(s);
}

static void
give_up(struct push_session *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

/* Appends a line; a record that cannot be written would lie. */
static void
append(struct push_session *s, const json_t *o)
{
	struct buf b = { 0 };

	if (s->fd < 0)
		return;
	if (!o || json_write(o, &b) < 0) {
		session_forget(s);
	} else {
		buf_text(&b, "\n");
		if (!buf_ok(&b) || write(s->fd, b.p, b.n) != (ssize_t)b.n)
			session_forget(s);
	}
	buf_free(&b);
}

static void
read_record(struct push_session *s)
{
	struct stat st;
	char *text;
	ssize_t n;

	if (fstat(s->fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_size > SESSION_BYTES) {
		give_up(s);
		return;
	}
	text = malloc((size_t)st.st_size + 1);
	n = text ? pread(s->fd, text, (size_t)st.st_size, 0) : -1;
	if (n > 0)
		session_parse(s, text, (size_t)n);
	free(text);
}

void
session_open(struct push_session *s, const char *folder, const char *key, const char *oid,
             uint64_t size)
{
	char hex[DIGEST_TEXT];
	struct digest d;
	int n;

	*s = (struct push_session){ .fd = -1, .size = size };
	snprintf(s->oid, sizeof s->oid, "%s", oid);
	if (!folder || sha256_of(key, strlen(key), &d) < 0)
		return;
	n = snprintf(s->path, sizeof s->path, "%s/%s.json", folder, digest_text(hex, &d));
	if (n < 0 || (size_t)n >= sizeof s->path)
		return;
	s->fd = open(s->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (s->fd >= 0 && flock(s->fd, LOCK_EX | LOCK_NB) < 0)
		give_up(s);
	if (s->fd >= 0)
		read_record(s);
}

/* The address of a part in the hub's answer, which has the numbers with zeros in front. */
static const char *
find_address(const json_t *header, size_t number)
{
	const char *address;
	char name[32];

	snprintf(name, sizeof name, "%05zu", number);
	if (json_member_text(header, name, &address) == 0)
		return address;
	snprintf(name, sizeof name, "%zu", number);
	return json_member_text(header, name, &address) == 0 ? address : NULL;
}

int
session_begin(struct push_session *s, const char *complete, const json_t *header, uint64_t chunk,
              struct err *e)
{
	json_t *list, *o;
	const char *address;
	size_t i;

	if (s->fd >= 0 && ftruncate(s->fd, 0) < 0)
		session_forget(s);
	if (make_parts(s, chunk, complete) < 0)
		return err_set(e, ERR_CORRUPT, NULL, "the hub asks for parts of a size that is not possible");
	list = json_array();
	for (i = 0; i < s->n; i++) {
		address = find_address(header, i + 1);
		if (!address || set_address(s, i, address) < 0) {
			json_decref(list);
			return err_set(e, ERR_CORRUPT, NULL, "the hub names no address for part %zu", i + 1);
		}
		json_array_append_new(list, json_string(address));
	}
	o = json_pack("{s:s,s:o,s:o,s:s,s:o}", "oid", s->oid, "size", json_from_u64(s->size), "chunk",
	              json_from_u64(chunk), "complete", complete, "addresses", list);
	append(s, o);
	json_decref(o);
	return 0;
}

int
session_sent(struct push_session *s, size_t i, const char *etag, struct err *e)
{
	json_t *o;

	if (set_etag(s, i, etag) < 0)
		return err_memory(e);
	o = json_pack("{s:I,s:s}", "part", (json_int_t)(i + 1), "etag", etag);
	append(s, o);
	json_decref(o);
	return 0;
}

void
session_forget(struct push_session *s)
{
	if (s->fd >= 0)
		unlink(s->path);
	give_up(s);
}

void
session_close(struct push_session *s)
{
	/* Another process does not wait for a record that has nothing. */
	if (s->n == 0)
		session_forget(s);
	give_up(s);
	forget_parts(s);
}

/* ---- old records ---- */

void
session_sweep(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dir_names names = { 0 };
	struct err unused = ERR_INIT;
	struct stat st;
	size_t i;

	if (fd >= 0 && dir_list(fd, folder, &names, &unused) == 0)
		for (i = 0; i < names.n; i++)
			if (fstatat(fd, names.p[i], &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
			    st.st_mtim.tv_sec < time(NULL) - SESSION_DAYS * 86400)
				unlinkat(fd, names.p[i], 0);
	dir_names_free(&names);
	if (fd >= 0)
		close(fd);
}
