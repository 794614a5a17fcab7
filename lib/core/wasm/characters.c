#include "core/characters.h"

#include "core/wasm/character_tables.h"
#include "core/wasm/characters.inc"
#include "core/wasm/stages.h"

#define PAIRS_BITS 11 /* the table of pairs has twice as many places as there are pairs */
#define PAIRS (1u << PAIRS_BITS)
_Static_assert(CHARACTER_PAIRS * 2 <= PAIRS + PAIRS / 4, "a table of pairs with room");

/* Two characters that compose. */
struct pair {
	uint32_t first, second, whole;
};

/* The decomposition of `c` is part[from] up to the next one's. */
struct form {
	uint32_t c;
	uint16_t from;
	bool canonical, composes;
};

/* Filled before the first question, since the module has one thread. */
static struct {
	bool ready;
	uint16_t top[STAGES_TOP], block[(CHARACTER_BLOCKS + 1) * STAGES_BLOCK];
	struct character_run record[CHARACTER_RECORDS];
	uint32_t records;
	struct form form[CHARACTER_FORMS + 1];
	uint16_t first_form[STAGES_TOP + 1]; /* of a block */
	uint32_t part[CHARACTER_PARTS];
	struct pair pair[PAIRS];
} tables;
static struct stages stages = { .top = tables.top, .block = tables.block, .limit = CHARACTER_BLOCKS };

/* ---- reading ---- */

static uint32_t
record_of(struct character_run r)
{
	uint32_t i = tables.records;

	r.length = 0;
	while (i-- > 0)
		if (memcmp(&tables.record[i], &r, sizeof r) == 0)
			return i;
	if (tables.records < CHARACTER_RECORDS)
		tables.record[tables.records++] = r;
	return tables.records - 1;
}

static void
read_runs(struct squeeze *z, struct character_models *m)
{
	while (stages.at < STAGES_CODES) {
		struct character_run r = { 0 };

		character_run_code(z, m, &r);
		stages_add(&stages, r.length, record_of(r));
	}
}

static void
read_forms(struct squeeze *z, struct character_models *m)
{
	uint32_t i, part = 0, top = 0;

	for (i = 0; i < CHARACTER_FORMS; i++) {
		struct character_form f = { 0 };

		character_form_code(z, m, &f);
		if (f.c >= STAGES_CODES || f.n > CHARACTER_PARTS - part)
			break;
		for (; top <= f.c / STAGES_BLOCK; top++)
			tables.first_form[top] = (uint16_t)i;
		tables.form[i] = (struct form){ f.c, (uint16_t)part, f.canonical, f.composes };
		memcpy(tables.part + part, f.to, f.n * sizeof *f.to);
		part += f.n;
	}
	tables.form[i].from = (uint16_t)part;
	for (; top <= STAGES_TOP; top++)
		tables.first_form[top] = (uint16_t)i;
}

/* The place of a pair, or where it belongs. */
static struct pair *
pair_find(uint32_t first, uint32_t second)
{
	uint32_t i = (first * 0x9e3779b1u ^ second) * 0x85ebca6bu >> (32 - PAIRS_BITS);

	while (tables.pair[i].whole != 0 &&
	       (tables.pair[i].first != first || tables.pair[i].second != second))
		i = (i + 1) % PAIRS;
	return &tables.pair[i];
}

/* The last part of a form composes with what those before it compose to. So shorter forms go
 * first. */
static void
make_pairs(void)
{
	const struct form *f;
	const uint32_t *part;
	uint32_t n, i, k, first;

	for (n = 2; n <= 4; n++)
		for (i = 0; i < CHARACTER_FORMS; i++) {
			f = &tables.form[i];
			if (!f->composes || (uint32_t)(f[1].from - f->from) != n)
				continue;
			part = tables.part + f->from;
			for (first = part[0], k = 1; k + 1 < n; k++)
				first = pair_find(first, part[k])->whole;
			*pair_find(first, part[k]) = (struct pair){ first, part[k], f->c };
		}
}

static void
make_ready(void)
{
	struct character_models m = { 0 };
	struct squeeze z = { .from = character_bytes, .end = character_bytes + sizeof character_bytes };

	squeeze_begin(&z);
	read_runs(&z, &m);
	read_forms(&z, &m);
	make_pairs();
	tables.ready = true;
}

/* ---- answers ---- */

static const struct character_run *
properties(uint32_t c)
{
	if (!tables.ready)
		make_ready();
	return &tables.record[stages_find(&stages, c)];
}

enum character_category
character_category(uint32_t c)
{
	return c < STAGES_CODES ? (enum character_category)properties(c)->category : CHARACTER_CN;
}

unsigned
character_class(uint32_t c)
{
	return c < STAGES_CODES ? properties(c)->class : 0;
}

uint32_t
character_lower(uint32_t c)
{
	return c < STAGES_CODES ? difference_add(c, properties(c)->lower) : c;
}

uint32_t
character_title(uint32_t c)
{
	return c < STAGES_CODES ? difference_add(c, properties(c)->title) : c;
}

/* The form of c, or NULL. */
static const struct form *
form_find(uint32_t c)
{
	uint32_t low = tables.first_form[c / STAGES_BLOCK], high = tables.first_form[c / STAGES_BLOCK + 1];

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (tables.form[middle].c < c)
			low = middle + 1;
		else
			high = middle;
	}
	return low < CHARACTER_FORMS && tables.form[low].c == c ? &tables.form[low] : NULL;
}

static size_t
decompose_hangul(uint32_t i, uint32_t *to)
{
	to[0] = HANGUL_LEAD + i / (HANGUL_VOWELS * HANGUL_TAILS);
	to[1] = HANGUL_VOWEL + i / HANGUL_TAILS % HANGUL_VOWELS;
	to[2] = HANGUL_TAIL + i % HANGUL_TAILS;
	return i % HANGUL_TAILS ? 3 : 2;
}

/* Appends the parts of f. The parts of a canonical form may have compatible ones, which are whole. */
static size_t
form_put(const struct form *f, bool compatible, uint32_t *to)
{
	const uint32_t *p = tables.part + f->from, *end = tables.part + f[1].from;
	const struct form *inner;
	size_t n = 0;

	for (; p < end; p++) {
		inner = compatible && f->canonical ? form_find(*p) : NULL;
		if (inner)
			n += form_put(inner, false, to + n);
		else
			to[n++] = *p;
	}
	return n;
}

size_t
character_decompose(uint32_t c, bool compatible, uint32_t to[CHARACTER_LONGEST])
{
	const struct form *f;

	if (!tables.ready)
		make_ready();
	if (c >= STAGES_CODES)
		return 0;
	if (c - HANGUL < HANGUL_COUNT)
		return decompose_hangul(c - HANGUL, to);
	f = form_find(c);
	if (f && (f->canonical || compatible))
		return form_put(f, compatible, to);
	to[0] = c;
	return 1;
}

/* What a and b compose to, or 0. */
static uint32_t
compose(uint32_t a, uint32_t b)
{
	if (b < 0x300)
		return 0;
	if (a - HANGUL_LEAD < HANGUL_LEADS && b - HANGUL_VOWEL < HANGUL_VOWELS)
		return HANGUL + ((a - HANGUL_LEAD) * HANGUL_VOWELS + (b - HANGUL_VOWEL)) * HANGUL_TAILS;
	/* As in utf8proc, U+11A7, which is not a tail, disappears behind a syllable. */
	if (a - HANGUL < HANGUL_COUNT && (a - HANGUL) % HANGUL_TAILS == 0 && b - HANGUL_TAIL < HANGUL_TAILS)
		return a + (b - HANGUL_TAIL);
	return pair_find(a, b)->whole;
}

size_t
characters_compose(uint32_t *c, size_t n)
{
	uint32_t *starter = NULL, whole;
	size_t i, kept = 0;
	int most = -1, class;

	for (i = 0; i < n; i++) {
		class = (int)character_class(c[i]);
		if (starter && class > most && (whole = compose(*starter, c[i])) != 0) {
			*starter = whole;
			continue;
		}
		if (class == 0) {
			starter = c + kept;
			most = -1;
		} else if (class > most) {
			most = class;
		}
		c[kept++] = c[i];
	}
	return kept;
}
