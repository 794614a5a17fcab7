#include "check/container.h"

#include <inttypes.h>

#include "check/points.h"
#include "check/refusal.h"

/* The point of each kind of oddity, and what is said about it. */
static const struct {
	unsigned point;
	const char *fact; /* with the number of bytes */
} kinds[ODD_KINDS] = {
	[ODD_PADDING] = { 22, "%" PRIu64 " bytes of padding are not zero" },
	[ODD_GAP] = { 22, "%" PRIu64 " bytes belong to no part of the model" },
	[ODD_TRAILING] = { 13, "%" PRIu64 " bytes follow the end of the model" },
	[ODD_SIZE] = { 13, "the size that the file states, %" PRIu64 ", is not its size" },
	[ODD_ORDER] = { 7, "entry %" PRIu64 " of the index is out of order" },
	[ODD_ALIGNMENT] = { 6, "begins at a multiple of %" PRIu64 " bytes only" },
	[ODD_FLAGS] = { 11, "the flags 0x%" PRIx64 " have no known meaning" },
	[ODD_RESERVED] = { 11, "%" PRIu64 " reserved bytes of the header are not zero" },
	[ODD_TWICE] = { 14, "%" PRIu64 " bytes are used twice" },
	[ODD_CHECKSUM] = { 4, "a checksum that the format has is missing" },
};

bool
container_refused(const struct err *why, struct findings *f)
{
	const unsigned n = refusal_point(why);

	if (n == 0)
		return false;
	findings_add_at(f, point_rule(n), FINDING_ERROR, why->object[0] ? why->object : NULL,
	                "%s", why->fact);
	return true;
}

int
container_judge(const struct survey *s, struct findings *f, struct err *e)
{
	const struct oddities *o = s->source->oddities;
	size_t i;

	(void)e;
	if (!s->complete)
		container_refused(&s->fault, f);
	if (s->subject.plan && s->arch_fault.code == ERR_CORRUPT)
		container_refused(&s->arch_fault, f);
	for (i = 0; o && i < o->count; i++) {
		const struct oddity *x = &o->of[i];
		const struct rule *r = point_rule(kinds[x->kind].point);

		/* A missing checksum, or an order that the format leaves open, is not damage. */
		if (x->kind == ODD_CHECKSUM)
			findings_add_at(f, r, FINDING_INFO, x->object, "%s", kinds[x->kind].fact);
		else
			findings_add(f, r, x->object, kinds[x->kind].fact, x->bytes);
		findings_offset(f, x->offset);
	}
	return 0;
}
