/* rows: all golden rows of the reference data, at every level of the CPU. The smaller set
 * that is in the checkout is t_kernels.c's.
 */
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/kernel.h"
#include "kernels/level.h"
#include "file.h"
#include "test.h"

enum { COLUMNS = 512, INPUTS = 16 };

static const struct kernel *
kernel_of(const char *type)
{
	return kernel_for(dtype_by_name(type));
}

static size_t
bytes_of(const char *type, size_t n)
{
	const struct dtype *t = dtype_by_name(type);

	return n / t->items * t->bytes;
}

/* Little-endian floats of a file. */
static float *
floats_read(const char *dir, const char *name, size_t *n)
{
	uint8_t *bytes = file_read(n, "%s/%s", dir, name);
	float *x;

	if (!bytes)
		return NULL;
	*n /= 4;
	x = calloc(*n + 1, sizeof *x);
	kernel_of("F32")->decode(bytes, x, *n);
	free(bytes);
	return x;
}

/* Encode rows of COLUMNS values, by importance if there is some. Do they give
 * these bytes, and no more? */
static bool
encodes_to(const char *type, const float *x, const float *importance, size_t n,
           const uint8_t *want, size_t bytes)
{
	size_t row = bytes_of(type, COLUMNS), i;
	uint8_t *y = calloc(bytes + 1, 1);
	bool same;

	if (!importance)
		kernel_of(type)->encode(x, y, n);
	for (i = 0; importance && i < n / COLUMNS; i++)
		kernel_of(type)->encode_weighted(x + COLUMNS * i, importance, y + row * i,
		                                 COLUMNS);
	same = bytes == bytes_of(type, n) && !memcmp(y, want, bytes) && !y[bytes];
	free(y);
	return same;
}

/* The values that n encoded ones decode to, as bytes of a file. */
static uint8_t *
decoded_bytes(const char *type, const uint8_t *y, size_t n)
{
	float *x = calloc(n, sizeof *x);
	uint8_t *bytes = calloc(n, 4);

	kernel_of(type)->decode(y, x, n);
	kernel_of("F32")->encode(x, bytes, n);
	free(x);
	return bytes;
}

/* What the reference data's manifest was found to hold. */
struct seen {
	size_t encoded, weighted, decoded;
};

/* One row of it. */
static bool
manifest_row_holds(const char *dir, json_t *row, const float *importance, struct seen *s)
{
	const char *type = json_string_value(json_object_get(row, "type"));
	bool weighted = !json_is_null(json_object_get(row, "imatrix"));
	size_t n, bytes, decoded_n;
	float *x = floats_read(dir, json_string_value(json_object_get(row, "input")), &n);
	uint8_t *want = file_read(&bytes, "%s/%s", dir,
		json_string_value(json_object_get(row, "output")));
	uint8_t *decoded_want = file_read(&decoded_n, "%s/%s", dir,
		json_string_value(json_object_get(row, "decoded")));
	uint8_t *decoded = NULL;
	bool ok = x && want && decoded_want && decoded_n == 4 * n &&
	          bytes == bytes_of(type, n);

	if (ok && kernel_of(type)->encode) {
		ok = encodes_to(type, x, weighted ? importance : NULL, n, want, bytes);
		*(weighted ? &s->weighted : &s->encoded) += 1;
	}
	if (ok) {
		decoded = decoded_bytes(type, want, n);
		ok = !memcmp(decoded, decoded_want, decoded_n);
		s->decoded++;
	}
	if (!ok)
		printf("# %s\n", json_string_value(json_object_get(row, "output")));
	free(x);
	free(want);
	free(decoded_want);
	free(decoded);
	return ok;
}

static void
all_rows(void)
{
	const char *data = test_data();
	struct seen s = { 0, 0, 0 };
	char dir[4096], path[4200];
	size_t columns, i;
	json_t *manifest, *row;
	float *importance;
	bool ok = true;

	if (!data) {
		test_skip("all golden rows", "no reference data (APR_TEST_DATA)");
		return;
	}
	snprintf(dir, sizeof dir, "%s/golden/rows", data);
	snprintf(path, sizeof path, "%s/manifest.json", dir);
	manifest = json_load_file(path, 0, NULL);
	importance = floats_read(dir, "imatrix.f32", &columns);
	ok = importance && columns == COLUMNS;
	json_array_foreach(manifest, i, row)
		ok = ok && manifest_row_holds(dir, row, importance, &s);
	json_decref(manifest);
	free(importance);

	/* 15 types encode plainly, 11 of them by importance; of the 22, 19 were
	 * made without importance and 18 with. */
	test_ok(ok && s.encoded == 15 * INPUTS && s.weighted == 11 * INPUTS &&
	        s.decoded == (19 + 18) * INPUTS,
	        "all golden rows: %zu encoded, %zu by importance, %zu decoded", s.encoded,
	        s.weighted, s.decoded);
}

int
main(void)
{
	static char about[32];
	struct err e = ERR_INIT;
	unsigned i;

	for (i = 0; level_row(i); i++) {
		snprintf(about, sizeof about, "%s: ", level_row(i)->name);
		test_about = about;
		test_ok(level_begin(level_row(i)->name, NULL, &e) == 0 &&
		        level_now() == level_row(i), "the level does as plain C does");
		all_rows();
	}
	return test_done();
}
