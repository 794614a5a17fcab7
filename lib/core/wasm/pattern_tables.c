/* What patterns know of characters: PCRE2's tables of Unicode, filled before the first pattern is
 * compiled. In the library, its own function has another name (web/module.mk). */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdbool.h>

#include "core/wasm/pattern_tables.h"
#include "core/wasm/patterns.inc"
#include "core/wasm/stages.h"

/* As ucd_record. */
struct record {
	uint8_t script, type, breaks, caseset;
	int32_t other;
	uint16_t scripts_direction, flags;
};
#define DIRECTION_SHIFT 11

struct record _pcre2_ucd_records_8[PATTERN_RECORDS];
uint16_t _pcre2_ucd_stage1_8[STAGES_TOP];
uint16_t _pcre2_ucd_stage2_8[(PATTERN_BLOCKS + 1) * STAGES_BLOCK];

static uint32_t
record_of(const struct pattern_run *r, uint32_t *n)
{
	struct record new = {
		(uint8_t)r->script, (uint8_t)r->type, (uint8_t)r->breaks, (uint8_t)r->caseset,
		(int32_t)difference_add(0, r->other),
		(uint16_t)(r->scripts | r->direction << DIRECTION_SHIFT), (uint16_t)r->flags
	};
	uint32_t i = *n;

	while (i-- > 0)
		if (memcmp(&_pcre2_ucd_records_8[i], &new, sizeof new) == 0)
			return i;
	if (*n < PATTERN_RECORDS)
		_pcre2_ucd_records_8[(*n)++] = new;
	return *n - 1;
}

static void
fill(void)
{
	struct stages s = { .top = _pcre2_ucd_stage1_8, .block = _pcre2_ucd_stage2_8,
		.limit = PATTERN_BLOCKS };
	struct squeeze z = { .from = pattern_bytes, .end = pattern_bytes + sizeof pattern_bytes };
	struct pattern_models m = { 0 };
	uint32_t n = 0;

	squeeze_begin(&z);
	while (s.at < STAGES_CODES) {
		struct pattern_run r = { .from = s.at };

		pattern_run_code(&z, &m, &r);
		stages_add(&s, r.length, record_of(&r, &n));
	}
}

pcre2_code *pcre2_compile_filled_8(PCRE2_SPTR8 text, PCRE2_SIZE n, uint32_t options, int *code,
                                   PCRE2_SIZE *at, pcre2_compile_context *c);

pcre2_code *
pcre2_compile_8(PCRE2_SPTR8 text, PCRE2_SIZE n, uint32_t options, int *code, PCRE2_SIZE *at,
                pcre2_compile_context *c)
{
	static bool filled;

	if (!filled)
		fill();
	filled = true;
	return pcre2_compile_filled_8(text, n, options, code, at, c);
}
