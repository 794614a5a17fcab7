/* llama2c: files of llama2.c, little-endian. N layers, hidden size D, H heads and K of keys, values
 * of a layer behind those of the layer before it.
 *
 * Version 0:
 *     i32 × 7     D, hidden size of the feed-forward F, N, H, K, vocabulary V (negative: with an
 *                 output matrix of its own), context C
 *     f32         token_embd [V][D], attn_norm [N][D], attn_q [N][D][D], attn_k, attn_v
 *                 [N][D/H*K][D], attn_output [N][D][D], ffn_norm [N][D], ffn_gate [N][F][D],
 *                 ffn_down [N][D][F], ffn_up [N][F][D], output_norm [D], cosines and sines of
 *                 positions [C][D/H] (left out), output [V][D] if there is one
 * Version 1:
 *     u32         0x616b3432
 *     i32         1
 *     i32 × 7     as above; V is positive
 *     u8          1: the output matrix is token_embd
 *     zeros       up to byte 256
 *     f32         attn_norm, ffn_norm, output_norm, token_embd, attn_q, attn_k, attn_v,
 *                 attn_output, ffn_gate, ffn_down, ffn_up, output if there is one
 * Version 2:
 *     as version 1, but i32 group size G behind the u8; norms are f32; each matrix of each layer
 *     is i8[values], then f32[values/G]: a value is the product of the two
 *
 * The tokenizer is a file of its own: i32 longest token; V times f32 score, i32 length, bytes.
 *
 * Tensors get GGUF's names: the order of rotary rows is that of GGUF too.
 * Source: export.py, run.c, runq.c and tokenizer.py of llama2.c.
 */
#ifndef IMPORTS_LLAMA2C_LLAMA2C_H
#define IMPORTS_LLAMA2C_LLAMA2C_H

#include "imports/import.h"

enum { LLAMA2C_D, LLAMA2C_F, LLAMA2C_N, LLAMA2C_H, LLAMA2C_K, LLAMA2C_V, LLAMA2C_C, LLAMA2C_SIZES };

struct llama2c {
	struct import import;
	unsigned version;
	uint32_t size[LLAMA2C_SIZES];
	uint32_t group;     /* version 2 */
	bool shared;        /* the output matrix is token_embd */
	uint64_t at;        /* offset of the next tensor */
};

#endif
