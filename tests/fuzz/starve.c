/* starve: run a container's fuzz target with memory running out at the first,
 * the second, every allocation. Each run ends with the fault that says so, or
 * as it ends with enough memory, to the last byte that was written.
 *
 * Usage: starve_NAME FILE...
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/err.h"

#define WAYS 8

extern int fuzz_way;
extern bool fuzz_starved;
extern uint64_t fuzz_outcome;
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- allocation, of all code that is linked into this program ---- */

static unsigned long allocations, fails_at; /* 0: none fails */
static bool trace;                          /* show where it fails */

/* The sanitizer's, where there is one. */
__attribute__((weak)) void __sanitizer_print_stack_trace(void);

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static bool
fails(void)
{
	if (++allocations != fails_at)
		return false;
	if (trace && __sanitizer_print_stack_trace)
		__sanitizer_print_stack_trace();
	errno = ENOMEM;
	return true;
}

void *
__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *
__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *
__wrap_realloc(void *p, size_t n)
{
	return fails() ? NULL : __real_realloc(p, n);
}

/* ---- the runs ---- */

static unsigned long runs;

static uint64_t
run(const uint8_t *data, size_t n, unsigned long at)
{
	allocations = 0;
	fails_at = at;
	LLVMFuzzerTestOneInput(data, n);
	fails_at = 0;
	runs++;
	return fuzz_outcome;
}

static void
starve(const char *path, const uint8_t *data, size_t n)
{
	uint64_t sound, outcome;
	unsigned long at;

	for (fuzz_way = 0; fuzz_way < WAYS; fuzz_way++) {
		sound = run(data, n, 0);
		for (at = 1;; at++) {
			outcome = run(data, n, at);
			if (allocations < at)
				break;
			if (outcome == ERR_MEMORY || outcome == sound)
				continue;
			fprintf(stderr, "starve: %s: way %d, allocation %lu: ended with %"
			        PRIx64 " instead of %" PRIx64 "\n", path, fuzz_way, at,
			        outcome, sound);
			trace = true;
			run(data, n, at);
			abort();
		}
	}
}

int
main(int argc, char **argv)
{
	static uint8_t data[1 << 20];
	int i;

	fuzz_starved = true;
	for (i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		size_t n = f ? fread(data, 1, sizeof data, f) : 0;

		if (!f || fclose(f) != 0) {
			fprintf(stderr, "starve: %s: cannot be read\n", argv[i]);
			return 1;
		}
		starve(argv[i], data, n);
	}
	printf("%lu runs\n", runs);
	return runs == 0;
}
