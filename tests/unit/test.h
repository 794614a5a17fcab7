/* test: TAP from small C programs.
 *
 *	int main(void)
 *	{
 *		test_ok(1 + 1 == 2, "FALSIFY-MATH-001 one and one");
 *		return test_done();
 *	}
 */
#ifndef TEST_H
#define TEST_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int test_count, test_failed;

/* Stands before each name, where the same tests run more than once. */
static const char *test_about = "";

__attribute__((unused, format(printf, 2, 3))) static int
test_ok(int ok, const char *fmt, ...)
{
	va_list ap;

	printf("%sok %d - %s", ok ? "" : "not ", ++test_count, test_about);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	test_failed += !ok;
	return ok;
}

/* A test that cannot run here: say why. */
__attribute__((unused)) static void
test_skip(const char *name, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++test_count, name, why);
}

/* The folder of the reference data, or NULL where it is absent. */
__attribute__((unused)) static const char *
test_data(void)
{
	const char *dir = getenv("APR_TEST_DATA");
	FILE *f;
	char path[4096];

	if (!dir)
		dir = "../shared/data";
	snprintf(path, sizeof path, "%s/README.md", dir);
	f = fopen(path, "r");
	if (!f)
		return NULL;
	fclose(f);
	return dir;
}

__attribute__((unused)) static int
test_done(void)
{
	printf("1..%d\n", test_count);
	return test_failed != 0;
}

#endif
