/* decimal: binary numbers as decimal ones, exactly. What libc prints and reads of them needs larger code, as it
 * has numbers of 128 bits.
 */
#ifndef CORE_WASM_DECIMAL_H
#define CORE_WASM_DECIMAL_H

#include <stdint.h>

#define DECIMAL_DIGITS 780 /* 2^63 / 2^1076 has 770 */

struct decimal {
	char digit[DECIMAL_DIGITS]; /* '0' to '9', the first not '0' */
	int n;                      /* 0: the number is 0 */
	int point;                  /* the number is 0.DIGITS * 10^point */
};

/* m * 2^e, for e from -1076 to 971. */
void decimal_set(struct decimal *d, uint64_t m, int e);

/* The digit of 10^(point - 1 - i), also outside of those that are held. */
char decimal_digit(const struct decimal *d, int i);

/* Rounds to n digits, to even ones if two are as near. */
void decimal_round(struct decimal *d, int n);

/* Less than 0, 0, or more, as a is less than b, equal, or more. */
int decimal_compare(const struct decimal *a, const struct decimal *b);

#endif
