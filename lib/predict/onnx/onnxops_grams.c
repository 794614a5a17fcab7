/* TfIdfVectorizer of ONNX: counts of n-grams of texts or numbers, with items left out between theirs. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/onnx/onnxops.h"
#include "tokenizer/vocab.h"

#define RUN struct ops_run *r, const struct ops_node *n, const struct ops_tensor *const *in, struct ops_tensor *out

struct grams {
	struct ops_table items;     /* words or numbers; an item is the first place of it in the pool */
	size_t shortest, longest, skips;
	struct gram {
		uint32_t from, size, column; /* in ids */
	} *grams;
	size_t count;
	uint32_t *ids, *slots;
	size_t slot_count;
	uint64_t seed;
	size_t width;
	const double *weights;
	enum { COUNT, ONCE, COUNT_TIMES } mode;
};

#define NO_GRAM UINT32_MAX
#define LONGEST 1024

static void
grams_free(void *more)
{
	struct grams *g = more;

	free(g->items.keys);
	free(g->grams);
	free(g->ids);
	free(g->slots);
	free(g);
}

static uint64_t
mix(uint64_t hash, uint32_t id)
{
	hash = (hash ^ id) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

/* The gram of these ids; NO_GRAM: none. */
static uint32_t
find_gram(const struct grams *g, const uint32_t *ids, uint32_t size, uint64_t hash)
{
	size_t at = hash & (g->slot_count - 1);

	for (; g->slots[at] != NO_GRAM; at = (at + 1) & (g->slot_count - 1)) {
		const struct gram *x = &g->grams[g->slots[at]];

		if (x->size == size && memcmp(g->ids + x->from, ids, size * sizeof *ids) == 0)
			return g->slots[at];
	}
	return NO_GRAM;
}

static int
add_gram(struct ops_reader *x, struct ops_node *n, struct grams *g, size_t from, size_t size, double column)
{
	uint64_t hash = g->seed;
	size_t i, at;

	for (i = 0; i < size; i++)
		hash = mix(hash, g->ids[from + i]);
	if (find_gram(g, g->ids + from, (uint32_t)size, hash) != NO_GRAM)
		return ops_reader_wrong(x, n, "an n-gram stands twice in the pool");
	for (at = hash & (g->slot_count - 1); g->slots[at] != NO_GRAM; at = (at + 1) & (g->slot_count - 1))
		;
	g->slots[at] = (uint32_t)g->count;
	g->grams[g->count++] = (struct gram){ (uint32_t)from, (uint32_t)size, (uint32_t)column };
	return 0;
}

/* The ids of the items of the pool. */
static int
number_items(struct ops_reader *x, struct grams *g, const double *numbers, const struct step_text *texts, size_t n)
{
	static const struct step_text none = { "", 0 };
	size_t i;

	for (g->slot_count = 8; g->slot_count < 2 * n; g->slot_count *= 2)
		;
	g->ids = mem_array(n, sizeof *g->ids);
	g->grams = mem_array(n, sizeof *g->grams);
	g->slots = mem_array(g->slot_count, sizeof *g->slots);
	if (!g->ids || !g->grams || !g->slots || ops_table(&g->items, numbers, texts, n) < 0)
		return err_memory(x->x->e);
	memset(g->slots, 0xff, g->slot_count * sizeof *g->slots);
	for (i = 0; i < n; i++)
		g->ids[i] = (uint32_t)ops_search(&g->items, texts ? 0 : numbers[i], texts ? texts[i] : none);
	return 0;
}

/* The n-grams of each size stand in the pool one behind the other. */
static int
add_grams(struct ops_reader *x, struct ops_node *n, struct grams *g, size_t pool)
{
	const struct ops_attribute *counts = ops_attribute(n, "ngram_counts"), *columns = ops_attribute(n, "ngram_indexes");
	size_t k, number = 0;

	for (k = 0; k < counts->count; k++) {
		double from = counts->list[k], to = k + 1 < counts->count ? counts->list[k + 1] : (double)pool;
		size_t size = k + 1, at;

		if (!(from >= 0 && from <= to && to <= (double)pool) || ((size_t)to - (size_t)from) % size)
			return ops_reader_wrong(x, n, "the sizes of the n-grams do not fit the pool");
		for (at = (size_t)from; at < (size_t)to; at += size, number++) {
			if (number >= columns->count)
				return ops_reader_wrong(x, n, "the pool has more n-grams than columns are named");
			if (size >= g->shortest && size <= g->longest && add_gram(x, n, g, at, size, columns->list[number]) < 0)
				return -1;
		}
	}
	return 0;
}

static int
open_grams(struct ops_reader *x, struct ops_node *n)
{
	const struct ops_attribute *texts = ops_attribute(n, "pool_strings"), *numbers = ops_attribute(n, "pool_int64s"),
	                           *counts = ops_attribute(n, "ngram_counts"), *columns = ops_attribute(n, "ngram_indexes"),
	                           *weights = ops_attribute(n, "weights");
	double shortest = ops_number(n, "min_gram_length", 0), longest = ops_number(n, "max_gram_length", 0);
	double skips = ops_number(n, "max_skip_count", 0);
	size_t i, pool = texts ? texts->text_count : numbers ? numbers->count : 0;
	struct grams *g = mem_array(1, sizeof *g);

	if (!g)
		return err_memory(x->x->e);
	n->more = g;
	n->free_more = grams_free;
	if (!pool || !counts || !columns || !columns->count || pool > UINT32_MAX / 4)
		return ops_reader_wrong(x, n, "the pool or the columns are missing");
	if (!(shortest >= 1 && shortest <= longest && longest <= LONGEST && longest <= (double)counts->count && skips >= 0))
		return ops_reader_wrong(x, n, "the sizes of the n-grams or the skips are wrong");
	for (i = 0; i < columns->count; i++) {
		if (!(columns->list[i] >= 0 && columns->list[i] < FOREST_FEATURES))
			return ops_reader_wrong(x, n, "a column is wrong");
		g->width = columns->list[i] >= (double)g->width ? (size_t)columns->list[i] + 1 : g->width;
	}
	g->mode = ops_says(n, "mode", "TF") ? COUNT : ops_says(n, "mode", "IDF") ? ONCE : COUNT_TIMES;
	g->weights = weights && weights->count ? weights->list : NULL;
	if (g->weights && weights->count < g->width && g->mode != COUNT)
		return ops_reader_wrong(x, n, "the weights are fewer than the columns");
	g->shortest = (size_t)shortest;
	g->longest = (size_t)longest;
	g->skips = skips < OPS_WHOLE ? (size_t)skips : (size_t)OPS_WHOLE;
	g->seed = hash_seed();
	if (number_items(x, g, numbers && !texts ? numbers->list : NULL, texts ? texts->texts : NULL, pool) < 0)
		return -1;
	return add_grams(x, n, g, pool);
}

/* Counts the n-grams of at least `least` items that begin at ids[0], with this many items in each step. */
static int
count_from(struct ops_run *r, const struct ops_node *n, const uint32_t *ids, size_t left, size_t least, size_t step,
           double *to)
{
	const struct grams *g = n->more;
	uint32_t sample[LONGEST], size, gram;
	uint64_t hash = g->seed;
	size_t at;

	for (at = 0, size = 1; size <= g->longest && at < left; size++, at += step) {
		if (ids[at] == NO_GRAM)
			break;
		sample[size - 1] = ids[at];
		hash = mix(hash, ids[at]);
		if (size < least)
			continue;
		gram = find_gram(g, sample, size, hash);
		if (gram != NO_GRAM)
			to[g->grams[gram].column]++;
	}
	return ops_work(r, n, 4 * size);
}

static int
count_grams(struct ops_run *r, const struct ops_node *n, const uint32_t *ids, size_t count, double *to)
{
	const struct grams *g = n->more;
	size_t least = g->shortest, step, i;

	for (step = 1; step <= g->skips + 1; step++) {
		if (least > 1 && step > (count ? count - 1 : 0) / (least - 1))
			break;
		for (i = 0; i < count && (least - 1) * step < count - i; i++)
			if (count_from(r, n, ids + i, count - i, least, step, to) < 0)
				return -1;
		if (least == 1) /* those of one item do not skip */
			least = 2;
		if (least > g->longest)
			break;
	}
	return 0;
}

static int
vectorize(RUN)
{
	static const struct step_text none = { "", 0 };
	const struct grams *g = n->more;
	const struct ops_tensor *x = in[0];
	size_t rows, count, i, j, dims[2];
	uint32_t *ids;

	if (x->rank == 0 || x->rank > 2 || g->items.texts != (x->type == OPS_STRING))
		return ops_wrong(r, n, "the input is not a list of what the pool has");
	rows = x->rank == 2 ? x->dims[0] : 1;
	count = x->dims[x->rank - 1];
	dims[0] = x->rank == 2 ? rows : g->width;
	dims[1] = g->width;
	ids = ops_take(&r->memory, x->n, sizeof *ids);
	if (!ids)
		return ops_wrong(r, n, "too many texts");
	if (ops_make(r, n, out, OPS_FLOAT, x->rank, dims) < 0 || ops_work(r, n, 20 * x->n) < 0)
		return -1;
	for (i = 0; i < x->n; i++) {
		size_t at = ops_search(&g->items, g->items.texts ? 0 : x->v[i], g->items.texts ? x->t[i] : none);

		ids[i] = at == SIZE_MAX ? NO_GRAM : (uint32_t)at;
	}
	for (i = 0; i < rows; i++) {
		double *to = out->v + i * g->width;

		if (count_grams(r, n, ids + i * count, count, to) < 0)
			return -1;
		for (j = 0; g->mode != COUNT && j < g->width; j++)
			to[j] = (g->mode == ONCE ? to[j] > 0 : to[j]) * (g->weights ? g->weights[j] : 1);
	}
	return ops_round(r, n, out);
}

const struct ops_operator ops_grams[] = {
	{ "", "TfIdfVectorizer", 1, vectorize, open_grams, NULL, NULL }, { NULL, NULL, 0, NULL, NULL, NULL, NULL },
};
