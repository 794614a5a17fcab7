/* watch: the inputs of the linear layers of a model at work, for those who measure them.
 *
 * A watcher sees what a layer is multiplied with, in single precision, before that is brought
 * into the form that its weights need. Watching changes no result.
 */
#ifndef INFER_WATCH_H
#define INFER_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "core/err.h"

struct infer;

/* The weights of a linear layer: their role, the number of the block, and that of the expert if
 * there are experts. Parts of a fused tensor have the same id. */
struct linear_id {
	enum role role;
	uint32_t block, expert;
};

/* x[n × columns] is the input of each of `count` layers, whose ids differ. */
#define WATCHED 3
struct watched {
	struct linear_id layer[WATCHED];
	size_t count;
	const float *x;
	size_t n, columns;
};

typedef void infer_watcher(void *ctx, const struct watched *w);

/* Call watcher for each input from now on; NULL ends it. Vectors that are multiplied with the
 * input, such as the router of a shared expert, are reported as layers. 0, or -1 with e filled
 * (ERR_MEMORY). */
int infer_watch(struct infer *m, infer_watcher *watcher, void *ctx, struct err *e);

/* The output of block number `block`: x[n × width], the residual stream of n tokens. The input of
 * block 0 comes first, as WATCH_EMBEDDINGS. */
#define WATCH_EMBEDDINGS SIZE_MAX
typedef void infer_block_watcher(void *ctx, size_t block, const float *x, size_t n,
                                 size_t width);

/* The same for the output of each block. Each of the two watchers has a context of its own. */
int infer_watch_blocks(struct infer *m, infer_block_watcher *watcher, void *ctx,
                       struct err *e);

/* The name of the weights as GGUF has it, or as model folders have it if GGUF has none: a tensor
 * of GGUF holds all experts. Returns name. */
#define WATCH_NAME 128
const char *infer_weight_name(const struct infer *m, const struct linear_id *layer,
                              char name[WATCH_NAME]);

/* The experts of a block; 0: none. The blocks, and the values of a token between them. */
size_t infer_experts(const struct infer *m);
size_t infer_blocks(const struct infer *m);
size_t infer_width(const struct infer *m);

#endif
