#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/philox.h"
#include "kernels/kernel.h"
#include "train/train_parts.h"

#define ALIGN 64 /* bytes */

/* ---- memory ---- */

uint64_t
train_model_bytes(uint64_t total, unsigned flags)
{
	uint64_t bytes;

	if (num_mul(total, flags & TRAIN_FROZEN ? sizeof(float) : 4 * sizeof(float), &bytes) < 0)
		return UINT64_MAX;
	return bytes;
}

int
train_allocate(struct train_model *m, unsigned flags, struct err *e)
{
	uint64_t bytes = train_model_bytes(m->total, flags);
	float *p;

	m->memory = bytes < SIZE_MAX - ALIGN ? mem_array(1, (size_t)bytes + ALIGN) : NULL;
	if (!m->memory) {
		err_set(e, ERR_MEMORY, NULL, "the parameters of a model that learns need %" PRIu64
		        " MiB", bytes >> 20);
		return -1;
	}
	p = (float *)(void *)(((uintptr_t)m->memory + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
	m->value = p;
	if (flags & TRAIN_FROZEN)
		return 0;
	m->gradient = p + m->total;
	m->first = p + 2 * m->total;
	m->second = p + 3 * m->total;
	return 0;
}

void
train_close(struct train_model *m)
{
	size_t i;

	for (i = 0; i < m->param_count; i++)
		free(m->params[i].name);
	free(m->params);
	free(m->layers);
	free(m->ends);
	free(m->tensors);
	free(m->blobs);
	free(m->factors);
	free(m->memory);
	hyper_free(&m->hyper);
	model_free(&m->plan);
	*m = (struct train_model){ 0 };
}

const struct train_param *
train_find(const struct train_model *m, const char *name)
{
	size_t i;

	for (i = 0; i < m->param_count; i++)
		if (strcmp(m->params[i].name, name) == 0)
			return &m->params[i];
	return NULL;
}

void
train_clear(struct train_model *m)
{
	if (m->gradient)
		memset(m->gradient, 0, m->total * sizeof *m->gradient);
}

/* ---- values of a file ---- */

/* y = x transposed; x has `rows` rows. */
static void
turn(const float *x, size_t rows, size_t columns, float *y)
{
	size_t r, c;

	for (r = 0; r < rows; r++)
		for (c = 0; c < columns; c++)
			y[c * rows + r] = x[r * columns + c];
}

static int
read_param(struct train_model *m, const struct train_param *p, const struct weights *w,
           struct err *e)
{
	const struct tensor *t = w->plan->tensors[p->tensor];
	const struct dtype *type = tensor_type(t);
	const uint8_t *data = w->tensors[p->tensor];
	float *to = m->value + p->at, *all;

	if (!kernel_decodes(type))
		return err_set(e, ERR_FORMAT, p->name, "%s cannot be computed", type->name);
	kernel_decode(type, data, data + type->head, to, p->count);
	if (!p->turned)
		return 0;
	all = mem_array(p->count, sizeof *all);
	if (!all)
		return err_memory(e);
	memcpy(all, to, p->count * sizeof *all);
	turn(all, p->columns, p->rows, to);
	free(all);
	return 0;
}

static int
prove_finite(const struct train_model *m, const struct train_param *p, struct err *e)
{
	size_t i;

	for (i = 0; i < p->count; i++)
		if (!isfinite(m->value[p->at + i]))
			return err_set(e, ERR_INVALID, p->name, "has values that are not finite");
	return 0;
}

/* The plan of the result: no records, signatures or licence, which belong to the origin. */
static int
plan_of(struct train_model *m, const struct weights *w, struct err *e)
{
	uint8_t f32[4] = { 0 };

	if (model_copy(&m->plan, w->plan, e) < 0)
		return -1;
	m->plan.prov_count = 0;
	m->plan.signatures = 0;
	m->plan.holes = 0;
	m->plan.licence = MODEL_NONE;
	model_unset_meta(&m->plan, "general.quantization_version");
	if (!model_find(&m->plan, "general.file_type"))
		return 0;
	return model_set_meta(&m->plan, "general.file_type", (struct value_type){ 0, VALUE_U32 }, f32,
	                      sizeof f32, e);
}

/* Parameters become F32 in the plan; other tensors pass. */
static int
plan_types(struct train_model *m, const struct weights *w, struct err *e)
{
	const struct dtype *f32 = dtype_by_name("F32");
	size_t i;

	for (i = 0; i < m->plan.tensor_count; i++)
		m->tensors[i] = w->tensors[i];
	for (i = 0; i < m->param_count; i++) {
		struct tensor **t = &m->plan.tensors[m->params[i].tensor], *new;

		m->tensors[m->params[i].tensor] = NULL;
		new = tensor_retype(*t, f32, e);
		if (!new)
			return -1;
		tensor_set_form(new, (struct sparse_form){ .kind = SPARSE_NONE });
		tensor_free(*t);
		*t = new;
	}
	return 0;
}

/* Refuses side files and values that the loader has left out: the result would lack them. */
static int
prove_blobs(const struct train_model *m, struct err *e)
{
	size_t i;

	for (i = 0; i < m->plan.blob_count; i++)
		if (m->plan.blobs[i].bytes > 0 && !m->blobs[i].p)
			return err_set(e, ERR_MEMORY, m->plan.blobs[i].name, "is too large to be kept");
	return 0;
}

int
train_open(struct train_model *m, const struct weights *w, unsigned flags, struct err *e)
{
	size_t i;

	*m = (struct train_model){ 0 };
	if (plan_of(m, w, e) < 0 || train_bind(m, w, e) < 0 || train_allocate(m, flags, e) < 0)
		return -1;
	m->tensors = mem_array(m->plan.tensor_count, sizeof *m->tensors);
	m->blobs = mem_array(m->plan.blob_count, sizeof *m->blobs);
	if (!m->tensors || !m->blobs)
		return err_memory(e);
	if (m->plan.blob_count)
		memcpy(m->blobs, w->blobs, m->plan.blob_count * sizeof *m->blobs);
	if (!(flags & TRAIN_FROZEN) && prove_blobs(m, e) < 0)
		return -1;
	for (i = 0; i < m->param_count; i++)
		if (read_param(m, &m->params[i], w, e) < 0 || prove_finite(m, &m->params[i], e) < 0)
			return -1;
	return plan_types(m, w, e);
}

/* ---- initial values ---- */

/* A number of deviation 1 from four random words: the sum of eight uniform ones. */
static float
normal(uint64_t key, uint64_t i)
{
	const double deviation = sqrt(8.0 / 12 * 4294967295.0); /* of eight numbers of 16 bits */
	uint32_t word[4];
	int64_t sum = 0;
	int k;

	philox_fill(key, 4 * i, word, 4);
	for (k = 0; k < 4; k++)
		sum += (int64_t)(word[k] & 0xffff) + (int64_t)(word[k] >> 16);
	return (float)(((double)sum - 4 * 65535.0) / deviation);
}

static bool
is_norm(enum role role)
{
	return role == ROLE_ATTN_NORM || role == ROLE_FFN_NORM || role == ROLE_OUT_NORM ||
	       role == ROLE_Q_NORM || role == ROLE_K_NORM;
}

static void
init_param(struct train_model *m, const struct train_param *p, uint64_t seed)
{
	uint64_t key = philox_key(seed, p->name, 0);
	float deviation = 0.02f, *x = m->value + p->at;
	size_t n = strlen(p->name), i;

	if (p->role == ROLE_O || p->role == ROLE_DOWN)
		deviation = (float)(0.02 / sqrt(2.0 * (double)m->hyper.layers));
	for (i = 0; i < p->count; i++)
		if (p->decays)
			x[i] = normal(key, i) * deviation;
		else
			x[i] = is_norm(p->role) && n > 7 && strcmp(p->name + n - 7, ".weight") == 0;
}

void
train_init(struct train_model *m, uint64_t seed)
{
	size_t i;

	for (i = 0; i < m->param_count; i++)
		init_param(m, &m->params[i], seed);
	train_clear(m);
	if (m->first) {
		memset(m->first, 0, m->total * sizeof *m->first);
		memset(m->second, 0, m->total * sizeof *m->second);
	}
}
