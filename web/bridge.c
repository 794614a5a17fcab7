/* bridge: what JavaScript needs besides the functions of aprml.h, which the module exports as they
 * are: where the members of their structures lie, and callbacks, which lead to the host's files
 * (core/wasm/host.h).
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "api/aprml.h"
#include "core/wasm/host.h"

const uint32_t *js_layout(void);
int js_output(struct aprml_output *o, const char *name);

/* In the order of the names in LAYOUT of web/aprml.js. */
static const uint32_t layout[] = {
	sizeof(struct aprml_error), offsetof(struct aprml_error, code), offsetof(struct aprml_error, text),
	sizeof(struct aprml_tensor), offsetof(struct aprml_tensor, name),
	offsetof(struct aprml_tensor, type), offsetof(struct aprml_tensor, ndim),
	offsetof(struct aprml_tensor, dims), offsetof(struct aprml_tensor, values),
	offsetof(struct aprml_tensor, bytes),
	sizeof(struct aprml_value), offsetof(struct aprml_value, kind), offsetof(struct aprml_value, type),
	offsetof(struct aprml_value, u), offsetof(struct aprml_value, i),
	offsetof(struct aprml_value, number), offsetof(struct aprml_value, text),
	offsetof(struct aprml_value, bytes), offsetof(struct aprml_value, count),
	sizeof(struct aprml_file), offsetof(struct aprml_file, name), offsetof(struct aprml_file, type),
	offsetof(struct aprml_file, bytes), offsetof(struct aprml_file, p),
	sizeof(struct aprml_origin), offsetof(struct aprml_origin, path),
	offsetof(struct aprml_origin, from), offsetof(struct aprml_origin, ring),
	offsetof(struct aprml_origin, sealed),
};

const uint32_t *
js_layout(void)
{
	return layout;
}

/* Structures whose layout run.js, make.js and trust.js state as numbers. */
#define AT(type, member, at) _Static_assert(offsetof(struct type, member) == (at), #type "." #member)
#define SIZE(type, n) _Static_assert(sizeof(struct type) == (n), #type)
SIZE(aprml_weights_options, 32);
SIZE(aprml_run_options, 64);
AT(aprml_run_options, context, 8);
AT(aprml_run_options, cache, 16);
SIZE(aprml_sampling, 72);
AT(aprml_sampling, temperature, 8);
AT(aprml_sampling, top_p, 16);
AT(aprml_sampling, min_p, 24);
AT(aprml_sampling, repeat_penalty, 32);
AT(aprml_sampling, top_k, 40);
AT(aprml_sampling, seed, 48);
AT(aprml_sampling, count, 56);
SIZE(aprml_token, 24);
AT(aprml_token, text, 16);
AT(aprml_token, bytes, 20);
SIZE(aprml_result, 40);
AT(aprml_result, end, 4);
AT(aprml_result, prompt, 8);
AT(aprml_result, made, 16);
AT(aprml_result, prompt_seconds, 24);
AT(aprml_result, seconds, 32);
SIZE(aprml_output, 28);
SIZE(aprml_finding, 24);
AT(aprml_finding, level, 4);
AT(aprml_finding, id, 8);
AT(aprml_finding, object, 12);
AT(aprml_finding, fact, 16);
AT(aprml_finding, fix, 20);
SIZE(aprml_verdict, 840);
AT(aprml_verdict, key, 4);
AT(aprml_verdict, root, 28);
AT(aprml_verdict, sealed, 100);
AT(aprml_verdict, name, 104);
AT(aprml_verdict, version, 240);
AT(aprml_verdict, date, 312);
AT(aprml_verdict, comment, 336);

static int
put(void *ctx, uint64_t at, const void *p, size_t n)
{
	const unsigned char *from = p;
	int part;

	for (; n > 0; n -= (size_t)part, at += (size_t)part, from += part) {
		part = host_write((int)(intptr_t)ctx, (double)at, from, n);
		if (part <= 0 || (size_t)part > n)
			return -1;
	}
	return 0;
}

/* Fills *o: the output is the host's file of this name. Returns the number that the host gave it, or
 * -errno. */
int
js_output(struct aprml_output *o, const char *name)
{
	int file = host_open(name, strlen(name), 1);

	*o = (struct aprml_output){ .bytes = sizeof *o };
	o->write = put;
	o->ctx = (void *)(intptr_t)file;
	return file;
}
