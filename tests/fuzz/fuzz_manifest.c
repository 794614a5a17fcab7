/* fuzz_manifest: lists of digests, as apr-sum -c reads them, and slices. The first byte
 * chooses which.
 *
 *     1. A list is compared, or refused with a fault that can be printed.
 *     2. It is as the model says only if it holds each of the model's lines.
 *     3. A slice that fits leaves something, and all of it lies in the tensor.
 */
#include "fuzz.h"

#include "core/mem.h"
#include "report/manifest.h"
#include "report/slice.h"

static const char digest[] =
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static void
add(struct manifest *m, const char *hash, const char *text, const char *name)
{
	static const uint64_t dims[] = { 2, 3 };
	struct manifest_entry x = { .hash = hash, .digest = text, .name = name,
		.type = hash ? NULL : "F32", .shaped = true, .ndim = 2, .dims = dims };
	struct err e = ERR_INIT;

	must(manifest_add(m, &x, &e) == 0);
}

static bool
holds(const uint8_t *p, size_t n, const char *s)
{
	return memmem(p, n, s, strlen(s)) != NULL;
}

static void
list(const uint8_t *p, size_t n, bool hashes)
{
	struct manifest m = { .file = hashes ? "m.gguf" : NULL };
	struct manifest_list *l;
	struct buf notes = { 0 };
	struct err e = ERR_INIT;
	char path[64];
	int fd = memfd_create("list", MFD_CLOEXEC);

	must(fd >= 0 && write(fd, p, n) == (ssize_t)n);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	add(&m, hashes ? "sha256" : NULL, digest, "a");
	add(&m, hashes ? "sha256" : NULL, digest, "b:a");
	if (hashes) {
		add(&m, "sha256", digest, NULL);
		add(&m, "uuid", "b90056b4-5957-521a-bc93-86ac800a9619", NULL);
	}
	l = manifest_list_open(path, hashes, &e);
	must((l != NULL) == (e.code == ERR_NONE));
	if (l && manifest_check(&m, l, &notes, &e) == 0) {
		must(holds(p, n, digest) || holds(p, n, "b90056b4"));
		must(hashes || (holds(p, n, "a  F32 2x3") && holds(p, n, "b:a  F32 2x3")));
	}
	must(e.code == ERR_NONE || e.code == ERR_CORRUPT || e.code == ERR_NO);
	fuzz_printable(e.object);
	fuzz_printable(e.fact);
	manifest_list_close(l);
	manifest_free(&m);
	buf_free(&notes);
	close(fd);
}

static void
slice(const uint8_t *p, size_t n, unsigned ndim)
{
	static const uint64_t dims[] = { 2, 3, 4, 1, 2, 5, 1, 3 };
	struct err e = ERR_INIT;
	struct tensor *t = tensor_new("t", 1, dtype_by_name("U8"), ndim, dims, TENSOR_OWN_SIZE,
	                              "fuzz", &e);
	char *text = mem_text((const char *)p, n);
	struct slice s;
	uint64_t row, rows = 0, want = 1;
	unsigned i;

	must(t && text);
	if (slice_parse(&s, text, &e) == 0 && slice_fit(&s, t, &e) == 0) {
		for (i = 0; i + 1 < ndim; i++) {
			must(s.range[i].from < s.range[i].to && s.range[i].to <= dims[i]);
			want *= s.range[i].to - s.range[i].from;
		}
		for (row = 0; row < tensor_items(t) / tensor_row(t); row++)
			rows += slice_has_row(&s, t, row);
		must(rows == want && slice_from(&s) < slice_to(&s));
		must(slice_to(&s) <= tensor_row(t));
	} else {
		must(e.code == ERR_USAGE);
		fuzz_printable(e.fact);
	}
	free(text);
	tensor_free(t);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	setenv("APR_LOG_LEVEL", "error", 1);
	if (data[0] < 2)
		list(data + 1, size - 1, data[0]);
	else
		slice(data + 1, size - 1, data[0] % (TENSOR_DIMS + 1));
	return 0;
}
