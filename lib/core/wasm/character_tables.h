/* character_tables: how the tables of characters are written (web/tables/characters.c) and read
 * (core/wasm/characters.c): runs of characters with the same properties, from 0 to 10FFFF; then the
 * characters that decompose, in their order, without those of Hangul. A function here takes one
 * item either way (squeeze.h).
 */
#ifndef WASM_CHARACTER_TABLES_H
#define WASM_CHARACTER_TABLES_H

#include <stdbool.h>

#include "core/characters.h"
#include "core/wasm/squeeze.h"

#define HANGUL 0xac00u
#define HANGUL_LEADS 19
#define HANGUL_VOWELS 21
#define HANGUL_TAILS 28 /* and no tail is one of them */
#define HANGUL_COUNT (HANGUL_LEADS * HANGUL_VOWELS * HANGUL_TAILS)
#define HANGUL_LEAD 0x1100u
#define HANGUL_VOWEL 0x1161u
#define HANGUL_TAIL 0x11a7u

#define FORM_LONGEST 18

/* Only marks have a class that is not 0. Cases are differences (difference_fold). */
struct character_run {
	uint32_t length, category, class, lower, title;
};

struct character_form {
	uint32_t c, n, to[FORM_LONGEST];
	bool canonical, composes; /* if not canonical, it is the compatible form alone */
};

struct character_models {
	struct field category, class, lower, title, length, gap, size, part[4];
	struct odds canonical[2], composes;
	struct character_run run, older; /* the last two */
	struct character_form form;
	uint32_t step;
};

static inline void
character_run_code(struct squeeze *z, struct character_models *m, struct character_run *r)
{
	uint32_t before = m->run.category, pair;

	r->category = squeeze_field(z, &m->category, before * 32 + m->older.category, before, r->category);
	pair = before * 32 + r->category;
	if (r->category >= CHARACTER_MN && r->category <= CHARACTER_ME)
		r->class = squeeze_field(z, &m->class, m->run.class, 0, r->class);
	r->lower = squeeze_field(z, &m->lower, pair, r->category, r->lower);
	r->title = squeeze_field(z, &m->title, pair, r->category, r->title);
	r->length = 1 + squeeze_field(z, &m->length, pair, r->category, r->length - 1);
	m->older = m->run;
	m->run = *r;
}

static inline void
character_form_code(struct squeeze *z, struct character_models *m, struct character_form *f)
{
	struct character_form *old = &m->form;
	uint32_t last = f->n > 0 ? f->n - 1 : 0, i, was, far;

	was = old->canonical + 2u * (m->step == 1);
	m->step = 1 + squeeze_field(z, &m->gap, m->step < 30 ? m->step : 30, was, f->c - old->c - 1);
	f->c = old->c + m->step;
	far = m->step != 1;
	f->canonical = squeeze_bit(z, &m->canonical[old->canonical], f->canonical);
	f->n = 1 + squeeze_field(z, &m->size, f->canonical * 32u + old->n, f->canonical * 2u + !far, last);
	if (f->canonical && f->n > 1)
		f->composes = squeeze_bit(z, &m->composes, f->composes);
	for (i = 0; i < f->n && i < FORM_LONGEST; i++) {
		was = i < old->n ? old->to[i] : old->n > 0 ? old->to[old->n - 1] : 0;
		f->to[i] = difference_add(was, squeeze_field(z, &m->part[i < 3 ? i : 2 + (i + 1 == f->n)],
			f->canonical * 64u + f->n + 32 * far,
			f->canonical * 16u + (f->n > 3 ? 4 : f->n) + 8 * far, difference_fold(f->to[i], was)));
	}
	*old = *f;
}

#endif
