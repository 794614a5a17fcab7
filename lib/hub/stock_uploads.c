/* stock_uploads: records of uploads in parts that no process finished (hub/push_session.h). */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/dir.h"
#include "core/json.h"
#include "core/mem.h"
#include "hub/push.h"
#include "hub/push_session.h"
#include "hub/stock.h"

/* Of a record: the digest and size of its object, its parts, and those that arrived. A text that is
 * not a record has none. */
static int
read_record(struct stock_revision *v, const struct buf *text, struct err *e)
{
	struct push_session s = { .fd = -1 };
	const char *end = memchr(text->p, '\n', text->n), *oid;
	struct err unused = ERR_INIT;
	json_t *o = end ? json_parse(text->p, (size_t)(end - (const char *)text->p), ERR_CORRUPT,
	                             v->entry, &unused) : NULL;
	char name[sizeof s.oid + 7];
	int done = 0;

	if (o && json_member_text(o, "oid", &oid) == 0 && strlen(oid) < sizeof s.oid &&
	    json_member_u64(o, "size", &s.size) == 0) {
		snprintf(s.oid, sizeof s.oid, "%s", oid);
		session_parse(&s, (const char *)text->p, text->n);
		v->object = s.size;
		v->parts = s.n;
		v->sent = s.sent;
		snprintf(name, sizeof name, "upload:%s", oid);
		if (s.n && !(v->name = mem_text(name, strlen(name))))
			done = err_memory(e);
	}
	session_close(&s);
	json_decref(o);
	return done;
}

static int
add_record(struct stock_repo *r, int fd, const char *name, struct err *e)
{
	struct stock_revision *v;
	struct stock_file *f;
	struct buf text = { 0 };
	struct stat st;
	char path[300];
	int done = 0;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0;
	snprintf(path, sizeof path, PUSH_UPLOADS "/%.255s", name);
	v = stock_add_revision(r, path, e);
	f = v ? stock_add_file(v, name, e) : NULL;
	if (!f)
		return -1;
	f->state = STOCK_OWN;
	f->size = (uint64_t)st.st_size;
	v->upload = true;
	v->used = st.st_mtim.tv_sec;
	if (stock_small(fd, name, SESSION_BYTES, &text) == 0)
		done = read_record(v, &text, e);
	buf_free(&text);
	if (done == 0 && !v->name && !(v->name = mem_text(path, strlen(path))))
		done = err_memory(e);
	return done;
}

int
stock_read_uploads(struct stock *s, struct stock_cache *c, struct stock_repo *r, struct err *e)
{
	struct dir_names names = { 0 };
	int fd = stock_folder(c->fd, PUSH_UPLOADS), done;
	size_t i;

	if (fd < 0)
		return 0;
	done = dir_list(fd, c->path, &names, e);
	for (i = 0; i < names.n && done == 0; i++) {
		done = stock_count(s, c->path, e);
		if (done == 0)
			done = add_record(r, fd, names.p[i], e);
	}
	dir_names_free(&names);
	close(fd);
	return done;
}

int
stock_lock_upload(int root, const struct stock_revision *v)
{
	int fd = openat(root, v->entry, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return STOCK_UNLOCKED;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	close(fd);
	return STOCK_BUSY;
}
