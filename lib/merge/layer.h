/* layer: the number of a layer in the name of a tensor, and what else names layers when a result
 * has other ones than its models: keys of the metadata, and members of config.json.
 */
#ifndef MERGE_LAYER_H
#define MERGE_LAYER_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "merge/input.h"

/* The number that is the first whole part of a name between dots, as in "blk.3.ffn_up.weight" and
 * "model.layers.3.mlp.up_proj.weight", or MERGE_APART. */
uint64_t merge_layer_of(const char *name);

/* The name with another number: a new string. NULL with E008. */
char *merge_layer_name(const char *name, uint64_t layer, struct err *e);

/* Give a plan and the side files of a model the number and the order of the layers of a result:
 * layers[i] is the layer of the model that becomes layer i. Counts are replaced; lists with one
 * item for each layer get those of the new ones. files: config.json if it changes, else untouched.
 * 0 or -1. */
int merge_layers_apply(const struct merge_input *in, const uint64_t *layers, size_t n,
                       struct model *plan, struct subject_files *files, struct err *e);

#endif
