#include "cli/run/backend.h"

#include <string.h>

#include "cli/tool.h"
#include "kernels/dot.h"
#include "kernels/level.h"

/* Levels by the number of the hint: auto, scalar, SSE2, AVX, AVX2, AVX-512, NEON, WASM
 * SIMD, GPU. Plain C is compiled for SSE2, and AVX alone does not have a level. */
static const char *const levels[] = { NULL, "ref", "ref", "ref", "avx2", "avx512", "neon",
	NULL, NULL };

/* Returns the level of the CPU (kernels/level.h) that the hints of a model ask for. NULL:
 * the model has no hints, they differ, or they do not name a level of a CPU. */
static const char *
wished_level(const struct model *m)
{
	json_t *hints = json_object_get(json_object_get(m->source, "apr1"), "backend_hints");
	const char *key, *wish = NULL;
	json_t *v;

	json_object_foreach(hints, key, v) {
		json_int_t n = json_is_integer(v) ? json_integer_value(v) : 0;
		const char *level =
			n > 0 && (size_t)n < sizeof levels / sizeof *levels ? levels[n] : NULL;

		if (!level || (wish && strcmp(wish, level) != 0))
			return NULL;
		wish = level;
	}
	return wish;
}

int
backend_follow(const struct model *m, struct err *e)
{
	const char *wish = wished_level(m);
	const struct level *level;
	unsigned i;

	if (!wish || strcmp(wish, level_now()->name) == 0)
		return 0;
	for (i = 0; (level = level_row(i)) && strcmp(level->name, wish) != 0; i++)
		;
	if (!level) {
		tool_notef("the model asks for %s, which this CPU lacks", wish);
		return 0;
	}
	if (level_begin(wish, tool_note, e) < 0)
		return -1;
	dot_begin(tool_note);
	tool_notef("using level %s, as the model asks; APR_CPU overrides it", wish);
	return 0;
}
