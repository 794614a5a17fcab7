/* rows: all golden rows of the reference data, at every level of the CPU. The smaller set
 * that is in the checkout is t_kernels.c's.
 */
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/kernel.h"
#include "kernels/level.h"
#include "rows.h"
#include "test.h"

enum { INPUTS = 16 };

/* The contents of the reference data's manifest. */
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

	if (ok && (weighted ? !!kernel_of(type)->encode_weighted : !!kernel_of(type)->encode)) {
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

	/* 19 types encode plainly, 18 by importance. */
	test_ok(ok && s.encoded == 19 * INPUTS && s.weighted == 18 * INPUTS &&
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
