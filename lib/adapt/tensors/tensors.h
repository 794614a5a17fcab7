/* tensors: the tensors of a model in another form, and where their values come from.
 *
 * Sources: names, shapes, types and order as llama.cpp's converter writes them; names and
 * shapes of model folders as the transformers library writes them.
 */
#ifndef ADAPT_TENSORS_H
#define ADAPT_TENSORS_H

#include "adapt/packed/packed.h"
#include "adapt/tensors/move.h"
#include "arch/shape.h"
#include "arch/subject.h"

/* What happens to each value. F16 is rounded to F16 after it. MATH_PAIRS is for bytes: 16 of
 * them are the values of a block of MXFP4, and get the order of folders (packed/packed.h). */
enum tensors_math { MATH_NONE, MATH_PLUS_ONE, MATH_MINUS_ONE, MATH_NEG_EXP, MATH_LOG_NEG,
	MATH_PAIRS };

struct tensors_row {
	struct tensor *t;         /* the target */
	const struct dtype *from; /* the type of all its sources */
	struct move move;         /* sources: tensors of the plan, then packed weights */
	enum tensors_math math;
	float *made;              /* values that no tensor holds; NULL: the move has them */
	size_t last;              /* position of its last source in the order */
	size_t rank;              /* order of targets with the same last source */
	size_t about;             /* a source, for messages; SIZE_MAX: none */
};

struct tensors {
	struct tensors_row *rows; /* in the order of the target */
	size_t count, cap;
	struct packed_list packed;
	struct sizes sizes;
	const struct dtype *type; /* of the matrices */
	size_t tied;              /* a source that is left out because it equals the embeddings,
	                           * and */
	size_t embed;             /* these; SIZE_MAX: none */
	bool tied_claim;          /* only the configuration says so */
	struct tensors_bytes {
		uint8_t *p;       /* NULL: zeros */
		size_t n;
	} *memory;                /* sources after the packed weights */
	size_t memory_count, memory_cap;
	uint64_t dropped;         /* tensors of the source that the target does not have */
	bool has_blocks;          /* of a folder: it has blocks of MXFP4 */
	size_t sources;           /* of the plan */
};

struct tensors_options {
	const struct dtype *type; /* of matrices; NULL: as the source (auto) */
	bool relaxed;             /* tensors without a rule pass */
	bool blocks;              /* a folder may have blocks of MXFP4 */
	bool anywhere;            /* sources can be read in any order; then: */
	/* 1 if two tensors of the plan have the same bytes, 0 if not, -1 on an error. */
	int (*equal)(void *ctx, size_t a, size_t b, struct err *e);
	void *ctx;
};

/* The tensors of a model folder as GGUF has them. ERR_INVALID for a tensor without a rule
 * (UnknownTensor), one that is missing (MissingTensor), and one of another shape
 * (ArchitectureMismatch). tensors_free is due in any case. 0 or -1. */
int tensors_to_gguf(struct tensors *p, const struct subject *s,
                    const struct tensors_options *o, struct err *e);
void tensors_free(struct tensors *p);

/* The tensors of a GGUF model as a folder has them. s->arch: the row of the folder. origin: the
 * record of apr.origin (adapt/tensors/origin.h), or NULL. Quantized types are ERR_FORMAT; other errors
 * as above. 0 or -1. */
int tensors_to_folder(struct tensors *p, const struct subject *s, const json_t *origin,
                      const struct tensors_options *o, struct err *e);

/* Append bytes that are a source, or n zeros if bytes is NULL; takes bytes, also on failure.
 * *source: its number. 0 or -1. */
int tensors_add_memory(struct tensors *p, uint8_t *bytes, size_t n, size_t *source,
                       struct err *e);

/* Append a target; *t is taken, also on failure. Returns its row, or NULL. */
struct tensors_row *tensors_add(struct tensors *p, struct tensor *t, struct err *e);
int tensors_add_piece(struct tensors_row *row, struct move_piece piece, struct err *e);

/* The source's descriptor: of a tensor of the plan, or of a packed weight. */
const struct tensor *tensors_source(const struct tensors *p, const struct subject *s,
                                    size_t source);

/* Whether this is a matrix of BF16 or F16: the first one's type is that of all matrices which
 * come in another precision. */
bool tensors_is_half(const struct tensor *t);

/* general.file_type of GGUF. */
uint32_t tensors_file_type(const struct tensors *p);

#endif
