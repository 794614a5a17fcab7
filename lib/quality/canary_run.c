#include "quality/canary_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "crypto/digest.h"
#include "generate/generate.h"
#include "generate/softmax.h"

/* ---- what the model says ---- */

struct said {
	struct tokens ids;
	struct buf text;
	bool ended;
};

static int
hear(void *ctx, const struct generated *g, struct err *e)
{
	struct said *s = ctx;

	buf_put(&s->text, g->text, g->n);
	return tokens_add(&s->ids, g->id, e);
}

static int
say(struct said *to, const uint32_t *prompt, size_t n, uint64_t count, struct sequence *s,
    const struct tokenizer *t, struct err *e)
{
	const struct generate g = {
		.sequence = s, .tokenizer = t, .sampler = SAMPLER_DEFAULT, .count = count,
		.token = hear, .ctx = to
	};
	struct tokens tokens = { .id = (uint32_t *)(uintptr_t)prompt, .n = n, .cap = n };
	struct generate_result result;

	*to = (struct said){ .ended = false };
	if (count > 0 && generate_run(&g, &tokens, &result, e) < 0)
		return -1;
	to->ended = count > 0 && result.end == GENERATE_END_OF_TEXT;
	return buf_string(&to->text) ? 0 : err_memory(e);
}

static void
said_free(struct said *s)
{
	tokens_free(&s->ids);
	buf_free(&s->text);
}

/* ---- rows of logits ---- */

/* The k most probable tokens; of equal ones the first. */
static void
top_of(const float *logits, size_t n, uint32_t *top, size_t k)
{
	size_t i, at, have = 0;

	for (i = 0; i < n; i++) {
		if (have == k && !(logits[i] > logits[top[k - 1]]))
			continue;
		for (at = have < k ? have++ : k - 1; at > 0 && logits[i] > logits[top[at - 1]]; at--)
			top[at] = top[at - 1];
		top[at] = (uint32_t)i;
	}
}

static void
add_row(struct sha256 *h, const float *logits, size_t n)
{
	uint8_t bytes[4096];
	uint32_t bits;
	size_t i, at = 0;
	int k;

	for (i = 0; i < n; i++) {
		memcpy(&bits, &logits[i], sizeof bits);
		for (k = 0; k < 4; k++)
			bytes[at++] = (uint8_t)(bits >> 8 * k);
		if (at == sizeof bytes || i + 1 == n) {
			sha256_add(h, bytes, at);
			at = 0;
		}
	}
}

struct walk {
	size_t top, vocabulary;
	struct canary_prompt *made;         /* filled, or */
	const struct canary_prompt *against; /* held against, into */
	struct canary_result *r;
	struct sha256 digest;
};

static int
make_row(void *ctx, size_t position, const float *logits, struct err *e)
{
	struct walk *w = ctx;
	uint32_t *top = w->made->top + position * w->top;
	const double base = softmax_of(logits, w->vocabulary).base;
	size_t i;

	(void)e;
	top_of(logits, w->vocabulary, top, w->top);
	for (i = 0; i < w->top; i++)
		w->made->p[position * w->top + i] = (float)exp((double)logits[top[i]] - base);
	add_row(&w->digest, logits, w->vocabulary);
	return 0;
}

/* The divergence of the recorded tokens, and of all others as one. Probabilities are rounded to
 * single precision on both sides, so that those of the same model cancel. */
static double
divergence_of(const struct walk *w, const uint32_t *top, const float *p, const float *logits,
              double base)
{
	double sum = 0, rest = 1, other = 1, q;
	size_t i;

	for (i = 0; i < w->top; i++) {
		q = (double)logits[top[i]] - base;
		rest -= (double)p[i];
		other -= (double)(float)exp(q);
		if (p[i] > 0 && p[i] != (float)exp(q))
			sum += (double)p[i] * (log((double)p[i]) - q);
	}
	/* Less than the rounding of the others is nothing. */
	if (rest > 1e-6 && rest != other)
		sum += rest * log(rest / (other > 1e-30 ? other : 1e-30));
	return sum > 0 ? sum : 0;
}

static int
check_row(void *ctx, size_t position, const float *logits, struct err *e)
{
	struct walk *w = ctx;
	struct canary_result *r = w->r;
	const uint32_t *top = w->against->top + position * w->top;
	uint32_t mine[CANARY_TOP_MOST];
	const struct softmax s = softmax_of(logits, w->vocabulary);
	double kl;
	size_t i, k;

	(void)e;
	kl = divergence_of(w, top, w->against->p + position * w->top, logits, s.base);
	top_of(logits, w->vocabulary, mine, w->top);
	for (i = 0; i < w->top; i++)
		for (k = 0; k < w->top; k++)
			r->shared += mine[i] == top[k];
	r->tops += w->top;
	r->same_top += s.top == top[0];
	r->kl += kl;
	if (r->positions == 0 || kl > r->kl_most) {
		r->kl_most = kl;
		r->kl_at = position;
	}
	r->positions++;
	add_row(&w->digest, logits, w->vocabulary);
	return 0;
}

/* Evaluate all tokens of a prompt, and set the digest of the logits. */
static int
walk(struct walk *w, const struct tokens *ids, struct sequence *s, sequence_row row,
     char digest[DIGEST_TEXT], struct err *e)
{
	struct digest d;

	w->vocabulary = infer_vocabulary(sequence_model(s));
	sha256_start(&w->digest);
	if (sequence_eval(s, 0, ids->id, ids->n, SEQUENCE_ALL, row, w, e) < 0) {
		sha256_abandon(&w->digest);
		return -1;
	}
	if (sha256_finish(&w->digest, &d, e) < 0)
		return -1;
	digest_text(digest, &d);
	return 0;
}

int
canary_make(const struct canary *c, struct canary_prompt *p, struct sequence *s,
            const struct tokenizer *t, struct err *e)
{
	struct walk w = { .top = c->top, .made = p };
	struct said said;
	size_t i;
	int done;

	p->prompt = p->ids.n;
	done = say(&said, p->ids.id, p->ids.n, c->count, s, t, e);
	for (i = 0; done == 0 && i < said.ids.n; i++)
		done = tokens_add(&p->ids, said.ids.id[i], e);
	p->ended = said.ended;
	if (done == 0 && t && !(p->made = mem_text((const char *)said.text.p, said.text.n)))
		done = err_memory(e);
	said_free(&said);
	if (done < 0)
		return -1;
	p->top = mem_array(p->ids.n * c->top, sizeof *p->top);
	p->p = mem_array(p->ids.n * c->top, sizeof *p->p);
	if (!p->top || !p->p)
		return err_memory(e);
	return walk(&w, &p->ids, s, make_row, p->logits, e);
}

/* ---- the texts ---- */

/* The characters of a text, at most CANARY_LETTERS; an invalid byte is one. */
static size_t
letters_of(const char *s, uint32_t to[CANARY_LETTERS])
{
	size_t n = 0, left = strlen(s), size;

	while (left > 0 && n < CANARY_LETTERS) {
		size = text_character(s, left, &to[n]);
		if (size == 0) {
			to[n] = 0xfffd;
			size = 1;
		}
		n++;
		s += size;
		left -= size;
	}
	return n;
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The edit distance, row by row; one row is kept. */
static int
edits_of(struct canary_result *r, const char *recorded, struct err *e)
{
	uint32_t *a = mem_array(2 * CANARY_LETTERS, sizeof *a), *b = a ? a + CANARY_LETTERS : NULL;
	size_t *row = mem_array(CANARY_LETTERS + 1, sizeof *row);
	size_t i, k, n, diagonal, above;

	if (!a || !row) {
		free(a);
		free(row);
		return err_memory(e);
	}
	n = letters_of(recorded, a);
	r->letters = n;
	for (i = 0; i <= n; i++)
		row[i] = i;
	r->edits = letters_of(r->made, b);
	for (k = 0; k < r->edits; k++) {
		diagonal = row[0]++;
		for (i = 1; i <= n; i++) {
			above = row[i];
			row[i] = least(least(above, row[i - 1]) + 1, diagonal + (a[i - 1] != b[k]));
			diagonal = above;
		}
	}
	r->edits = row[n];
	free(a);
	free(row);
	return 0;
}

static void
compare_ids(struct canary_result *r, const uint32_t *ids, size_t n)
{
	size_t i, both = n < r->ids.n ? n : r->ids.n;

	r->most_ids = n > r->ids.n ? n : r->ids.n;
	r->parts_at = n == r->ids.n ? n : both;
	for (i = both; i-- > 0;) {
		r->same_ids += r->ids.id[i] == ids[i];
		if (r->ids.id[i] != ids[i])
			r->parts_at = i;
	}
}

int
canary_check(const struct canary *c, const struct canary_prompt *p, struct sequence *s,
             const struct tokenizer *t, struct canary_result *r, struct err *e)
{
	struct walk w = { .top = c->top, .against = p, .r = r };
	char digest[DIGEST_TEXT];
	struct said said;
	int done;

	*r = (struct canary_result){ .positions = 0 };
	/* No more than was recorded: the file says how much work that is. */
	done = say(&said, p->ids.id, p->prompt, p->ids.n - p->prompt, s, t, e);
	r->ids = said.ids;
	said.ids = (struct tokens){ 0 };
	r->ended = said.ended;
	if (done == 0 && !(r->made = mem_text((const char *)said.text.p, said.text.n)))
		done = err_memory(e);
	said_free(&said);
	if (done < 0 || walk(&w, &p->ids, s, check_row, digest, e) < 0)
		return -1;
	r->identical = strcmp(digest, p->logits) == 0;
	compare_ids(r, p->ids.id + p->prompt, p->ids.n - p->prompt);
	return p->made && t ? edits_of(r, p->made, e) : 0;
}

void
canary_result_free(struct canary_result *r)
{
	tokens_free(&r->ids);
	free(r->made);
	r->made = NULL;
}

/* ---- the verdict ---- */

double
canary_top1(const struct canary_result *r)
{
	return (double)r->same_top / (double)r->positions;
}

double
canary_kl(const struct canary_result *r)
{
	return r->kl / (double)r->positions;
}

unsigned
canary_breaches(const struct canary_result *r, const struct canary_limits *l)
{
	return (canary_top1(r) < l->min_top1 ? CANARY_LOW_TOP1 : 0) |
	       (canary_kl(r) > l->max_kl ? CANARY_HIGH_KL : 0) |
	       (r->other_tokens ? CANARY_OTHER_TOKENS : 0);
}
