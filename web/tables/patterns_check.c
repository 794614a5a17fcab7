/* Compares what lib/core/wasm/pattern_tables.c has for each character with PCRE2's pcre2_ucd.c, which this is
 * compiled with. The tables of both have names of their own here. */
#include "config.h"
#include "pcre2_internal.h"

static const ucd_record *
library_record(uint32_t c)
{
	return GET_UCD(c);
}

#define _pcre2_ucd_records_8 made_records
#define _pcre2_ucd_stage1_8 made_stage1
#define _pcre2_ucd_stage2_8 made_stage2
#define pcre2_compile_8 made_compile
#include "core/wasm/pattern_tables.c"

/* fill() needs it no more. */
pcre2_code *
pcre2_compile_filled_8(PCRE2_SPTR8 text, PCRE2_SIZE n, uint32_t options, int *code, PCRE2_SIZE *at,
                       pcre2_compile_context *c)
{
	(void)text, (void)n, (void)options, (void)code, (void)at, (void)c;
	return NULL;
}

int
main(void)
{
	uint32_t c;

	_Static_assert(sizeof(struct record) == sizeof(ucd_record), "the same records");
	fill();
	for (c = 0; c < STAGES_CODES; c++)
		if (memcmp(&made_records[made_stage2[made_stage1[c / STAGES_BLOCK] * STAGES_BLOCK +
		                                     c % STAGES_BLOCK]], library_record(c), sizeof(ucd_record)) != 0) {
			fprintf(stderr, "patterns_check: U+%04X is not as in PCRE2\n", (unsigned)c);
			return 1;
		}
	return 0;
}
