#include "core/wasm/decimal.h"

#include <string.h>

#define LIMB 1000000000u
#define LIMBS 87

/* An integer, lowest limb first. */
struct large {
	uint32_t limb[LIMBS];
	int n;
};

static void
multiply(struct large *x, uint32_t by)
{
	uint64_t carry = 0;
	int i;

	for (i = 0; i < x->n; i++) {
		carry += (uint64_t)x->limb[i] * by;
		x->limb[i] = (uint32_t)(carry % LIMB);
		carry /= LIMB;
	}
	while (carry > 0 && x->n < LIMBS) {
		x->limb[x->n++] = (uint32_t)(carry % LIMB);
		carry /= LIMB;
	}
}

/* Multiplies by factor^times; limit: the power that still fits. */
static void
multiply_power(struct large *x, uint32_t factor, int times, int limit)
{
	while (times > 0) {
		uint32_t by = 1;
		int i;

		for (i = 0; i < limit && times > 0; i++, times--)
			by *= factor;
		multiply(x, by);
	}
}

/* The digits of x / 10^places. */
static void
take_digits(struct decimal *d, const struct large *x, int places)
{
	char all[9 * LIMBS];
	int i, j, zeros = 0, n = 9 * x->n;

	for (i = 0; i < x->n; i++) {
		uint32_t v = x->limb[i];

		for (j = 1; j <= 9; j++, v /= 10)
			all[n - 9 * i - j] = (char)('0' + v % 10);
	}
	while (zeros < n && all[zeros] == '0')
		zeros++;
	d->n = n - zeros;
	d->point = d->n - places;
	memcpy(d->digit, all + zeros, (size_t)d->n);
}

void
decimal_set(struct decimal *d, uint64_t m, int e)
{
	struct large x = { .n = 0 };

	for (; m && e < 0 && m % 2 == 0; e++)
		m /= 2;
	for (; m > 0; m /= LIMB)
		x.limb[x.n++] = (uint32_t)(m % LIMB);
	multiply_power(&x, 2, e, 31);
	multiply_power(&x, 5, -e, 13); /* m / 2^n is m * 5^n / 10^n */
	take_digits(d, &x, e < 0 ? -e : 0);
}

char
decimal_digit(const struct decimal *d, int i)
{
	return i >= 0 && i < d->n ? d->digit[i] : '0';
}

/* Whether the digits from n on are more than half of the one before, or half and that is odd. */
static int
rounds_up(const struct decimal *d, int n)
{
	char next = decimal_digit(d, n);
	int i;

	if (next != '5')
		return next > '5';
	for (i = n + 1; i < d->n; i++)
		if (d->digit[i] != '0')
			return 1;
	return n > 0 && d->digit[n - 1] % 2;
}

void
decimal_round(struct decimal *d, int n)
{
	int up = n >= 0 && n < d->n && rounds_up(d, n);

	if (n >= d->n)
		return;
	for (d->n = n > 0 ? n : 0; up && d->n > 0 && d->digit[d->n - 1] == '9'; d->n--)
		;
	if (up && d->n > 0) {
		d->digit[d->n - 1]++;
	} else if (up) {
		d->digit[d->n++] = '1';
		d->point += 1;
	}
}

int
decimal_compare(const struct decimal *a, const struct decimal *b)
{
	int i, n = a->n > b->n ? a->n : b->n, order = 0;

	if (!a->n || !b->n)
		return (a->n > 0) - (b->n > 0);
	if (a->point != b->point)
		return a->point < b->point ? -1 : 1;
	for (i = 0; i < n && order == 0; i++)
		order = decimal_digit(a, i) - decimal_digit(b, i);
	return order;
}
