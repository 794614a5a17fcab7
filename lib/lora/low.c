#include "lora/low.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "lora/delta.h"

static int
refuse(const struct lora_hit *h, const char *what, struct err *e)
{
	err_set(e, ERR_INVALID, h->lora->w->name, "%s: %s cannot be added while a model computes",
	        h->part ? h->part->name : h->whole->name, what);
	return err_hint(e, "apr-lora apply makes a model of both");
}

/* The sum of the ranks of a tensor's adapters. */
static int
prove(const struct lora_aim *aim, size_t first, struct low_rank *low, struct err *e)
{
	uint64_t rank = 0, n;
	size_t i;

	for (i = first; i != SIZE_MAX; i = aim->hits[i].next) {
		const struct lora_hit *h = &aim->hits[i];

		if (!h->part)
			return refuse(h, "a replaced tensor", e);
		if (h->part->magnitude != SIZE_MAX)
			return refuse(h, "magnitudes (DoRA)", e);
		if (h->part->embedding)
			return refuse(h, "a change of the table of tokens", e);
		if (num_add(rank, h->part->rank, &rank) < 0)
			return err_memory(e);
		low->rows = (size_t)h->part->outputs;
		low->columns = (size_t)h->part->inputs;
	}
	if (num_mul(rank, low->rows, &n) < 0 || num_mul(rank, low->columns, &n) < 0)
		return err_memory(e);
	low->rank = (size_t)rank;
	low->left = mem_array((size_t)rank * low->rows, sizeof *low->left);
	low->right = mem_array((size_t)rank * low->columns, sizeof *low->right);
	return low->left && low->right ? 0 : err_memory(e);
}

/* Place one adapter's matrices from rank `at` on. */
static void
place(struct low_rank *low, const struct lora_delta *d, size_t at)
{
	size_t i, k;

	memcpy(low->right + at * low->columns, d->right,
	       d->rank * low->columns * sizeof *low->right);
	for (i = 0; i < low->rows; i++)
		for (k = 0; k < d->rank; k++)
			low->left[i * low->rank + at + k] = d->scale * d->left[i * d->rank + k];
}

static int
fill(const struct lora_aim *aim, size_t first, struct low_rank *low, struct err *e)
{
	size_t i, at = 0;

	for (i = first; i != SIZE_MAX; i = aim->hits[i].next) {
		struct lora_hit h = aim->hits[i];
		struct lora_delta d = { 0 };

		h.turned = false; /* a layer has its outputs as rows, whatever its tensor has */
		if (lora_delta_make(&d, &h, e) < 0) {
			lora_delta_free(&d);
			return -1;
		}
		place(low, &d, at);
		at += d.rank;
		lora_delta_free(&d);
	}
	return 0;
}

int
low_make(struct low_rank **to, size_t *n, const struct lora_aim *aim, size_t tensors,
         struct err *e)
{
	size_t i;

	*n = 0;
	*to = mem_array(aim->tensors, sizeof **to);
	if (!*to)
		return err_memory(e);
	for (i = 0; i < tensors; i++) {
		struct low_rank *low = &(*to)[*n];

		if (aim->first[i] == SIZE_MAX)
			continue;
		low->tensor = i;
		++*n;
		if (prove(aim, aim->first[i], low, e) < 0 ||
		    fill(aim, aim->first[i], low, e) < 0)
			return -1;
	}
	return 0;
}

void
low_free(struct low_rank *low, size_t n)
{
	size_t i;

	for (i = 0; low && i < n; i++) {
		free(low[i].left);
		free(low[i].right);
	}
	free(low);
}
