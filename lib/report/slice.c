#include "report/slice.h"

#include <inttypes.h>
#include <string.h>

#include "core/num.h"
#include "core/text.h"

/* Parses one range and moves *p to a comma or the end. */
static int
range(struct slice *s, const char **p)
{
	uint64_t from = 0, to = UINT64_MAX;
	bool has_from = text_digits(p, &from) == 0, index = **p != ':';

	if (!index) {
		++*p;
		(void)text_digits(p, &to);
	}
	if ((**p && **p != ',') || (index && !has_from))
		return -1;
	s->range[s->ndim].from = from;
	s->range[s->ndim].to = to;
	s->range[s->ndim].index = index;
	s->ndim++;
	return 0;
}

int
slice_parse(struct slice *s, const char *text, struct err *e)
{
	const char *p = text;

	*s = (struct slice){ 0 };
	while (p) {
		if (s->ndim == TENSOR_DIMS || range(s, &p) < 0)
			return err_set(e, ERR_USAGE, NULL,
			               "--slice needs ranges such as 0:4,:8, not %.80s", text);
		if (!*p++)
			break;
	}
	return 0;
}

int
slice_fit(struct slice *s, const struct tensor *t, struct err *e)
{
	unsigned i, ndim = tensor_ndim(t);
	const uint64_t *dims = tensor_dims(t);

	if (s->ndim > ndim)
		return err_set(e, ERR_USAGE, tensor_name(t),
		               "has %u dimension%s, but --slice has %u", ndim,
		               ndim == 1 ? "" : "s", s->ndim);
	for (i = 0; i < ndim; i++) {
		if (i >= s->ndim) {
			s->range[i].from = 0;
			s->range[i].to = dims[i];
			continue;
		}
		if (s->range[i].from >= dims[i])
			return err_set(e, ERR_USAGE, tensor_name(t), "has no index %" PRIu64
			               " in dimension %u of size %" PRIu64, s->range[i].from, i,
			               dims[i]);
		s->range[i].to = s->range[i].index ? s->range[i].from + 1
		                                   : num_min(s->range[i].to, dims[i]);
		if (s->range[i].from >= s->range[i].to)
			return err_set(e, ERR_USAGE, tensor_name(t),
			               "--slice leaves nothing of dimension %u", i);
	}
	if (ndim == 0)
		s->range[0].to = 1;
	s->ndim = ndim ? ndim : 1;
	return 0;
}

bool
slice_has_row(const struct slice *s, const struct tensor *t, uint64_t row)
{
	unsigned i;

	for (i = s->ndim - 1; i-- > 0; row /= tensor_dims(t)[i]) {
		uint64_t at = row % tensor_dims(t)[i];

		if (at < s->range[i].from || at >= s->range[i].to)
			return false;
	}
	return true;
}

bool
slice_begins_matrix(const struct slice *s, const struct tensor *t, uint64_t row)
{
	return s->ndim > 2 &&
	       row % tensor_dims(t)[s->ndim - 2] == s->range[s->ndim - 2].from;
}

uint64_t
slice_from(const struct slice *s)
{
	return s->range[s->ndim - 1].from;
}

uint64_t
slice_to(const struct slice *s)
{
	return s->range[s->ndim - 1].to;
}
