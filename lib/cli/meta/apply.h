/* apply: one edit applied to the keys of a model, and what keys must agree on. */
#ifndef CLI_META_APPLY_H
#define CLI_META_APPLY_H

#include "cli/meta/edited.h"

/* The key that a user spells as KEY, KEY:TYPE or KEY[INDEX]. A spelling that is a key as a
 * whole is that key. */
struct spelled {
	char *key;
	struct row *row;   /* NULL: the model has no such key */
	bool typed, indexed;
	struct value_type type;
	uint64_t index;
};

/* Finds the parts of a spelling of a key that must exist, without a type: ERR_NO if it does not.
 * The caller frees s->key in any case. */
int apply_find(struct spelled *s, const struct edited *d, const char *text, struct err *e);

/* Applies edit i. Returns 0, or -1 with e filled (edited_open). */
int apply_edit(struct edited *d, const struct edits *edits, size_t i, struct err *e);

/* Called after the last edit: checks that the arrays of the vocabulary have one length, if
 * one of them was changed. 0 or -1. */
int apply_check(struct edited *d, struct err *e);

#endif
