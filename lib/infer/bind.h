/* bind: finds the tensors of a model by their roles and proves their shapes. */
#ifndef INFER_BIND_H
#define INFER_BIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/find.h"
#include "infer/net.h"

/* The state of the search. */
struct bind {
	struct net *net;
	const struct ops *ops;
	const struct hyper *h;
	const struct weights *w;
	struct find find;
	bool *used;       /* tensors that have been found */
	const struct low_rank *low; /* what adapters add, */
	size_t low_count;
	bool *low_used;   /* and whether a layer has it */
	struct err *e;
};

/* n zeroed items that net_free frees. NULL with e filled. */
void *bind_make(struct bind *b, size_t n, size_t size);

/* The name of the tensor of a role, block and expert; NULL if the form has none. */
const char *bind_name(const struct bind *b, enum role role, size_t block, size_t expert,
                      const char *ending, char name[FIND_NAME]);

/* The index of that tensor, which becomes used, or SIZE_MAX. */
size_t bind_find(const struct bind *b, enum role role, size_t block, size_t expert,
                 const char *ending, char name[FIND_NAME]);
const struct tensor *bind_tensor(const struct bind *b, size_t i);

/* ERR_CORRUPT: the tensor of that name is missing. -1. */
int bind_missing(const struct bind *b, const char *name);

/* The n values of a tensor, plus add each; NULL if the tensor does not exist, or with e filled. */
const float *bind_vector(struct bind *b, enum role role, size_t block,
                         const char *ending, uint64_t n, float add);

/* The n scales of the matrices of a role; NULL if there are none, or with e filled. Scales of
 * inputs, for hardware with 4-bit products, are not used. */
const float *bind_scale(struct bind *b, enum role role, size_t block, uint64_t n);

/* A norm, which must be there. */
int bind_norm(struct bind *b, struct norm *to, enum role role, size_t block, uint64_t n);

/* Tensor i as a matrix of rows × columns, which the file stores transposed if turned. */
int bind_matrix(struct bind *b, size_t i, uint64_t rows, uint64_t columns, bool turned,
                struct matrix *m);

/* Turn a matrix into single precision, and transpose it if turn. */
int bind_expand(struct bind *b, struct matrix *m, bool turn);

/* Whether the table can multiply with a matrix of tensor t: 0, or -1 with e filled. */
int bind_usable(struct bind *b, const struct matrix *m, const struct tensor *t);

/* l with only these rows, and what adapters add to them. 0 or -1. */
int bind_part(struct bind *b, const struct linear *l, size_t first, size_t rows,
              struct linear *to);

/* The weights of a linear layer, whole or as factors of low rank, with what adapters add: 1; 0 if
 * they are absent; -1. rows 0: any number. */
int bind_weight(struct bind *b, struct linear *to, enum role role, size_t block, size_t expert,
                uint64_t rows, uint64_t columns);

/* A linear layer: 1; 0 if it is absent; -1. rows 0: any number. */
int bind_linear(struct bind *b, struct linear *to, enum role role, size_t block,
                uint64_t rows, uint64_t columns);

/* A linear layer, which must be there. */
int bind_need(struct bind *b, struct linear *to, enum role role, size_t block,
              uint64_t rows, uint64_t columns);

#endif
