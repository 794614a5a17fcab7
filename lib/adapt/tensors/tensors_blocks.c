/* Experts of gpt-oss in MXFP4: from the blocks of GGUF, a scale and 16 bytes each, to the two
 * tensors of a folder. */
#include <stdio.h>
#include <string.h>

#include "adapt/tensors/tensors_back.h"

#define BLOCK 17 /* bytes */
#define VALUES 32

bool
tensors_is_mxfp4(const struct backward *f, const struct back *b)
{
	const struct tensor *t = back_tensor(f, b);
	const struct arch_rule *r;
	size_t i;

	if (!f->o->blocks || b->bias || tensor_ndim(t) != 3 ||
	    strcmp(tensor_type(t)->name, "MXFP4") != 0)
		return false;
	for (i = 0; (r = arch_rule(f->s->arch, i)); i++)
		if (r->role == b->rule->role && r->flags & RULE_PACKED)
			return true;
	return false;
}

/* One of the two targets: for each row of each expert, `size` bytes of each block from byte
 * `first` on. parts: tensors whose rows alternate. */
static int
add_bytes(struct backward *f, const struct back *const parts[], size_t n, const char *end,
          unsigned first, unsigned size)
{
	const uint64_t *d = tensor_dims(back_tensor(f, parts[0]));
	const uint64_t blocks = d[2] / VALUES, dims[] = { d[0], d[1] * n, blocks, size };
	char name[MATCH_NAME], full[MATCH_NAME + 16];
	struct tensors_row *row;
	size_t i;

	match_name(parts[0]->rule, ARCH_FOLDER, false, parts[0]->block, 0, name);
	snprintf(full, sizeof full, "%s%s", name, end);
	row = tensors_add(f->p, tensor_new(full, strlen(full), dtype_by_name("U8"),
	                  size > 1 ? 4 : 3, dims, TENSOR_OWN_SIZE, f->s->w.name, f->e), f->e);
	if (!row)
		return -1;
	row->from = tensor_type(row->t);
	row->about = parts[0]->source;
	row->rank = parts[0]->index;
	row->last = 0;
	row->math = size > 1 ? MATH_PAIRS : MATH_NONE;
	if (n > 1)
		row->move.repeat = d[0] * d[1];
	for (i = 0; i < n; i++) {
		struct move_piece p = { .source = parts[i]->source, .base = first,
			.step = blocks * BLOCK, .n = 2,
			.count = { n > 1 ? blocks : d[0] * d[1] * blocks, size },
			.stride = { BLOCK, 1 } };

		if (parts[i]->source > row->last)
			row->last = parts[i]->source;
		if (tensors_add_piece(row, p, f->e) < 0)
			return -1;
	}
	return 0;
}

int
tensors_add_mxfp4(struct backward *f, const struct back *b)
{
	const struct back *parts[2] = { b, NULL };
	const struct tensor *t = back_tensor(f, b), *other;
	size_t n = 1;

	if (b->rule->change == CHANGE_ODD)
		return 0; /* with its partner */
	if (b->rule->change == CHANGE_EVEN) {
		parts[1] = tensors_find_back(f, ROLE_UP_EXPS, b->block, false);
		other = parts[1] ? back_tensor(f, parts[1]) : NULL;
		if (!other || tensor_type(other) != tensor_type(t) || tensor_ndim(other) != 3 ||
		    memcmp(tensor_dims(other), tensor_dims(t), 3 * sizeof *tensor_dims(t)) != 0)
			return tensors_mismatch(f, b, "gate and up of its block have other shapes or types");
		n = 2;
	}
	f->p->has_blocks = true;
	return add_bytes(f, parts, n, "_blocks", 1, 16) < 0 ? -1
	       : add_bytes(f, parts, n, "_scales", 0, 1);
}
