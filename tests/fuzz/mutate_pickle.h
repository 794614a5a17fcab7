/* mutate_pickle: whole opcodes, or whole objects, between the opcodes of a pickle. */
#ifndef MUTATE_PICKLE_H
#define MUTATE_PICKLE_H

#include "mutate.h"

#include "wire/pickle_machine.h"

#define PIECES 64
#define STRING_PIECE(S) { S, sizeof(S) - 1 }

static const struct { const char *p; size_t n; } mutate_objects[] = {
	STRING_PIECE("N"), STRING_PIECE("\210"), STRING_PIECE("K\003"), STRING_PIECE("J\377\377\377\377"),
	STRING_PIECE("\212\010\377\377\377\377\377\377\377\177"), STRING_PIECE("\212\001\200"),
	STRING_PIECE("G\077\360\0\0\0\0\0\0"), STRING_PIECE("X\1\0\0\0a"), STRING_PIECE("\214\1b"),
	STRING_PIECE("U\1c"), STRING_PIECE("C\2xy"), STRING_PIECE("}"), STRING_PIECE("]"),
	STRING_PIECE(")"), STRING_PIECE("("), STRING_PIECE("\217"), STRING_PIECE("0"),
	STRING_PIECE("1"), STRING_PIECE("2"), STRING_PIECE("s"), STRING_PIECE("u"),
	STRING_PIECE("a"), STRING_PIECE("e"), STRING_PIECE("\220"), STRING_PIECE("t"),
	STRING_PIECE("\205"), STRING_PIECE("\206"), STRING_PIECE("\207"), STRING_PIECE("l"),
	STRING_PIECE("d"), STRING_PIECE("\221"), STRING_PIECE("R"), STRING_PIECE("\201"),
	STRING_PIECE("\222"), STRING_PIECE("b"), STRING_PIECE("Q"), STRING_PIECE("Pid\n"),
	STRING_PIECE("\223"), STRING_PIECE("o"), STRING_PIECE("(ios\nsystem\n"),
	STRING_PIECE("cos\nsystem\n"), STRING_PIECE("ccollections\nOrderedDict\n)R"),
	STRING_PIECE("ctorch._utils\n_rebuild_tensor_v2\n"), STRING_PIECE("ctorch\nHalfStorage\n"),
	STRING_PIECE("ctorch._utils\n_rebuild_parameter\n"), STRING_PIECE("q\1"), STRING_PIECE("h\1"),
	STRING_PIECE("r\0\1\0\0"), STRING_PIECE("\224"), STRING_PIECE("I01\n"), STRING_PIECE("L5L\n"),
	STRING_PIECE("F1.5\n"), STRING_PIECE("S'a\\x62\\n'\n"), STRING_PIECE("V\\u0061\\\n"),
	STRING_PIECE("p5\n"), STRING_PIECE("g5\n"), STRING_PIECE("ctorch\nper_tensor_affine\n"),
	STRING_PIECE("c__torch__.a\nB\n)\201}b"), STRING_PIECE("."), STRING_PIECE("\202\1"),
	STRING_PIECE("\225\1\0\0\0\0\0\0\0"), STRING_PIECE("cx\ny\n)R"),
	STRING_PIECE("ctorch._utils\n_rebuild_sparse_tensor\n"),
	STRING_PIECE("ctorch.serialization\n_get_layout\nX\20\0\0\0torch.sparse_coo\205R"),
	STRING_PIECE("ctorch.serialization\n_get_layout\nX\20\0\0\0torch.sparse_csr\205R"),
	STRING_PIECE("ctorch.serialization\n_get_layout\nX\20\0\0\0torch.sparse_bsc\205R"),
	STRING_PIECE("ctorch\nLongStorage\n"), STRING_PIECE("ctorch\nIntStorage\n"),
	STRING_PIECE("ctorch.nn.parameter\nParameter\n"), STRING_PIECE("X\2\0\0\00010Q"),
	/* a tensor of 2 x 3 floats in storage 0 */
	STRING_PIECE("ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\n"
	             "X\1\0\0\0000X\3\0\0\0cpuK\6tQK\0K\2K\3\206K\3K\1\206\211NtR"),
};

/* The offsets of the first opcodes, as far as they have a form. */
static size_t
mutate_opcodes(const struct buf *b, size_t *at, size_t most)
{
	size_t n = 0, i = 0, k, width;
	const uint8_t *end;

	while (i < b->n && n < most) {
		enum pickle_form form = (enum pickle_form)pickle_ops[b->p[i]].form;

		at[n++] = i++;
		width = form == ONE || form == BYTES1 ? 1 : form == TWO ? 2
			: form == FOUR || form == BYTES4 ? 4 : form == EIGHT || form == BYTES8 ? 8 : 0;
		for (k = form == LINE ? 1 : form == LINES ? 2 : 0; k > 0 && i < b->n; k--) {
			end = memchr(b->p + i, '\n', b->n - i);
			i = end ? (size_t)(end - b->p) + 1 : b->n;
		}
		if (width > b->n - i)
			break;
		if (form >= BYTES1 && form <= BYTES8) {
			uint64_t v = 0;

			memcpy(&v, b->p + i, width);
			if (v > b->n - i - width)
				break;
			i += (size_t)v;
		}
		i += width;
	}
	return n;
}

/* Insert an object before an opcode, or take an opcode away, or change its bytes. */
__attribute__((unused)) static void
mutate_pickle(struct buf *b, unsigned seed)
{
	static size_t at[1024];
	size_t n = mutate_opcodes(b, at, 1024), i, from, to;
	struct buf tail = { 0 };

	if (n == 0)
		return;
	i = seed / 4 % n;
	from = at[i];
	to = i + 1 < n ? at[i + 1] : b->n;
	if (seed % 4 == 0) {
		n = to - from;
		mutate_piece(b, from, &n);
		return;
	}
	if (seed % 4 == 1)
		from = to; /* behind it */
	else if (seed % 4 == 2)
		to = from;
	buf_put(&tail, b->p + to, b->n - to);
	b->n = from;
	if (seed % 4 != 3 || seed / 4096 % 2)
		buf_put(b, mutate_objects[seed / 8192 % (sizeof mutate_objects / sizeof *mutate_objects)].p,
		        mutate_objects[seed / 8192 % (sizeof mutate_objects / sizeof *mutate_objects)].n);
	buf_put(b, tail.p, tail.n);
	buf_free(&tail);
}

#endif
