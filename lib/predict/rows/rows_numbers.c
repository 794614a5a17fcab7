#include "predict/rows/rows_numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu.h"
#include "predict/decimal.h"

static bool
begins_json(const char *p, const char *end)
{
	return p < end && (*p == '-' || (*p >= '0' && *p <= '9'));
}

static size_t
read_plain(const char **p, const char *end, char between, bool json, double *to, size_t n)
{
	const char *at = *p, *s;
	size_t i;

	for (i = 0; i < n && at; i++) {
		s = at;
		if (s < end ? *s == between : between != ' ') {
			if (between == ' ' || json)
				break;
			to[i] = (double)NAN;
		} else {
			s = at += at < end && *at == ' ';
			if (json && !begins_json(s, end))
				break;
			to[i] = decimal_read(&s, end);
			if (s == at || (s < end && *s != between))
				break;
		}
		at = s < end ? s + 1 : NULL;
		*p = at;
	}
	return i;
}

static size_t
integers_plain(const char **p, const char *end, char between, double *to, size_t n)
{
	const char *at = *p, *s, *from;
	unsigned v, c;
	size_t i;
	bool minus;

	for (i = 0; i < n && at; i++) {
		minus = at < end && *at == '-';
		for (v = 0, s = from = at + minus; s < end && s - from < 8 && (c = (unsigned char)*s - (unsigned)'0') < 10; s++)
			v = v * 10 + c;
		if (s == from || (s < end && *s != between))
			break;
		to[i] = minus ? -(double)v : v;
		at = s < end ? s + 1 : NULL;
		*p = at;
	}
	return i;
}

const struct rows_numbers rows_numbers_plain = { "ref", read_plain, integers_plain };

const struct rows_numbers *
rows_numbers_level(unsigned index)
{
#ifdef __x86_64__
	if (index == 2)
		return cpu_has(CPU_AVX512) ? &rows_numbers_avx512 : NULL;
	if (index == 1)
		return cpu_has(CPU_AVX2) ? &rows_numbers_avx2 : NULL;
#endif
	return index == 0 ? &rows_numbers_plain : NULL;
}

/* The best level up to one. */
static const struct rows_numbers *
best_of(unsigned most)
{
	const struct rows_numbers *best = &rows_numbers_plain, *next;
	const char *wish = getenv("APR_CPU");
	unsigned i;

	for (i = 1; i <= most && !(wish && strcmp(best->name, wish) == 0) && (next = rows_numbers_level(i)); i++)
		best = next;
	return best;
}

const struct rows_numbers *
rows_numbers_best(void)
{
	return best_of(2);
}

const struct rows_numbers *
rows_numbers_long(void)
{
	return best_of(1);
}
