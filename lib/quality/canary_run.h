/* canary_run: a model says what a canary records, and is held against what one recorded.
 */
#ifndef QUALITY_CANARY_RUN_H
#define QUALITY_CANARY_RUN_H

#include "infer/sequence.h"
#include "quality/canary.h"

/* Fill a prompt whose ids are those of the prompt: continuation, digest and rows. 0, or -1 with e
 * filled. */
int canary_make(const struct canary *c, struct canary_prompt *p, struct sequence *s,
                const struct tokenizer *t, struct err *e);

/* A prompt of a canary and a model. Positions are those of the recorded prompt and continuation,
 * over which the model is evaluated, whatever it would have said itself. */
struct canary_result {
	size_t positions;
	size_t same_top;      /* positions whose most probable token is the recorded one */
	size_t shared;        /* recorded top tokens that are among the model's, */
	size_t tops;          /* of this number */
	double kl;            /* sum over positions; see canary_check */
	double kl_most;       /* the greatest, */
	size_t kl_at;         /* and its position */
	bool identical;       /* all logits have the recorded bits */

	struct tokens ids;    /* what the model says: its own greedy continuation */
	char *made;           /* its text */
	bool ended;
	size_t same_ids;      /* tokens of it that are as recorded at their places, */
	size_t most_ids;      /* of this number: tokens of the longer one of the two */
	size_t parts_at;      /* the first token that differs; most_ids: none does */
	size_t edits, letters; /* characters to insert, delete or change to get the recorded
	                       * text from it; characters of the recorded text. Of longer texts
	                       * CANARY_LETTERS count */
	bool other_tokens;    /* the tokenizer gives other ids for the prompt's text; set by the
	                       * caller */
};
#define CANARY_LETTERS 4096

/* Hold a model against prompt p of a canary. Its vocabulary must have the canary's size.
 *
 * The divergence is that of generate/divergence.h, of what the canary knows of a distribution: the
 * recorded tokens, and all others together as one. It is at most the divergence of the whole
 * distributions, and 0 for the same model. r is uninitialized. 0, or -1 with e filled;
 * canary_result_free is due in any case. */
int canary_check(const struct canary *c, const struct canary_prompt *p, struct sequence *s,
                 const struct tokenizer *t, struct canary_result *r, struct err *e);
void canary_result_free(struct canary_result *r);

/* What a result must reach: share of positions with the same most probable token (0 to 1), and the
 * mean divergence. */
struct canary_limits {
	double min_top1, max_kl;
};
/* Defaults: a model in four bits passes, one with a damaged tensor does not; apr-canary(1) has
 * measurements. */
#define CANARY_MIN_TOP1 0.75
#define CANARY_MAX_KL 0.1

double canary_top1(const struct canary_result *r);
double canary_kl(const struct canary_result *r);
enum { CANARY_LOW_TOP1 = 1, CANARY_HIGH_KL = 2, CANARY_OTHER_TOKENS = 4 };
/* The limits that a result breaks; 0: it passes. */
unsigned canary_breaches(const struct canary_result *r, const struct canary_limits *l);

#endif
