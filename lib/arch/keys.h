/* keys: the hyper-parameters of each architecture, as rows of data: the keys of GGUF, and the
 * members of the config.json from which their values come.
 *
 * Sources: the keys that llama.cpp's converter writes, with their types and order; the
 * configuration classes of the transformers library.
 */
#ifndef ARCH_KEYS_H
#define ARCH_KEYS_H

#include "arch/arch.h"

enum key_type {
	KEY_U32, KEY_F32, KEY_BOOL, KEY_TEXT,
	KEY_EACH,   /* u32; i32 for each block if the member is an array */
	KEY_BLOCKS, /* a bool for each block: layer_types, or every Nth block is false */
	KEY_GATING, /* u32: 'softmax' is 1, 'sigmoid' 2, 'sqrtsoftplus' 4 */
	KEY_LABELS, /* texts: the values of id2label */
	KEY_POOLING, /* u32: mean 1, cls 2, last token 3, as modules.json says */
	KEY_FILE    /* u32: the type of most tensors, general.file_type */
};

/* A key. Its value is an expression (arch/expr.h) over members of config.json:
 *
 *	name     a member
 *	@name    a member of rope_parameters, or of rope_scaling; or of config.json itself, if
 *	         it has moved since: rope_theta, partial_rotary_factor, …
 *
 * In the other direction, the first alternative that is one name gets the value. */
struct arch_key {
	const char *key;   /* without the architecture's name and the dot, except general.* */
	enum key_type type;
	const char *value; /* "!" before it: without a value, the model is refused */
	const char *when;  /* a condition, or NULL */
	const char *scaling; /* types of rope scaling that have the key, or NULL: any */
};

/* A configuration class. Lists of members are "name = expression; name = expression"; an
 * expression may end in " if CONDITION". */
struct arch_class {
	const char *model_type;
	const char *model;    /* the member architectures: "LlamaForCausalLM" */
	const struct arch_key *const *keys; /* in the order of GGUF; ended by NULL */
	const char *first;    /* the alternatives that the class calls its own, or NULL */
	const char *defaults; /* members that the class fills in, over members */
	/* Members that do not follow from the keys above, over keys of GGUF: a name of a key,
	 * the whole name of a key that begins with tokenizer., or ?NAME, which says whether the
	 * tensor NAME exists. "rope_scaling.NAME" is a member of that object, if it exists. */
	const char *members;
	const char *lost;     /* conditions on members that GGUF has no key for, with "; " */
	unsigned period;      /* layer_types: every Nth block has full attention; 1: all; 0: none */
};

/* The class with this model_type, or NULL. */
const struct arch_class *arch_class(const char *model_type);

/* Types of rope scaling and their keys, and general.* keys, are in the rows above; the members
 * of config.json that stand for a member of rope_parameters, ended by NULL. */
struct arch_moved {
	const char *name, *members; /* alternatives */
};
extern const struct arch_moved arch_moved[];

/* Which class a model with keys of GGUF belongs to, if several have the same name. The first
 * row whose condition holds decides; ended by a row without a name. */
struct arch_choice {
	const char *name, *when, *model_type;
};
extern const struct arch_choice arch_choices[];

#endif
