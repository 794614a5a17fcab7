/* Members of the archive that travel beside the tensors: graphs and code, never read here. */
#include <string.h>

#include "core/crc32.h"
#include "core/mem.h"
#include "core/num.h"
#include "imports/torch/torch.h"

#define SIDES 4096               /* maximum number of these members */
#define SIDE_MAX (64u << 20)     /* maximum bytes of all */
#define SIDE_PIECE (1u << 17)

/* True if no part of the name is empty, "." or "..", and none has a backslash. */
static bool
stays_below(const char *p, size_t n)
{
	const char *end = p + n, *slash;

	if (memchr(p, '\\', n))
		return false;
	for (;; p = slash + 1) {
		slash = memchr(p, '/', (size_t)(end - p));
		n = (size_t)((slash ? slash : end) - p);
		if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && memcmp(p, "..", 2) == 0))
			return false;
		if (!slash)
			return true;
	}
}

int
torch_add_side(struct torch *t, const struct zip_entry *x)
{
	const size_t n = x->name_bytes - t->folder_bytes;

	if (!stays_below(x->name + t->folder_bytes, n))
		return err_set(t->err, ERR_CORRUPT, t->source.name, "has a member whose name leaves its "
		               "folder: %.*s", (int)num_min(x->name_bytes, 200), x->name);
	t->side_bytes += x->bytes; /* a member has less than 2^32 times ZIP_ENTRIES bytes */
	if (t->side_count == SIDES || x->bytes > SIDE_MAX || t->side_bytes > SIDE_MAX)
		return err_set(t->err, ERR_CORRUPT, t->source.name, "has more than %u members of code "
		               "or graphs, or more than %u MiB of them", SIDES, SIDE_MAX >> 20);
	if (mem_grow(&t->sides, &t->side_cap, t->side_count + 1, sizeof *t->sides) < 0)
		return err_memory(t->err);
	t->sides[t->side_count++] = x;
	return 0;
}

int
torch_add_sides(struct torch *t)
{
	char name[ZIP_NAME + 1];
	size_t i, n;

	for (i = 0; i < t->side_count; i++) {
		n = t->sides[i]->name_bytes - t->folder_bytes;
		memcpy(name, t->sides[i]->name + t->folder_bytes, n);
		name[n] = 0;
		if (model_add_blob(&t->plan, name, TORCH_SIDE, t->sides[i]->bytes, t->err) < 0)
			return -1;
	}
	return 0;
}

/* True if member x lies below this folder of the archive, or has this name. */
static bool
lies_in(const struct torch *t, const struct zip_entry *x, const char *name)
{
	const size_t at = x->name_bytes < t->folder_bytes ? 0 : t->folder_bytes, n = strlen(name);

	return x->name_bytes - at >= n && memcmp(x->name + at, name, n) == 0;
}

static bool
lies_in_any(const struct torch *t, const struct zip_entry *x, const char *const *names)
{
	for (; *names; names++)
		if (lies_in(t, x, *names))
			return true;
	return false;
}

int
torch_add_code(struct torch *t)
{
	static const char *const code[] = { "code/", "extra/", NULL };
	static const char *const known[] = { "data.pkl", "data/", "byteorder", "version",
		".format_version", ".storage_alignment", ".data/", TORCH_CONSTANTS, "constants/", NULL };
	static const char pickle[] = ".debug_pkl";
	const size_t end = sizeof pickle - 1;
	size_t i, other = 0;

	for (i = 0; i < t->zip.count; i++) {
		const struct zip_entry *x = &t->zip.entries[i];

		if (x->name[x->name_bytes - 1] == '/' || lies_in_any(t, x, known))
			continue;
		if (t->part || !lies_in_any(t, x, code) ||
		    (x->name_bytes >= end && memcmp(x->name + x->name_bytes - end, pickle, end) == 0))
			other++;
		else if (torch_add_side(t, x) < 0)
			return -1;
	}
	if (other)
		torch_note(t, "left out: other members of the archive: %zu", other);
	return 0;
}

int
torch_side_begin(struct torch *t, size_t i)
{
	t->side_done = 0;
	t->sends_joined = t->joined_is_blob && i == 0;
	if (t->sends_joined)
		return 0;
	t->side = t->sides[i - t->joined_is_blob];
	t->side_crc = 0;
	if (!t->side->deflated)
		return 0;
	t->side_inflate = zip_inflate_open(&t->zip, t->side, t->err);
	return t->side_inflate ? 0 : -1;
}

/* A stored member; its CRC-32 is proved behind its last byte. */
static int
read_stored(struct torch *t, const uint8_t **p, size_t *n)
{
	*p = t->p + t->side->offset + t->side_done;
	*n = (size_t)num_min(SIDE_PIECE, t->side->bytes - t->side_done);
	t->side_crc = crc32_add(t->side_crc, *p, *n);
	t->side_done += *n;
	return *n > 0 ? 0 : zip_prove(&t->zip, t->side, t->side_crc, t->err);
}

int
torch_side_read(struct torch *t, const uint8_t **p, size_t *n)
{
	int r = 0;

	if (t->sends_joined) {
		*p = t->joined.p + t->side_done;
		*n = (size_t)num_min(SIDE_PIECE, t->joined.n - t->side_done);
		t->side_done += *n;
		t->sends_joined = *n > 0;
		return 0;
	}
	r = t->side_inflate ? zip_inflate(t->side_inflate, p, n, t->err)
	                    : read_stored(t, p, n);
	if (r < 0 || *n == 0)
		torch_side_end(t);
	return r;
}

void
torch_side_end(struct torch *t)
{
	zip_inflate_close(t->side_inflate);
	t->side_inflate = NULL;
	t->side = NULL;
}
