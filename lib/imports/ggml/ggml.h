/* ggml: files of GGML's programs from before GGUF, all little-endian.
 *
 *     magic       "lmgg" GGML, "fmgg" GGMF and rwkv.cpp, "tjgg" GGJT (as bytes of the file)
 *     version     u32: 1 GGMF; 1 to 3 GGJT; 100, 101 rwkv.cpp; GGML has none
 *     header      numbers of 4 bytes; which ones depends on the program: ggml_layouts.c
 *     mel filters whisper.cpp only: i32 n_mel, i32 n_fft, f32[n_mel][n_fft]
 *     vocabulary  i32 count if the program writes it; for each token u32 length, bytes, and
 *                 f32 score except in GGML
 *     tensors     up to the end of the file: i32 dimensions, i32 length of the name, i32 type,
 *                 i32 size of each dimension (innermost first), name, in GGJT zeros up to a
 *                 multiple of 32 bytes, values
 *
 * The header of silero VAD (whisper.cpp) begins with a length and "silero-16k" instead.
 *
 * Blocks of quantized types changed twice in 2023; the generation follows from the version
 * (ggml_types.c). llama.cpp's LLaMA models get the keys and names that GGUF has for them; other
 * models keep the names of their tensors.
 *
 * Source: the loaders of llama.cpp, whisper.cpp, rwkv.cpp (FILE_FORMAT.md) and of the examples of
 * ggml in 2023; GGUF's documentation for the keys.
 */
#ifndef IMPORTS_GGML_GGML_H
#define IMPORTS_GGML_GGML_H

#include "imports/import.h"

#define GGML_FIELDS 12

/* The use of a number in the header. */
enum ggml_use {
	GGML_END,
	GGML_KEY,      /* becomes the key */
	GGML_KEY_F32,  /* a float that becomes the key */
	GGML_KEY_BOOL,
	GGML_VOCAB,    /* tokens in the vocabulary; also the key, if there is one */
	GGML_EMBD,     /* becomes the key; values of an embedding */
	GGML_HEADS,    /* becomes the key */
	GGML_LAYERS,   /* becomes the key */
	GGML_MELS,     /* becomes the key, and is repeated before the mel filters */
	GGML_FTYPE,    /* type of most tensors + 1000 × generation of the blocks */
	GGML_TYPE,     /* type of most tensors */
	GGML_DROP      /* follows from the rest */
};

struct ggml_field {
	const char *key; /* after the prefix of the layout */
	enum ggml_use use;
};

enum {
	GGML_COUNTED = 1, /* the vocabulary's count stands before it */
	GGML_SCORED = 2,
	GGML_ALIGNED = 4,
	GGML_FILTERS = 8, /* mel filters */
	GGML_WORDLESS = 16, /* without a vocabulary */
	GGML_LLAMA = 32,  /* names and vocabulary of LLaMA */
	GGML_RWKV = 64,   /* numbers of types as in rwkv.cpp */
	GGML_BYTES = 128  /* tokens are bytes of a byte-level BPE */
};

/* What a program writes. */
struct ggml_layout {
	const char *arch; /* general.architecture, and --arch */
	const char *title;
	char magic[5];
	uint32_t from, to; /* versions; 0: the file has none */
	unsigned generation; /* of blocks; 0: in the header */
	unsigned flags;
	struct ggml_field fields[GGML_FIELDS];
};

extern const struct ggml_layout ggml_layouts[]; /* up to a row without arch */

/* The layout of a file. arch: the user's choice, or NULL. NULL with the error filled. */
const struct ggml_layout *ggml_layout_of(struct import *im, const char *arch);

struct ggml {
	struct import import;
	const struct ggml_layout *layout; /* NULL: silero VAD */
	struct reader at;
	unsigned generation;
	uint32_t tokens;
	uint32_t embd, heads, layers, mels;
	uint64_t widened; /* tensors whose old blocks became F32 */
	uint64_t converted; /* tensors whose old blocks became today's */
};

/* The type of a number, and the way from the stored blocks to it (x->make and its sizes).
 * bytes: of the stored values of n rows × row. NULL with the error filled. */
const struct dtype *ggml_type(struct ggml *g, uint32_t number, const char *name, uint64_t items,
                              uint64_t row, struct import_place *x, uint64_t *bytes);
/* Choose between blocks and F32 for values at x->p, whose type ggml_type gave. */
const struct dtype *ggml_settle(struct ggml *g, const struct dtype *type, uint64_t bytes,
                                struct import_place *x);

/* Read the vocabulary into keys. 0 or -1. */
int ggml_vocabulary(struct ggml *g);

extern const struct format_option ggml_options[];

#endif
