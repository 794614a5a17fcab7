/* sampling: the options that choose the next token (generate/sampler.h). */
#ifndef CLI_RUN_SAMPLING_H
#define CLI_RUN_SAMPLING_H

#include "cli/tool.h"
#include "generate/sampler.h"

#define OPT_SAMPLING(s) \
	DECIMAL(0, "temp", "T", &(s)->temperature, 0, 100, \
	        "sample at temperature T (default: 0, the most probable token)"), \
	NUMBER(0, "top-k", "N", &(s)->top_k, 0, UINT32_MAX, \
	       "sample from the N most probable tokens (default: 40; 0: all)"), \
	DECIMAL(0, "top-p", "P", &(s)->top_p, 0, 1, \
	        "and of these from the first that have probability P together (default: 0.95)"), \
	DECIMAL(0, "min-p", "P", &(s)->min_p, 0, 1, \
	        "and of these from tokens P times as probable as the first (default: 0.05)"), \
	DECIMAL(0, "repeat-penalty", "X", &(s)->repeat_penalty, 1, 100, \
	        "make each of the last 64 tokens less probable by X (default: 1, off)"), \
	NUMBER(0, "seed", "N", &(s)->seed, 0, UINT64_MAX, \
	       "choose the random sequence (default: 0)")

#endif
