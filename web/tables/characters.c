/* Writes the tables of lib/core/wasm/characters.c from utf8proc: characters >characters.inc. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#define SQUEEZE_WRITES
#include "core/wasm/character_tables.h"
#include "core/wasm/stages.h"
#include "tables.h"

#define CODES 0x110000

static struct character_models models;

/* What a reader needs room for. */
static struct {
	struct character_run record[CODES / 256];
	uint32_t records, pairs;
	uint16_t top[STAGES_TOP], block[STAGES_CODES];
} made;
static struct stages stages = { .top = made.top, .block = made.block,
	.limit = STAGES_CODES / STAGES_BLOCK - 1 };

static uint32_t
record_of(struct character_run r)
{
	r.length = 0;
	return table_record(made.record, sizeof made.record, &made.records, &r, sizeof r);
}

static struct character_run
properties(uint32_t c)
{
	const utf8proc_property_t *p = utf8proc_get_property((utf8proc_int32_t)c);

	return (struct character_run){ 1, (uint32_t)p->category, (uint32_t)p->combining_class,
		difference_fold((uint32_t)utf8proc_tolower((utf8proc_int32_t)c), c),
		difference_fold((uint32_t)utf8proc_totitle((utf8proc_int32_t)c), c) };
}

static void
write_runs(struct squeeze *z)
{
	struct character_run run = properties(0), next;
	uint32_t c;

	for (c = 1; c <= CODES; c++) {
		next = properties(c);
		next.length = run.length;
		if (c < CODES && memcmp(&next, &run, sizeof run) == 0) {
			run.length++;
			continue;
		}
		table_want(run.class == 0 || (run.category >= CHARACTER_MN && run.category <= CHARACTER_ME));
		stages_add(&stages, run.length, record_of(run));
		character_run_code(z, &models, &run);
		run = next;
		run.length = 1;
	}
}

static uint32_t
decompose(uint32_t c, int options, int32_t to[CHARACTER_LONGEST])
{
	utf8proc_ssize_t n = utf8proc_decompose_char((utf8proc_int32_t)c, to, CHARACTER_LONGEST,
		(utf8proc_option_t)(options | UTF8PROC_STABLE | UTF8PROC_DECOMPOSE), NULL);

	table_want(n > 0 && n <= FORM_LONGEST);
	return n == 1 && to[0] == (int32_t)c ? 0 : (uint32_t)n;
}

/* Whether c has a decomposition of its own. */
static bool
form_of(uint32_t c, struct character_form *f)
{
	int32_t to[CHARACTER_LONGEST];
	uint32_t i;

	*f = (struct character_form){ .c = c, .n = decompose(c, 0, to), .canonical = true };
	if (f->n == 0) {
		f->n = decompose(c, UTF8PROC_COMPAT, to);
		f->canonical = false;
	}
	for (i = 0; i < f->n; i++)
		f->to[i] = (uint32_t)to[i];
	if (f->canonical && f->n > 1)
		f->composes = utf8proc_normalize_utf32(to, (utf8proc_ssize_t)f->n,
			(utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPOSE)) == 1 && to[0] == (int32_t)c;
	return f->n > 0;
}

int
main(void)
{
	static uint8_t bytes[1 << 16];
	struct squeeze z = { .high = UINT32_MAX, .to = bytes };
	struct character_form f;
	unsigned n = 0, parts = 0;
	uint32_t c;

	write_runs(&z);
	for (c = 0; c < CODES; c++)
		if ((c < HANGUL || c >= HANGUL + HANGUL_COUNT) && form_of(c, &f)) {
			parts += f.n;
			n++;
			table_want(!f.composes || f.n <= 4);
			made.pairs += f.composes;
			character_form_code(&z, &models, &f);
		}
	printf("#define CHARACTER_RECORDS %u\n#define CHARACTER_BLOCKS %u\n"
	       "#define CHARACTER_FORMS %u\n#define CHARACTER_PARTS %u\n#define CHARACTER_PAIRS %u\n",
	       made.records, stages.n, n, parts, made.pairs);
	return table_finish(&z, bytes, "character_bytes");
}
