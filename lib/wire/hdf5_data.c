/* Layouts: where the values of a dataset lie. */
#include "wire/hdf5.h"

#include <inttypes.h>

#include "core/num.h"

/* The value of what is not stored: of the newer message, else of the older one. */
static int
read_fill(struct hdf5 *h, const struct hdf5_object *o, const struct hdf5_type *t,
          struct hdf5_data *d)
{
	struct hdf5_part m = o->parts[HDF5_FILL], old = o->parts[HDF5_OLD_FILL];
	bool ok = true, defined = false;
	unsigned version;

	if (m.p) {
		version = (unsigned)hdf5_number(&m, 1, &ok);
		if (version == 3) {
			defined = hdf5_number(&m, 1, &ok) & 0x20;
		} else {
			hdf5_number(&m, 2, &ok);
			defined = hdf5_number(&m, 1, &ok) != 0;
		}
	} else if (old.p) {
		m = old;
		defined = true;
	}
	if (!defined || !ok)
		return ok ? 0 : hdf5_fail(h, ERR_CORRUPT, "has a message that is too short");
	d->fill.n = hdf5_number(&m, 4, &ok);
	if (!ok || d->fill.n > m.n || (d->fill.n != 0 && d->fill.n != t->bytes))
		return hdf5_fail(h, ERR_CORRUPT, "has a fill value of another size than its type");
	d->fill.p = m.p;
	return 0;
}

int
hdf5_spend(struct hdf5 *h, uint64_t *budget, uint64_t bytes, const char *fact)
{
	if (bytes > *budget)
		return hdf5_fail(h, ERR_CORRUPT, "%s", fact);
	*budget -= bytes;
	return 0;
}

static int
in_one_piece(struct hdf5 *h, struct hdf5_data *d, uint64_t at, uint64_t bytes)
{
	if (at == HDF5_NONE)
		return hdf5_spend(h, &h->unset, d->bytes, HDF5_TOO_FEW);
	if (bytes < d->bytes)
		return hdf5_fail(h, ERR_CORRUPT, "has a dataset of %" PRIu64 " bytes whose shape needs %"
		                 PRIu64, bytes, d->bytes);
	if (at > h->n || d->bytes > h->n - at)
		return hdf5_fail(h, ERR_CORRUPT, "has a dataset at offset %" PRIu64 " that ends beyond "
		                 "its end", at);
	d->p = h->p + at;
	return hdf5_spend(h, &h->stored, d->bytes, HDF5_OVERLAP);
}

static int
read_compact(struct hdf5 *h, struct hdf5_part m, struct hdf5_data *d)
{
	bool ok = true;
	const uint64_t bytes = hdf5_number(&m, 2, &ok);

	if (!ok || bytes > m.n)
		return hdf5_fail(h, ERR_CORRUPT, "has a message that is too short");
	return in_one_piece(h, d, (uint64_t)(m.p - h->p), bytes);
}

static int
read_chunks(struct hdf5 *h, struct hdf5_part m, const struct hdf5_object *o,
            const struct hdf5_type *t, const struct hdf5_space *s, struct hdf5_data *d)
{
	bool ok = true;
	unsigned i, ndim = (unsigned)hdf5_number(&m, 1, &ok);

	d->tree = hdf5_number(&m, 8, &ok);
	if (ok && (ndim < 1 || ndim != s->ndim + 1))
		return hdf5_fail(h, ERR_CORRUPT, "has chunks of another number of dimensions");
	d->chunk_bytes = t->bytes;
	for (i = 0; ok && i < s->ndim; i++) {
		d->chunk[i] = hdf5_number(&m, 4, &ok);
		if (d->chunk[i] == 0 || num_mul(d->chunk_bytes, d->chunk[i], &d->chunk_bytes) < 0 ||
		    d->chunk_bytes > HDF5_CHUNK)
			return hdf5_fail(h, ERR_CORRUPT, "has chunks of 0 or more than %u bytes", HDF5_CHUNK);
	}
	if (!ok || hdf5_number(&m, 4, &ok) != t->bytes || !ok)
		return hdf5_fail(h, ERR_CORRUPT, "has chunks whose values have another size");
	if (o->parts[HDF5_PIPELINE].p && hdf5_read_filters(h, o->parts[HDF5_PIPELINE], d) < 0)
		return -1;
	return hdf5_check_chunks(h, t, s, d);
}

int
hdf5_data(struct hdf5 *h, const struct hdf5_object *o, const struct hdf5_type *t,
          const struct hdf5_space *s, struct hdf5_data *d)
{
	struct hdf5_part m = o->parts[HDF5_LAYOUT];
	bool ok = true;
	const unsigned version = (unsigned)hdf5_number(&m, 1, &ok);
	const unsigned class = (unsigned)hdf5_number(&m, 1, &ok);
	uint64_t at, bytes;

	*d = (struct hdf5_data){ .tree = HDF5_NONE };
	if (num_mul(s->count, t->bytes, &d->bytes) < 0)
		return hdf5_fail(h, ERR_CORRUPT, "has a shape that is too large");
	if (ok && version != 3 && version != 4)
		return hdf5_fail(h, ERR_VERSION, "has a layout of version %u; 3 and 4 are read", version);
	if (read_fill(h, o, t, d) < 0)
		return -1;
	switch (class) {
	case 0:
		return read_compact(h, m, d);
	case 1:
		at = hdf5_number(&m, 8, &ok);
		bytes = hdf5_number(&m, 8, &ok);
		return ok ? in_one_piece(h, d, at, bytes)
		          : hdf5_fail(h, ERR_CORRUPT, "has a message that is too short");
	case 2:
		if (version == 4)
			return hdf5_fail(h, ERR_FORMAT, "has chunks with an index of version 4, which is not "
			                 "read; h5py writes it only with libver");
		return read_chunks(h, m, o, t, s, d);
	case 3:
		return hdf5_fail(h, ERR_FORMAT, "has a virtual dataset, whose values lie in other files, "
		                 "which are never opened");
	default:
		return hdf5_fail(h, ERR_CORRUPT, "has a layout of class %u, which does not exist", class);
	}
}
