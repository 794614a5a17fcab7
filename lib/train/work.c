/* work: the memory of a pass. */
#include <inttypes.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/num.h"
#include "train/train_parts.h"

enum {
	LOGITS = 1 << 21, /* about as many are computed at a time */
	CHUNK = 16,       /* rows of them: a multiple of this */
	ALIGN = 16,       /* floats */
};

/* Takes arrays from a block of memory, or only counts what they need. */
struct taker {
	float *next;     /* NULL: count */
	uint64_t floats;
	bool overflow;
};

static float *
take(struct taker *t, uint64_t n, uint64_t times)
{
	float *p = t->next;
	uint64_t all;

	if (num_mul(n, times, &all) < 0 || num_align(all, ALIGN, &all) < 0 ||
	    num_add(t->floats, all, &t->floats) < 0 || t->floats > INT64_MAX / sizeof *p) {
		t->overflow = true;
		return NULL;
	}
	if (p)
		t->next += all;
	return p;
}

static void
take_kept(struct taker *t, const struct train_work *w, struct train_kept *k)
{
	const struct hyper *h = &w->m->hyper;
	uint64_t n = w->tokens, nq = h->heads * h->head_k, nk = h->kv_heads * h->head_k;
	bool normed = w->m->layers[0].q_norm.weight != TRAIN_NONE;
	bool gated = w->m->layers[0].gate.weight != TRAIN_NONE;

	k->x = take(t, n, h->width);
	k->mean = take(t, n, 1);
	k->factor = take(t, n, 1);
	k->h = take(t, n, h->width);
	k->q_in = take(t, n, normed ? nq : 0);
	k->q_mean = take(t, n, normed ? h->heads : 0);
	k->q_factor = take(t, n, normed ? h->heads : 0);
	k->k_in = take(t, n, normed ? nk : 0);
	k->k_mean = take(t, n, normed ? h->kv_heads : 0);
	k->k_factor = take(t, n, normed ? h->kv_heads : 0);
	k->q = take(t, n, nq);
	k->k = take(t, n, nk);
	k->v = take(t, n, h->kv_heads * h->head_v);
	k->most = take(t, n, h->heads);
	k->share = take(t, n, h->heads);
	k->att = take(t, n, h->heads * h->head_v);
	k->x2 = take(t, n, h->width);
	k->mean2 = take(t, n, 1);
	k->factor2 = take(t, n, 1);
	k->h2 = take(t, n, h->width);
	k->up = take(t, n, w->ff);
	k->gate = gated ? take(t, n, w->ff) : k->up;
}

static uint64_t
larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The largest packed matrix of weights, either way round, the output's apart. */
static uint64_t
packed_weights(const struct train_work *w)
{
	const struct hyper *h = &w->m->hyper;
	uint64_t most = larger(larger(h->heads * h->head_k, h->heads * h->head_v), w->ff), n;

	n = larger(TRAINING_PACKED(h->width, most), TRAINING_PACKED(most, h->width));
	return larger(n, TRAINING_PACKED(h->width, h->vocabulary));
}

static void
take_back(struct taker *t, struct train_work *w)
{
	const struct hyper *h = &w->m->hyper;
	uint64_t n = w->tokens, nv = h->heads * h->head_v;

	w->dx = take(t, n, h->width);
	w->dh = take(t, n, h->width);
	w->dq = take(t, n, h->heads * h->head_k);
	w->dk = take(t, n, h->kv_heads * h->head_k);
	w->dv = take(t, n, h->kv_heads * h->head_v);
	w->datt = take(t, n, nv);
	w->dwide = take(t, n, w->ff);
	w->back_weights = take(t, TRAINING_PACKED(h->vocabulary, h->width), 1);
	w->inputs = take(t, n, TRAINING_PACKED(1, larger(larger(h->width, nv), w->ff)));
}

static void
take_all(struct taker *t, struct train_work *w)
{
	const struct hyper *h = &w->m->hyper;
	uint64_t n = w->tokens;
	size_t i;

	for (i = 0; i < h->layers; i++)
		if (i > 0 && (w->flags & TRAIN_FORWARD))
			w->kept[i] = w->kept[0];
		else
			take_kept(t, w, &w->kept[i]);
	w->last.x = take(t, n, h->width);
	w->last.mean = take(t, n, 1);
	w->last.factor = take(t, n, 1);
	w->last.h = take(t, n, h->width);
	w->wide = take(t, n, w->ff);
	w->y = take(t, n, h->width);
	w->weights = take(t, packed_weights(w), 1);
	w->logits = take(t, w->chunk, h->vocabulary);
	w->teacher = take(t, w->chunk, h->vocabulary);
	w->losses = (double *)(void *)take(t, w->chunk, 2 * sizeof(double) / sizeof(float));
	w->cosines = take(t, w->length, h->rotary ? h->rope.rot / 2 : 0);
	w->sines = take(t, w->length, h->rotary ? h->rope.rot / 2 : 0);
	w->attention_size = train_attend_size(w->m, w->length);
	w->attention = take(t, w->attention_size, w->jobs);
	if (!(w->flags & TRAIN_FORWARD))
		take_back(t, w);
}

/* The sizes that follow from the model. */
static int
measure(struct train_work *w, struct train_model *m, size_t rows, size_t length, unsigned flags,
        unsigned jobs, struct err *e)
{
	uint64_t tokens, rounded;
	size_t i;

	*w = (struct train_work){ .m = m, .rows = rows, .length = length, .flags = flags,
		.jobs = jobs ? jobs : 1 };
	if (num_mul(rows, length, &tokens) < 0 || tokens == 0 || tokens >= UINT32_MAX)
		return err_set(e, ERR_INVALID, NULL, "a batch of %zu texts of %zu tokens is not possible",
		               rows, length);
	w->tokens = (size_t)tokens;
	for (i = 0; i < m->hyper.layers; i++)
		w->ff = larger(w->ff, m->layers[i].up.rows);
	rounded = (LOGITS / m->hyper.vocabulary + CHUNK) / CHUNK * CHUNK;
	w->chunk = (size_t)num_min(rounded, (tokens + CHUNK - 1) / CHUNK * CHUNK);
	w->kept = mem_array(m->hyper.layers, sizeof *w->kept);
	return w->kept ? 0 : err_memory(e);
}

static uint64_t
bytes_of(struct train_work *w)
{
	struct taker t = { 0 };

	take_all(&t, w);
	return t.overflow ? UINT64_MAX : t.floats * sizeof(float);
}

uint64_t
train_work_bytes(struct train_model *m, size_t rows, size_t length, unsigned flags, unsigned jobs)
{
	struct train_work w;
	struct err e = ERR_INIT;
	uint64_t bytes = UINT64_MAX;

	if (measure(&w, m, rows, length, flags, jobs, &e) == 0)
		bytes = bytes_of(&w);
	free(w.kept);
	return bytes;
}

static int
allocate(struct train_work *w, uint64_t limit, struct err *e)
{
	uint64_t bytes = bytes_of(w);
	struct taker t = { 0 };

	if (bytes == UINT64_MAX || (limit && bytes > limit))
		return err_set(e, ERR_MEMORY, NULL, "batches of %zu texts of %zu tokens need %" PRIu64
		               " MiB of memory, and %" PRIu64 " MiB are allowed", w->rows, w->length,
		               bytes >> 20, limit >> 20);
	w->memory = mem_array((size_t)bytes + ALIGN * sizeof(float), 1);
	if (!w->memory)
		return err_set(e, ERR_MEMORY, NULL, "batches of %zu texts of %zu tokens need %" PRIu64
		               " MiB of memory", w->rows, w->length, bytes >> 20);
	t.next = (float *)(((uintptr_t)w->memory + 4 * ALIGN - 1) & ~(uintptr_t)(4 * ALIGN - 1));
	take_all(&t, w);
	return 0;
}

static void
fill_angles(struct train_work *w)
{
	const struct rope *r = &w->m->hyper.rope;
	size_t i;

	for (i = 0; w->m->hyper.rotary && i < w->length; i++)
		train_angles(r, (double)i, w->cosines + i * (r->rot / 2), w->sines + i * (r->rot / 2));
}

struct train_work *
train_work_open(struct train_model *m, size_t rows, size_t length, unsigned flags, unsigned jobs,
                uint64_t limit, struct err *e)
{
	struct train_work *w = mem_array(1, sizeof *w);

	if (!w) {
		err_memory(e);
		return NULL;
	}
	if (m->ends->positions != TRAIN_NONE && length > m->params[m->ends->positions].rows)
		err_set(e, ERR_INVALID, NULL, "the model has %zu positions, and %zu are wanted",
		        m->params[m->ends->positions].rows, length);
	else if (!m->gradient && !(flags & TRAIN_FORWARD))
		err_set(e, ERR_INVALID, NULL, "a frozen model cannot learn");
	else if (measure(w, m, rows, length, flags, jobs, e) == 0 && allocate(w, limit, e) == 0) {
		w->t = training_now(NULL);
		fill_angles(w);
		return w;
	}
	train_work_close(w);
	return NULL;
}

void
train_work_close(struct train_work *w)
{
	if (!w)
		return;
	free(w->kept);
	free(w->memory);
	free(w);
}
