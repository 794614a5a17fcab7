/* External data: values in files in the folder of the model or below it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/dir.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"
#include "imports/onnx/onnx.h"
#include "wire/sha1.h"

#define SUM 40 /* hexadecimal digits of SHA-1 */
#define PIECE (1u << 20)
#define MEMORY "*/_ORT_MEM_ADDR_/*" /* location of values in the memory of onnxruntime */

/* Take a number in decimal digits; missing text is 0. */
static int
read_number(const struct onnx *x, struct onnx_text t, const char *what, const char *name,
            uint64_t *v)
{
	char digits[24];
	size_t i;

	*v = 0;
	for (i = 0; i < t.n && t.p[i] >= '0' && t.p[i] <= '9'; i++)
		;
	if (t.p && t.n > 0 && i == t.n && t.n < sizeof digits) {
		memcpy(digits, t.p, t.n);
		digits[t.n] = '\0';
		if (text_u64(digits, 0, INT64_MAX, v) == 0)
			return 0;
	}
	return !t.p ? 0 : err_set(x->err, ERR_CORRUPT, name, "has external data whose %s is not "
	                          "a number", what);
}

/* ---- files ---- */

/* Find the model's folder by the path of the file. */
static int
find_folder(struct onnx *x, const char *name)
{
	const char *file;

	if (x->folder >= 0)
		return 0;
	if (x->reader.fd < 0 || !x->reader.seekable || strcmp(x->source.name, "<stdin>") == 0) {
		err_set(x->err, ERR_FORMAT, name, "has its values in another file, which cannot be "
		        "found from a pipe");
		return err_hint(x->err, "name the model's file instead");
	}
	x->folder = dir_of(x->source.name, &x->folder_path, &file, x->err);
	return x->folder < 0 ? -1 : 0;
}

int
onnx_open_beside(struct onnx *x, size_t file)
{
	const struct onnx_file *f = &x->files[file];

	if (x->beside_file == file)
		return 0;
	if (x->beside_file != SIZE_MAX)
		reader_close(&x->beside);
	x->beside_file = SIZE_MAX;
	free(x->beside_label);
	x->beside_label = dir_label(x->folder_path, f->name);
	if (!x->beside_label)
		return err_memory(x->err);
	if (dir_open(x->folder, f->name, x->beside_label, &x->beside, x->err) < 0)
		return -1;
	x->beside_file = file;
	if (f->bytes == UINT64_MAX || x->beside.end == f->bytes)
		return 0;
	return err_set(x->err, ERR_CORRUPT, x->beside_label, "changed while the model was read");
}

/* A file beside the model or in a folder below, whose name may begin with "./". */
static char *
plain_name(const struct onnx *x, struct onnx_text t, const char *name)
{
	char *s, shown[304];

	if (t.n >= 2 && memcmp(t.p, "./", 2) == 0)
		t = (struct onnx_text){ t.p + 2, t.n - 2 };
	if (t.n == 0) {
		err_set(x->err, ERR_CORRUPT, name, "has external data without a location");
		return NULL;
	}
	s = t.n <= 255 && !memchr(t.p, '\0', t.n) ? mem_text(t.p, t.n) : NULL;
	if (s && dir_name_is_inside(s) && strcmp(s, MEMORY) != 0)
		return s;
	free(s);
	err_set(x->err, ERR_CORRUPT, name, "has external data in \"%s\", which is not a file "
	        "in the model's folder", onnx_show(t, shown));
	return NULL;
}

static int
add_file(struct onnx *x, char *file)
{
	struct onnx_file *f;

	if (x->file_count == ONNX_FILES) {
		free(file);
		return err_set(x->err, ERR_CORRUPT, x->source.name, "has external data in more than %u "
		               "files", ONNX_FILES);
	}
	if (mem_grow(&x->files, &x->file_cap, x->file_count + 1, sizeof *x->files) < 0) {
		free(file);
		return err_memory(x->err);
	}
	f = &x->files[x->file_count++];
	*f = (struct onnx_file){ .name = file, .bytes = UINT64_MAX };
	if (onnx_open_beside(x, x->file_count - 1) < 0)
		return -1;
	f->bytes = x->beside.end;
	return 0;
}

/* The number of the file. 0 or -1. */
static int
find_file(struct onnx *x, struct onnx_text location, const char *name, uint32_t *number)
{
	char *file = plain_name(x, location, name);
	size_t i;

	if (!file || find_folder(x, name) < 0) {
		free(file);
		return -1;
	}
	for (i = x->file_count; i > 0 && strcmp(x->files[i - 1].name, file) != 0; i--)
		;
	*number = (uint32_t)(i > 0 ? i - 1 : x->file_count);
	if (i == 0)
		return add_file(x, file);
	free(file);
	return 0;
}

/* Remember the checksum that a tensor states of its file; all must agree. */
static int
take_sum(const struct onnx *x, struct onnx_text t, struct onnx_file *f, const char *name)
{
	size_t i;

	if (!t.p)
		return 0;
	for (i = 0; i < t.n; i++)
		if (!strchr("0123456789abcdefABCDEF", t.p[i]) || !t.p[i])
			break;
	if (t.n != SUM || i < t.n)
		return err_set(x->err, ERR_CORRUPT, name, "has external data whose checksum is not "
		               "that of SHA-1");
	if (*f->sum && strncasecmp(f->sum, t.p, SUM) != 0)
		return err_set(x->err, ERR_CORRUPT, name, "states another checksum of the same file");
	memcpy(f->sum, t.p, SUM);
	return 0;
}

int
onnx_external_view(struct onnx *x, const struct onnx_external *e, uint64_t bytes,
                   const char *name, struct onnx_view *v)
{
	uint64_t offset, length, end;
	struct onnx_file *f;

	if (read_number(x, e->offset, "offset", name, &offset) < 0 ||
	    read_number(x, e->length, "length", name, &length) < 0 ||
	    find_file(x, e->location, name, &v->file) < 0)
		return -1;
	f = &x->files[v->file];
	if (e->length.p && length != bytes)
		return err_set(x->err, ERR_CORRUPT, name, "has %" PRIu64 " bytes of external data, "
		               "its shape and type need %" PRIu64, length, bytes);
	if (num_add(offset, bytes, &end) < 0 || end > f->bytes)
		return err_set(x->err, ERR_CORRUPT, name, "has external data at byte %" PRIu64
		               " of %s, which has only %" PRIu64 " bytes", offset, f->name, f->bytes);
	v->in = ONNX_EXTERNAL;
	v->at = offset;
	v->bytes = bytes;
	return take_sum(x, e->checksum, f, name);
}

/* ---- checksums ---- */

static int
check_sum(struct onnx *x, size_t file)
{
	const struct onnx_file *f = &x->files[file];
	struct sha1_sum sum;
	char text[SUM + 1];
	const uint8_t *p;
	uint64_t left;
	size_t n;

	if (onnx_open_beside(x, file) < 0 || reader_seek(&x->beside, 0) < 0)
		return -1;
	sha1_sum_begin(&sum);
	for (left = f->bytes; left > 0; left -= n) {
		p = reader_some(&x->beside, num_min(left, PIECE), &n);
		if (!p)
			return -1;
		sha1_sum_add(&sum, p, n);
	}
	sha1_sum_end(&sum, text);
	if (strncasecmp(text, f->sum, SUM) == 0)
		return 0;
	return err_set(x->err, ERR_CHECKSUM, x->beside_label, "its SHA-1 is %s, but the model states "
	               "%s", text, f->sum);
}

int
onnx_check_sums(struct onnx *x)
{
	size_t i;

	for (i = 0; i < x->file_count; i++)
		if (x->files[i].used && *x->files[i].sum && check_sum(x, i) < 0)
			return -1;
	return 0;
}
