/* general: what a model is and where it comes from, as the keys general.* of GGUF and as the
 * model card (README.md), config.json and generation_config.json of a model folder.
 *
 * Source: the keys that llama.cpp's converter writes, with their types and order.
 */
#ifndef ADAPT_GENERAL_H
#define ADAPT_GENERAL_H

#include "arch/size.h"
#include "arch/subject.h"

/* Append general.type, sampling defaults, name, authorship, size label, licence, base models,
 * data sets, tags and languages. folder: the name of the model's folder or file, or NULL.
 *
 * What comes first counts: the front matter of README.md, _name_or_path of config.json, the
 * folder's name, the tensors. Members of other types than the converter reads are noted and
 * left out; front matter that is not YAML (wire/yaml.h) is ERR_CORRUPT, a generation_config.json
 * that is not JSON only noted. Numbers in the front matter are text: "version: 2.1" is "2.1".
 * 0 or -1. */
int general_put(const struct subject *s, const char *folder,
                const struct arch_sizes *sizes, struct model *out, struct err *e);

/* Make generation_config.json and README.md from the keys, if the model has any for them and
 * does not have the file. general_put finds the same keys in these files. The keys general.url,
 * doi, uuid, repo_url and quantized_by describe the GGUF file itself and are left out. 0 or
 * -1. */
int general_files(const struct subject *s, struct subject_files *out, struct err *e);

/* ---- for the files of this part ---- */

/* Defaults of sampling: key without "general.", member of generation_config.json, type. Ended
 * by a row without a key. */
struct general_sampling {
	const char *key, *member;
	uint8_t leaf;
};
extern const struct general_sampling general_samplings[];

/* Keys of text without "general.", in the order of the converter, ended by NULL. */
extern const char *const general_texts[];

#endif
