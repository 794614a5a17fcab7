/* mutations: models changed in their structure, with right checksums and lengths, and a
 * reader of streams that shares nothing with ours: what a model means, as sorted lines.
 *
 * A change is one to three of: a letter or digit of JSON becomes another, a value becomes
 * a copy of another one, a member or item goes, comes twice or changes places, blanks
 * come; a byte of a body or of a head changes; frames go, come twice or change places.
 */
#ifndef TEST_MUTATIONS_H
#define TEST_MUTATIONS_H

#include <ctype.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include <jansson.h>

#include "../gen/stream.h"
#include "core/out.h"
#include "crypto/signature.h"

static uint64_t state = 88172645463325252u;

/* Less than n. */
static inline size_t
chance(size_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return n ? (size_t)(state % n) : 0;
}

/* ---- an independent reader: what a model means, as sorted lines ---- */

struct lines {
	char *list[200];
	size_t n;
	bool broken;
};

static inline void
line(struct lines *l, const char *what, const char *a, const char *b, const char *c)
{
	size_t n = strlen(what) + strlen(a) + strlen(b) + strlen(c) + 4;

	if (l->n == 200) {
		l->broken = true;
		return;
	}
	l->list[l->n] = malloc(n);
	snprintf(l->list[l->n++], n, "%s %s %s %s", what, a, b, c);
}

static inline void
hex(char *to, const uint8_t *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		sprintf(to + 2 * i, "%02x", p[i]);
	to[2 * n] = '\0';
}

static inline void
dump(const json_t *v, size_t flags, char *to, size_t size)
{
	size_t n = json_dumpb(v, to, size - 1, JSON_ENCODE_ANY | JSON_COMPACT | flags);

	to[n < size ? n : 0] = '\0';
}

/* A value, however its number is spelled. */
static inline void
value_text(const json_t *v, const char *type, char *to, size_t size)
{
	const char *leaf = strrchr(type, ':');
	json_t *x;
	size_t i;

	leaf = leaf ? leaf + 1 : type;
	if (json_is_array(v)) {
		snprintf(to, size, "[");
		json_array_foreach(v, i, x) {
			value_text(x, leaf, to + strlen(to), size - strlen(to));
			snprintf(to + strlen(to), size - strlen(to), ",");
		}
	} else if (*leaf == 'f' && json_is_string(v)) {
		snprintf(to, size, "%a", leaf[1] == '3' ? (double)strtof(json_string_value(v), NULL)
		                                        : strtod(json_string_value(v), NULL));
	} else if (json_is_string(v)) {
		snprintf(to, size, "%s", json_string_value(v));
	} else {
		dump(v, JSON_SORT_KEYS, to, size);
	}
}

static inline void
rows(struct lines *l, const json_t *list, const char *what, const json_t *members)
{
	char text[4000], *type;
	const json_t *row, *v;
	size_t i;

	json_array_foreach(list, i, row) {
		const char *name = json_string_value(json_array_get(row, 0));
		const char *second = json_string_value(json_array_get(row, 1));

		if (!name || !second) {
			l->broken = true;
			return;
		}
		v = json_array_get(row, 2);
		/* A member is a key, whether a row names it or not. */
		if (!v && members && json_object_get(members, name))
			continue;
		type = strdup(second);
		value_text(v, second, text, sizeof text);
		if (strcmp(what, "tensor") == 0)
			for (char *p = type; *p; p++)
				*p = (char)toupper((unsigned char)*p);
		line(l, what, name, type, text);
		free(type);
	}
}

static inline void
frame_bodies(struct lines *l, const struct gen *g)
{
	size_t at = 0, blobs = 0, tensors = 0, provs = 0;
	char number[24], text[20000];

	while (at + 20 <= g->n) {
		size_t head = frame_number(g->p + at + 4, 4), body = frame_number(g->p + at + 8, 8);
		const uint8_t *kind = g->p + at, *p = g->p + at + 20 + head;

		if (head > g->n || body > 8000) {
			l->broken = true;
			return;
		}
		snprintf(number, sizeof number, "%zu", memcmp(kind, "blob", 4) == 0 ? blobs++
		         : memcmp(kind, "TENS", 4) == 0 ? tensors++ : provs);
		if (memcmp(kind, "prov", 4) == 0) {
			hex(text, g->p + at + 16, head);
			snprintf(number, sizeof number, "%zu", provs++);
			line(l, "record", number, text, "");
		} else if (memcmp(kind, "blob", 4) == 0 || memcmp(kind, "TENS", 4) == 0 ||
		           memcmp(kind, "lice", 4) == 0) {
			json_t *o = json_loadb((char *)g->p + at + 16, head, 0, NULL);
			const char *name = json_string_value(json_object_get(o, "name"));

			hex(text, p, body);
			line(l, "body", name ? name : "", text, "");
			json_decref(o);
		}
		at += 24 + head + body;
	}
}

static inline void
read_stream(struct lines *l, const struct gen *g)
{
	size_t n = frame_number(g->p + 4, 4);
	json_t *plan = json_loadb((char *)g->p + 16, n, 0, NULL);

	rows(l, json_object_get(plan, "metadata"), "key", NULL);
	rows(l, json_object_get(plan, "blobs"), "file", NULL);
	rows(l, json_object_get(plan, "tensors"), "tensor", NULL);
	frame_bodies(l, g);
	l->broken |= !plan;
	json_decref(plan);
}

static inline int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline void
lines_free(struct lines *l)
{
	while (l->n > 0)
		free(l->list[--l->n]);
}

static inline bool
same_meaning(const struct lines *a, const struct lines *b)
{
	size_t i;

	if (a->broken || b->broken || a->n != b->n) {
		printf("# %zu facts, then %zu%s\n", a->n, b->n, b->broken ? ", not readable" : "");
		for (i = 0; i < a->n && i < b->n && strcmp(a->list[i], b->list[i]) == 0; i++)
			;
		printf("# %.200s\n# %.200s\n", i < a->n ? a->list[i] : "", i < b->n ? b->list[i] : "");
		return false;
	}
	for (i = 0; i < a->n; i++)
		if (strcmp(a->list[i], b->list[i]) != 0) {
			printf("# %.300s\n# %.300s\n", a->list[i], b->list[i]);
			return false;
		}
	return true;
}

/* ---- changes of JSON, as text ---- */

struct span {
	size_t at, n;   /* of a value; of a member with its name and colon */
	bool member;
};

struct json {
	const uint8_t *p;
	size_t n, at;
	struct span list[500];
	size_t count;
};

static inline void
scan_string(struct json *j)
{
	for (j->at++; j->at < j->n && j->p[j->at] != '"'; j->at++)
		if (j->p[j->at] == '\\')
			j->at++;
	j->at++;
}

static inline void
add_span(struct json *j, size_t at, bool member)
{
	/* What was changed before may end inside a string. */
	if (j->at > j->n)
		j->at = j->n;
	if (j->count < 500 && at <= j->at)
		j->list[j->count++] = (struct span){ at, j->at - at, member };
}

static inline void
scan(struct json *j)
{
	size_t began = j->at, member;
	uint8_t open = j->p[j->at];

	if (open == '"') {
		scan_string(j);
	} else if (open == '{' || open == '[') {
		j->at++;
		while (j->at < j->n && j->p[j->at] != '}' && j->p[j->at] != ']') {
			member = j->at;
			if (open == '{') {
				scan_string(j);
				j->at++; /* the colon */
			}
			scan(j);
			if (open == '{')
				add_span(j, member, true);
			if (j->at < j->n && (j->p[j->at] == ',' || j->at == member))
				j->at++;
		}
		j->at++;
	} else {
		while (j->at < j->n && !strchr(",]} ", j->p[j->at]))
			j->at++;
	}
	add_span(j, began, false);
}

/* [at, at + n) becomes m bytes of q, which may lie in g. */
static inline void
splice(struct gen *g, size_t at, size_t n, const void *q, size_t m)
{
	struct gen made = { 0 };

	put(&made, g->p, at);
	put(&made, q, m);
	put(&made, g->p + at + n, g->n - at - n);
	gen_free(g);
	*g = made;
}

static inline void
change_letter(struct gen *g)
{
	static const char digits[] = "0123456789", letters[] = "abcdefgwzQF";
	size_t i, tries;

	for (tries = 0; tries < 50; tries++) {
		i = chance(g->n);
		if (isdigit(g->p[i]))
			g->p[i] = (uint8_t)digits[chance(10)];
		else if (isalpha(g->p[i]))
			g->p[i] = (uint8_t)letters[chance(11)];
		else
			continue;
		return;
	}
}

static inline void
change_json(struct gen *g)
{
	static struct json j;
	struct span a, b;
	char copy[6000];

	j = (struct json){ .p = g->p, .n = g->n };
	scan(&j);
	if (j.count < 2)
		return;
	a = j.list[chance(j.count)];
	b = j.list[chance(j.count)];
	if (a.n >= sizeof copy - 2 || b.n >= sizeof copy - 2)
		return;
	switch (chance(7)) {
	case 0:
	case 1:
		change_letter(g);
		break;
	case 2: /* another one's value */
		if (a.member == b.member)
			splice(g, a.at, a.n, g->p + b.at, b.n);
		break;
	case 3: /* gone, with a comma */
		if (a.at + a.n < g->n && g->p[a.at + a.n] == ',')
			splice(g, a.at, a.n + 1, "", 0);
		else if (a.at > 0 && g->p[a.at - 1] == ',')
			splice(g, a.at - 1, a.n + 1, "", 0);
		break;
	case 4: /* another one before it */
		if (a.member == b.member) {
			memcpy(copy, g->p + b.at, b.n);
			copy[b.n] = ',';
			splice(g, a.at, 0, copy, b.n + 1);
		}
		break;
	case 5: /* they change places */
		if (a.member != b.member || a.at + a.n > b.at)
			break;
		memcpy(copy, g->p + a.at, a.n);
		splice(g, a.at, a.n, g->p + b.at, b.n);
		splice(g, b.at + b.n - a.n, b.n, copy, a.n);
		break;
	default: /* a blank, or a member that nobody knows */
		if (chance(2))
			splice(g, a.at, 0, " ", 1);
		else if (a.member)
			splice(g, a.at, 0, "\"what\":1,", 9);
	}
}

/* ---- changes of forms ---- */

static inline void
mutate_head(struct frame *f)
{
	struct gen g = { 0 };

	put(&g, f->head, f->head_n);
	if (strcmp(f->kind, "sign") == 0 && chance(2))
		change_letter(&g);
	else
		change_json(&g);
	put_u8(&g, 0);
	free(f->head);
	f->head_n = g.n - 1;
	f->head = (char *)g.p;
	/* That of a signature has one length. */
	if (strcmp(f->kind, "sign") == 0 && f->head_n > 0 &&
	    f->head_n < SIGNATURE_HEAD_BYTES && chance(2)) {
		f->head = realloc(f->head, SIGNATURE_HEAD_BYTES + 1);
		memmove(f->head + SIGNATURE_HEAD_BYTES - 1, "}", 2);
		memset(f->head + f->head_n - 1, ' ', SIGNATURE_HEAD_BYTES - f->head_n);
		f->head_n = SIGNATURE_HEAD_BYTES;
	}
}

static inline void
copy_frame(struct frames *s, size_t to, const struct frame *f)
{
	struct gen *body;

	body = put_frame(s, "", f->kind, f->head);
	put(body, f->body.p, f->body.n);
	struct frame made = s->list[s->n - 1];

	memmove(&s->list[to + 1], &s->list[to], (s->n - 1 - to) * sizeof made);
	s->list[to] = made;
}

static inline void
mutate_frames(struct frames *s)
{
	size_t i = chance(s->n), k = chance(s->n);
	struct frame *f = &s->list[i], t;

	switch (chance(8)) {
	case 0:
		if (f->body.n > 0)
			f->body.p[chance(f->body.n)] ^= (uint8_t)(1 << chance(8));
		break;
	case 1:
		t = s->list[k];
		s->list[k] = s->list[i];
		s->list[i] = t;
		break;
	case 2:
		if (s->n < 20)
			copy_frame(s, k, f);
		break;
	case 3:
		f->kind[chance(4)] ^= 0x20;
		break;
	case 4:
	case 5:
		mutate_head(&s->list[0]);
		break;
	default:
		mutate_head(f);
	}
}

static inline void
change_stream(struct gen *out, const struct frames *base)
{
	struct frames s = { .n = 0 };
	size_t i, n = 1 + chance(3);

	for (i = 0; i < base->n; i++)
		copy_frame(&s, s.n, &base->list[i]);
	while (n-- > 0)
		mutate_frames(&s);
	out->n = 0;
	write_frames(out, &s);
	frames_free(&s);
}

/* ---- outputs ---- */

/* Open an output in memory, whose bytes slurp reads from fd. */
static inline void
open_memory(struct out *o, int *fd, struct err *e)
{
	*fd = memfd_create("out", 0);
	if (*fd < 0 || out_fd(o, dup(*fd), "out", e) < 0)
		abort();
	o->owns = true;
}

static inline void
slurp(int fd, struct gen *g)
{
	off_t n = lseek(fd, 0, SEEK_END);

	g->n = 0;
	if (n > 0 && pread(fd, gen_open(g, 0, (size_t)n), (size_t)n, 0) != n)
		abort();
	close(fd);
}

/* All of it of a stream, or of its plan alone. */
static inline void
stream_meaning(struct lines *l, const struct gen *g)
{
	*l = (struct lines){ .n = 0 };
	read_stream(l, g);
	qsort(l->list, l->n, sizeof *l->list, by_text);
}

#endif
