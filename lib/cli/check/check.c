#include "cli/check/check.h"

#include <string.h>

#include "cli/tool.h"

/* ---- which points ---- */

static int
choose_category(const char *text, bool set[POINTS + 1], struct err *e)
{
	bool found = false;
	unsigned n;

	for (n = 1; n <= POINTS; n++) {
		const char c = point_category(n);

		if ((text[0] == c && !text[1]) || strcmp(text, point_category_name(c)) == 0)
			found = set[n] = true;
	}
	return found ? 0 : tool_misused(e, "--category: A, B, C or D, not %.40s", text);
}

int
check_choose(struct check_run *r, struct err *e)
{
	bool only[POINTS + 1] = { false }, in[POINTS + 1] = { false }, out[POINTS + 1] = { false };
	unsigned n;

	if ((r->o->only && points_pick(r->o->only, only, e) < 0) ||
	    (r->o->category && choose_category(r->o->category, in, e) < 0) ||
	    (r->o->except && points_pick(r->o->except, out, e) < 0))
		return -1;
	for (n = 1; n <= POINTS; n++)
		r->chosen[n] = (!r->o->only || only[n]) && (!r->o->category || in[n]) && !out[n];
	return 0;
}

/* ---- the policy ---- */

int
check_keys(struct check_run *r, struct err *e)
{
	if (r->o->trusted && *r->o->trusted)
		return trusted_files(&r->keys, &r->o->trusted, 1, e);
	if (r->o->trusted)
		return trusted_load(&r->keys, e);
	if (r->o->policy)
		trusted_load(&r->keys, &r->folder);
	return 0;
}

int
check_policy(struct check_run *r, const struct trusted **keys, struct err *e)
{
	*keys = NULL;
	if (!r->o->policy)
		return 0;
	if (policy_read(&r->policy, r->o->policy, e) < 0)
		return -1;
	*keys = policy_keys(&r->policy, &r->keys);
	/* apr-verify, which reads the model, proves a signature by the key of --trusted-key. */
	if (*keys == &r->keys && r->o->trusted)
		*keys = NULL;
	if (*keys == &r->keys && r->folder.code != ERR_NONE)
		*e = r->folder;
	else if (*keys && (r->o->pass || strcmp(r->path, "-") == 0))
		err_set(e, ERR_USAGE, r->o->policy, "a signature is verified only in a FILE, and without "
		        "--pass; apr-verify verifies a stream");
	return e->code == ERR_NONE ? 0 : -1;
}

/* ---- the answer ---- */

/* The answer, unless an error is the answer: 5 if a point fails, or the score is too low. */
int
check_answer(const struct check_run *r, struct err *e)
{
	const size_t n = r->findings.levels[FINDING_ERROR];

	if (n > 0)
		return err_set(e, ERR_INVALID, r->path, "%zu finding%s of level error", n,
		               n == 1 ? "" : "s");
	if (r->o->min_score && r->score.percent < r->o->min_score)
		return err_set(e, ERR_INVALID, r->path, "its score is %u, below %u",
		               r->score.percent, (unsigned)r->o->min_score);
	return 0;
}

void
check_finish(struct check_run *r, const struct err *why, struct err *e)
{
	struct err trouble = ERR_INIT;
	struct buf b = { 0 };

	if (why)
		r->refused = why;
	if (check_judge(r, &b, &trouble) < 0 || tool_print(&b, &trouble) < 0)
		*e = trouble;
	else if (e->code == ERR_NONE && r->refused)
		*e = *r->refused;
	buf_free(&b);
	if (e->code == ERR_NONE)
		check_answer(r, e);
}
