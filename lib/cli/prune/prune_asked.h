/* prune_asked: what the command line of apr-prune asks for. */
#ifndef CLI_PRUNE_PRUNE_ASKED_H
#define CLI_PRUNE_PRUNE_ASKED_H

#include "cli/tool.h"
#include "prune/plan.h"

struct prune_asked {
	double sparsity, threshold; /* negative: not given */
	const char *groups, *scope, *by, *imatrix_path;
	struct opt_list targets;
	uint64_t heads, neurons;
	const char *layer_list, *text_path, *vocab_path;
	uint64_t drop, tokens;    /* tokens: of the text, at most; 0: all */

	struct prune layers;
	struct buf text;          /* of --text, or of --vocab */
	bool *used;               /* tokens of that */
	struct pattern *patterns;
	struct imatrix imatrix;
};
#define PRUNE_ASKED { .sparsity = -1, .threshold = -1 }

/* Rows of a tool's option table. */
#define OPT_PRUNE(o) \
	DECIMAL(0, "sparsity", "S", &(o)->sparsity, 0, 1, \
	        "set this share of the values to zero"), \
	DECIMAL(0, "threshold", "T", &(o)->threshold, 0, UINT32_MAX, \
	        "set values of a magnitude under T to zero"), \
	TEXT(0, "nm", "N:M", &(o)->groups, "keep N of each M values in a row, such as 2:4"), \
	NUMBER(0, "heads", "N", &(o)->heads, 1, UINT32_MAX, \
	       "take N heads from the attention of each layer"), \
	NUMBER(0, "neurons", "N", &(o)->neurons, 1, UINT32_MAX, \
	       "take N neurons from the feed-forward network of each layer"), \
	TEXT(0, "layers", "LIST", &(o)->layer_list, "take these layers, such as 3,4"), \
	NUMBER(0, "drop", "N", &(o)->drop, 1, UINT32_MAX, \
	       "take the N layers that change hidden states least"), \
	TEXT(0, "vocab", "FILE", &(o)->vocab_path, \
	     "take the tokens that the text of FILE does not use"), \
	TEXT(0, "text", "FILE", &(o)->text_path, \
	     "with --drop and --by sparsegpt: measure with the text of FILE"), \
	NUMBER(0, "tokens", "N", &(o)->tokens, 1, UINT32_MAX, "with --text: its first N tokens"), \
	TEXT(0, "scope", "SCOPE", &(o)->scope, \
	     "take the share of each row, tensor or layer, or of all (global)"), \
	TEXT(0, "by", "SCORE", &(o)->by, "what goes first: magnitude, wanda or sparsegpt"), \
	TEXT(0, "imatrix", "FILE", &(o)->imatrix_path, \
	     "weigh columns by the importance matrix in FILE"), \
	LIST(0, "target", "REGEX", &(o)->targets, "prune matrices whose name matches, and no others")

/* Make `how` from the options, and read the text; operand: that of the model, or NULL. It points
 * into `a`. 0 or -1; prune_asked_free in any case. */
int prune_asked_how(struct prune_asked *a, const char *operand, struct prune_how *how,
                    struct err *e);

/* Read the importance matrix, if there is one. After input_prepare for its path; enters the
 * sandbox. 0 or -1. */
int prune_asked_imatrix(struct prune_asked *a, struct err *e);
void prune_asked_free(struct prune_asked *a);

#endif
