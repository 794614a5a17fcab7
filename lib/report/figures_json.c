#include "report/figures_json.h"

static json_t *
estimate(const struct estimate *x)
{
	return json_pack("[f, f]", x->value, x->error);
}

static json_t *
spread(const double *of)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < DIVERGENCE_QUANTILES; i++)
		json_array_append_new(list, json_real(of[i]));
	return list;
}

json_t *
figures_json(const char *kind, const struct divergence_figures *f)
{
	json_t *o = json_object(), *shares = json_array();
	size_t i;

	for (i = 0; i < DIVERGENCE_QUANTILES; i++)
		json_array_append_new(shares, json_real((double)divergence_shares[i]));
	json_object_set_new(o, "kind", json_string(kind));
	json_object_set_new(o, "positions", json_integer((json_int_t)f->count));
	json_object_set_new(o, "perplexity", estimate(&f->perplexity));
	json_object_set_new(o, "base_perplexity", estimate(&f->base));
	json_object_set_new(o, "ratio", estimate(&f->ratio));
	json_object_set_new(o, "ln_ratio", estimate(&f->ln_ratio));
	json_object_set_new(o, "difference", estimate(&f->difference));
	json_object_set_new(o, "correlation", json_real(f->correlation));
	json_object_set_new(o, "top1", estimate(&f->same_top));
	json_object_set_new(o, "kl", estimate(&f->kl));
	json_object_set_new(o, "dp", estimate(&f->dp));
	json_object_set_new(o, "dp_rms", estimate(&f->dp_rms));
	json_object_set_new(o, "shares", shares);
	json_object_set_new(o, "kl_at_share", spread(f->kl_quantile));
	json_object_set_new(o, "dp_at_share", spread(f->dp_quantile));
	return o;
}
