#include "adapt/names/schema.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "model/tensor.h"

/* ---- templates ---- */

/* The numbers of a template: the letter of each, or "#". */
struct numbers {
	char letter[SCHEMA_NUMBERS];
	unsigned n;
};

/* The letter of a number at p ("#" or "{N}"), or 0. *bytes: the length of the placeholder. */
static char
placeholder(const char *p, size_t *bytes)
{
	if (*p == '#') {
		*bytes = 1;
		return '#';
	}
	*bytes = 3;
	return p[0] == '{' && p[1] >= 'A' && p[1] <= 'Z' && p[2] == '}' ? p[1] : 0;
}

static int
wrong(struct err *e, const char *name, const char *what)
{
	return err_set(e, ERR_USAGE, name, "%s", what);
}

/* Append the text up to the next number, and move behind that. The letter of the number, or 0
 * at the end. */
static char
next_number(const char **p, struct buf *b)
{
	size_t step;
	char c;

	for (; **p; ++*p) {
		if ((c = placeholder(*p, &step))) {
			*p += step;
			return c;
		}
		buf_put(b, *p, 1);
	}
	return 0;
}

/* Append the key of an old name to b, and list its numbers. */
static int
parse_from(const char *name, struct numbers *found, struct buf *b, struct err *e)
{
	const char *p = name;
	char c;

	while ((c = next_number(&p, b))) {
		if (found->n == SCHEMA_NUMBERS)
			return wrong(e, name, "has too many numbers for a template");
		if (found->n && (c == '#') != (found->letter[0] == '#'))
			return wrong(e, name, "has both # and letters for its numbers");
		if (c != '#' && memchr(found->letter, c, found->n))
			return wrong(e, name, "has the same letter for two numbers");
		found->letter[found->n++] = c;
		buf_u8(b, SCHEMA_NUMBER);
	}
	return 0;
}

/* The index of a number of the old name; found->n if it does not have that. */
static unsigned
index_of(const struct numbers *found, char c, unsigned nth)
{
	unsigned i;

	if (c == '#')
		return nth < found->n && found->letter[nth] == '#' ? nth : found->n;
	for (i = 0; i < found->n && found->letter[i] != c; i++)
		;
	return i;
}

/* Append the new name to b, with the indexes of numbers. */
static int
parse_to(const char *name, const struct numbers *found, struct buf *b, struct err *e)
{
	const char *p = name;
	unsigned i, nth = 0;
	char c;

	while ((c = next_number(&p, b))) {
		i = index_of(found, c, nth);
		nth += c == '#';
		if (i == found->n)
			return wrong(e, name, "has a number that the old name does not have");
		buf_u8(b, (uint8_t)(i + 1));
	}
	return 0;
}

/* Refuse what cannot be the name of a tensor, and the bytes that stand for numbers. */
static int
check_name(const struct schema *s, const char *name, struct err *e)
{
	size_t n = strlen(name);
	const char *p;

	if (n == 0 || n > TENSOR_NAME)
		return wrong(e, name, n ? "is too long for a name" : "a name is empty");
	if (!text_utf8(name, n, false))
		return wrong(e, name, "is not UTF-8 text");
	for (p = name; *p && !s->literal; p++)
		if ((unsigned char)*p < ' ')
			return wrong(e, name, "has a control character");
	return 0;
}

static int
fill_row(struct schema *s, struct schema_row *row, const char *from, const char *to,
         struct err *e)
{
	struct numbers found = { .n = 0 };
	struct buf key = { 0 }, name = { 0 };
	int r = 0;

	if (check_name(s, from, e) < 0 || check_name(s, to, e) < 0)
		return -1;
	if (s->literal) {
		buf_text(&key, from);
		buf_text(&name, to);
	} else {
		r = parse_from(from, &found, &key, e);
		if (r == 0)
			r = parse_to(to, &found, &name, e);
	}
	if (r == 0 && (!buf_string(&key) || !buf_string(&name) ||
	               !(row->from = mem_text(from, strlen(from))) ||
	               !(row->name = mem_text(to, strlen(to)))))
		r = err_memory(e);
	row->key = (char *)key.p;
	row->to = (char *)name.p;
	return r;
}

int
schema_add(struct schema *s, const char *from, const char *to, bool required,
           struct err *e)
{
	struct schema_row *row;

	if (mem_grow(&s->rows, &s->cap, s->count + 1, sizeof *s->rows) < 0)
		return err_memory(e);
	row = &s->rows[s->count++];
	*row = (struct schema_row){ .required = required, .rank = s->count };
	return fill_row(s, row, from, to, e);
}

static int
by_key(const void *a, const void *b)
{
	const struct schema_row *x = a, *y = b;

	return strcmp(x->key, y->key);
}

static int
by_key_and_rank(const void *a, const void *b)
{
	const struct schema_row *x = a, *y = b;
	int order = by_key(a, b);

	return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static void
free_row(struct schema_row *row)
{
	free(row->from);
	free(row->name);
	free(row->key);
	free(row->to);
}

/* Sort the rows and remove those that occur twice. */
static int
sort_rows(struct schema *s, struct err *e)
{
	size_t i, n = 0;

	if (s->count)
		qsort(s->rows, s->count, sizeof *s->rows, by_key_and_rank);
	for (i = 1; !s->first_wins && i < s->count; i++)
		if (strcmp(s->rows[i - 1].key, s->rows[i].key) == 0 &&
		    strcmp(s->rows[i - 1].to, s->rows[i].to) != 0)
			return err_set(e, ERR_USAGE, s->rows[i].from, "has two new names");
	for (i = 0; i < s->count; i++)
		if (n > 0 && strcmp(s->rows[n - 1].key, s->rows[i].key) == 0) {
			s->rows[n - 1].required |= !s->first_wins && s->rows[i].required;
			free_row(&s->rows[i]);
		} else {
			s->rows[n++] = s->rows[i];
		}
	s->count = n;
	return 0;
}

int
schema_finish(struct schema *s, struct err *e)
{
	size_t i, sorted;

	if (sort_rows(s, e) < 0)
		return -1;
	for (i = 0, sorted = s->count; i < sorted; i++) {
		struct schema_row *row;

		if (schema_add(s, s->rows[i].name, s->rows[i].name, false, e) < 0)
			return -1;
		row = &s->rows[s->count - 1];
		if (bsearch(row, s->rows, sorted, sizeof *row, by_key)) {
			free_row(row);
			s->count--;
		}
	}
	return sort_rows(s, e);
}

/* ---- search ---- */

/* A run of digits in a name. */
struct run {
	size_t at, n;
};

static unsigned
find_runs(const char *name, struct run run[SCHEMA_NUMBERS])
{
	unsigned count = 0;
	size_t i, n;

	for (i = 0; name[i] && count < SCHEMA_NUMBERS; i += n ? n : 1) {
		n = strspn(name + i, "0123456789");
		if (n)
			run[count++] = (struct run){ i, n };
	}
	return count;
}

/* Write the key of a name in which the runs of the mask are numbers. */
static void
put_key(struct buf *key, const char *name, const struct run *run, unsigned count,
        unsigned mask)
{
	size_t at = 0;
	unsigned i;

	buf_clear(key);
	for (i = 0; i < count; i++) {
		if (!(mask >> i & 1))
			continue;
		buf_put(key, name + at, run[i].at - at);
		buf_u8(key, SCHEMA_NUMBER);
		at = run[i].at + run[i].n;
	}
	buf_text(key, name + at);
}

static struct schema_row *
find_key(struct schema *s, struct buf *key)
{
	struct schema_row wanted = { .key = (char *)(uintptr_t)buf_string(key) };

	if (!wanted.key || s->count == 0)
		return NULL;
	return bsearch(&wanted, s->rows, s->count, sizeof *s->rows, by_key);
}

/* Append the new name: the numbers are the runs of the mask. */
static void
put_new(struct buf *to, const struct schema_row *row, const char *name,
        const struct run *run, unsigned count, unsigned mask)
{
	const struct run *number[SCHEMA_NUMBERS];
	const char *p;
	unsigned i, n = 0;

	for (i = 0; i < count; i++)
		if (mask >> i & 1)
			number[n++] = &run[i];
	for (p = row->to; *p; p++)
		if ((unsigned char)*p <= n)
			buf_put(to, name + number[*p - 1]->at, number[*p - 1]->n);
		else
			buf_put(to, p, 1);
}

static unsigned
bits_of(unsigned mask)
{
	unsigned n = 0;

	for (; mask; mask &= mask - 1)
		n++;
	return n;
}

static bool
has_control(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name < ' ')
			return true;
	return false;
}

struct schema_row *
schema_find(struct schema *s, const char *name, struct buf *to)
{
	struct run run[SCHEMA_NUMBERS];
	unsigned count = s->literal ? 0 : find_runs(name, run), bits, mask;
	struct schema_row *row = NULL;
	struct buf key = { 0 };

	if (!s->literal && has_control(name))
		return NULL;
	for (bits = 0; !row && bits <= count; bits++)
		for (mask = 0; !row && mask < 1u << count; mask++) {
			if (bits_of(mask) != bits)
				continue;
			put_key(&key, name, run, count, mask);
			row = find_key(s, &key);
			if (row && s->literal)
				buf_text(to, row->to);
			else if (row)
				put_new(to, row, name, run, count, mask);
		}
	to->failed |= key.failed;
	buf_free(&key);
	return row;
}

void
schema_free(struct schema *s)
{
	while (s->count > 0)
		free_row(&s->rows[--s->count]);
	free(s->rows);
	free(s->architecture);
	*s = (struct schema){ 0 };
}
