/* level: the ways to do the same arithmetic, and which of them is in use.
 *
 * A level is a folder beside this file, compiled for one kind of CPU (its level.mk), with
 * one struct level. Plain C, ref, defines every byte and every bound; another level does
 * part of the work on vectors, and plain C the rest:
 *
 *	operation                     ref  avx2         avx512        neon
 *	search for scales (search)    C    8 lanes      16 lanes      4 lanes
 *	sums of values (numbers)      C    C, compiled  8 doubles     C
 *	                                   for AVX2
 *	sums of vectors (mixing)      C    the same     as avx2       C
 *	encode and decode (kernels)   all  F16 BF16 F8, as avx2       F16 BF16
 *	                              types  Q8_0 Q4_0                Q8_0 Q4_0
 *	                                   and others;
 *	                                   rest as above
 *	products:                     all  all          all, VNNI     F32 F16 BF16,
 *	 one activation (rows)                                        blocks, no IQ
 *	 many activations (panels)    -    all          all           the same
 *	 weights repacked (packings)  -    -            Q4_0 Q8_0     -
 *	                                                Q4_K Q5_K
 *	                                                Q6_K
 *	 activations (quantizers)     all  all          as avx2       all
 *	 attention (attend)           C    AVX2         AVX-512       NEON
 *	training (training)           C    AVX2         AVX-512       NEON
 *
 * Search, sums, encode and decode, and training give the bytes of plain C; products and attention stay
 * within the bounds of kernels/dot.h. A level is compared with plain C before it is used.
 * Products come in variants: those of neon also with sums of four products (sdot) and with
 * products of matrices (i8mm); a CPU with AVX-512 but without VNNI multiplies with avx2.
 * In WebAssembly, neon is compiled for its vectors (core/wasm/include/arm_neon.h), without F16 and BF16
 * in "encode and decode".
 */
#ifndef KERNELS_LEVEL_H
#define KERNELS_LEVEL_H

#include "core/err.h"

/* The levels of this architecture, from plain C up; or those that the compiler's options name
 * (tests/bench/wasm.sh). */
#ifdef LEVELS
#elif defined __x86_64__
#define LEVELS(X) X(ref) X(avx2) X(avx512)
#elif defined __aarch64__
#define LEVELS(X) X(ref) X(neon)
#elif defined __wasm_simd128__ && !defined APR_READS
#define LEVELS(X) X(neon)
#define LEVEL_FIRST level_neon
#else
#define LEVELS(X) X(ref)
#endif

/* The level in use until one is chosen. In WebAssembly each machine computes the same: tests compare the
 * one that a module has with plain C, and the module has no more of plain C than it lacks. */
#ifdef LEVEL_FIRST
#define LEVEL_PLAIN(x) NULL
extern const struct level level_ref; /* what compares them is compiled too */
#else
#define LEVEL_FIRST level_ref
#define LEVEL_PLAIN(x) (x)
#endif

struct level {
	const char *name;                        /* as in APR_CPU */
	unsigned needs;                          /* bits of kernels/cpu.h */
	const struct search *search;             /* kernels/common/search.h */
	const struct numbers *numbers;           /* kernels/numbers.h */
	const struct mixing *mixing;             /* kernels/mixing.h; NULL: that of plain C */
	const struct kernel *const *kernels;     /* take the place of plain C, later ones of
	                                          * earlier; NULL at the end, or for none */
	const struct products *const *products;  /* kernels/common/products.h: variants, the
	                                          * best first; NULL at the end */
};

#define LEVEL_DECLARE(name) extern const struct level level_##name;
LEVELS(LEVEL_DECLARE)
#undef LEVEL_DECLARE

/* Use the level of that name; NULL or "": the best that this CPU has. A level that gives
 * other bytes than plain C is not used: plain C is, and note gets a message. ERR_USAGE if
 * there is no such level, or this CPU does not have it. Call it before threads compute;
 * until then all is plain C. kernels/dot.h has dot_begin for products. */
int level_begin(const char *name, void (*note)(const char *), struct err *e);

/* The same with a level at hand, which need not be in the list. */
void level_use(const struct level *l, void (*note)(const char *));

/* The level in use. */
const struct level *level_now(void);

/* By index, from plain C up, those that this CPU has; NULL at the end. */
const struct level *level_row(unsigned index);

#endif
