/* Filters of chunks: which are used, and how they are reversed. */
#include "wire/hdf5.h"

#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "core/crc32.h"
#include "core/le.h"

enum { DEFLATE = 1, SHUFFLE, FLETCHER32 };

/* Those that are known, by number; others have a number alone. */
static const char *const filter_names[] = { "none", "deflate", "shuffle", "fletcher32", "szip",
	"nbit", "scaleoffset" };

static int
read_filter(struct hdf5 *h, struct hdf5_part *m, unsigned version, struct hdf5_data *d)
{
	bool ok = true;
	const unsigned id = (unsigned)hdf5_number(m, 2, &ok);
	const bool named = version == 1 || id >= 256;
	uint64_t name = named ? hdf5_number(m, 2, &ok) : 0, count;

	hdf5_number(m, 2, &ok);
	count = hdf5_number(m, 2, &ok);
	if (!ok || !hdf5_take(h, m, version == 1 ? (name + 7) / 8 * 8 : name))
		return hdf5_fail(h, ERR_CORRUPT, "has a list of filters that is too short");
	d->filters[d->filter_count].id = id;
	d->filters[d->filter_count++].value = count && m->n >= 4 ? le32(m->p) : 0;
	if (!hdf5_take(h, m, 4 * (count + (version == 1 ? count & 1 : 0))))
		return -1;
	if (id >= DEFLATE && id <= FLETCHER32)
		return 0;
	return hdf5_fail(h, ERR_FORMAT, "has chunks with filter %u%s%s, which is not read; deflate, "
	                 "shuffle and fletcher32 are", id, id < 7 ? ", " : "",
	                 id < 7 ? filter_names[id] : "");
}

int
hdf5_read_filters(struct hdf5 *h, struct hdf5_part m, struct hdf5_data *d)
{
	bool ok = true;
	const unsigned version = (unsigned)hdf5_number(&m, 1, &ok);
	const unsigned count = (unsigned)hdf5_number(&m, 1, &ok);
	unsigned i;

	hdf5_number(&m, version == 1 ? 2 : 0, &ok);
	hdf5_number(&m, version == 1 ? 4 : 0, &ok);
	if (!ok || count > HDF5_FILTERS)
		return hdf5_fail(h, ERR_CORRUPT, "has a list of filters that is too short or too long");
	if (version != 1 && version != 2)
		return hdf5_fail(h, ERR_VERSION, "has filters of version %u; 1 and 2 are read", version);
	for (i = 0; i < count; i++)
		if (read_filter(h, &m, version, d) < 0)
			return -1;
	return 0;
}

/* The last sum of Fletcher's checksum over big-endian words of 16 bits; an odd byte counts as a
 * high one. */
static uint32_t
fletcher32(const uint8_t *p, uint64_t n)
{
	uint64_t a = 0, b = 0, i;

	for (i = 0; i < n; i += 2) {
		a = (a + ((uint32_t)p[i] << 8 | (i + 1 < n ? p[i + 1] : 0u))) % 65535;
		b = (b + a) % 65535;
	}
	return (uint32_t)(b << 16 | a);
}

static int
undo_fletcher32(struct hdf5 *h, const uint8_t *p, uint64_t *n)
{
	uint32_t want;

	if (*n < 4)
		return hdf5_fail(h, ERR_CORRUPT, "has a chunk that is shorter than its checksum");
	*n -= 4;
	want = le32(p + *n);
	want = (want >> 16) % 65535 << 16 | (want & 0xffff) % 65535; /* 65535 stands for 0 */
	if (crc32_same(fletcher32(p, *n), want))
		return 0;
	return hdf5_fail(h, ERR_CHECKSUM, "has a chunk with a wrong checksum");
}

static int
undo_deflate(struct hdf5 *h, const uint8_t *p, uint64_t n, uint64_t most, struct buf *to)
{
	uint8_t *room;
	uLongf bytes = (uLongf)most;
	int r;

	buf_clear(to);
	room = buf_room(to, (size_t)most + 1);
	if (!room)
		return err_memory(h->err);
	r = uncompress(room, &bytes, p, (uLong)n);
	if (r == Z_MEM_ERROR)
		return err_memory(h->err);
	if (r != Z_OK)
		return hdf5_fail(h, ERR_CORRUPT, "has a chunk at offset %" PRIu64 " that is not deflated "
		                 "data of its size", (uint64_t)(p - h->p));
	to->n = (size_t)bytes;
	return 0;
}

/* First bytes of all values, then second ones, and so on; bytes that are not a whole value stay
 * at the end. */
static int
undo_shuffle(struct hdf5 *h, const uint8_t *p, uint64_t n, uint64_t element, struct buf *to)
{
	uint64_t count, i, k;
	uint8_t *room;

	buf_clear(to);
	room = buf_room(to, (size_t)n + 1);
	if (!room)
		return err_memory(h->err);
	if (element == 0 || element > n)
		element = 1;
	count = n / element;
	for (k = 0; k < element; k++)
		for (i = 0; i < count; i++)
			room[i * element + k] = p[k * count + i];
	memcpy(room + count * element, p + count * element, (size_t)(n - count * element));
	to->n = (size_t)n;
	return 0;
}

int
hdf5_undo(struct hdf5 *h, const struct hdf5_data *d, uint32_t mask, struct buf pair[2],
          const uint8_t **p, uint64_t *n)
{
	const uint64_t most = d->chunk_bytes + 4ull * HDF5_FILTERS;
	unsigned i, other = 0;
	int r = 0;

	for (i = d->filter_count; r == 0 && i-- > 0;) {
		if (i < 32 && mask >> i & 1)
			continue;
		if (d->filters[i].id == FLETCHER32) {
			r = undo_fletcher32(h, *p, n);
			continue;
		}
		r = d->filters[i].id == DEFLATE
		        ? undo_deflate(h, *p, *n, most, &pair[other])
		        : undo_shuffle(h, *p, *n, d->filters[i].value, &pair[other]);
		*p = pair[other].p;
		*n = pair[other].n;
		other ^= 1;
	}
	if (r < 0)
		return -1;
	return *n == d->chunk_bytes ? 0 : hdf5_fail(h, ERR_CORRUPT, "has a chunk of %" PRIu64
	                                            " bytes in place of %" PRIu64, *n,
	                                            d->chunk_bytes);
}
