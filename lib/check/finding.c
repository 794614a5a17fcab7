#include "check/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

static char *
text_of(const char *fmt, va_list ap)
{
	va_list again;
	char *text;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0 || !(text = malloc((size_t)n + 1)))
		return NULL;
	vsnprintf(text, (size_t)n + 1, fmt, ap);
	return text;
}

/* The counter of a rule, a new one at its first finding; NULL without memory. */
static struct finding_more *
counter(struct findings *f, const struct rule *r)
{
	size_t i;

	for (i = 0; i < f->rules; i++)
		if (f->more[i].rule == r)
			return &f->more[i];
	if (mem_grow(&f->more, &f->rules_cap, f->rules + 1, sizeof *f->more) < 0)
		return NULL;
	f->more[f->rules].rule = r;
	return &f->more[f->rules++];
}

static void
finding_free(struct finding *x)
{
	free(x->object);
	free(x->fact);
	free(x->fix);
}

static void
keep(struct findings *f, const struct rule *r, enum finding_level level, const char *object,
     const char *fmt, va_list ap)
{
	struct finding x = { .rule = r, .level = level };

	x.object = object ? strdup(object) : NULL;
	x.fact = text_of(fmt, ap);
	if (!x.fact || (object && !x.object) ||
	    mem_grow(&f->of, &f->cap, f->count + 1, sizeof *f->of) < 0) {
		finding_free(&x);
		f->failed = true;
		return;
	}
	f->of[f->count++] = x;
}

static void
add(struct findings *f, const struct rule *r, enum finding_level level, const char *object,
    const char *fmt, va_list ap)
{
	struct finding_more *more = f->failed ? NULL : counter(f, r);

	f->last_kept = false;
	if (!more) {
		f->failed = true;
		return;
	}
	f->levels[level]++;
	if (more->levels[level]++ >= (f->most ? f->most : FINDINGS_KEPT))
		return;
	keep(f, r, level, object, fmt, ap);
	f->last_kept = !f->failed;
}

void
findings_add(struct findings *f, const struct rule *r, const char *object, const char *fmt,
             ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(f, r, r->level, object, fmt, ap);
	va_end(ap);
}

void
findings_add_at(struct findings *f, const struct rule *r, enum finding_level level,
                const char *object, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(f, r, level, object, fmt, ap);
	va_end(ap);
}

void
findings_fix(struct findings *f, const char *fmt, ...)
{
	struct finding *last;
	va_list ap;

	if (!f->last_kept)
		return;
	last = &f->of[f->count - 1];
	free(last->fix);
	va_start(ap, fmt);
	last->fix = text_of(fmt, ap);
	va_end(ap);
	f->failed |= !last->fix;
}

void
findings_offset(struct findings *f, uint64_t offset)
{
	if (!f->last_kept)
		return;
	f->of[f->count - 1].has_offset = true;
	f->of[f->count - 1].offset = offset;
}

size_t
findings_at(const struct findings *f, const struct rule *r, enum finding_level level)
{
	size_t i;

	for (i = 0; i < f->rules; i++)
		if (f->more[i].rule == r)
			return f->more[i].levels[level];
	return 0;
}

size_t
findings_of(const struct findings *f, const struct rule *r)
{
	size_t n = 0;
	int level;

	for (level = 0; level < FINDING_LEVELS; level++)
		n += findings_at(f, r, (enum finding_level)level);
	return n;
}

void
findings_only(struct findings *f, bool (*wants)(const struct rule *, void *), void *ctx)
{
	size_t i, n = 0;
	int level;

	for (i = 0; i < f->rules; i++)
		if (wants(f->more[i].rule, ctx))
			f->more[n++] = f->more[i];
	f->rules = n;
	for (i = n = 0; i < f->count; i++)
		if (wants(f->of[i].rule, ctx))
			f->of[n++] = f->of[i];
		else
			finding_free(&f->of[i]);
	f->count = n;
	memset(f->levels, 0, sizeof f->levels);
	for (i = 0; i < f->rules; i++)
		for (level = 0; level < FINDING_LEVELS; level++)
			f->levels[level] += f->more[i].levels[level];
	f->last_kept = false;
}

/* An insertion by level would be quadratic; counting the levels keeps the order. */
void
findings_sort(struct findings *f)
{
	struct finding *to = mem_array(f->count, sizeof *to);
	size_t i, n = 0;
	int level;

	if (!to) {
		f->failed |= f->count > 0;
		return;
	}
	for (level = FINDING_LEVELS - 1; level >= 0; level--)
		for (i = 0; i < f->count; i++)
			if (f->of[i].level == (enum finding_level)level)
				to[n++] = f->of[i];
	free(f->of);
	f->of = to;
	f->cap = f->count;
	f->last_kept = false;
}

bool
findings_ok(const struct findings *f)
{
	return !f->failed;
}

void
findings_free(struct findings *f)
{
	size_t i;

	for (i = 0; i < f->count; i++)
		finding_free(&f->of[i]);
	free(f->of);
	free(f->more);
	*f = (struct findings){ 0 };
}

const char *
finding_level_name(enum finding_level level)
{
	static const char *const names[FINDING_LEVELS] = {
		[FINDING_INFO] = "info", [FINDING_WARN] = "warning", [FINDING_ERROR] = "error",
	};

	return names[level];
}
