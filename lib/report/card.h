/* card: the model card: what a model is for, where it comes from, how good it is, and what is
 * known of its risks.
 *
 * A card is one JSON object. Each field comes from the first of these that has it:
 *
 *     1. the key model_card (a JSON object), as .apr files have it;
 *     2. keys of the model with the field's own name, as version 1 of the format defines them
 *        (author, intended_users, metrics, ...), and the object `compliance`;
 *     3. the keys general.* of GGUF;
 *     4. the front matter of the side file README.md.
 *
 * Members in this order, each left out if the model has no value for it:
 *
 *     name version author organization description license license_name license_link
 *     license_terms url repo_url model_id architecture framework_version rust_version
 *     param_count size_label finetune basename quantized_by source_code_hash
 *     training_data_hash training_data created_at updated_at   text
 *     domain bias_risks limitations                            text
 *     intended_users out_of_scope target_hardware tags
 *     languages                                                arrays of text
 *     metrics hyperparameters training                         objects
 *     base_models datasets                                     arrays of objects: name,
 *                                                              organization, version, repo_url ...
 *     compliance    gdpr_training_consent (bool), data_retention_policy, model_card_url,
 *                   bias_audit_date, export_control (text)
 *     more          an object: members of model_card and of the front matter without a field
 *
 * Sources: the formats' versions 1.3 (8.7) and 1.7 (4.1); the model_card of aprender's files;
 * the front matter that the Hub of HuggingFace reads.
 */
#ifndef REPORT_CARD_H
#define REPORT_CARD_H

#include "core/buf.h"
#include "core/json.h"
#include "model/weights.h"

/* Returns the card of a model with its side files and long values in memory (those that were
 * not kept are left out); it has no members if the model says nothing. A new reference, or
 * NULL with e filled: front matter that cannot be read is ERR_CORRUPT. */
json_t *card_read(const struct weights *w, struct err *e);

/* Append the card, with everything from the file escaped: a field per line, in columns;
 * Markdown with a heading for each group of fields; one line of JSON with a last member
 * "model", unless model is NULL. */
void card_text(struct buf *to, const json_t *card);
void card_markdown(struct buf *to, const json_t *card);
void card_json(struct buf *to, const json_t *card, const char *model);

#endif
