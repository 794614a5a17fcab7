#include "formats/announce.h"

#include <string.h>

#include "core/num.h"
#include "core/remote.h"

#define NEAR 4096 /* bytes between tensors, for their alignment */

/* Tensors that follow one another in a file. */
struct run {
	const char *path, *file;
	uint64_t at, end; /* end 0: none yet */
	struct err *e;
};

static int
send_run(struct run *r)
{
	int status = r->end > r->at ? remote_want(r->path, r->file, r->at, r->end - r->at, r->e) : 0;

	r->end = 0;
	return status;
}

static bool
continues(const struct run *r, const char *file, uint64_t at)
{
	bool same = file && r->file ? strcmp(file, r->file) == 0 : file == r->file;

	return r->end > 0 && same && at >= r->end && at - r->end <= NEAR;
}

static int
add(struct run *r, const char *file, uint64_t at, uint64_t bytes)
{
	uint64_t end;

	if (num_add(at, bytes, &end) < 0)
		return err_set(r->e, ERR_CORRUPT, r->path, "a tensor lies outside the file");
	if (!continues(r, file, at)) {
		if (send_run(r) < 0)
			return -1;
		r->file = file;
		r->at = at;
	}
	r->end = end;
	return 0;
}

int
format_announce(const struct format *f, const struct source *s, const char *path,
                const bool *wanted, struct err *e)
{
	const struct format_reads *reads = f->reads;
	struct run r = { .path = path, .e = e };
	size_t i;

	if (!remote_is(path) || !reads->tensor_offset)
		return 0;
	for (i = 0; i < s->plan->tensor_count; i++) {
		uint64_t bytes = tensor_bytes(s->plan->tensors[i]), at = reads->tensor_offset(s, i);

		if ((wanted && reads->skips && !wanted[i]) || at == FORMAT_SCATTERED || bytes == 0)
			continue;
		if (reads->tensor_stored)
			reads->tensor_stored(s, i, &bytes);
		if (add(&r, reads->tensor_file ? reads->tensor_file(s, i) : NULL, at, bytes) < 0)
			return -1;
	}
	return send_run(&r) < 0 || remote_want(path, NULL, 0, 0, e) < 0 ? -1 : 0;
}
