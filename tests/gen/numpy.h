/* numpy: arrays as numpy.save and numpy.savez write them. */
#ifndef GEN_NUMPY_H
#define GEN_NUMPY_H

#include "torch.h"

/* A file of one array: the header in quotes, then the values. */
static inline void
put_npy(struct gen *g, const char *header, const void *values, size_t n)
{
	put(g, "\x93NUMPY", 6);
	mark(g, "version");
	put_u8(g, 1);
	put_u8(g, 0);
	mark(g, "bytes");
	put_number(g, strlen(header), 2);
	mark(g, "header");
	put_text(g, header);
	mark(g, "values");
	put(g, values, n);
}

#define NPY(DESCR, FORTRAN, SHAPE) \
	"{'descr': '" DESCR "', 'fortran_order': " FORTRAN ", 'shape': " SHAPE ", }\n"

#define NP_ARRAY "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\000\205C\001b\207R"
#define NP_TYPE(CODE, ORDER) \
	"cnumpy\ndtype\nX" LENGTH("\002") CODE "K\000K\001\207R(K\003X" LENGTH("\001") ORDER \
	"NNNJ\377\377\377\377J\377\377\377\377K\000tb"
/* An array of one I16 or of what its type says; BYTES pushes the values. */
#define NP_OF(SHAPE, CODE, ORDER, FORTRAN, BYTES) \
	NP_ARRAY "(K\001" SHAPE NP_TYPE(CODE, ORDER) FORTRAN BYTES "tb"
#define FALSE_ "\211"
#define TRUE_ "\210"

/* {'a': array([1, 2]), 'b': [array of Python 2: 200], 'n': 3} */
#define NP_OBJECTS \
	"\200\003}(" KEY("a") NP_OF("K\002\205", "i2", "<", FALSE_, "C\004\001\000\002\000") \
	KEY("b") "]" NP_OF("K\001\205", "u1", "|", FALSE_, \
	                   "c_codecs\nencode\nX" LENGTH("\002") "\303\210X" LENGTH("\006") "latin1\206R") \
	"a" KEY("n") "K\003u."

#endif
