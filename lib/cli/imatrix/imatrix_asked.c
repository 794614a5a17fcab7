#include "cli/imatrix/imatrix_asked.h"

#include <string.h>

#include "cli/method.h"

static bool
measures(const struct imatrix_asked *a)
{
	return a->text || a->how.output || a->how.fast || a->how.first || a->how.count ||
	       a->method || a->percentile > 0 || a->reproducible;
}

static bool
is_form(const char *form)
{
	return strcmp(form, "gguf") == 0 || strcmp(form, "dat") == 0 || strcmp(form, "stream") == 0;
}

int
imatrix_asked_check(struct imatrix_asked *a, const char *operand, struct err *e)
{
	if (a->list && (measures(a) || a->form || a->merge.n || a->output.path || a->context))
		return tool_misused(e, "-l only reads FILE");
	if (a->form && !is_form(a->form))
		return tool_misused(e, "TYPE is gguf, dat or stream, not %.40s", a->form);
	if (a->merge.n > IMATRIX_MERGED)
		return tool_misused(e, "at most %d matrices are added at a time", IMATRIX_MERGED);
	if (a->json && !a->list)
		return tool_misused(e, "--json goes with -l");
	if (!operand && a->merge.n && measures(a))
		return tool_misused(e, "a text needs a model");
	if (a->reproducible && a->how.fast)
		return tool_misused(e, "--fast is of the CPU: it cannot be --reproducible");
	a->how.percentile = method_range("--", a->method, a->percentile, e);
	if (a->how.percentile < 0)
		return -1;
	if (a->how.percentile > 0 && a->merge.n)
		return tool_misused(e, "--merge adds mean squares: ranges cannot be added");
	return 0;
}
