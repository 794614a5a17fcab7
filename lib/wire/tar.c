#include "wire/tar.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"

enum { NAME = 0, NAME_BYTES = 100, SIZE = 124, SUM = 148, TYPE = 156, MAGIC = 257, PREFIX = 345,
	PREFIX_BYTES = 155 };

/* What more fields say about the next member. */
struct fields {
	const uint8_t *path; /* NULL: nothing */
	size_t path_bytes;
	uint64_t size;
	bool has_size;
};

static int
corrupt(const struct tar *t, struct err *e, uint64_t at, const char *what)
{
	return err_set(e, ERR_CORRUPT, t->where, "is a tar archive that %s, at offset %" PRIu64, what,
	               at);
}

/* ---- numbers ---- */

/* Digits between spaces, up to a NUL or a space; or binary. 0, or -1. */
static int
read_number(const uint8_t *p, size_t n, uint64_t *v)
{
	size_t i = 0, digits = 0;

	*v = 0;
	if (*p & 0x80) {
		for (; i < n; i++)
			if (*v >> 55 || (i == 0 && *p != 0x80))
				return -1;
			else
				*v = *v << 8 | (i ? p[i] : 0);
		return 0;
	}
	while (i < n && p[i] == ' ')
		i++;
	for (; i < n && p[i] >= '0' && p[i] <= '7'; i++, digits++)
		*v = *v << 3 | (uint64_t)(p[i] - '0');
	for (; i < n && (p[i] == ' ' || p[i] == 0); i++)
		;
	return digits > 0 && i == n ? 0 : -1;
}

static bool
sum_is_right(const uint8_t *p)
{
	uint64_t said, sum = 0;
	size_t i;

	for (i = 0; i < TAR_BLOCK; i++)
		sum += i >= SUM && i < SUM + 8 ? ' ' : p[i];
	return read_number(p + SUM, 8, &said) == 0 && said == sum;
}

bool
tar_begins(const uint8_t *p, uint64_t n)
{
	return n >= TAR_BLOCK && sum_is_right(p);
}

static bool
is_zero(const uint8_t *p, uint64_t n)
{
	return n == 0 || (*p == 0 && memcmp(p, p + 1, (size_t)(n - 1)) == 0);
}

/* ---- more fields ---- */

/* One line: "LENGTH KEY=VALUE\n" at the beginning of n bytes. Returns LENGTH, or 0. */
static size_t
read_line(const uint8_t *p, size_t n, const uint8_t **key, size_t *key_bytes, size_t *value)
{
	size_t length = 0, i = 0;
	const uint8_t *equals;

	for (; i < n && i < 6 && p[i] >= '0' && p[i] <= '9'; i++)
		length = length * 10 + (size_t)(p[i] - '0');
	if (i == 0 || i == n || p[i] != ' ' || length <= i + 1 || length > n || p[length - 1] != '\n')
		return 0;
	*key = p + i + 1;
	equals = memchr(*key, '=', length - i - 2);
	if (!equals || equals == *key)
		return 0;
	*key_bytes = (size_t)(equals - *key);
	*value = (size_t)(equals + 1 - p);
	return length;
}

static bool
is_key(const uint8_t *key, size_t n, const char *text)
{
	return n == strlen(text) && memcmp(key, text, n) == 0;
}

/* The fields of n bytes. NULL, or what is wrong with them. */
static const char *
read_fields(const uint8_t *p, size_t n, struct fields *f)
{
	const uint8_t *key;
	size_t at, key_bytes, value, length, i;

	for (at = 0; at < n; at += length) {
		length = read_line(p + at, n - at, &key, &key_bytes, &value);
		if (length == 0)
			return "has a damaged field for a member";
		if (key_bytes >= 10 && memcmp(key, "GNU.sparse", 10) == 0)
			return "has a sparse member";
		if (is_key(key, key_bytes, "path")) {
			if (f->path)
				return "gives a member two names";
			f->path = p + at + value;
			f->path_bytes = length - value - 1;
		} else if (is_key(key, key_bytes, "size")) {
			if (f->has_size || length - value < 2 || length - value > 19)
				return "gives a member a size that cannot be";
			for (i = value; i + 1 < length; i++)
				if (p[at + i] < '0' || p[at + i] > '9')
					return "gives a member a size that cannot be";
				else
					f->size = f->size * 10 + (uint64_t)(p[at + i] - '0');
			f->has_size = true;
		}
	}
	return NULL;
}

/* ---- names ---- */

/* True if the name stays in the folder: no part of it is empty, "." or "..". */
static bool
stays(const char *name)
{
	size_t n;

	if (strchr(name, '\\'))
		return false;
	for (;; name += n + 1) {
		n = strcspn(name, "/");
		if (n == 0 || (n <= 2 && strspn(name, ".") == n))
			return false;
		if (name[n] == 0)
			return true;
	}
}

/* Append the name of a member to names. NULL, or what is wrong with it. */
static const char *
put_name(struct tar *t, const uint8_t *head, const struct fields *f, size_t *at)
{
	const size_t prefix = strnlen((const char *)head + PREFIX, PREFIX_BYTES);
	const char *name;

	*at = t->names.n;
	if (!f->path && memcmp(head + MAGIC, "ustar", 6) == 0 && prefix) {
		buf_put(&t->names, head + PREFIX, prefix);
		buf_text(&t->names, "/");
	}
	if (f->path)
		buf_put(&t->names, f->path, f->path_bytes);
	else
		buf_put(&t->names, head + NAME, strnlen((const char *)head + NAME, NAME_BYTES));
	buf_u8(&t->names, 0);
	if (!buf_ok(&t->names))
		return NULL; /* the caller checks */
	name = (const char *)t->names.p + *at;
	if (strlen(name) + 1 != t->names.n - *at || !text_utf8(name, strlen(name), false))
		return "has a name that is not text";
	while (strncmp(name, "./", 2) == 0) {
		name += 2;
		*at += 2;
	}
	if (!*name)
		return "has a member without a name";
	return stays(name) ? NULL : "has a name that leaves its folder";
}

static int
by_name(const void *a, const void *b, void *names)
{
	const struct tar_entry *x = a, *y = b;

	return strcmp((const char *)names + x->name, (const char *)names + y->name);
}

static int
check_names(const struct tar *t, struct err *e)
{
	struct tar_entry *sorted = mem_array(t->count, sizeof *sorted);
	char shown[204];
	size_t i;
	int r = 0;

	if (!sorted)
		return err_memory(e);
	if (t->count > 0) {
		memcpy(sorted, t->entries, t->count * sizeof *sorted);
		qsort_r(sorted, t->count, sizeof *sorted, by_name, t->names.p);
	}
	for (i = 1; r == 0 && i < t->count; i++)
		if (by_name(&sorted[i - 1], &sorted[i], t->names.p) == 0)
			r = err_set(e, ERR_CORRUPT, t->where, "is a tar archive in which %s is there twice",
			            text_quote(shown, sizeof shown, tar_name(t, &sorted[i]),
			                       strlen(tar_name(t, &sorted[i]))));
	free(sorted);
	return r;
}

/* ---- members ---- */

static int
add_member(struct tar *t, const uint8_t *head, const struct fields *f, uint64_t bytes,
           struct err *e)
{
	struct tar_entry x = { .offset = (uint64_t)(head - t->p) + TAR_BLOCK, .bytes = bytes };
	const char *wrong = put_name(t, head, f, &x.name);

	if (wrong)
		return corrupt(t, e, (uint64_t)(head - t->p), wrong);
	if (t->count == TAR_ENTRIES)
		return corrupt(t, e, x.offset, "has more than 4096 members");
	if (!buf_ok(&t->names) || mem_grow(&t->entries, &t->cap, t->count + 1, sizeof x) < 0)
		return err_memory(e);
	t->entries[t->count++] = x;
	return 0;
}

/* Read the member whose header lies at *at, and move behind it. */
static int
read_member(struct tar *t, uint64_t *at, struct fields *f, struct err *e)
{
	const uint8_t *head = t->p + *at;
	const char *wrong = NULL;
	uint64_t bytes, room;
	struct fields none = { 0 };
	const char type = (char)head[TYPE];

	if (!sum_is_right(head))
		return corrupt(t, e, *at, "has a header with a wrong sum");
	if (read_number(head + SIZE, 12, &bytes) < 0)
		return corrupt(t, e, *at, "gives a member a size that cannot be");
	if (f->has_size && type != 'x' && type != 'g')
		bytes = f->size;
	if ((type == 'x' || type == 'g') && bytes > TAR_FIELDS)
		return corrupt(t, e, *at, "has too many fields for a member");
	if (num_align(bytes, TAR_BLOCK, &room) < 0 || room > t->n - *at - TAR_BLOCK)
		return corrupt(t, e, *at, "ends inside a member");
	if (type == 'x' && (f->path || f->has_size))
		return corrupt(t, e, *at, "gives a member its fields twice");
	if (type == 'x')
		wrong = read_fields(head + TAR_BLOCK, (size_t)bytes, f);
	else if (type == 'g')
		wrong = read_fields(head + TAR_BLOCK, (size_t)bytes, &none);
	if (!wrong && (none.path || none.has_size))
		wrong = "gives all members one name or size";
	if (wrong)
		return corrupt(t, e, *at, wrong);
	if (type == '1' || type == '2')
		return corrupt(t, e, *at, "has a link");
	if (type == 0 || type == '0' || type == '7') {
		if (add_member(t, head, f, bytes, e) < 0)
			return -1;
	} else if (type != 'x' && type != 'g' && type != '5') {
		return err_set(e, ERR_FORMAT, t->where, "is a tar archive with a member of a type that is "
		               "not read, at offset %" PRIu64, *at);
	}
	if (type != 'x' && type != 'g')
		*f = (struct fields){ 0 };
	*at += TAR_BLOCK + room;
	return 0;
}

int
tar_open(struct tar *t, const uint8_t *p, uint64_t n, const char *where, struct err *e)
{
	struct fields f = { 0 };
	uint64_t at = 0;

	*t = (struct tar){ .p = p, .n = n, .where = where };
	while (n - at >= TAR_BLOCK && !is_zero(p + at, TAR_BLOCK))
		if (read_member(t, &at, &f, e) < 0)
			return -1;
	if (f.path || f.has_size)
		return corrupt(t, e, at, "has fields for a member that is missing");
	if (n - at < 2 * TAR_BLOCK)
		return corrupt(t, e, at, "has no end: it is not whole");
	if (n - at > TAR_REST || !is_zero(p + at, n - at))
		return corrupt(t, e, at, "has more behind its end");
	return check_names(t, e);
}

void
tar_free(struct tar *t)
{
	free(t->entries);
	buf_free(&t->names);
	*t = (struct tar){ 0 };
}

const char *
tar_name(const struct tar *t, const struct tar_entry *x)
{
	return (const char *)t->names.p + x->name;
}

const struct tar_entry *
tar_find(const struct tar *t, const char *name)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		if (strcmp(tar_name(t, &t->entries[i]), name) == 0)
			return &t->entries[i];
	return NULL;
}

const char *
tar_walk(struct reader *r,
         void (*part)(void *ctx, uint64_t offset, uint64_t bytes, const char *what,
                      const uint8_t *name, size_t n), void *ctx)
{
	uint64_t bytes, room;
	const uint8_t *p;
	unsigned i;
	size_t n;

	for (i = 0; i < TAR_ENTRIES; i++) {
		p = reader_peek(r, TAR_BLOCK, &n);
		if (!p || n < TAR_BLOCK)
			return "the archive has no end";
		if (is_zero(p, TAR_BLOCK))
			break;
		if (!sum_is_right(p) || read_number(p + SIZE, 12, &bytes) < 0 ||
		    num_align(bytes, TAR_BLOCK, &room) < 0 || num_add(room, TAR_BLOCK, &room) < 0)
			return "a header is damaged";
		part(ctx, reader_tell(r), bytes + TAR_BLOCK, "member", p + NAME,
		     strnlen((const char *)p + NAME, NAME_BYTES));
		if (room > reader_left(r))
			return "a member ends after the file";
		reader_skip(r, room);
	}
	part(ctx, reader_tell(r), reader_left(r), "end", NULL, 0);
	return NULL;
}
