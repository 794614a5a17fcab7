/* figures_json: the figures of a divergence (generate/divergence.h) as JSON. */
#ifndef REPORT_FIGURES_JSON_H
#define REPORT_FIGURES_JSON_H

#include "core/json.h"
#include "generate/divergence.h"

/* An object of a kind, which is its first member, with all figures; an estimate is a list of its
 * value and its error. A new reference, or NULL. */
json_t *figures_json(const char *kind, const struct divergence_figures *f);

#endif
