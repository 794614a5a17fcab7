#include "cli/distill/distill_texts.h"

#define HELD_OUT 0.05

static int
read_text(struct texts *t, struct tokenizer *k, const char *path, const struct buf *text,
          struct err *e)
{
	if (texts_read(t, k, texts_are_lines(path), text->p, text->n, path, e) < 0)
		return -1;
	if (t->lost)
		tool_notef("%s: %llu bytes are dropped: the vocabulary has no token for them", path,
		           (unsigned long long)t->lost);
	return 0;
}

int
distill_texts_read(struct distill_texts *t, struct distill_asked *a, struct tokenizer *k,
                   struct err *e)
{
	int r = read_text(&t->text, k, a->data, &a->text, e);

	if (r == 0 && a->validate)
		r = read_text(&t->validation, k, a->validate, &a->validation, e);
	distill_asked_free(a);
	return r;
}

void
distill_texts_free(struct distill_texts *t)
{
	texts_free(&t->text);
	texts_free(&t->validation);
}

/* The number of tokens at the end of the text that are not learnt. */
static int
hold_out(const struct distill_texts *t, const struct distill_asked *a, size_t length, size_t *held,
         struct err *e)
{
	const double share = a->held_out < 0 ? HELD_OUT : a->held_out;
	const size_t n = t->text.tokens.n;

	*held = 0;
	if (a->validate || share == 0)
		return 0;
	*held = (size_t)((double)n * share);
	*held = *held > length ? *held : length + 1;
	if (n > *held && n - *held > length)
		return 0;
	if (a->held_out >= 0)
		return err_set(e, ERR_INVALID, a->data, "has %zu tokens: too few to hold out a part of %zu",
		               n, length);
	*held = 0;
	if (n > length)
		tool_note("the text is too short to measure the student with a part of it");
	return 0;
}

int
distill_texts_course(const struct distill_texts *t, const struct distill_asked *a,
                     const struct tokenizer *k, struct train_model *student,
                     struct train_model *teacher, struct course *c, struct err *e)
{
	const uint32_t bos = tokenizer_adds_bos(k) ? tokenizer_role(k, TOKENIZER_BOS) : TOKEN_NONE;
	struct course_text text = { t->text.tokens.id, t->text.tokens.n, a->data };
	struct course_text valid = { t->validation.tokens.id, t->validation.tokens.n, a->validate };
	struct course_how how;
	size_t held;

	if (distill_asked_course(a, student, text.n, &how, e) < 0 ||
	    hold_out(t, a, how.length, &held, e) < 0)
		return -1;
	text.n -= held;
	if (held)
		valid = (struct course_text){ text.tokens + text.n, held, text.name };
	if (distill_asked_course(a, student, text.n, &how, e) < 0 ||
	    course_begin(c, &how, student, teacher, &text, valid.n ? &valid : NULL, bos, e) < 0)
		return -1;
	tool_notef("the student has %llu parameters; %llu steps of %zu tokens each, from a text "
	           "of %zu",
	           (unsigned long long)model_parameters(&student->plan), (unsigned long long)how.steps,
	           how.rows * how.batches * how.length, text.n);
	return 0;
}
