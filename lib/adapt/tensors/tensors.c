#include "adapt/tensors/tensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/tensors/tensors_parts.h"
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

int
tensors_add_memory(struct tensors *p, uint8_t *bytes, size_t n, size_t *source,
                   struct err *e)
{
	if (mem_grow(&p->memory, &p->memory_cap, p->memory_count + 1, sizeof *p->memory) < 0) {
		free(bytes);
		return err_memory(e);
	}
	*source = p->sources + p->packed.count + p->memory_count;
	p->memory[p->memory_count++] = (struct tensors_bytes){ bytes, n };
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
	for (i = 0; i < p->memory_count; i++)
		free(p->memory[i].p);
	free(p->memory);
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

/* ---- shapes ---- */

unsigned
tensors_asked(const struct sizes *sizes, const struct arch_rule *rule, bool bias,
              uint64_t dims[TENSOR_DIMS], uint64_t *stack)
{
	unsigned n = shape_dims(rule_shape(rule), sizes, dims, stack);

	if (!bias || rule->flags & RULE_AS_BIAS || n < 2)
		return n;
	if (rule->change == CHANGE_TURN)
		dims[0] = dims[n - 1];
	return 1;
}

static void
put_shape(struct buf *b, unsigned n, const uint64_t *dims)
{
	unsigned i;

	for (i = 0; i < n; i++)
		buf_printf(b, dims[i] ? "%s%" PRIu64 : "%s?", i ? "x" : "", dims[i]);
}

int
tensors_prove_shape(const struct sizes *sizes, const struct arch_rule *rule, bool bias,
                    const char *name, unsigned ndim, const uint64_t *dims,
                    const char *where, struct err *e)
{
	uint64_t ask[TENSOR_DIMS], stack;
	unsigned n = tensors_asked(sizes, rule, bias, ask, &stack), i;
	struct buf is = { 0 }, asked = { 0 };
	bool same = n == ndim;

	for (i = 0; same && i < n; i++)
		same = ask[i] == 0 || ask[i] == dims[i];
	if (same)
		return 0;
	put_shape(&is, ndim, dims);
	put_shape(&asked, n, ask);
	err_set(e, ERR_INVALID, name, "ArchitectureMismatch: its shape is %s, but %s for %s",
	        buf_string(&is) ? buf_string(&is) : "", where,
	        buf_string(&asked) ? buf_string(&asked) : "another");
	buf_free(&is);
	buf_free(&asked);
	return -1;
}

/* ---- what is too much or missing ---- */

int
tensors_unknown(const struct subject *s, const char *name, struct err *e)
{
	err_set(e, ERR_INVALID, name, "UnknownTensor: %s models have no such tensor",
	        s->arch->folder);
	return err_hint(e, "--relaxed passes it under its name; --arch chooses another "
	                "architecture");
}

int
tensors_pass(struct tensors *p, const struct tensor *t, size_t source, size_t position,
             struct err *e)
{
	struct tensor *copy = tensor_copy(t);
	struct tensors_row *row = copy ? tensors_add(p, copy, e) : NULL;

	if (!row)
		return copy ? -1 : err_memory(e);
	row->from = tensor_type(t);
	row->last = position;
	row->about = source;
	return tensors_add_piece(row, move_run(source, 0, tensor_items(t)), e);
}

uint64_t
tensors_blocks(const struct sizes *sizes, const struct arch_rule *rule)
{
	return sizes_get(sizes, strncmp(rule_name(rule), "decoder.", 8) == 0 ? 'A' : 'B');
}

int
tensors_prove_whole(const struct arch *arch, const struct sizes *sizes, uint64_t blocks,
                    enum arch_form form,
                    bool (*has)(const void *ctx, enum role role, uint64_t block),
                    const void *ctx, struct err *e)
{
	const struct arch_rule *r;
	bool seen[ROLES] = { false };
	char name[MATCH_NAME];
	uint64_t n, k;
	size_t i;

	for (i = 0; (r = arch_rule(arch, i)); i++) {
		if (r->role == ROLES || seen[r->role])
			continue;
		seen[r->role] = true;
		n = !strchr(rule_name(r), '#') ? 1 : tensors_blocks(sizes, r);
		for (k = 0; !(r->flags & RULE_OPTIONAL) && k < (n ? n : blocks); k++)
			if (!has(ctx, r->role, k)) {
				match_name(r, form, (r->flags & RULE_AS_BIAS) != 0, k, 0, name);
				return err_set(e, ERR_INVALID, name,
				               "MissingTensor: the model has no such tensor");
			}
	}
	return 0;
}

/* ---- types ---- */

bool
tensors_is_half(const struct tensor *t)
{
	const char *type = tensor_type(t)->name;

	return tensor_ndim(t) >= 2 && (strcmp(type, "BF16") == 0 || strcmp(type, "F16") == 0);
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
