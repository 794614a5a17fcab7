/* Writes the tables of lib/core/wasm/pattern_tables.c from those of PCRE2, pcre2_ucd.c, which this is
 * compiled with: patterns >patterns.inc. */
#include "config.h"
#include "pcre2_internal.h"

#define SQUEEZE_WRITES
#include "core/wasm/pattern_tables.h"
#include "core/wasm/stages.h"
#include "tables.h"

static struct pattern_models models;

/* What a reader needs room for. */
static struct {
	struct pattern_run record[1 << 14];
	uint32_t records;
	uint16_t top[STAGES_TOP], block[STAGES_CODES];
} made;
static struct stages stages = { .top = made.top, .block = made.block,
	.limit = STAGES_CODES / STAGES_BLOCK - 1 };

static uint32_t
record_of(struct pattern_run r)
{
	r.from = r.length = 0;
	return table_record(made.record, sizeof made.record, &made.records, &r, sizeof r);
}

static struct pattern_run
properties(uint32_t c)
{
	const ucd_record *r = GET_UCD(c);

	table_want(r->scriptx_bidiclass == (UCD_SCRIPTX_PROP(r) | UCD_BIDICLASS_PROP(r) << UCD_BIDICLASS_SHIFT));
	return (struct pattern_run){ 0, 1, r->chartype, r->script,
		difference_fold((uint32_t)((int)c + r->other_case), c), r->caseset, r->gbprop,
		UCD_SCRIPTX_PROP(r), UCD_BIDICLASS_PROP(r), r->bprops };
}

int
main(void)
{
	static uint8_t bytes[1 << 16];
	struct squeeze z = { .high = UINT32_MAX, .to = bytes };
	struct pattern_run run = properties(0), next;
	uint32_t c;

	for (c = 1; c <= STAGES_CODES; c++) {
		if (c < STAGES_CODES) {
			next = properties(c);
			next.from = run.from;
			next.length = run.length;
			if (memcmp(&next, &run, sizeof run) == 0) {
				run.length++;
				continue;
			}
		}
		stages_add(&stages, run.length, record_of(run));
		pattern_run_code(&z, &models, &run);
		run = next;
		run.from = c;
		run.length = 1;
	}
	printf("#define PATTERN_RECORDS %u\n#define PATTERN_BLOCKS %u\n", made.records, stages.n);
	return table_finish(&z, bytes, "pattern_bytes");
}
