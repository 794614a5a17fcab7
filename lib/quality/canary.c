#include "quality/canary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"

struct canary_prompt *
canary_add(struct canary *c, struct err *e)
{
	if (mem_grow(&c->prompts, &c->cap, c->n + 1, sizeof *c->prompts) < 0) {
		err_memory(e);
		return NULL;
	}
	return &c->prompts[c->n++];
}

void
canary_free(struct canary *c)
{
	size_t i;

	for (i = 0; i < c->n; i++) {
		free(c->prompts[i].text);
		free(c->prompts[i].made);
		free(c->prompts[i].top);
		free(c->prompts[i].p);
		tokens_free(&c->prompts[i].ids);
	}
	free(c->prompts);
	free(c->made_by);
	free(c->architecture);
	free(c->root);
	free(c->level);
	*c = (struct canary){ 0 };
}

/* ---- reading ---- */

struct reading {
	struct canary *c;
	const char *what;
	char where[64];   /* "prompt 3: " or empty */
	size_t positions; /* of the prompts so far */
};

static int
wrong(const struct reading *r, struct err *e, const char *name, const char *fact)
{
	return err_set(e, ERR_CORRUPT, r->what, "%s\"%s\" %s", r->where, name, fact);
}

/* A member that is text without NUL, which the parser has refused; absent: NULL. */
static int
read_text(const struct reading *r, const json_t *o, const char *name, char **to, struct err *e)
{
	const json_t *v = json_object_get(o, name);

	if (!v)
		return 0;
	if (!json_is_string(v))
		return wrong(r, e, name, "is not text");
	*to = mem_text(json_string_value(v), json_string_length(v));
	return *to ? 0 : err_memory(e);
}

static int
read_number(const struct reading *r, const json_t *o, const char *name, uint64_t low,
            uint64_t high, uint64_t *to, struct err *e)
{
	if (json_member_u64(o, name, to) < 0)
		return wrong(r, e, name, "is missing or is not a whole number");
	if (*to >= low && *to <= high)
		return 0;
	return err_set(e, ERR_CORRUPT, r->what, "%s\"%s\" is %" PRIu64 ", not in %" PRIu64
	               " to %" PRIu64, r->where, name, *to, low, high);
}

static int
read_ids(struct reading *r, const json_t *o, const char *name, struct tokens *to, struct err *e)
{
	const json_t *list = json_object_get(o, name);
	size_t i, n = json_array_size(list);
	json_int_t v;

	if (!json_is_array(list))
		return wrong(r, e, name, "is missing or is not a list");
	if (n > CANARY_POSITIONS - r->positions)
		return err_set(e, ERR_MEMORY, r->what, "has more than %u tokens", CANARY_POSITIONS);
	r->positions += n;
	for (i = 0; i < n; i++) {
		v = json_integer_value(json_array_get(list, i));
		if (!json_is_integer(json_array_get(list, i)) || v < 0 ||
		    (uint64_t)v >= r->c->vocabulary)
			return wrong(r, e, name, "has an item that is not a token");
		if (tokens_add(to, (uint32_t)v, e) < 0)
			return -1;
	}
	return 0;
}

/* A row is a list of a token and its probability, in turn. */
static int
read_row(const struct reading *r, const json_t *row, uint32_t *top, float *p, struct err *e)
{
	const size_t n = r->c->top;
	double sum = 0, one;
	size_t i, k;

	if (json_array_size(row) != 2 * n)
		return wrong(r, e, "top", "has a row with another number of tokens");
	for (i = 0; i < n; i++) {
		const json_t *id = json_array_get(row, 2 * i), *v = json_array_get(row, 2 * i + 1);
		const json_int_t t = json_integer_value(id);

		if (!json_is_integer(id) || t < 0 || (uint64_t)t >= r->c->vocabulary)
			return wrong(r, e, "top", "has an item that is not a token");
		one = json_is_number(v) ? json_number_value(v) : -1;
		if (!(one >= 0 && one <= 1))
			return wrong(r, e, "top", "has an item that is not a probability");
		top[i] = (uint32_t)t;
		p[i] = (float)one;
		sum += (double)p[i];
		for (k = 0; k < i; k++)
			if (top[k] == top[i])
				return wrong(r, e, "top", "has a token twice in a row");
		if (i > 0 && p[i] > p[i - 1])
			return wrong(r, e, "top", "has probabilities that rise");
	}
	return sum <= 1.0001 ? 0 : wrong(r, e, "top", "has probabilities above 1 together");
}

static int
read_rows(const struct reading *r, const json_t *o, struct canary_prompt *p, struct err *e)
{
	const json_t *rows = json_object_get(o, "top");
	const size_t n = r->c->top;
	size_t i;

	if (json_array_size(rows) != p->ids.n)
		return wrong(r, e, "top", "is missing or does not have a row for each token");
	p->top = mem_array(p->ids.n * n, sizeof *p->top);
	p->p = mem_array(p->ids.n * n, sizeof *p->p);
	if (!p->top || !p->p)
		return err_memory(e);
	for (i = 0; i < p->ids.n; i++)
		if (read_row(r, json_array_get(rows, i), p->top + i * n, p->p + i * n, e) < 0)
			return -1;
	return 0;
}

static int
read_digest(const struct reading *r, const char *text, const char *name, struct err *e)
{
	if (strlen(text) != 64 || strspn(text, "0123456789abcdef") != 64)
		return wrong(r, e, name, "is not a SHA-256");
	return 0;
}

static int
read_prompt(struct reading *r, const json_t *o, struct err *e)
{
	struct canary_prompt *p = canary_add(r->c, e);
	char *digest = NULL;

	if (!p)
		return -1;
	snprintf(r->where, sizeof r->where, "prompt %zu: ", r->c->n);
	if (!json_is_object(o))
		return err_set(e, ERR_CORRUPT, r->what, "prompt %zu is not an object", r->c->n);
	if (read_text(r, o, "prompt", &p->text, e) < 0 ||
	    read_ids(r, o, "tokens", &p->ids, e) < 0)
		return -1;
	p->prompt = p->ids.n;
	if (p->prompt == 0)
		return wrong(r, e, "tokens", "is empty");
	if (read_ids(r, o, "ids", &p->ids, e) < 0 || read_text(r, o, "text", &p->made, e) < 0 ||
	    read_text(r, o, "logits", &digest, e) < 0)
		return -1;
	if (digest && read_digest(r, digest, "logits", e) == 0)
		memcpy(p->logits, digest, sizeof p->logits);
	free(digest);
	p->ended = json_is_true(json_object_get(o, "ended"));
	return e->code != ERR_NONE ? -1 : read_rows(r, o, p, e);
}

static int
read_conditions(struct reading *r, const json_t *o, struct err *e)
{
	const json_t *from = json_object_get(o, "conditions");
	struct canary *c = r->c;

	if (!json_is_object(from))
		return wrong(r, e, "conditions", "is missing or is not an object");
	if (read_text(r, from, "made_by", &c->made_by, e) < 0 ||
	    read_text(r, from, "architecture", &c->architecture, e) < 0 ||
	    read_text(r, from, "root", &c->root, e) < 0 ||
	    read_text(r, from, "level", &c->level, e) < 0 ||
	    read_number(r, from, "vocabulary", 1, TOKEN_NONE, &c->vocabulary, e) < 0 ||
	    (c->root && read_digest(r, c->root, "root", e) < 0))
		return -1;
	if (json_object_get(from, "seed") &&
	    read_number(r, from, "seed", 0, UINT64_C(1) << 53, &c->seed, e) < 0)
		return -1;
	if (read_number(r, from, "count", 0, CANARY_POSITIONS, &c->count, e) < 0)
		return -1;
	return read_number(r, from, "top", 1, c->vocabulary < CANARY_TOP_MOST ? c->vocabulary : CANARY_TOP_MOST, &c->top, e);
}

static int
read_kind(const struct reading *r, const json_t *o, struct err *e)
{
	const char *kind;
	uint64_t version;

	if (json_member_u64(o, "apr_canary", &version) < 0)
		return err_set(e, ERR_FORMAT, r->what, "is not a canary: it has no number "
		               "\"apr_canary\"");
	if (version != CANARY_VERSION)
		return err_set(e, ERR_VERSION, r->what, "is a canary of version %" PRIu64
		               "; only version %d is supported", version, CANARY_VERSION);
	if (json_member_text(o, "kind", &kind) < 0)
		return wrong(r, e, "kind", "is missing or is not text");
	if (strcmp(kind, CANARY_KIND) != 0)
		return err_set(e, ERR_FORMAT, r->what, "is a canary of kind \"%.40s\"; only "
		               "\"" CANARY_KIND "\" is supported", kind);
	return 0;
}

static int
read_all(struct reading *r, const json_t *o, struct err *e)
{
	const json_t *list = json_object_get(o, "prompts");
	size_t i, n = json_array_size(list);

	if (read_kind(r, o, e) < 0 || read_conditions(r, o, e) < 0)
		return -1;
	if (n == 0)
		return wrong(r, e, "prompts", "is missing or empty");
	for (i = 0; i < n; i++)
		if (read_prompt(r, json_array_get(list, i), e) < 0)
			return -1;
	return 0;
}

int
canary_parse(struct canary *c, const void *text, size_t n, const char *what, struct err *e)
{
	struct reading r = { .c = c, .what = what };
	json_t *o;
	int done;

	*c = (struct canary){ 0 };
	if (n > CANARY_BYTES)
		return err_set(e, ERR_MEMORY, what, "is longer than %u bytes", CANARY_BYTES);
	o = json_parse(text, n, ERR_CORRUPT, what, e);
	if (!o)
		return -1;
	done = read_all(&r, o, e);
	json_decref(o);
	return done;
}

/* ---- writing ---- */

static void
put_text(struct buf *b, const char *name, const char *text)
{
	if (!text)
		return;
	buf_printf(b, "\"%s\":", name);
	json_quote(b, text, strlen(text));
	buf_text(b, ",");
}

static void
put_ids(struct buf *b, const char *name, const uint32_t *id, size_t n)
{
	size_t i;

	buf_printf(b, "\"%s\":[", name);
	for (i = 0; i < n; i++)
		buf_printf(b, "%s%" PRIu32, i ? "," : "", id[i]);
	buf_text(b, "],");
}

static void
put_prompt(struct buf *b, const struct canary_prompt *p, size_t top)
{
	size_t i, k;

	buf_text(b, "{");
	put_text(b, "prompt", p->text);
	put_ids(b, "tokens", p->ids.id, p->prompt);
	buf_text(b, "\n ");
	put_text(b, "text", p->made);
	put_ids(b, "ids", p->ids.id + p->prompt, p->ids.n - p->prompt);
	buf_printf(b, "\"ended\":%s,\n ", p->ended ? "true" : "false");
	put_text(b, "logits", *p->logits ? p->logits : NULL);
	buf_text(b, "\n \"top\":[");
	for (i = 0; i < p->ids.n; i++) {
		buf_printf(b, "%s[", i ? ",\n  " : "");
		for (k = 0; k < top; k++)
			buf_printf(b, "%s%" PRIu32 ",%.9g", k ? "," : "", p->top[i * top + k],
			           (double)p->p[i * top + k]);
		buf_text(b, "]");
	}
	buf_text(b, "]}");
}

void
canary_write(const struct canary *c, struct buf *b)
{
	size_t i;

	buf_printf(b, "{\"apr_canary\":%d,\"kind\":\"" CANARY_KIND "\",\n\"conditions\":{",
	           CANARY_VERSION);
	put_text(b, "made_by", c->made_by);
	put_text(b, "architecture", c->architecture);
	put_text(b, "root", c->root);
	put_text(b, "level", c->level);
	buf_printf(b, "\"vocabulary\":%" PRIu64 ",\"seed\":%" PRIu64 ",\"count\":%" PRIu64
	           ",\"top\":%" PRIu64 "},\n\"prompts\":[", c->vocabulary, c->seed, c->count,
	           c->top);
	for (i = 0; i < c->n; i++) {
		buf_text(b, i ? ",\n" : "\n");
		put_prompt(b, &c->prompts[i], c->top);
	}
	buf_text(b, "]}\n");
}
