/* quant_options: the options of apr-quant that choose the types of tensors, with the names of
 * llama-quantize if it has the option too.
 */
#ifndef CLI_QUANT_QUANT_OPTIONS_H
#define CLI_QUANT_QUANT_OPTIONS_H

#include "cli/quant/calibrate.h"
#include "cli/quant/hook.h"
#include "cli/tool.h"
#include "quant/override.h"
#include "quant/prune.h"
#include "quant/recipe.h"

struct quant_options {
	struct recipe_options recipe; /* points into this structure once parsed */
	struct mixture plain; /* for a TYPE that is not the name of a mixture */
	char plain_name[32];
	const char *fallback, *output_type, *embedding_type;
	struct opt_list rules, rule_files;
	struct overrides overrides;
	const char *imatrix_path;
	struct calibrate calibrate;
	struct opt_list include, exclude;
	struct imatrix imatrix;
	struct opt_list plugins;
	const char *hook_command;
	struct hook hook;
	const char *prune_list, *max_rmse_text;
	struct prune prune;
	struct opt_list key_list;
	struct key_values keys;
	double max_rmse;      /* or infinite */
};

/* Rows of a tool's option table. */
#define OPT_QUANT(o) \
	FLAG(0, "pure", &(o)->recipe.how.pure, \
	     "use TYPE for all, not llama-quantize's mixture of that name"), \
	LIST(0, "tensor-type", "REGEX=TYPE", &(o)->rules, \
	     "use TYPE for tensors whose name matches; the first match wins"), \
	LIST(0, "tensor-type-file", "FILE", &(o)->rule_files, \
	     "read such rules from FILE, one per line"), \
	TEXT(0, "output-tensor-type", "TYPE", &(o)->output_type, "use TYPE for output.weight"), \
	TEXT(0, "token-embedding-type", "TYPE", &(o)->embedding_type, \
	     "use TYPE for token_embd.weight"), \
	FLAG(0, "leave-output-tensor", &(o)->overrides.leave_output, \
	     "do not convert output.weight"), \
	TEXT(0, "imatrix", "FILE", &(o)->imatrix_path, \
	     "weight columns by the importance matrix in FILE"), \
	OPT_CALIBRATE(&(o)->calibrate), \
	LIST(0, "include-weights", "TEXT", &(o)->include, \
	     "use only its entries whose name contains TEXT"), \
	LIST(0, "exclude-weights", "TEXT", &(o)->exclude, \
	     "ignore its entries whose name contains TEXT"), \
	TEXT(0, "prune-layers", "LIST", &(o)->prune_list, \
	     "drop these blocks, such as 3,4, and renumber the rest"), \
	LIST(0, "override-kv", "KEY=TYPE:VALUE", &(o)->key_list, \
	     "set a metadata key; TYPE is int, float, bool or str"), \
	LIST(0, "plugin", "FILE.so", &(o)->plugins, \
	     "load a library that defines a type"), \
	TEXT(0, "hook", "CMD", &(o)->hook_command, \
	     "ask this command for the type of each tensor"), \
	FLAG(0, "no-record", &(o)->recipe.no_record, \
	     "write only the metadata that llama-quantize writes"), \
	TEXT(0, "max-rmse", "X", &(o)->max_rmse_text, \
	     "fail if the error of a tensor exceeds X"), \
	FLAG(0, "allow-requantize", &(o)->recipe.allow_requantize, \
	     "accept tensors that are already quantized"), \
	TEXT(0, "fallback", "error|warn|TYPE", &(o)->fallback, \
	     "what to do if rows do not fill the blocks of a type")

/* Loads the plugins and starts the process of the hook, before anything else: the sandbox
 * allows neither. */
int quant_options_load(struct quant_options *o, struct err *e);

/* Fills o->recipe from the options. type: the operand TYPE, or NULL if it is missing.
 * Reads the rule files and the importance matrix. 0; or -1 with ERR_USAGE, or their
 * errors. */
int quant_options_parse(struct quant_options *o, const char *type, struct err *e);

void quant_options_free(struct quant_options *o);

#endif
