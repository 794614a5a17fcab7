/* normal: what values of a tensor are usual, by architecture and role, as rows of data. A file
 * in this folder has the rows of an architecture and of its relatives.
 *
 * Sources, as the rows name them:
 *   "v2 10.9"   section 10.9 of the specification of version 2, made for Whisper
 *   "v2 11"     its list of 100 points
 *   "facts"     what existing software accepts: means of RMS norms from -1 to 10
 *   "measured"  on real models: stories260K (width 64), a LLaMA of width 256 trained on
 *               Shakespeare, a GPT-2 of one block, networks for speech and pictures
 *   "formula"   follows from the computation, for example the sign of -exp(x)
 * Ranges are wide: values within them are not a reason to trust a tensor. Scale is also compared
 * among the tensors of one role, which needs no range (check/values.h).
 */
#ifndef ARCH_NORMAL_NORMAL_H
#define ARCH_NORMAL_NORMAL_H

#include "arch/match.h"

enum normal_of {
	NORMAL_MEAN,   /* mean of the values */
	NORMAL_STD,    /* their standard deviation */
	NORMAL_LENGTH, /* of a row: root of the sum of squares; it depends less on the width */
	NORMAL_MIN,    /* the smallest value, */
	NORMAL_MAX,    /* and the largest */
	NORMALS
};

/* Forms in which a row holds: weights of some norms are stored as weight - 1 in folders. */
enum { IN_ALL, IN_FOLDERS, IN_GGUF };

struct normal {
	enum role role;      /* ROLES: what is meant is the name, */
	const char *name;    /* the end of the rule's name in folders */
	bool bias;
	unsigned char form;  /* IN_ALL … */
	enum normal_of of;
	double low, high;    /* values outside are unusual */
	double least, most;  /* values outside are wrong. Both 0: none is */
	const char *source;
};

/* The row for a tensor that a rule matched, or NULL. form: of the names (a .apr file has the
 * values of a folder). */
const struct normal *normal_find(const struct arch *a, enum arch_form form,
                                 const struct match *m, enum normal_of of);

/* True if a weight of this role or name is that of a norm. */
bool normal_is_norm(const struct arch_rule *r);

#endif
