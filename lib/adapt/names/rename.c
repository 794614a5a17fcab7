#include "adapt/names/rename.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"

/* ---- rules ---- */

/* Check the backslashes of NAME. */
static int
check_template(const struct rename_rule *r, struct err *e)
{
	const char *p;

	if (!text_utf8(r->name, strlen(r->name), false))
		return err_set(e, ERR_USAGE, r->text, "the new name is not UTF-8 text");
	for (p = r->name; (p = strchr(p, '\\')); p += 2) {
		if (p[1] == '\\')
			continue;
		if (p[1] < '0' || p[1] > '9')
			return err_set(e, ERR_USAGE, r->text, "a backslash in the new name is followed "
			               "by neither a digit nor a backslash");
		if ((unsigned)(p[1] - '0') > pattern_groups(&r->pattern))
			return err_set(e, ERR_USAGE, r->text, "the pattern has no group %c", p[1]);
	}
	return 0;
}

int
rename_add(struct rename *r, const char *text, struct err *e)
{
	const char *equals = strrchr(text, '=');
	struct rename_rule *rule;

	if (!equals || equals == text)
		return err_set(e, ERR_USAGE, text, "is not a rule REGEX=NAME");
	if (mem_grow(&r->rules, &r->cap, r->count + 1, sizeof *r->rules) < 0)
		return err_memory(e);
	rule = &r->rules[r->count];
	rule->text = text;
	rule->name = equals + 1;
	if (!(rule->regex = mem_text(text, (size_t)(equals - text))))
		return err_memory(e);
	r->count++;
	return pattern_open(&rule->pattern, rule->regex, e) < 0 ? -1 : check_template(rule, e);
}

/* Append NAME for a match in s. */
static void
expand(struct buf *b, const struct rename_rule *rule, const char *s)
{
	size_t from, to;
	const char *p;

	for (p = rule->name; *p; p++) {
		if (*p != '\\') {
			buf_put(b, p, 1);
		} else if (*++p == '\\') {
			buf_text(b, "\\");
		} else {
			pattern_group(&rule->pattern, (unsigned)(*p - '0'), &from, &to);
			buf_put(b, s + from, to - from);
		}
	}
}

/* Apply one rule to the name in b. 1: it matched; 0; or -1. other: room. */
static int
apply_rule(struct rename_rule *rule, const char *old, struct buf *b, struct buf *other,
           struct err *e)
{
	const char *s = buf_string(b);
	size_t from, to;
	struct buf swap;
	int hit = s ? pattern_match(&rule->pattern, s, e) : err_memory(e);

	if (hit <= 0)
		return hit;
	buf_clear(other);
	pattern_group(&rule->pattern, 0, &from, &to);
	buf_put(other, s, from);
	expand(other, rule, s);
	buf_text(other, s + to);
	if (other->n == 0 || other->n > TENSOR_NAME)
		return err_set(e, ERR_INVALID, old, other->n ? "would have a name of more than 65535 "
		               "bytes" : "would have an empty name");
	swap = *b;
	*b = *other;
	*other = swap;
	return 1;
}

/* Write the new name of a tensor to b. 1: a rule or row knows it; 0; or -1. other: room. */
static int
find_name(struct rename *r, const char *old, struct buf *b, struct buf *other,
          struct err *e)
{
	int known = 0;
	size_t i;

	buf_clear(b);
	if (r->count == 0) {
		known = schema_find(&r->schema, old, b) != NULL;
		if (b->n > TENSOR_NAME)
			return err_set(e, ERR_INVALID, old, "would have a name of more than 65535 bytes");
		return known;
	}
	buf_text(b, old);
	for (i = 0; i < r->count; i++) {
		int hit = apply_rule(&r->rules[i], old, b, other, e);

		if (hit < 0)
			return -1;
		known |= hit;
	}
	return known;
}

/* Whether the architecture knows the tensor, though no row names it: a buffer. */
static bool
is_buffer(const struct rename *r, const char *name)
{
	return r->arch && (arch_is_apart(name, ARCH_FOLDER) || arch_is_apart(name, ARCH_GGUF));
}

static int
rules_used(const struct rename *r, struct err *e)
{
	size_t i;

	for (i = 0; i < r->count; i++)
		if (r->rules[i].pattern.matches == 0)
			return err_set(e, ERR_USAGE, r->rules[i].regex, "matches no tensor");
	return 0;
}

/* ---- all names ---- */

/* An error that lists names: "UnknownTensor: 12 tensors have no rule: a, b, ..." */
#define LISTED 4
struct list {
	struct buf text;
	size_t n;
};

static void
list_add(struct list *l, const char *name)
{
	char quoted[100];

	if (l->n < LISTED)
		buf_printf(&l->text, "%s%s", l->n ? ", " : "",
		           text_quote(quoted, sizeof quoted, name, strlen(name)));
	else if (l->n == LISTED)
		buf_text(&l->text, ", ...");
	l->n++;
}

static int
find_all(struct rename *r, const struct model *m, struct renames *out, struct list *unknown,
         struct err *e)
{
	struct buf b = { 0 }, other = { 0 };
	size_t i, left = RENAME_BYTES;
	int known = 0;

	for (i = 0; known >= 0 && i < m->tensor_count; i++) {
		const char *old = tensor_name(m->tensors[i]);

		known = find_name(r, old, &b, &other, e);
		if (known == 0 && !is_buffer(r, old))
			list_add(unknown, old);
		if (known <= 0 || !buf_string(&b) || strcmp((char *)b.p, old) == 0) {
			if (b.failed || other.failed)
				known = err_memory(e);
			continue;
		}
		if (b.n > left) {
			known = err_set(e, ERR_MEMORY, old, "the new names take more than 256 MiB");
			continue;
		}
		left -= b.n;
		out->name[i] = mem_text((char *)b.p, b.n);
		out->changed++;
		if (!out->name[i])
			known = err_memory(e);
	}
	buf_free(&b);
	buf_free(&other);
	out->unknown = unknown->n;
	return known < 0 ? -1 : 0;
}

/* A name after renaming, and the tensor that has it. */
struct final {
	const char *name, *old;
};

static int
by_name(const void *a, const void *b)
{
	const struct final *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->old, y->old);
}

static struct final *
sort_names(const struct renames *n, const struct model *m)
{
	struct final *f = mem_array(m->tensor_count, sizeof *f);
	size_t i;

	for (i = 0; f && i < m->tensor_count; i++) {
		f[i].old = tensor_name(m->tensors[i]);
		f[i].name = n->name[i] ? n->name[i] : f[i].old;
	}
	if (f && m->tensor_count)
		qsort(f, m->tensor_count, sizeof *f, by_name);
	return f;
}

static int
check_unique(const struct final *f, size_t n, struct err *e)
{
	char a[160], b[160];
	size_t i;

	for (i = 1; i < n; i++)
		if (strcmp(f[i - 1].name, f[i].name) == 0)
			return err_set(e, ERR_INVALID, f[i].name, "would be the name of both %s and %s",
			               text_quote(a, sizeof a, f[i - 1].old, strlen(f[i - 1].old)),
			               text_quote(b, sizeof b, f[i].old, strlen(f[i].old)));
	return 0;
}

/* ---- strict ---- */

/* The place of the only number in a new name, or NULL if it has none or several. */
static const char *
only_number(const char *to)
{
	const char *p, *found = NULL;

	for (p = to; *p; p++)
		if ((unsigned char)*p <= SCHEMA_NUMBERS) {
			if (found)
				return NULL;
			found = p;
		}
	return found;
}

static bool
has_number(const char *to)
{
	for (; *to; to++)
		if ((unsigned char)*to <= SCHEMA_NUMBERS)
			return true;
	return false;
}

/* The first name that is not less than this one. */
static size_t
lower_bound(const struct final *f, size_t n, const char *name)
{
	size_t low = 0, high = n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (strcmp(f[mid].name, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The number of blocks: one more than the greatest number behind this prefix. */
static uint64_t
count_blocks(const struct final *f, size_t n, const char *prefix)
{
	size_t bytes = strlen(prefix), i;
	uint64_t most = 0, v;

	for (i = lower_bound(f, n, prefix); i < n && strncmp(f[i].name, prefix, bytes) == 0; i++) {
		const char *p = f[i].name + bytes;

		if (text_digits(&p, &v) == 0 && v >= most)
			most = num_min(v, UINT32_MAX) + 1;
	}
	return most;
}

static int
need(const struct final *f, size_t n, const char *where, const char *name, struct err *e)
{
	size_t i = lower_bound(f, n, name);

	if (i < n && strcmp(f[i].name, name) == 0)
		return 0;
	return err_set(e, ERR_INVALID, where, "MissingTensor: there is no tensor %.200s", name);
}

/* The blocks that names with a prefix have, remembered for the next row. */
struct blocks {
	struct buf prefix;
	uint64_t n;
};

/* Prove that each block has the tensor of a row whose new name has one number. A name is
 * missing at the latest behind the last tensor, so this is linear. */
static int
need_each(const struct final *f, size_t n, const char *where, const struct schema_row *row,
          struct blocks *known, struct err *e)
{
	const char *at = only_number(row->to);
	size_t bytes = (size_t)(at - row->to);
	struct buf name = { 0 };
	uint64_t i;
	int r = 0;

	if (known->prefix.n != bytes || memcmp(known->prefix.p, row->to, bytes) != 0) {
		buf_clear(&known->prefix);
		buf_put(&known->prefix, row->to, bytes);
		if (!buf_string(&known->prefix))
			return err_memory(e);
		known->n = count_blocks(f, n, (char *)known->prefix.p);
	}
	for (i = 0; r == 0 && i < (known->n ? known->n : 1); i++) {
		buf_clear(&name);
		buf_put(&name, row->to, bytes);
		buf_printf(&name, "%" PRIu64 "%s", i, at + 1);
		r = buf_string(&name) ? need(f, n, where, (char *)name.p, e) : err_memory(e);
	}
	buf_free(&name);
	return r;
}

static int
by_new_name(const void *a, const void *b)
{
	const struct schema_row *const *x = a, *const *y = b;

	return strcmp((*x)->to, (*y)->to);
}

/* The rows are sorted so that those with the same prefix come together. */
static int
check_required(const struct schema *s, const struct final *f, size_t n, const char *where,
               struct err *e)
{
	const struct schema_row **rows = mem_array(s->count, sizeof *rows);
	struct blocks known = { .n = 0 };
	size_t i, count = 0;
	int r = rows ? 0 : err_memory(e);

	for (i = 0; rows && i < s->count; i++)
		if (s->rows[i].required)
			rows[count++] = &s->rows[i];
	if (count)
		qsort(rows, count, sizeof *rows, by_new_name);
	for (i = 0; r == 0 && i < count; i++)
		if (s->literal || !has_number(rows[i]->to))
			r = need(f, n, where, rows[i]->to, e);
		else if (only_number(rows[i]->to))
			r = need_each(f, n, where, rows[i], &known, e);
	buf_free(&known.prefix);
	free(rows);
	return r;
}

static int
check_arch(const struct rename *r, const struct model *m, const char *where, size_t unknown,
           struct err *e)
{
	if (!r->arch || m->tensor_count == 0 || unknown < m->tensor_count)
		return 0;
	return err_set(e, ERR_INVALID, where, "ArchitectureMismatch: none of its tensors has a name "
	               "of architecture %s", r->arch->name);
}

static int
check_known(const struct rename *r, struct list *unknown, const char *where, struct err *e)
{
	if (unknown->n == 0)
		return 0;
	if (!buf_string(&unknown->text))
		return err_memory(e);
	err_set(e, ERR_INVALID, where, "UnknownTensor: %zu tensor%s no rule: %s", unknown->n,
	        unknown->n == 1 ? " has" : "s have", (char *)unknown->text.p);
	return err_hint(e, r->arch ? "apr-adapt stacks, splits and decodes tensors that have no "
	                "counterpart of their own" : "without --strict, such tensors keep their "
	                "names");
}

int
rename_find(struct rename *r, const struct model *m, const char *where,
            struct renames *out, struct err *e)
{
	struct list unknown = { .n = 0 };
	struct final *f = NULL;
	int status = -1;

	*out = (struct renames){ .name = mem_array(m->tensor_count, sizeof *out->name),
	                         .count = m->tensor_count };
	if (!out->name)
		err_memory(e);
	else if (find_all(r, m, out, &unknown, e) == 0 && rules_used(r, e) == 0 &&
	         check_arch(r, m, where, unknown.n, e) == 0)
		status = r->strict ? check_known(r, &unknown, where, e) : 0;
	buf_free(&unknown.text);
	if (status == 0 && !(f = sort_names(out, m)))
		status = err_memory(e);
	if (status == 0)
		status = check_unique(f, m->tensor_count, e);
	if (status == 0 && r->strict)
		status = check_required(&r->schema, f, m->tensor_count, where, e);
	free(f);
	return status;
}

int
renames_apply(const struct renames *n, struct model *m, struct err *e)
{
	size_t i;

	for (i = 0; i < n->count; i++) {
		struct tensor *t = n->name[i] ? tensor_rename(m->tensors[i], n->name[i], e)
		                              : m->tensors[i];

		if (!t)
			return -1;
		if (t != m->tensors[i])
			tensor_free(m->tensors[i]);
		m->tensors[i] = t;
	}
	return 0;
}

void
renames_free(struct renames *n)
{
	size_t i;

	for (i = 0; n->name && i < n->count; i++)
		free(n->name[i]);
	free(n->name);
	*n = (struct renames){ 0 };
}

void
rename_free(struct rename *r)
{
	while (r->count > 0) {
		struct rename_rule *rule = &r->rules[--r->count];

		if (rule->pattern.code)
			pattern_close(&rule->pattern);
		free(rule->regex);
	}
	free(r->rules);
	schema_free(&r->schema);
	*r = (struct rename){ 0 };
}
