/* gelu: how GELU is computed, by name. Programs differ: GGML takes the tanh form from a table of
 * halves, whatever the model's configuration says, and PyTorch computes the form that it says.
 */
#ifndef INFER_GELU_H
#define INFER_GELU_H

#include "arch/hyper.h"

/* GELU_MODEL: the table for GGUF files, the form of the configuration for the others. */
enum gelu { GELU_MODEL, GELU_TABLE, GELU_TANH, GELU_ERF };

/* The names that options use: "table", "tanh", "erf"; NULL after the last. Not for
 * GELU_MODEL. */
const char *gelu_name(enum gelu gelu);

/* 0, or -1 if the name is unknown. */
int gelu_by_name(const char *name, enum gelu *gelu);

/* Computes a model's GELU in that way. False: its activation is another one, and stays. */
bool gelu_use(enum gelu gelu, enum act *act);

#endif
