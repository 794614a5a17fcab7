#include "report/gate_text.h"

#include <inttypes.h>

#include "report/diff_text.h"
#include "report/figures_json.h"
#include "report/lines.h"

size_t
gate_put_diff(struct buf *text, struct buf *json, const struct diff *d)
{
	size_t i;

	for (i = 0; i < d->tensor_count; i++) {
		if (d->tensors[i].what & DIFF_OVER)
			diff_put_tensor(text, d, i, false);
		diff_json_tensor(json, d, i, false);
	}
	buf_printf(text, "%zu of %zu tensors exceed%s the limits\n", d->counts.over, d->tensor_count,
	           d->counts.over == 1 ? "s" : "");
	diff_json_summary(json, d);
	return d->counts.over;
}

static void
put_json(struct buf *b, const struct divergence_figures *f, bool failed)
{
	json_t *o = figures_json("text", f);

	json_object_set_new(o, "verdict", json_string(failed ? "fail" : "pass"));
	lines_json(b, o);
}

size_t
gate_put_text(struct buf *text, struct buf *json, const struct divergence_figures *f,
              const struct canary_limits *limits, double max_ppl)
{
	size_t broken = 0;

	buf_printf(text, "text: perplexity %.4f +/- %.4f, of the reference %.4f, ratio %.4f +/- %.4f\n",
	           f->perplexity.value, f->perplexity.error, f->base.value, f->ratio.value,
	           f->ratio.error);
	buf_printf(text, "text: KL %.6f +/- %.6f, 99 %% %.6f, at most %.6f; top-1 %.2f %%; "
	           "RMS of probabilities %.3f %%; %" PRIu64 " positions\n", f->kl.value, f->kl.error,
	           f->kl_quantile[DIVERGENCE_99], f->kl_quantile[DIVERGENCE_MAX],
	           100 * f->same_top.value, 100 * f->dp_rms.value, f->count);
	if (!(f->ratio.value <= max_ppl)) {
		buf_printf(text, "text: FAIL: the ratio of perplexities %.4f is above %.4f\n",
		           f->ratio.value, max_ppl);
		broken++;
	}
	if (!(f->kl.value <= limits->max_kl)) {
		buf_printf(text, "text: FAIL: KL %.6f is above %.6f\n", f->kl.value, limits->max_kl);
		broken++;
	}
	if (!(f->same_top.value >= limits->min_top1)) {
		buf_printf(text, "text: FAIL: top-1 %.1f %% is below %.1f %%\n",
		           100 * f->same_top.value, 100 * limits->min_top1);
		broken++;
	}
	put_json(json, f, broken > 0);
	return broken;
}
