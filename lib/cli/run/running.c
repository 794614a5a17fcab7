#include "cli/run/running.h"

#include "core/near.h"
#include "core/thread.h"

static const char *
cache_word(unsigned i)
{
	static const enum cache_type types[] = { CACHE_F16, CACHE_F32, CACHE_Q8_0 };

	return i < sizeof types / sizeof *types ? cache_type_name(types[i]) : NULL;
}

static const char *
gelu_word(unsigned i)
{
	return gelu_name((enum gelu)(i + GELU_MODEL + 1));
}

int
running_options(const struct running *r, struct infer_options *o, struct err *e)
{
	*o = (struct infer_options){ .context = r->context, .repack = r->repack, .thin = true,
		.threads = r->threads ? (unsigned)r->threads : thread_count() };
	if (r->cache && cache_type_by_name(r->cache, &o->cache) < 0) {
		tool_misused(e, "--cache is f16, f32 or q8_0, not %.40s", r->cache);
		near_words(e, r->cache, cache_word);
		return -1;
	}
	if (r->gelu && gelu_by_name(r->gelu, &o->gelu) < 0) {
		tool_misused(e, "--gelu is table, tanh or erf, not %.40s", r->gelu);
		near_words(e, r->gelu, gelu_word);
		return -1;
	}
	return 0;
}
