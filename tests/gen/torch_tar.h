/* torch_tar: a file of PyTorch from before its pickles were stacked: a tar archive. Header N has the
 * mark hN. */
#ifndef GEN_TORCH_TAR_H
#define GEN_TORCH_TAR_H

#include <stdbool.h>

#include "torch.h"

#define TAR_HEADERS 5
enum { TAR_FIELDS_OF, TAR_SYSTEM, TAR_OBJECT, TAR_TENSORS, TAR_STORAGES };

/* What is unusual about an archive that is sound. */
struct tar_form {
	bool binary;  /* sizes are binary */
	bool dots;    /* names begin with ./ */
	bool path;    /* the name of the first member stands in its fields */
	bool size;    /* and its size does so */
	bool folder;  /* a folder stands in front */
};

/* Write the sum of a header. */
static inline void
tar_sum(uint8_t *head)
{
	char text[8];
	unsigned i, sum = 8 * ' ';

	for (i = 0; i < 512; i++)
		if (i < 148 || i >= 156)
			sum += head[i];
	snprintf(text, sizeof text, "%06o", sum);
	memcpy(head + 148, text, 7);
	head[155] = ' ';
}

static inline void
tar_resum(struct gen *g)
{
	static const char *const heads[] = { "h0", "h1", "h2", "h3", "h4" };
	size_t i;

	for (i = 0; i < TAR_HEADERS; i++)
		if (mark_at(g, heads[i]) + 512 <= g->n)
			tar_sum(g->p + mark_at(g, heads[i]));
}

/* Put a header; returns its place. */
static inline size_t
tar_head(struct gen *g, const char *label, const char *name, char type)
{
	const size_t at = g->n;

	mark(g, label);
	put_fill(g, 0, 512);
	memcpy(g->p + at, name, strlen(name));
	memcpy(g->p + at + 100, "0000600", 7);
	memcpy(g->p + at + 108, "0001750", 7);
	memcpy(g->p + at + 116, "0001750", 7);
	memcpy(g->p + at + 124, "00000000000", 11);
	memcpy(g->p + at + 136, "13003204056", 11);
	g->p[at + 156] = (uint8_t)type;
	memcpy(g->p + at + 257, "ustar\00000", 8);
	return at;
}

/* The content ends here: write its size. */
static inline void
tar_end(struct gen *g, size_t at, bool binary)
{
	const size_t n = g->n - at - 512;
	char text[16];

	snprintf(text, sizeof text, "%011o", (unsigned)n);
	if (binary) {
		memset(g->p + at + 124, 0, 12);
		g->p[at + 124] = 0x80;
		g->p[at + 134] = (uint8_t)(n >> 8);
		g->p[at + 135] = (uint8_t)n;
	} else {
		memcpy(g->p + at + 124, text, 11);
	}
	put_align(g, 512);
	tar_sum(g->p + at);
}

#define TAR_TEXT(S) put(g, S, sizeof(S) - 1)
#define PERSISTENT(N, KEY) "X" LENGTH(N) KEY "Q"

static inline void
tar_tensor(struct gen *g, const char *pickle, size_t n, uint32_t ndim, const uint64_t *numbers)
{
	uint32_t i;

	put(g, pickle, n);
	put_u32(g, ndim);
	put_u32(g, 0);
	for (i = 0; i < 2 * ndim + 1; i++)
		put_u64(g, numbers[i]);
}
#define TAR_TENSOR(PICKLE, NDIM, ...) \
	tar_tensor(g, PICKLE, sizeof(PICKLE) - 1, NDIM, (const uint64_t[]){ __VA_ARGS__ })

static inline void
tar_tensors(struct gen *g)
{
	mark(g, "count");
	TAR_TEXT("\200\002K\005.");
	mark(g, "tensor");
	TAR_TEXT("\200\002K\012K\001ctorch\nFloatTensor\n\207.");
	mark(g, "ndim");
	put_u32(g, 2);
	put_u32(g, 0);
	mark(g, "dim");
	put_u64(g, 2);
	put_u64(g, 3);
	mark(g, "stride");
	put_u64(g, 3);
	put_u64(g, 1);
	mark(g, "offset");
	put_u64(g, 0);
	TAR_TENSOR("\200\002K\013K\001ctorch\nFloatTensor\n\207.", 2, 3, 2, 1, 3, 0);
	TAR_TENSOR("\200\002K\014K\003ctorch.cuda\nFloatTensor\n\207.", 1, 2, 1, 1);
	mark(g, "no_storage");
	TAR_TENSOR("\200\002K\015Nctorch\nHalfTensor\n\207.", 0, 0);
	TAR_TENSOR("\200\002K\016K\002ctorch\nByteTensor\n\207.", 1, 4, 1, 1);
}

static inline void
tar_storages(struct gen *g)
{
	static const float values[] = { 1, 2, 3, 4, 5, 6 };

	TAR_TEXT("\200\002K\002.");
	mark(g, "storage");
	TAR_TEXT("\200\002K\001X" LENGTH("\003") "cpuctorch\nFloatStorage\n\207.");
	mark(g, "elements");
	put_u64(g, 6);
	put(g, values, sizeof values);
	TAR_TEXT("\200\002K\002X" LENGTH("\006") "cuda:0ctorch.cuda\nByteStorage\n\207.");
	put_u64(g, 5);
	TAR_TEXT("\377\007\010\011\012");
	mark(g, "views");
	TAR_TEXT("\200\002]((K\003K\001K\002K\004te.");
}

/* A dictionary of the five tensors; one is a parameter of a release before 0.4, one key is text
 * in a line. */
#define TAR_PICKLE \
	"\200\002}(" KEY("a") PERSISTENT("\002", "10") \
	KEY("b") "ctorch.nn.parameter\nParameter\n" PERSISTENT("\002", "11") \
	"\205R(\210\211ccollections\nOrderedDict\n)Rtb" \
	KEY("c") "P12\n" KEY("d") PERSISTENT("\002", "13") KEY("e") PERSISTENT("\002", "14") \
	KEY("f") PERSISTENT("\001", "1") KEY("g") "K\005u."

static inline void
made_tar(struct gen *g, const struct tar_form *form, const void *pickle, size_t n)
{
	static const char *const names[2][4] = { { "sys_info", "pickle", "tensors", "storages" },
		{ "./sys_info", "./pickle", "./tensors", "./storages" } };
	const char *const *name = names[form->dots];
	size_t at;

	if (form->folder) {
		at = tar_head(g, "folder", "./", '5');
		tar_end(g, at, false);
	}
	at = tar_head(g, "h0", "././@PaxHeader", 'x');
	mark(g, "fields");
	TAR_TEXT("22 mtime=1490000000.5\n");
	if (form->path)
		TAR_TEXT("17 path=sys_info\n");
	if (form->size)
		TAR_TEXT("11 size=78\n");
	tar_end(g, at, false);

	at = tar_head(g, "h1", form->path ? "another" : name[0], '0');
	mark(g, "system");
	TAR_TEXT("\200\002}(X" LENGTH("\020") "protocol_version");
	mark(g, "protocol");
	TAR_TEXT("M\350\003X" LENGTH("\015") "little_endian");
	mark(g, "little");
	TAR_TEXT("\210X" LENGTH("\012") "type_sizes}" "X" LENGTH("\005") "shortK\002su.");
	tar_end(g, at, form->binary);
	if (form->size)
		memcpy(g->p + at + 124, "00000000000", 11);

	at = tar_head(g, "h2", name[1], '0');
	mark(g, "object");
	put(g, pickle, n);
	tar_end(g, at, form->binary);
	at = tar_head(g, "h3", name[2], '0');
	tar_tensors(g);
	tar_end(g, at, form->binary);
	at = tar_head(g, "h4", name[3], 0);
	tar_storages(g);
	tar_end(g, at, form->binary);
	mark(g, "end");
	put_fill(g, 0, 2 * 512);
	mark(g, "rest");
	put_fill(g, 0, 3 * 512);
	tar_resum(g);
}

#endif
