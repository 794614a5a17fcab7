#include "quant/loss.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"

/* Where all weights are 0, any error is too large. */
static double
share_of(const struct convert_stats *s)
{
	if (s->error2 == 0)
		return 0;
	return s->x2 > 0 ? s->error2 / s->x2 : INFINITY;
}

void
loss_add(struct loss *l, const struct tensor *t, const struct dtype *to,
         const struct convert_stats *s)
{
	double share = share_of(s);

	l->changed++;
	if (!(share > LOSS_MOST))
		return;
	l->over++;
	if (l->worst && share <= l->share)
		return;
	l->worst = t;
	l->worst_to = to;
	l->share = share;
}

char *
loss_text(const struct loss *l, char dst[LOSS_TEXT])
{
	char name[300];

	dst[0] = '\0';
	if (l->over == 0)
		return dst;
	text_quote(name, sizeof name, tensor_name(l->worst), strlen(tensor_name(l->worst)));
	snprintf(dst, LOSS_TEXT, "in %zu of %zu changed tensors the squared error exceeds %g %% of "
	         "the squared weights, most in %s (%s): %.1f %%", l->over, l->changed,
	         LOSS_MOST * 100, name, l->worst_to->name, l->share * 100);
	return dst;
}
