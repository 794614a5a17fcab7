#include "merge/merged.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "merge/blend.h"
#include "merge/carry.h"

#define PART ((size_t)1024)       /* values of a mean row at a time: a multiple of each block */
#define RAW ((size_t)BLEND_TILE)  /* values that are decoded at a time */

struct merged {
	struct source source;     /* first */
	struct merge_plan *p;
	struct carry carry;
	struct blend blend;
	const struct merge_row *row; /* being sent, */
	bool blends;              /* which is computed */
	double values[5 * MERGE_MODELS];
	struct raw {
		atomic_flag used;
		uint8_t *p;       /* RAW values of 8 bytes */
	} *raw;                   /* one for each thread */
	size_t raw_count;
};

/* ---- values of the inputs ---- */

/* The number of vectors of a row, with the base. */
static size_t
vectors(const struct merge_row *row)
{
	return row->slice->n + (row->slice->has_base ? 1 : 0);
}

static struct raw *
take_raw(struct merged *m)
{
	size_t i;

	for (i = 0;; i = (i + 1) % m->raw_count)
		if (!atomic_flag_test_and_set(&m->raw[i].used))
			return &m->raw[i];
}

/* The row that a vector has for a token; false if it lacks the token. */
static bool
has_row(const struct merged *m, const struct merge_vector *v, uint64_t token, uint32_t *row)
{
	const struct tensor *t = merge_input_plan(&m->p->inputs[v->input])->tensors[v->tensor];

	*row = vocabulary_row(&m->p->words, v->input, token);
	return *row != VOCABULARY_LACKS && *row < tensor_dims(t)[0];
}

/* The vector whose rows others take: the base's; without a base and with the tokens of the reference,
 * that of the reference, which leads the row. NULL: none. */
static const struct merge_vector *
giver(const struct merged *m)
{
	const struct merge_row *row = m->row;
	size_t base = row->slice->has_base ? row->slice->base.model : m->p->recipe->base, i;

	for (i = 0; i < vectors(row); i++)
		if (row->vectors[i].input == base)
			return &row->vectors[i];
	return m->p->words.replaced ? NULL : &row->vectors[row->slice->has_base ? row->slice->n : 0];
}

/* The values of a row that begin at `at`. */
static int
read_row(struct merged *m, const struct merge_vector *v, uint32_t row, uint64_t at, float *to, size_t n,
         uint8_t *raw)
{
	uint64_t length = tensor_items(m->row->t) / tensor_dims(m->row->t)[0];

	return merge_input_values(&m->p->inputs[v->input], v->tensor, row * length + at, to, n, raw);
}

/* The mean of the rows of all models that have the token; zeros without one. */
static int
read_mean(struct merged *m, uint64_t token, uint64_t at, float *to, size_t n, uint8_t *raw)
{
	double sum[PART];
	float values[PART];
	size_t i, k, found, done, part;
	uint32_t row;

	for (done = 0; done < n; done += part) {
		part = (size_t)num_min(n - done, PART);
		memset(sum, 0, sizeof sum);
		for (i = found = 0; i < vectors(m->row); i++) {
			if (!has_row(m, &m->row->vectors[i], token, &row))
				continue;
			if (read_row(m, &m->row->vectors[i], row, at + done, values, part, raw) < 0)
				return -1;
			found++;
			for (k = 0; k < part; k++)
				sum[k] += (double)values[k];
		}
		for (k = 0; k < part; k++)
			to[done + k] = found ? (float)(sum[k] / (double)found) : 0;
	}
	return 0;
}

/* Values of a row by the rule for its token. */
static int
read_ruled(struct merged *m, const struct vocabulary_rule *rule, uint64_t at, float *to, size_t n,
           uint8_t *raw)
{
	size_t i = 0;

	if (rule->asked->source == MERGE_TOKEN_ZERO) {
		memset(to, 0, n * sizeof *to);
		return 0;
	}
	while (m->row->vectors[i].input != rule->asked->model)
		i++;
	return read_row(m, &m->row->vectors[i], rule->row, at, to, n, raw);
}

/* Values of a token's row as a model has it in the merge (vocabulary.h). */
static int
read_token(struct merged *m, const struct merge_vector *v, uint64_t token, uint64_t at, float *to, size_t n,
           uint8_t *raw)
{
	const struct vocabulary_rule *rule = vocabulary_rule(&m->p->words, token);
	const struct merge_vector *base = giver(m);
	uint32_t row;

	if (!(rule && rule->asked->force) && has_row(m, v, token, &row))
		return read_row(m, v, row, at, to, n, raw);
	if (rule && rule->asked->source != MERGE_TOKEN_USUAL)
		return read_ruled(m, rule, at, to, n, raw);
	if (base && has_row(m, base, token, &row))
		return read_row(m, base, row, at, to, n, raw);
	return read_mean(m, token, at, to, n, raw);
}

/* read of struct blend_task. */
static int
read_values(void *ctx, size_t model, uint64_t from, float *to, size_t n)
{
	struct merged *m = ctx;
	const struct merge_vector *v = &m->row->vectors[model];
	uint64_t length = m->row->table ? tensor_items(m->row->t) / tensor_dims(m->row->t)[0] : 0;
	struct raw *raw = take_raw(m);
	size_t i, part;
	int r = 0;

	for (i = 0; r == 0 && i < n; i += part) {
		uint64_t at = from + i;

		part = (size_t)num_min(n - i, RAW);
		if (m->row->table) {
			part = (size_t)num_min(part, length - at % length);
			r = read_token(m, v, at / length, at % length, to + i, part, raw->p);
		} else {
			r = merge_input_values(&m->p->inputs[v->input], v->tensor, at, to + i, part, raw->p);
		}
	}
	atomic_flag_clear(&raw->used);
	return r;
}

/* zeros of struct blend_task. */
static uint64_t
zeros_of(void *ctx, size_t model, uint64_t from, uint64_t n)
{
	struct merged *m = ctx;
	const struct merge_vector *v = &m->row->vectors[model];

	return merge_input_zeros(&m->p->inputs[v->input], v->tensor, from, n);
}

/* Whether all models of the row may have zeros that their files do not store. */
static bool
has_gaps(const struct merged *m)
{
	const struct merge_row *row = m->row;
	size_t n = vectors(row), i = 0;

	while (i < n && m->p->inputs[row->vectors[i].input].store.at[row->vectors[i].tensor].gaps)
		i++;
	return i == n && !row->table;
}

static const char *
file_of(void *ctx, size_t model)
{
	struct merged *m = ctx;

	return m->p->inputs[m->row->vectors[model].input].name;
}

/* ---- items ---- */

static int
begin_tensor(struct merged *m, struct item *item, struct err *e)
{
	const struct merge_vector *v;
	struct blend_task task;

	m->row = &m->p->rows[item->index];
	v = &m->row->vectors[0];
	if (m->row->copied) {
		carry_copy(&m->carry, &m->p->inputs[v->input], v->tensor, item);
		return 0;
	}
	if (merge_row_task(m->p, m->row, m->values, &task, e) < 0)
		return -1;
	task.read = read_values;
	task.zeros = has_gaps(m) ? zeros_of : NULL;
	task.file = file_of;
	task.ctx = m;
	m->blends = true;
	if (blend_begin(&m->blend, &task, e) < 0)
		return -1;
	item->gaps = blend_has_zeros(&m->blend);
	return 0;
}

static int
merged_next(struct source *s, struct item *item, struct err *e)
{
	struct merged *m = (struct merged *)s;
	int r = carry_next(&m->carry, item);

	m->blends = false;
	if (r > 0 && item->kind == ITEM_TENSOR && begin_tensor(m, item, e) < 0)
		return -1;
	return r;
}

static int
merged_read(struct source *s, const uint8_t **p, size_t *n, struct err *e)
{
	struct merged *m = (struct merged *)s;

	return m->blends ? blend_next(&m->blend, p, n, e) : carry_read(&m->carry, p, n, e);
}

static int
merged_zeros(struct source *s, uint64_t *n, struct err *e)
{
	struct merged *m = (struct merged *)s;

	(void)e;
	*n = m->blends
		? dtype_span(tensor_type(m->row->t), blend_zeros(&m->blend)) : 0;
	return 0;
}

static void
merged_close(struct source *s)
{
	struct merged *m = (struct merged *)s;
	size_t i;

	for (i = 0; m->raw && i < m->raw_count; i++)
		free(m->raw[i].p);
	free(m->raw);
	carry_close(&m->carry);
	blend_close(&m->blend);
	free(m);
}

static int
get_memory(struct merged *m, unsigned jobs)
{
	size_t i;

	m->raw_count = jobs ? jobs : 1;
	m->raw = mem_array(m->raw_count, sizeof *m->raw);
	for (i = 0; m->raw && i < m->raw_count; i++) {
		atomic_flag_clear(&m->raw[i].used);
		if (!(m->raw[i].p = mem_array(RAW, 8)))
			return -1;
	}
	return m->raw ? 0 : -1;
}

struct source *
merged_source(struct merge_plan *p, unsigned jobs, struct err *e)
{
	static const struct source_ops ops = { .next = merged_next, .read = merged_read,
		.close = merged_close, .zeros = merged_zeros };
	struct merged *m = mem_array(1, sizeof *m);

	if (!m) {
		err_memory(e);
		return NULL;
	}
	m->p = p;
	m->source = (struct source){ .plan = &p->out, .ops = &ops,
		.name = p->inputs[p->reference].name };
	m->carry = (struct carry){ .plan = &p->out, .inputs = p->inputs,
		.input_count = p->recipe->model_count, .files_of = &p->inputs[p->reference],
		.files = &p->files };
	if (get_memory(m, jobs) < 0)
		err_memory(e);
	if (e->code != ERR_NONE || carry_open(&m->carry, e) < 0) {
		merged_close(&m->source);
		return NULL;
	}
	blend_open(&m->blend, jobs, e);
	return &m->source;
}
