#include "report/canary_text.h"

#include <inttypes.h>
#include <string.h>

#include "core/json.h"
#include "core/text.h"
#include "report/lines.h"

#define SHOWN 160 /* bytes of a text that are shown */

static void
put_quoted(struct buf *b, const char *text)
{
	char shown[SHOWN];

	buf_printf(b, "\"%s\"", text_quote(shown, sizeof shown, text, strlen(text)));
}

/* ---- conditions ---- */

static bool
differs(const char *a, const char *b)
{
	return a && b && strcmp(a, b) != 0;
}

static void
put_condition(struct buf *b, const char *what, const char *was, const char *now)
{
	char a[SHOWN], c[SHOWN];

	if (differs(was, now))
		buf_printf(b, "%s: %s, recorded with %s\n", what, text_quote(c, sizeof c, now, strlen(now)),
		           text_quote(a, sizeof a, was, strlen(was)));
}

void
canary_put_conditions(struct buf *b, const struct canary *c, const struct canary_conditions *now)
{
	put_condition(b, "architecture", c->architecture, now->architecture);
	put_condition(b, "content", c->root, now->root);
	put_condition(b, "level of the CPU", c->level, now->level);
	put_condition(b, "program", c->made_by, now->made_by);
}

/* ---- a prompt ---- */

static double
share(size_t part, size_t of)
{
	return of ? (double)part / (double)of : 1;
}

/* Of an empty recorded text, each character is wrong. */
static double
error_rate(const struct canary_result *r)
{
	return r->letters ? (double)r->edits / (double)r->letters : r->edits > 0;
}

static void
put_figures(struct buf *b, const struct canary_result *r, size_t top)
{
	buf_printf(b, "top-1 %.1f %%, top-%zu %.1f %%, KL %.6f of %zu positions", 100 * canary_top1(r),
	           top, 100 * share(r->shared, r->tops), canary_kl(r), r->positions);
}

static void
put_token(struct buf *b, const struct tokenizer *t, const uint32_t *id, size_t n, size_t at)
{
	struct buf piece = { 0 };

	if (at >= n)
		buf_text(b, "the end");
	else if (!t || at >= n || id[at] >= tokenizer_count(t))
		buf_printf(b, "%" PRIu32, id[at]);
	else {
		tokenizer_piece(t, id[at], false, TOKENIZER_SPECIAL, &piece);
		put_quoted(b, buf_string(&piece) ? (const char *)piece.p : "");
	}
	buf_free(&piece);
}

static void
put_texts(struct buf *b, const struct canary_prompt *p, const struct canary_result *r,
          const struct tokenizer *t)
{
	buf_printf(b, "    its own text: token accuracy %.1f %%",
	           100 * share(r->same_ids, r->most_ids));
	if (p->made)
		buf_printf(b, ", character error rate %.1f %%", 100 * error_rate(r));
	if (r->parts_at < r->most_ids) {
		buf_printf(b, "; token %zu is ", r->parts_at + 1);
		put_token(b, t, r->ids.id, r->ids.n, r->parts_at);
		buf_text(b, ", not ");
		put_token(b, t, p->ids.id + p->prompt, p->ids.n - p->prompt, r->parts_at);
	}
	buf_text(b, "\n");
	if (!p->made || r->parts_at == r->most_ids)
		return;
	buf_text(b, "    recorded ");
	put_quoted(b, p->made);
	buf_text(b, "\n    now      ");
	put_quoted(b, r->made);
	buf_text(b, "\n");
}

static void
put_breaches(struct buf *b, const struct canary_result *r, const struct canary_limits *l)
{
	const unsigned broken = canary_breaches(r, l);

	if (broken & CANARY_LOW_TOP1)
		buf_printf(b, "    FAIL: top-1 %.1f %% is below %.1f %%\n", 100 * canary_top1(r),
		           100 * l->min_top1);
	if (broken & CANARY_HIGH_KL)
		buf_printf(b, "    FAIL: KL %.6f is above %.6f, with %.6f at token %zu\n",
		           canary_kl(r), l->max_kl, r->kl_most, r->kl_at + 1);
	if (broken & CANARY_OTHER_TOKENS)
		buf_text(b, "    FAIL: the tokenizer gives other tokens for the prompt\n");
}

static json_t *
breaches_of(const struct canary_result *r, const struct canary_limits *l)
{
	static const char *const names[] = { "top1", "kl", "tokens" };
	const unsigned broken = canary_breaches(r, l);
	json_t *list = json_array();
	unsigned i;

	for (i = 0; i < 3; i++)
		if (broken & 1u << i)
			json_array_append_new(list, json_string(names[i]));
	return list;
}

static void
set_figures(json_t *o, const struct canary_result *r)
{
	json_object_set_new(o, "positions", json_integer((json_int_t)r->positions));
	json_object_set_new(o, "top1", json_real(canary_top1(r)));
	json_object_set_new(o, "top", json_real(share(r->shared, r->tops)));
	json_object_set_new(o, "kl", json_real(canary_kl(r)));
	json_object_set_new(o, "kl_max", json_real(r->kl_most));
	json_object_set_new(o, "identical", json_boolean(r->identical));
	json_object_set_new(o, "token_accuracy", json_real(share(r->same_ids, r->most_ids)));
	json_object_set_new(o, "character_error_rate", json_real(error_rate(r)));
}

static void
put_json(struct buf *b, const struct canary_prompt *p, size_t number,
         const struct canary_result *r, const struct canary_limits *l)
{
	json_t *o = json_object();

	json_object_set_new(o, "number", json_integer((json_int_t)number));
	if (p->text)
		json_object_set_new(o, "prompt", json_string(p->text));
	set_figures(o, r);
	json_object_set_new(o, "kl_at", json_integer((json_int_t)r->kl_at + 1));
	if (r->parts_at < r->most_ids)
		json_object_set_new(o, "first_difference",
		                    json_integer((json_int_t)r->parts_at + 1));
	if (p->made) {
		json_object_set_new(o, "expected", json_string(p->made));
		json_object_set_new(o, "got", json_string(r->made));
	}
	json_object_set_new(o, "breaches", breaches_of(r, l));
	json_object_set_new(o, "verdict", json_string(canary_breaches(r, l) ? "fail" : "pass"));
	lines_json(b, o);
}

void
canary_put_result(struct buf *b, const struct canary *c, size_t number,
                  const struct canary_result *r, const struct canary_limits *l,
                  const struct tokenizer *t, bool json)
{
	const struct canary_prompt *p = &c->prompts[number - 1];

	if (json) {
		put_json(b, p, number, r, l);
		return;
	}
	buf_printf(b, "prompt %zu", number);
	if (p->text) {
		buf_text(b, " ");
		put_quoted(b, p->text);
	}
	buf_text(b, "\n    ");
	put_figures(b, r, (size_t)c->top);
	buf_text(b, r->identical ? ", all logits identical\n" : "\n");
	put_texts(b, p, r, t);
	put_breaches(b, r, l);
}

/* ---- all ---- */

void
canary_add_result(struct canary_total *to, const struct canary_result *r,
                  const struct canary_limits *l)
{
	struct canary_result *s = &to->sums;

	if (r->kl_most > s->kl_most)
		s->kl_most = r->kl_most;
	s->identical = (to->prompts == 0 || s->identical) && r->identical;
	to->prompts++;
	to->failed += canary_breaches(r, l) != 0;
	s->positions += r->positions;
	s->same_top += r->same_top;
	s->shared += r->shared;
	s->tops += r->tops;
	s->kl += r->kl;
	s->same_ids += r->same_ids;
	s->most_ids += r->most_ids;
	s->edits += r->edits;
	s->letters += r->letters;
}

/* "name": {"recorded": was, "now": now}, if one of them is known. */
static void
set_condition(json_t *o, const char *name, const char *was, const char *now)
{
	json_t *v = json_object();

	if (was)
		json_object_set_new(v, "recorded", json_string(was));
	if (now)
		json_object_set_new(v, "now", json_string(now));
	if (was || now)
		json_object_set(o, name, v);
	json_decref(v);
}

void
canary_put_total(struct buf *b, const struct canary *c, const struct canary_total *t,
                 const struct canary_conditions *now, bool json)
{
	const char *verdict = t->failed ? "fail" : "pass";
	json_t *o, *conditions;

	if (!json) {
		buf_printf(b, "all %zu: ", t->prompts);
		put_figures(b, &t->sums, (size_t)c->top);
		buf_printf(b, "\n%s", t->failed ? "FAIL" : "PASS");
		if (t->failed)
			buf_printf(b, ": %zu of %zu prompts", t->failed, t->prompts);
		buf_text(b, "\n");
		return;
	}
	o = json_object();
	conditions = json_object();
	json_object_set_new(o, "prompts", json_integer((json_int_t)t->prompts));
	json_object_set_new(o, "failed", json_integer((json_int_t)t->failed));
	set_figures(o, &t->sums);
	set_condition(conditions, "architecture", c->architecture, now->architecture);
	set_condition(conditions, "root", c->root, now->root);
	set_condition(conditions, "level", c->level, now->level);
	set_condition(conditions, "made_by", c->made_by, now->made_by);
	json_object_set_new(o, "conditions", conditions);
	json_object_set_new(o, "verdict", json_string(verdict));
	lines_json(b, o);
}
