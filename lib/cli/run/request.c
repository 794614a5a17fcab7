#include "cli/run/request.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static int
wrong(const char *member, const char *what, struct err *e)
{
	return err_set(e, ERR_USAGE, member, "is not %s", what);
}

/* ---- members ---- */

static int
read_whole(const json_t *v, const char *name, uint64_t least, uint64_t most, uint64_t *to,
           struct err *e)
{
	if (json_value_u64(v, to) < 0)
		return wrong(name, "a whole number", e);
	if (*to < least || *to > most)
		return err_set(e, ERR_USAGE, name, "is not between %llu and %llu",
		               (unsigned long long)least, (unsigned long long)most);
	return 0;
}

static int
read_real(const json_t *v, const char *name, double least, double most, double *to, struct err *e)
{
	if (!json_is_number(v))
		return wrong(name, "a number", e);
	*to = json_number_value(v);
	if (!(*to >= least && *to <= most))
		return err_set(e, ERR_USAGE, name, "is not between %g and %g", least, most);
	return 0;
}

static int
read_prompt(struct request *r, const json_t *v, struct err *e)
{
	if (!json_is_string(v))
		return wrong("prompt", "a text", e);
	r->prompt = json_string_value(v);
	return 0;
}

static int
read_tokens(struct request *r, const json_t *v, struct err *e)
{
	size_t i, n = json_is_array(v) ? json_array_size(v) : 0;
	uint64_t id;

	if (n == 0)
		return wrong("tokens", "an array of token ids", e);
	for (i = 0; i < n; i++)
		if (read_whole(json_array_get(v, i), "tokens", 0, UINT32_MAX, &id, e) < 0 ||
		    tokens_add(&r->tokens, (uint32_t)id, e) < 0)
			return -1;
	return 0;
}

static int
read_stops(struct request *r, const json_t *v, struct err *e)
{
	size_t i, n = json_is_array(v) ? json_array_size(v) : 1;

	if (n > REQUEST_STOPS)
		return err_set(e, ERR_USAGE, "stop", "has more than %d texts", REQUEST_STOPS);
	for (i = 0; i < n; i++) {
		r->own[i] = json_string_value(json_is_array(v) ? json_array_get(v, i) : v);
		if (!r->own[i] || !*r->own[i])
			return wrong("stop", "a text, or an array of texts", e);
	}
	r->stops = r->own;
	r->stop_count = n;
	return 0;
}

static int
read_stream(struct request *r, const json_t *v, struct err *e)
{
	if (!json_is_boolean(v))
		return wrong("stream", "true or false", e);
	r->stream = json_is_true(v);
	return 0;
}

/* The limits are those of the options (cli/run/sampling.h). */
static const struct {
	const char *name;
	size_t place;
	uint64_t least, most;
} whole_numbers[] = {
	{ "n", offsetof(struct request, count), 1, UINT32_MAX },
	{ "top_k", offsetof(struct request, sampler.top_k), 0, UINT32_MAX },
	{ "seed", offsetof(struct request, sampler.seed), 0, UINT64_MAX },
};

static const struct {
	const char *name;
	size_t place;
	double least, most;
} real_numbers[] = {
	{ "temp", offsetof(struct request, sampler.temperature), 0, 100 },
	{ "top_p", offsetof(struct request, sampler.top_p), 0, 1 },
	{ "min_p", offsetof(struct request, sampler.min_p), 0, 1 },
	{ "repeat_penalty", offsetof(struct request, sampler.repeat_penalty), 1, 100 },
};

static const struct {
	const char *name;
	int (*read)(struct request *r, const json_t *v, struct err *e);
} others[] = {
	{ "prompt", read_prompt },
	{ "tokens", read_tokens },
	{ "stop", read_stops },
	{ "stream", read_stream },
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static int
read_member(struct request *r, const char *name, const json_t *v, struct err *e)
{
	uint8_t *at = (uint8_t *)r;
	size_t i;

	if (strcmp(name, "request") == 0)
		return 0;
	for (i = 0; i < COUNT(others); i++)
		if (strcmp(name, others[i].name) == 0)
			return others[i].read(r, v, e);
	for (i = 0; i < COUNT(whole_numbers); i++)
		if (strcmp(name, whole_numbers[i].name) == 0)
			return read_whole(v, name, whole_numbers[i].least, whole_numbers[i].most,
			                  (uint64_t *)(void *)(at + whole_numbers[i].place), e);
	for (i = 0; i < COUNT(real_numbers); i++)
		if (strcmp(name, real_numbers[i].name) == 0)
			return read_real(v, name, real_numbers[i].least, real_numbers[i].most,
			                 (double *)(void *)(at + real_numbers[i].place), e);
	return err_set(e, ERR_USAGE, name, "is not a member of a request");
}

/* ---- requests ---- */

int
request_read(struct request *r, const void *text, size_t n, struct err *e)
{
	const char *name;
	json_t *v;

	r->root = json_parse(text, n, ERR_CORRUPT, "the request", e);
	if (!r->root)
		return -1;
	r->name = json_object_get(r->root, "request");
	json_object_foreach(r->root, name, v)
		if (read_member(r, name, v, e) < 0)
			return -1;
	if (!r->prompt == !r->tokens.n)
		return err_set(e, ERR_USAGE, "the request", r->prompt
		               ? "has both prompt and tokens" : "has neither prompt nor tokens");
	return 0;
}

void
request_free(struct request *r)
{
	json_decref(r->root);
	tokens_free(&r->tokens);
	*r = (struct request){ 0 };
}
