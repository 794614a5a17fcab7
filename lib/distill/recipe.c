#include "distill/recipe.h"

#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "crypto/digest.h"
#include "distill/checkpoint.h"

#define HEX "0123456789abcdef"

static json_t *
finish(struct sha256 *h, struct err *e)
{
	char text[DIGEST_TEXT] = { 0 };
	struct digest d;
	size_t i;

	if (sha256_finish(h, &d, e) < 0)
		return NULL;
	for (i = 0; i < DIGEST_BYTES; i++) {
		text[2 * i] = HEX[d.b[i] >> 4];
		text[2 * i + 1] = HEX[d.b[i] & 15];
	}
	return json_string(text);
}

/* Names, keys and values. Keys in blobs are those of a vocabulary, which is compared elsewhere. */
static json_t *
model_digest(const struct train_model *m, struct err *e)
{
	struct sha256 h;
	size_t i;

	sha256_start(&h);
	sha256_add_domain(&h, "apr-distill model");
	for (i = 0; i < m->plan.meta_count; i++) {
		const struct meta *k = &m->plan.meta[i];

		sha256_add_text(&h, k->key);
		sha256_add_u64(&h, k->wire_bytes);
		sha256_add(&h, k->wire, k->wire ? k->wire_bytes : 0);
	}
	for (i = 0; i < m->param_count; i++) {
		sha256_add_text(&h, m->params[i].name);
		sha256_add_u64(&h, m->params[i].rows);
		sha256_add_u64(&h, m->params[i].columns);
	}
	sha256_add(&h, m->value, m->total * sizeof *m->value);
	return finish(&h, e);
}

static json_t *
text_digest(const struct order *o, struct err *e)
{
	struct sha256 h;

	sha256_start(&h);
	sha256_add_domain(&h, "apr-distill tokens");
	sha256_add(&h, o->tokens, o->n * sizeof *o->tokens);
	return finish(&h, e);
}

static json_t *
number(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static void
put_how(json_t *o, const struct course_how *h)
{
	json_object_set_new(o, "alpha", json_real(h->alpha));
	json_object_set_new(o, "temperature", json_real(h->temperature));
	json_object_set_new(o, "steps", number(h->steps));
	json_object_set_new(o, "lr", json_real(h->rate));
	json_object_set_new(o, "warmup", number(h->warm));
	json_object_set_new(o, "decay", json_real(h->decay));
	json_object_set_new(o, "clip", json_real(h->clip));
	json_object_set_new(o, "batch", number(h->rows));
	json_object_set_new(o, "accumulate", number(h->batches));
	json_object_set_new(o, "context", number(h->length));
	json_object_set_new(o, "seed", json_from_u64(h->seed));
}

char *
recipe_text(const struct course *c, const struct student_how *how, struct err *e)
{
	json_t *o = json_object(), *data = text_digest(&c->order, e);
	json_t *student = model_digest(c->student, e);
	json_t *teacher = c->teacher ? model_digest(c->teacher, e) : NULL;
	struct buf b = { 0 };
	char *text = NULL;

	student_record(how, o);
	put_how(o, &c->how);
	json_object_set_new(o, "data", data);
	json_object_set_new(o, "student", student);
	if (c->teacher)
		json_object_set_new(o, "teacher", teacher);
	if (e->code == ERR_NONE && json_write(o, &b) == 0 && buf_ok(&b))
		text = mem_text((const char *)b.p, b.n);
	if (!text)
		err_memory(e);
	json_decref(o);
	buf_free(&b);
	return text;
}

int
recipe_record(struct train_model *student, const char *recipe, struct err *e)
{
	static const struct value_type string = { 0, VALUE_STRING };
	struct buf b = { 0 };
	int r;

	buf_u64(&b, strlen(recipe));
	buf_text(&b, recipe);
	r = buf_ok(&b) ? model_set_meta(&student->plan, CHECKPOINT_RECIPE, string, b.p, b.n, e)
	               : err_memory(e);
	buf_free(&b);
	return r;
}
