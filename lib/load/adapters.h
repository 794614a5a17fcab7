/* adapters: adapters of low rank, loaded into memory. */
#ifndef LOAD_ADAPTERS_H
#define LOAD_ADAPTERS_H

#include "arch/shape.h"
#include "load/load.h"
#include "lora/lora.h"
#include "lora/name.h"
#include "model/low_rank.h"

struct adapters {
	struct lora_name *names;
	struct load *loads;
	struct lora *loras;
	size_t n;
};

/* Take the array of n names (NULL: do nothing, e is filled), and declare their files to the
 * sandbox. A file of an adapter's folder stands for the folder, which has its adapter_config.json.
 * 0, or -1 with e filled; adapters_close in any case. */
int adapters_declare(struct adapters *a, struct lora_name *names, size_t n, struct err *e);

/* Load them, inside the sandbox. 0 or -1. */
int adapters_open(struct adapters *a, void (*note)(const char *), struct err *e);

/* Check that no file has become shorter. 0 or -1. */
int adapters_check(const struct adapters *a, struct err *e);
void adapters_close(struct adapters *a);

/* What they add to a model in memory while it computes (lora/low.h). */
int adapters_low(const struct adapters *a, const struct weights *model, struct low_rank **low,
                 size_t *n, struct err *e);

#endif
