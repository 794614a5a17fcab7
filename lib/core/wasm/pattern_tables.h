/* pattern_tables: how the tables of PCRE2 are written (web/tables/patterns.c) and read
 * (core/wasm/pattern_tables.c): runs of characters with the same properties, from 0 to 10FFFF. The
 * properties of core/characters.h are known; they are of another version of Unicode, and a good guess.
 */
#ifndef WASM_PATTERN_TABLES_H
#define WASM_PATTERN_TABLES_H

#include "core/characters.h"
#include "core/wasm/squeeze.h"

/* other: the difference to the character of the other case, folded. */
struct pattern_run {
	uint32_t from, length, type, script, other, caseset, breaks, scripts, direction, flags;
};

#define PATTERN_FAR 300 /* longer runs are not guessed */

struct pattern_models {
	struct field type, script, other, caseset, breaks, scripts, direction, flags, length;
	struct odds as_guessed[32], case_guessed[32];
	struct pattern_run run;
};

/* From how many characters on the known properties change; 0 if from too many. */
static inline uint32_t
pattern_guess(uint32_t c)
{
	uint32_t category = character_category(c), step = character_lower(c) - c, n = 1;

	while (n < PATTERN_FAR && character_category(c + n) == category && character_lower(c + n) - c - n == step)
		n++;
	return n < PATTERN_FAR ? n : 0;
}

static inline void
pattern_run_code(struct squeeze *z, struct pattern_models *m, struct pattern_run *r)
{
	uint32_t category = character_category(r->from), guess, other = character_lower(r->from);

	if (other == r->from)
		other = character_title(r->from);
	other = difference_fold(other, r->from);
	r->type = squeeze_field(z, &m->type, m->run.type * 32 + category, category, r->type);
	r->script = squeeze_field(z, &m->script, 0, r->type, r->script);
	if (squeeze_bit(z, &m->case_guessed[r->type % 32], r->other == other))
		r->other = other;
	else
		r->other = squeeze_field(z, &m->other, r->script, r->type, r->other);
	r->caseset = squeeze_field(z, &m->caseset, r->type, r->other != 0, r->caseset);
	r->breaks = squeeze_field(z, &m->breaks, r->script, r->type, r->breaks);
	r->scripts = squeeze_field(z, &m->scripts, r->script, r->type, r->scripts);
	r->direction = squeeze_field(z, &m->direction, r->script * 32 + r->type, r->type, r->direction);
	r->flags = squeeze_field(z, &m->flags, r->script * 32 + r->type, r->type, r->flags);
	guess = pattern_guess(r->from);
	if (guess > 0 && squeeze_bit(z, &m->as_guessed[r->type % 32], r->length == guess))
		r->length = guess;
	else
		r->length = 1 + squeeze_field(z, &m->length, 0, r->type, r->length - 1);
	m->run = *r;
}

#endif
