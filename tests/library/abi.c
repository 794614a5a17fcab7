/* abi: the layout of each structure of the headers and the number of each constant. aprml.abi has what
 * they are. Programs were compiled with these, so they stay as long as the soname does.
 */
#include <aprml/aprml.h>
#include <stdio.h>

#define MEMBER(s, m) printf("%s.%s %zu+%zu\n", #s, #m, offsetof(struct s, m), sizeof((struct s *)0)->m)
#define SIZE(s) printf("%s %zu\n", #s, sizeof(struct s))
#define NUMBER(n) printf("%s %lld\n", #n, (long long)(n))

int
main(void)
{
	SIZE(aprml_error);
	MEMBER(aprml_error, code);
	MEMBER(aprml_error, text);
	SIZE(aprml_ranges);
	MEMBER(aprml_ranges, bytes);
	MEMBER(aprml_ranges, size);
	MEMBER(aprml_ranges, read);
	MEMBER(aprml_ranges, prefetch);
	MEMBER(aprml_ranges, ctx);
	SIZE(aprml_tensor);
	MEMBER(aprml_tensor, name);
	MEMBER(aprml_tensor, type);
	MEMBER(aprml_tensor, ndim);
	MEMBER(aprml_tensor, dims);
	MEMBER(aprml_tensor, values);
	MEMBER(aprml_tensor, bytes);
	SIZE(aprml_value);
	MEMBER(aprml_value, kind);
	MEMBER(aprml_value, type);
	MEMBER(aprml_value, u);
	MEMBER(aprml_value, i);
	MEMBER(aprml_value, number);
	MEMBER(aprml_value, text);
	MEMBER(aprml_value, bytes);
	MEMBER(aprml_value, count);
	SIZE(aprml_file);
	MEMBER(aprml_file, name);
	MEMBER(aprml_file, type);
	MEMBER(aprml_file, bytes);
	MEMBER(aprml_file, p);
	NUMBER(APRML_DIMS);
	NUMBER(APRML_TYPE);
	NUMBER(APRML_KEEP);
	NUMBER(APRML_UNSIGNED);
	NUMBER(APRML_SIGNED);
	NUMBER(APRML_REAL);
	NUMBER(APRML_BOOL);
	NUMBER(APRML_STRING);
	NUMBER(APRML_JSON);
	NUMBER(APRML_ARRAY);
	return 0;
}
