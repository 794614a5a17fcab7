/* hand: model folders made by hand, in memory: config.json and tensors.
 */
#ifndef HAND_H
#define HAND_H

#include <string.h>

#include "adapt/packed/packed.h"
#include "test.h"

#define HAND_TENSORS 32

struct hand {
	struct subject s;
	struct model plan;
	uint8_t *data[HAND_TENSORS];
	struct packed_list list;
	struct err e;
};

__attribute__((unused)) static void
hand_open(struct hand *h, const char *config)
{
	*h = (struct hand){ 0 };
	if (model_init(&h->plan, &h->e) < 0)
		exit(1);
	h->s = (struct subject){ .plan = &h->plan, .form = ARCH_FOLDER,
		.w = { .name = "folder", .plan = &h->plan } };
	h->s.config = json_parse(config, strlen(config), ERR_CORRUPT, "config.json", &h->e);
	if (!h->s.config) {
		printf("Bail out! %s: %s\n", config, h->e.fact);
		exit(1);
	}
}

/* Add a tensor; dims end with UINT64_MAX. Returns its bytes, all zero, to be filled. */
__attribute__((unused)) static void *
hand_tensor(struct hand *h, const char *name, const char *type, const uint64_t *dims)
{
	size_t i = h->plan.tensor_count;
	struct tensor *t;
	unsigned n = 0;

	while (dims[n] != UINT64_MAX)
		n++;
	t = tensor_new(name, strlen(name), dtype_by_name(type), n, dims, TENSOR_OWN_SIZE, "hand",
	               &h->e);
	if (!t || i == HAND_TENSORS || model_add_tensor(&h->plan, t, &h->e) < 0) {
		printf("Bail out! %s: %s\n", name, h->e.fact);
		exit(1);
	}
	h->data[i] = tensor_bytes(t) < 1 << 24 ? calloc(1, (size_t)tensor_bytes(t) + 1) : NULL;
	return h->data[i];
}

#define DIMS(...) ((const uint64_t[]){ __VA_ARGS__, UINT64_MAX })

__attribute__((unused)) static int
hand_read(void *ctx, size_t tensor, uint64_t offset, uint8_t *dst, size_t n, struct err *e)
{
	const struct hand *h = ctx;

	(void)e;
	if (tensor >= h->plan.tensor_count ||
	    offset + n > tensor_bytes(h->plan.tensors[tensor]))
		abort();
	memcpy(dst, h->data[tensor] + offset, n);
	return 0;
}

/* Find what is packed. 0 or -1. */
__attribute__((unused)) static int
hand_find(struct hand *h)
{
	packed_free(&h->list);
	h->e = (struct err)ERR_INIT;
	return packed_find(&h->s, &h->list, &h->e);
}

/* All values of weight i of the list; free them. NULL with h->e filled. */
__attribute__((unused)) static float *
hand_values(struct hand *h, size_t i)
{
	const struct packed *p = &h->list.p[i];
	const struct packed_reader in = { hand_read, h };
	uint64_t n = tensor_items(p->tensor), row = tensor_row(p->tensor);
	float *v = calloc((size_t)n + 1, sizeof *v);

	if (packed_rows(p, &in, 0, row ? n / row : 0, v, &h->e) == 0)
		return v;
	free(v);
	return NULL;
}

__attribute__((unused)) static void
hand_close(struct hand *h)
{
	size_t i;

	packed_free(&h->list);
	for (i = 0; i < h->plan.tensor_count; i++)
		free(h->data[i]);
	model_free(&h->plan);
	json_decref(h->s.config);
}

#endif
