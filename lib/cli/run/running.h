/* running: the options of inference: context, KV cache, threads. */
#ifndef CLI_RUN_RUNNING_H
#define CLI_RUN_RUNNING_H

#include "cli/tool.h"
#include "infer/infer.h"

struct running {
	const char *cache;  /* a name of infer/cache_type.h, or NULL */
	const char *gelu;   /* a name of infer/gelu.h, or NULL */
	uint64_t context, threads; /* 0: the default */
	bool repack;
};
#define OPT_RUNNING(r) \
	NUMBER('c', "context", "N", &(r)->context, 1, UINT32_MAX, "make room for N positions " \
	       "(default: the model's, at most 4096; with --perplexity: 512)"), \
	TEXT(0, "cache", "KIND", &(r)->cache, \
	     "keep keys and values as f16 (the default), f32 or q8_0"), \
	TEXT(0, "gelu", "KIND", &(r)->gelu, \
	     "compute GELU by a table, as GGML does, or in the form tanh or erf"), \
	FLAG(0, "repack", &(r)->repack, \
	     "repack the weights for this CPU: starts later, runs faster"), \
	NUMBER('t', "threads", "N", &(r)->threads, 1, 1024, "threads (default: all CPUs)"), \
	NUMBER('j', "jobs", "N", &(r)->threads, 1, 1024, "the same")

/* Fills o from the options. 0, or -1 with e filled: ERR_USAGE if a name is
 * unknown. */
int running_options(const struct running *r, struct infer_options *o, struct err *e);

#endif
