/* bind: a model's tensors found by their role, and held against the shape that is due. */
#ifndef INFER_BIND_H
#define INFER_BIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "infer/net.h"

/* What the search for tensors shares. */
struct bind {
	struct net *net;
	const struct ops *ops;
	const struct hyper *h;
	const struct weights *w;
	size_t *by_name;  /* tensors in the order of their names */
	bool *used;
	struct err *e;
};

/* n zeroed items that go with the net. NULL with e filled. */
void *bind_make(struct bind *b, size_t n, size_t size);

#define BIND_NAME 128 /* bytes of a name, at most */

/* The name of a role's tensor in a block, of an expert; NULL if it has none. */
const char *bind_name(const struct bind *b, enum role role, size_t block, size_t expert,
                      const char *ending, char name[BIND_NAME]);

/* The number of that tensor, which is then used; SIZE_MAX where there is none. */
size_t bind_find(const struct bind *b, enum role role, size_t block, size_t expert,
                 const char *ending, char name[BIND_NAME]);
const struct tensor *bind_tensor(const struct bind *b, size_t i);

/* ERR_CORRUPT: a tensor of that name is missing. -1. */
int bind_missing(const struct bind *b, const char *name);

/* The n values of a role's tensor, each with add to it, or NULL where there is none or
 * e is filled. */
const float *bind_vector(struct bind *b, enum role role, size_t block,
                         const char *ending, uint64_t n, float add);

/* The n scales of a role's matrices, or NULL where there are none or e is filled. Those of
 * their inputs, for hardware that has products of 4 bits, are not wanted. */
const float *bind_scale(struct bind *b, enum role role, size_t block, uint64_t n);

/* A norm that must be there. */
int bind_norm(struct bind *b, struct norm *to, enum role role, size_t block, uint64_t n);

/* Tensor i as rows × columns, stored the other way round if turned. */
int bind_matrix(struct bind *b, size_t i, uint64_t rows, uint64_t columns, bool turned,
                struct matrix *m);

/* A matrix in single precision, with rows and columns changed for each other if turn. */
int bind_expand(struct bind *b, struct matrix *m, bool turn);

/* Whether the table can multiply with a matrix of tensor t: 0, or -1 with e filled. */
int bind_usable(struct bind *b, const struct matrix *m, const struct tensor *t);

/* A linear layer: 1 if it is there, 0 if not, -1. rows 0: as many as it has. */
int bind_linear(struct bind *b, struct linear *to, enum role role, size_t block,
                uint64_t rows, uint64_t columns);

/* One that must be there. */
int bind_need(struct bind *b, struct linear *to, enum role role, size_t block,
              uint64_t rows, uint64_t columns);

#endif
