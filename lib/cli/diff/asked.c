#include "cli/diff/asked.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/thread.h"
#include "report/diff_text.h"

/* ---- options ---- */

/* A number that may have an exponent; *to keeps its value without the option. */
static int
number(const char *name, const char *text, double high, double *to, struct err *e)
{
	char *end;
	double v;

	if (!text)
		return 0;
	v = strtod(text, &end);
	if (strspn(text, "0123456789.eE+-") != strlen(text) || end == text || *end ||
	    !(v >= 0 && v <= high))
		return tool_misused(e, "--%s needs a number from 0 %s, not %.80s", name,
		                    high == 1 ? "to 1" : "on", text);
	*to = v;
	return 0;
}

static int
compile(const struct opt_list *list, struct pattern **to, size_t *n, struct err *e)
{
	*to = mem_array(list->n, sizeof **to);
	if (!*to)
		return err_memory(e);
	for (; *n < list->n; (*n)++)
		if (pattern_open(&(*to)[*n], list->items[*n], e) < 0)
			return -1;
	return 0;
}

int
diff_asked_read(struct diff_asked *a, struct err *e)
{
	struct diff_options *o = &a->diff;
	const double any = 1.7e308;

	o->jobs = a->jobs ? (unsigned)a->jobs : thread_count();
	o->tolerance = DIFF_TOLERANCE;
	o->limits = (struct diff_limits){ -1, -1, -1, -1 };
	if (number("tolerance", a->tolerance, any, &o->tolerance, e) < 0 ||
	    number("max-drift", a->drift, any, &o->limits.drift, e) < 0 ||
	    number("max-delta", a->delta, any, &o->limits.delta, e) < 0 ||
	    number("max-l2", a->l2, any, &o->limits.l2, e) < 0 ||
	    number("min-cosine", a->cosine, 1, &o->limits.cosine, e) < 0)
		return -1;
	if (o->metadata && o->tensors)
		return tool_misused(e, "--metadata and --tensors exclude each other");
	if (o->metadata && diff_is_limited(&o->limits))
		return tool_misused(e, "--metadata compares no values, for which a limit could hold");
	return compile(&a->only, &o->only, &o->only_n, e) < 0 ||
	       compile(&a->except, &o->except, &o->except_n, e) < 0 ? -1 : 0;
}

void
diff_asked_free(struct diff_asked *a)
{
	struct diff_options *o = &a->diff;

	while (o->only_n > 0)
		pattern_close(&o->only[--o->only_n]);
	while (o->except_n > 0)
		pattern_close(&o->except[--o->except_n]);
	free(o->only);
	free(o->except);
	o->only = o->except = NULL;
}

/* ---- files ---- */

static int
look(const char *path, struct stat *st)
{
	return strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, st) : stat(path, st);
}

int
diff_asked_pipes(const char *const path[2], struct err *e)
{
	struct stat a, b;

	if (look(path[0], &a) < 0 || look(path[1], &b) < 0 || S_ISREG(a.st_mode) ||
	    S_ISDIR(a.st_mode) || a.st_dev != b.st_dev || a.st_ino != b.st_ino)
		return 0;
	return err_set(e, ERR_USAGE, path[1], "both models are the same pipe");
}

/* ---- the answer ---- */

int
diff_asked_print(const struct diff *d, bool json, bool all, struct err *e)
{
	struct buf b = { 0 };
	size_t i;
	int status = 0;

	if (json)
		diff_json_summary(&b, d);
	else
		diff_put_summary(&b, d);
	for (i = 0; status == 0 && i < d->fact_count; i++) {
		if (json)
			diff_json_fact(&b, d, i);
		else
			diff_put_fact(&b, d, i);
		status = tool_print(&b, e);
	}
	for (i = 0; status == 0 && i < d->tensor_count; i++) {
		if (json)
			diff_json_tensor(&b, d, i, all);
		else
			diff_put_tensor(&b, d, i, all);
		status = tool_print(&b, e);
	}
	if (status == 0)
		status = tool_print(&b, e);
	buf_free(&b);
	return status;
}

int
diff_asked_answer(const struct diff *d, const char *const path[2], bool quiet, struct err *e)
{
	if (quiet) {
		*e = (struct err){ .code = ERR_CHILD, .status = 1 }; /* without a message */
		return -1;
	}
	if (diff_is_limited(&d->o.limits))
		return err_set(e, ERR_NO, path[1], "%zu of %zu tensors exceed the limits, the first is "
		               "%s", d->counts.over, d->tensor_count, diff_first_over(d));
	return err_set(e, ERR_NO, path[1], "differs from %s", path[0]);
}
