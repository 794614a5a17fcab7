/* only: the parts of a source that a program leaves out if it does not need them. Of the modules of
 * WebAssembly (web/module.mk), those that look into models and check them are compiled with APR_READS, also
 * formats and types of the one that runs models; the decoders of compressed frames with APR_FEW.
 */
#ifndef CORE_ONLY_H
#define CORE_ONLY_H

#include <stdbool.h>
#include <stddef.h>

/* Whether this is that program; and a function or table that it does not need, as only writers,
 * encoders or products do, or NULL. */
#ifdef APR_READS
#define ONLY_READS true
#define ONLY_WRITES(x) (1 ? NULL : (x))
#else
#define ONLY_READS false
#define ONLY_WRITES(x) (x)
#endif

/* A function that only compresses. */
#ifdef APR_FEW
#define ONLY_PACKS(x) (1 ? NULL : (x))
#else
#define ONLY_PACKS(x) (x)
#endif

/* Whether this is a module of WebAssembly, which has the library and not the tools. */
#ifdef __wasm__
#define ONLY_LIBRARY true
#define ONLY_TOOLS(x) (1 ? NULL : (x))
#else
#define ONLY_LIBRARY false
#define ONLY_TOOLS(x) (x)
#endif

#endif
