/* apr_plugin: a type of your own for apr-quant, in a shared library.
 *
 *     cc -shared -fPIC -O2 -ffp-contract=off -o my4.so my4.c
 *     apr-quant --plugin ./my4.so my4 model.gguf > model.aprs
 *
 * The library has one structure called apr_plugin, of this type:
 *
 *     #include <aprml/apr_plugin.h>
 *     const struct apr_plugin apr_plugin = {
 *             APR_PLUGIN_VERSION, "MY4", 32, 18, my4_encode, my4_decode
 *     };
 *
 * A row of a tensor is whole blocks. Both functions get whole blocks, any number of
 * them, from any row; blocks may come in any order, and from several threads at once.
 * The output must depend only on the input: the same values, the same bytes. Any values
 * and any bytes may come, NaN and infinities too; decode must not fail on any. The
 * functions write exactly n / block * bytes bytes, or n values, and nothing else.
 *
 * Tensors carry the name as "MY4[32,18]": every tool can pass them on, and apr-quant
 * with the plugin turns them into other types.
 */
#ifndef APR_PLUGIN_H
#define APR_PLUGIN_H

#include <stddef.h>

#define APR_PLUGIN_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

struct apr_plugin {
	unsigned version;    /* APR_PLUGIN_VERSION */
	const char *name;    /* a capital letter, then up to 23 of A-Z, 0-9 and _ */
	unsigned block;      /* values: a power of two from 1 to 256 */
	unsigned bytes;      /* of a block: 1 to 4096 */

	/* n values from x into y, and back. n is a multiple of block. */
	void (*encode)(const float *x, unsigned char *y, size_t n);
	void (*decode)(const unsigned char *x, float *y, size_t n);
};

/* The library defines this. It is declared here so that a C++ compiler neither changes its
 * name nor keeps it local to the file. */
extern const struct apr_plugin apr_plugin;

#ifdef __cplusplus
}
#endif

#endif
