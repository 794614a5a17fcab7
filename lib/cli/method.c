#include "cli/method.h"

#include <string.h>

#include "cli/tool.h"

#define PERCENTILE 99.9

double
method_range(const char *option, const char *method, double percentile, struct err *e)
{
	const bool share = method && strcmp(method, "percentile") == 0;

	if (percentile > 0 && !share)
		return tool_misused(e, "%spercentile needs %smethod percentile", option, option);
	if (share)
		return percentile > 0 ? percentile : PERCENTILE;
	if (!method || strcmp(method, "mse") == 0)
		return 0;
	if (strcmp(method, "minmax") == 0)
		return 100;
	return tool_misused(e, "METHOD is " METHODS ", not %.40s", method);
}

