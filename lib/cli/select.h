/* select: --only REGEX and --except REGEX: the tensors that are passed on. */
#ifndef CLI_SELECT_H
#define CLI_SELECT_H

#include "cli/tool.h"
#include "core/pattern.h"
#include "model/flow.h"

struct select_options {
	struct opt_list only, except;
};
#define OPT_SELECT(o) \
	LIST(0, "only", "REGEX", &(o)->only, "keep only tensors whose name matches"), \
	LIST(0, "except", "REGEX", &(o)->except, "drop tensors whose name matches")

struct selection {
	struct pattern *only, *except;
	size_t only_n, except_n;
	bool *keep;         /* of the source's tensors */
	char operation[512];
};

/* Compiles the patterns and sets f's hooks (plan, item, ctx) and operation; without
 * patterns, f does not change. The hook fails if a pattern matches no tensor. Call
 * select_close in either case. */
int select_open(struct selection *s, const struct select_options *o, const char *tool,
                struct flow *f, struct err *e);
void select_close(struct selection *s);

#endif
