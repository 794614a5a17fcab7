/* classic: rules for decision trees whose columns are tensors. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check/judge.h"
#include "check/trees.h"

const struct rule classic_rules[] = {
	[TREES_CHILD] = { "TREE-CHILD", FINDING_ERROR, "the children of a split are nodes of its tree",
	                  "no program can follow the tree; it was cut, or its columns are mixed up" },
	[TREES_TWICE] = { "TREE-CYCLE", FINDING_ERROR, "a node has one parent, and the root none",
	                  "a program that follows a cycle never ends; train or convert again" },
	[TREES_UNREACHED] = { "TREE-UNREACHED", FINDING_WARN, "every node can be reached from the root",
	                      "nodes that nothing leads to only take room, or a link is wrong" },
	[TREES_THRESHOLD] = { "TREE-THRESHOLD", FINDING_ERROR, "no threshold of a split is NaN",
	                      "comparisons with NaN are false, so all rows go to one side" },
	[TREES_FEATURE] = { "TREE-FEATURE", FINDING_ERROR, "splits ask for features that the model has",
	                    "a value outside the row is read; the number of features is wrong" },
	[TREES_LENGTHS] = { "TREE-COLUMNS", FINDING_ERROR,
	                    "the columns of a tree have an item for each node",
	                    "a node lacks its threshold, class or child; the file is damaged" },
	[TREES_SHARES] = { "TREE-SHARES", FINDING_WARN, "the probabilities of a leaf sum to 1",
	                   "the model predicts probabilities that do not sum to 1" },
	{ NULL, FINDING_INFO, NULL, NULL },
};

/* The tensor that a finding is about. */
static void
name_object(const struct trees_found *x, char *to, size_t n)
{
	static const char *const form[TREES_KINDS] = { "left", "left", "left", "thresholds", "features", "counts",
		"values" };
	bool alone = strcmp(x->prefix, "forest.") != 0;

	snprintf(to, n, "%s%s%s", x->prefix, alone ? "node_" : "",
	         !alone ? form[x->kind] : x->kind == TREES_THRESHOLD ? "thresholds"
	         : x->kind == TREES_CHILD ? "left_child" : "features");
}

static void
report(const struct trees_found *x, struct findings *f)
{
	const struct rule *r = &classic_rules[x->kind];
	char object[96], of[40] = "";

	name_object(x, object, sizeof object);
	if (x->tree)
		snprintf(of, sizeof of, " of tree %" PRIu64, x->tree - 1);
	switch (x->kind) {
	case TREES_CHILD:
		findings_add(f, r, object, "node %" PRIu64 "%s has the child %" PRId64 ", of %" PRId64
		             " nodes", x->node, of, x->number, x->of);
		break;
	case TREES_TWICE:
		findings_add(f, r, object, "node %" PRIu64 "%s is a child of node %" PRId64
		             ", and has been reached before", x->node, of, x->number);
		break;
	case TREES_UNREACHED:
		findings_add(f, r, object, "%" PRId64 " of %" PRId64 " nodes%s cannot be reached", x->number,
		             x->of, of);
		break;
	case TREES_THRESHOLD:
		findings_add(f, r, object, "the threshold of node %" PRIu64 "%s is NaN", x->node, of);
		break;
	case TREES_FEATURE:
		findings_add(f, r, object, "node %" PRIu64 "%s asks for feature %" PRId64 ", of %" PRId64,
		             x->node, of, x->number, x->of);
		break;
	case TREES_SHARES:
		findings_add(f, r, object, "the probabilities of leaf %" PRIu64 " sum to %g, or one is negative",
		             x->node, x->sum);
		break;
	default:
		findings_add(f, r, object, "a column has %" PRId64 " items for %" PRId64 " nodes%s",
		             x->number, x->of, of);
	}
}

int
classic_judge(const struct survey *s, struct findings *f, struct err *e)
{
	size_t i;

	(void)e;
	for (i = 0; i < s->trees.found_count; i++)
		report(&s->trees.found[i], f);
	return 0;
}
