#include "infer/cpu/cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/thread.h"
#include "infer/cpu/cache.h"
#include "infer/cpu/repack.h"
#include "kernels/attend.h"
#include "kernels/dot.h"

/* ---- the device and its memory ---- */

static bool
cpu_multiplies(const struct dtype *type, size_t columns)
{
	return dot_activation(type, columns) != NULL;
}

static void
cpu_close(struct device *d)
{
	if (!d)
		return;
	map_close(&d->memory);
	map_close(&d->packed);
	thin_close(&d->thin);
	free(d);
}

static struct device *
cpu_open(const struct device_options *o, struct err *e)
{
	struct device *d = mem_array(1, sizeof *d);
	size_t i, n;

	if (!d) {
		err_memory(e);
		return NULL;
	}
	d->threads = o->threads;
	d->heads = o->heads;
	d->head_v = o->head_v;
	for (i = 0; i < o->matrix_count; i++) {
		n = cpu_input_bytes(o->matrices[i]);
		if (n > d->input_bytes)
			d->input_bytes = n;
	}
	if ((o->thin && o->weights && thin_open(&d->thin, o, e) < 0) ||
	    (o->repack && repack(o, &d->packed, e) < 0)) {
		cpu_close(d);
		return NULL;
	}
	return d;
}

static uint64_t
cpu_row_bytes(const struct device *d)
{
	return d->input_bytes + 2 * d->heads * sizeof(float);
}

_Static_assert(sizeof(float) == sizeof(atomic_uint), "scratch items have one size");

/* n items of four bytes from *next on. */
static void *
take(float **next, uint64_t n)
{
	float *p = *next;

	*next += n;
	return p;
}

static int
cpu_reserve(struct device *d, size_t rows, struct err *e)
{
	uint64_t heads = d->heads, parts = CPU_PARTS * heads, bytes, all;
	float *next;

	if (num_mul(rows, cpu_row_bytes(d), &bytes) < 0 ||
	    num_add(bytes, (parts * (d->head_v + 2) + heads) * sizeof(float), &all) < 0)
		return err_memory(e);
	map_close(&d->memory);
	if (map_zeros(&d->memory, all, e) < 0)
		return -1;
	/* Inputs come first, because a page is aligned to DOT_ALIGN. */
	d->inputs = d->memory.p;
	next = (float *)(d->memory.p + rows * d->input_bytes);
	d->part_out = take(&next, parts * d->head_v);
	d->max = take(&next, rows * heads);
	d->sum = take(&next, rows * heads);
	d->part_max = take(&next, parts);
	d->part_sum = take(&next, parts);
	d->done = take(&next, heads);
	d->rows = rows;
	return 0;
}

/* A mapping costs memory only where it is written. Its struct map lies in front of it. */
static struct values
cpu_alloc(struct device *d, uint64_t n, struct err *e)
{
	struct values none = { NULL, 0 };
	struct map map = { 0 };
	uint64_t bytes;

	(void)d;
	_Static_assert(sizeof map <= 64, "the values are aligned");
	if (num_mul(n, sizeof(float), &bytes) < 0 || num_add(bytes, 64, &bytes) < 0) {
		err_memory(e);
		return none;
	}
	if (map_zeros(&map, bytes, e) < 0)
		return none;
	memcpy(map.p, &map, sizeof map);
	return (struct values){ map.p + 64, 0 };
}

static void
cpu_release(struct device *d, struct values v)
{
	struct map map;

	(void)d;
	if (!v.memory)
		return;
	memcpy(&map, (uint8_t *)v.memory - 64, sizeof map);
	map_close(&map);
}

static void
cpu_copy_in(struct device *d, struct values to, const float *from, size_t n)
{
	(void)d;
	memcpy(cpu_floats(to), from, n * sizeof *from);
}

static void
cpu_copy_out(struct device *d, float *to, struct values from, size_t n)
{
	(void)d;
	memcpy(to, cpu_floats(from), n * sizeof *to);
}

/* ---- embeddings and norms ---- */

static void
cpu_embed(struct device *d, const struct matrix *table, const uint32_t *id, size_t n,
          float scale, struct values y)
{
	size_t i, k;

	(void)d;
	for (i = 0; i < n; i++) {
		float *row = cpu_floats(y) + i * table->columns;

		matrix_row(table, id[i], row);
		for (k = 0; scale != 1 && k < table->columns; k++)
			row[k] *= scale;
	}
}

void
cpu_norm_rms(const float *x, const struct norm *w, size_t width, float *y)
{
	float scale = dot_rms(x, width, w->eps);
	size_t i;

	for (i = 0; i < width; i++)
		y[i] = x[i] * scale * w->weight[i] + (w->bias ? w->bias[i] : 0);
}

void
cpu_norm_layer(const float *x, const struct norm *w, size_t width, float *y)
{
	double mean = 0, variance = 0;
	float scale;
	size_t i;

	for (i = 0; i < width; i++)
		mean += (double)x[i];
	mean /= (double)width;
	for (i = 0; i < width; i++)
		variance += ((double)x[i] - mean) * ((double)x[i] - mean);
	scale = 1 / sqrtf((float)(variance / (double)width) + w->eps);
	for (i = 0; i < width; i++)
		y[i] = (x[i] - (float)mean) * scale * w->weight[i] +
		       (w->bias ? w->bias[i] : 0);
}

struct norm_task {
	const struct norm *w;
	const float *x;
	size_t n, width;
	float *y;
};
#define NORM_ROWS 16 /* of a task */

static void
norm_rows(void *ctx, size_t task)
{
	const struct norm_task *t = ctx;
	size_t i, last = (task + 1) * NORM_ROWS < t->n ? (task + 1) * NORM_ROWS : t->n;

	for (i = task * NORM_ROWS; i < last; i++)
		(t->w->layer ? cpu_norm_layer : cpu_norm_rms)(t->x + i * t->width, t->w,
		                                              t->width, t->y + i * t->width);
}

static void
cpu_norm(struct device *d, const struct norm *w, struct values x, size_t n, size_t width,
         struct values y)
{
	struct norm_task t = { w, cpu_floats(x), n, width, cpu_floats(y) };

	thread_for(d->threads, (n + NORM_ROWS - 1) / NORM_ROWS, norm_rows, &t);
}

/* ---- activations ---- */

float
cpu_act(enum act act, float x)
{
	const float root = 0.79788456080286535588f; /* sqrt(2/π) */

	switch (act) {
	case ACT_SILU:
		return x / (1 + expf(-x));
	case ACT_GELU_TANH:
		return 0.5f * x * (1 + tanhf(root * x * (1 + 0.044715f * x * x)));
	case ACT_GELU_HALF:
		if (x <= -10 || x >= 10)
			return x < 0 ? 0 : x;
		return half_f16_f32(half_f32_f16(
			cpu_act(ACT_GELU_TANH, half_f16_f32(half_f32_f16(x)))));
	case ACT_GELU_ERF:
		return 0.5f * x * (1 + erff(x * 0.70710678118654752440f));
	case ACT_RELU_SQUARED:
		return x > 0 ? x * x : 0;
	}
	return x;
}

struct act_task {
	enum act act;
	const float *gate; /* or NULL */
	float *up;
	size_t n;
};
#define ACT_VALUES 2048 /* of a task */

static void
act_some(void *ctx, size_t task)
{
	const struct act_task *t = ctx;
	size_t i = task * ACT_VALUES, last = t->n - i < ACT_VALUES ? t->n : i + ACT_VALUES;

	if (t->gate && t->act == ACT_SILU) {
		attend_now()->gate(t->gate + i, t->up + i, last - i);
		return;
	}
	for (; i < last; i++)
		t->up[i] = t->gate ? t->up[i] * cpu_act(t->act, t->gate[i])
		                   : cpu_act(t->act, t->up[i]);
}

static void
cpu_act_all(struct device *d, enum act act, struct values gate, struct values up, size_t n)
{
	struct act_task t = { act, gate.memory ? cpu_floats(gate) : NULL, cpu_floats(up), n };

	thread_for(d->threads, (n + ACT_VALUES - 1) / ACT_VALUES, act_some, &t);
}

/* ---- rotary positions, and what is kept ---- */

#define TOKENS 16 /* of a task */

static size_t
token_tasks(size_t n)
{
	return (n + TOKENS - 1) / TOKENS;
}

static size_t
last_token(size_t task, size_t n)
{
	return n - task * TOKENS < TOKENS ? n : (task + 1) * TOKENS;
}

static void
turn_pairs(float *head, const struct rotation *r, const float *cosines, const float *sines)
{
	size_t i, half = r->rot / 2;

	for (i = 0; i < half; i++) {
		float *x = r->halves ? &head[i] : &head[2 * i];
		float *y = r->halves ? &head[i + half] : &head[2 * i + 1];
		float a = *x, b = *y;

		*x = a * cosines[i] - b * sines[i];
		*y = a * sines[i] + b * cosines[i];
	}
}

/* The halves of the first rot values become pairs of neighbours. */
static void
join_halves(float *head, size_t rot)
{
	float old[HYPER_HEAD];
	size_t i;

	memcpy(old, head, rot * sizeof *old);
	for (i = 0; i < rot / 2; i++) {
		head[2 * i] = old[i];
		head[2 * i + 1] = old[i + rot / 2];
	}
}

void
cpu_rope(float *head, const struct rotation *r, const float *cosines, const float *sines)
{
	if (cosines)
		turn_pairs(head, r, cosines, sines);
	if (r->halves && r->join)
		join_halves(head, r->rot);
}

struct rope_task {
	const struct rotation *r;
	float *x;
	size_t n, heads, width;
};

static void
rope_tokens(void *ctx, size_t task)
{
	const struct rope_task *t = ctx;
	const struct rotation *r = t->r;
	size_t at, i, k;

	for (i = task * TOKENS; i < last_token(task, t->n); i++) {
		at = i * (r->rot / 2);
		for (k = 0; k < t->heads; k++)
			cpu_rope(t->x + (i * t->heads + k) * t->width, r,
			         r->cosines.memory ? cpu_floats(r->cosines) + at : NULL,
			         r->sines.memory ? cpu_floats(r->sines) + at : NULL);
	}
}

static void
cpu_rope_all(struct device *d, const struct rotation *r, struct values x, size_t n,
             size_t heads, size_t width)
{
	struct rope_task t = { r, cpu_floats(x), n, heads, width };

	thread_for(d->threads, token_tasks(n), rope_tokens, &t);
}

struct keep_task {
	struct cache *cache;
	size_t layer, position, n;
	const float *k, *v;
};

static void
keep_tokens(void *ctx, size_t task)
{
	const struct keep_task *t = ctx;
	const struct cache_shape *s = &t->cache->shape;
	size_t i, h;

	for (i = task * TOKENS; i < last_token(task, t->n); i++)
		for (h = 0; h < s->heads; h++) {
			size_t at = i * s->heads + h;

			cache_put_key(t->cache, t->layer, h, t->position + i, t->k + at * s->head_k);
			cache_put_value(t->cache, t->layer, h, t->position + i,
			                t->v + at * s->head_v);
		}
}

static void
cpu_keep(struct device *d, struct cache *c, size_t layer, size_t position, struct values k,
         struct values v, size_t n)
{
	struct keep_task t = { c, layer, position, n, cpu_floats(k), cpu_floats(v) };

	thread_for(d->threads, token_tasks(n), keep_tokens, &t);
}

/* ---- rows ---- */

static void
cpu_add(struct device *d, struct values x, struct values y, size_t n)
{
	float *to = cpu_floats(x);
	const float *from = cpu_floats(y);
	size_t i;

	(void)d;
	for (i = 0; i < n; i++)
		to[i] += from[i];
}

static void
cpu_clear(struct device *d, struct values x, size_t n)
{
	(void)d;
	memset(cpu_floats(x), 0, n * sizeof(float));
}

static void
cpu_gather(struct device *d, struct values x, const uint32_t *row, size_t n, size_t width,
           struct values y)
{
	size_t i;

	(void)d;
	for (i = 0; i < n; i++)
		memcpy(cpu_floats(y) + i * width, cpu_floats(x) + row[i] * width,
		       width * sizeof(float));
}

static void
cpu_scatter(struct device *d, struct values x, const uint32_t *row, const float *weight,
            size_t n, size_t width, struct values y)
{
	size_t i, k;

	(void)d;
	for (i = 0; i < n; i++) {
		const float *from = cpu_floats(x) + i * width;
		float *to = cpu_floats(y) + row[i] * width;

		for (k = 0; k < width; k++)
			to[k] += weight[i] * from[k];
	}
}

const struct ops ops_cpu = {
	.name = "cpu",
	.multiplies = cpu_multiplies,
	.open = cpu_open, .close = cpu_close,
	.row_bytes = cpu_row_bytes, .reserve = cpu_reserve,
	.alloc = cpu_alloc, .release = cpu_release,
	.copy_in = cpu_copy_in, .copy_out = cpu_copy_out,
	.cache_open = cache_open, .cache_close = cache_close, .cache_bytes = cache_bytes,
	.embed = cpu_embed, .norm = cpu_norm, .linear = cpu_linear, .act = cpu_act_all,
	.rope = cpu_rope_all, .keep = cpu_keep, .attend = cpu_attend,
	.add = cpu_add, .clear = cpu_clear,
	.gather = cpu_gather, .scatter = cpu_scatter, .dots = cpu_dots,
};
