/* torch_sparse: files of PyTorch with one sparse tensor, w. */
#ifndef GEN_TORCH_SPARSE_H
#define GEN_TORCH_SPARSE_H

#include <stdbool.h>

#include "torch.h"

/* A tensor that a sparse one consists of; its storage has n bytes at p. */
struct sparse_part {
	const char *type;        /* "LongStorage"; NULL: there is none */
	unsigned ndim;
	int64_t dims[6];
	const void *p;
	size_t n;
	const int64_t *strides;  /* NULL: in order */
};

struct sparse_file {
	const char *layout;      /* "torch.sparse_coo" */
	struct sparse_part part[3];
	unsigned ndim;
	int64_t dims[6];
	char coalesced;          /* COO: opcodes of None 'N', True \210, False \211; 0: nothing */
	bool big_endian;         /* the file says so */
};

static inline void
sparse_text(struct gen *g, const char *text)
{
	put_u8(g, 'X');
	put_u32(g, (uint32_t)strlen(text));
	put_text(g, text);
}

static inline void
sparse_number(struct gen *g, int64_t v)
{
	put_text(g, "\212\010");
	put_u64(g, (uint64_t)v);
}

static inline void
sparse_numbers(struct gen *g, const int64_t *v, unsigned n)
{
	unsigned i;

	put_u8(g, '(');
	for (i = 0; i < n; i++)
		sparse_number(g, v[i]);
	put_u8(g, 't');
}

static inline void
sparse_tensor(struct gen *g, const struct sparse_part *x, char key)
{
	int64_t strides[6], step = 1;
	char name[2] = { key, 0 };
	unsigned i;

	for (i = x->ndim; i-- > 0; step *= x->dims[i])
		strides[i] = x->strides ? x->strides[i] : step;
	put_text(g, "ctorch._utils\n_rebuild_tensor_v2\n((");
	sparse_text(g, "storage");
	put_text(g, "ctorch\n");
	put_text(g, x->type);
	put_text(g, "\n");
	sparse_text(g, name);
	sparse_text(g, "cpu");
	sparse_number(g, (int64_t)(x->n / (strcmp(x->type, "LongStorage") == 0 ||
	                                   strcmp(x->type, "DoubleStorage") == 0 ? 8
	                                   : strcmp(x->type, "ByteStorage") == 0 ||
	                                     strcmp(x->type, "BoolStorage") == 0 ? 1
	                                   : strcmp(x->type, "HalfStorage") == 0 ||
	                                     strcmp(x->type, "BFloat16Storage") == 0 ? 2 : 4)));
	put_text(g, "tQ");
	sparse_number(g, 0);
	sparse_numbers(g, x->dims, x->ndim);
	sparse_numbers(g, strides, x->ndim);
	put_text(g, "\211" DICT "tR");
}

static inline void
put_sparse_pickle(struct gen *g, const struct sparse_file *f)
{
	unsigned i;

	put_text(g, PROTO "}");
	sparse_text(g, "w");
	put_text(g, "ctorch._utils\n_rebuild_sparse_tensor\nctorch.serialization\n_get_layout\n");
	sparse_text(g, f->layout);
	put_text(g, "\205R(");
	for (i = 0; i < 3; i++)
		if (f->part[i].type)
			sparse_tensor(g, &f->part[i], (char)('0' + i));
	put_text(g, "ctorch\nSize\n");
	sparse_numbers(g, f->dims, f->ndim);
	put_text(g, "\205R");
	if (f->coalesced)
		put_u8(g, (uint8_t)f->coalesced);
	put_text(g, "t\206Rs.");
}

static inline void
put_sparse(struct gen *g, const struct sparse_file *f)
{
	static const char *const names[] = { "a/data/0", "a/data/1", "a/data/2" };
	struct member list[5];
	struct gen pickle = { 0 };
	size_t n = 0, i;

	put_sparse_pickle(&pickle, f);
	list[n++] = (struct member){ "a/data.pkl", pickle.p, pickle.n, 0 };
	for (i = 0; i < 3; i++)
		if (f->part[i].type)
			list[n++] = (struct member){ names[i], f->part[i].p, f->part[i].n, 0 };
	if (f->big_endian)
		list[n++] = (struct member){ "a/byteorder", "big", 3, 0 };
	put_zip(g, list, n);
	gen_free(&pickle);
}

#endif
