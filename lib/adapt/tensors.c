#include "adapt/tensors.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

struct tensors_row *
tensors_add(struct tensors *p, struct tensor *t, struct err *e)
{
	struct tensors_row *row;

	if (!t)
		return NULL;
	if (mem_grow(&p->rows, &p->cap, p->count + 1, sizeof *p->rows) < 0) {
		tensor_free(t);
		err_memory(e);
		return NULL;
	}
	row = &p->rows[p->count++];
	*row = (struct tensors_row){ .t = t, .move = { .repeat = 1 }, .about = SIZE_MAX };
	return row;
}

int
tensors_add_piece(struct tensors_row *row, struct move_piece piece, struct err *e)
{
	size_t cap = row->move.n; /* grows by doubling from powers of two */
	bool full = (cap & (cap - 1)) == 0;

	move_simplify(&piece);
	if (full) {
		struct move_piece *more = realloc(row->move.pieces,
		                                  (cap ? cap * 2 : 1) * sizeof *more);

		if (!more)
			return err_memory(e);
		row->move.pieces = more;
	}
	row->move.pieces[row->move.n++] = piece;
	return 0;
}

void
tensors_free(struct tensors *p)
{
	size_t i;

	for (i = 0; i < p->count; i++) {
		tensor_free(p->rows[i].t);
		free(p->rows[i].move.pieces);
		free(p->rows[i].made);
	}
	free(p->rows);
	packed_free(&p->packed);
	*p = (struct tensors){ 0 };
}

const struct tensor *
tensors_source(const struct tensors *p, const struct subject *s, size_t source)
{
	return source < p->sources ? s->plan->tensors[source]
	                           : p->packed.p[source - p->sources].tensor;
}

/* ---- what the keys say about the tensors ---- */

/* Numbers of llama.cpp's llama_ftype. */
uint32_t
tensors_file_type(const struct tensors *p)
{
	static const struct {
		const char *type;
		uint32_t number;
	} types[] = { { "F32", 0 }, { "F16", 1 }, { "BF16", 32 }, { "Q8_0", 7 } };
	size_t i;

	for (i = 0; i < p->count; i++)
		if (strcmp(tensor_type(p->rows[i].t)->name, "MXFP4") == 0 &&
		    strcmp(p->type->name, "Q8_0") != 0)
			return 38;
	for (i = 0; i < sizeof types / sizeof *types; i++)
		if (strcmp(types[i].type, p->type->name) == 0)
			return types[i].number;
	return 0;
}

struct general_sizes
tensors_sizes(const struct tensors *p)
{
	struct general_sizes s = { 0 };
	uint64_t sum = 0, stacks = 0;
	size_t i;

	for (i = 0; i < p->count; i++) {
		const struct tensor *t = p->rows[i].t;
		const char *name = tensor_name(t);
		uint64_t n = tensor_items(t), of;

		s.all += n;
		of = tensor_ndim(t) > 1 ? tensor_dims(t)[0] : 0;
		if (strstr(name, "_exps.") && of) {
			s.expert += n / of;
			sum += of;
			stacks++;
		} else {
			s.shared += n;
		}
	}
	s.experts = stacks ? sum / stacks : 0;
	return s;
}
