/* private: what a maker holds (aprml_make.h). Names begin with api_ and are hidden from the linker of a
 * program.
 */
#ifndef API_MAKE_H
#define API_MAKE_H

#include "api/job.h"
#include "crypto/seal/skey.h"
#include "quant/override.h"
#include "stage/conversion.h"
#include "stage/signing.h"
#include "stage/verification.h"

#define API_OWN 32   /* options of single formats, at most */
#define API_SINKS 4  /* one behind the other, at most */

/* Text that lives as long as the maker. */
struct api_text {
	struct api_text *next;
	char text[];
};

/* Texts of the maker. */
struct api_words {
	const char **word;
	size_t n, cap;
};

/* The options of a conversion of types. */
struct api_quant {
	struct recipe_options recipe;
	struct mixture plain;       /* for a type that is not the name of a mixture */
	char plain_name[32];
	struct overrides overrides;
	struct prune prune;
	struct key_values keys;
	struct imatrix imatrix;
	struct api_words include, exclude; /* entries of imatrix */
	double max_rmse;            /* or infinite */
	bool asked, allow_nonfinite;
};

/* A model that the program builds. */
struct api_build {
	struct api_key {
		char *key;
		struct value_type type;
		struct buf wire;
	} *keys;
	size_t key_count, key_cap;
	struct api_file {
		char *name, *type;
		const void *p;
		size_t n;
	} *files;
	size_t file_count, file_cap;
	struct model plan;          /* at first only its tensors */
	size_t at;                  /* the tensor whose bytes come */
	uint64_t left;              /* of its bytes */
	uint64_t moved;             /* bytes of all tensors so far */
	bool begun;
};

struct aprml_maker {
	struct aprml_output to;     /* path is owned by the maker */
	struct aprml_work work;
	struct err err;             /* the first error ends the maker */
	atomic_bool cancelled;      /* by any thread */
	bool ended;
	struct api_text *texts;

	const struct format *format;
	const char *compress;
	struct format_options how;
	struct format_choice own[API_OWN];
	bool no_sync;
	struct api_quant quant;
	struct statement says;
	const struct aprml_ring *signs, *verifies, *seals, *outer, *vault;
	struct verdict_wants wants;
	char not_before[STATEMENT_DATE + 1];

	/* While it writes: */
	struct api_job job;
	struct out_taker taker;
	struct ring keys;           /* of the vault */
	struct conversion conversion;
	struct signing signing;
	struct verification verification;
	struct skey *skey;
	struct secret data;
	struct sink *sinks[API_SINKS]; /* the last one first */
	size_t sink_count;
	struct api_build build;
};

/* Copy the maker's error. Returns -1. */
int api_maker_fail(struct aprml_maker *k, struct aprml_error *e);

/* 0 if the maker can still be given something; else -1 with *e filled. */
int api_maker_begin(struct aprml_maker *k, struct aprml_error *e);

/* A copy of text that lives as long as the maker. NULL with the maker's error filled. */
const char *api_maker_text(struct aprml_maker *k, const char *text);

/* make_options.c: refuse what does not fit together, once all options are set. 0 or -1. */
int api_maker_prove(struct aprml_maker *k);
void api_quant_free(struct api_quant *q);

/* make.c: the sinks of the output. The first stages are flows: *first becomes that of the source, which
 * is to run; or with first NULL, all are sinks. input: a descriptor of the model, or -1. Returns the
 * sink for the source, or NULL. */
struct sink *api_maker_sinks(struct aprml_maker *k, const char *name, int input, const char *from,
                             struct flow *first);
/* Give back what the call that ends used. */
void api_maker_end(struct aprml_maker *k);

/* build.c */
void api_build_free(struct api_build *b);

#endif
