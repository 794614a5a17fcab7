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
 * Members in this order (card_fields.h has the rows), each left out if the model has no value:
 *
 *     name author version organization description architecture size_label param_count
 *     basename finetune quantized_by license license_name license_link       text or numbers
 *     license_terms                                                          object
 *     url repo_url model_id framework_version rust_version source_code_hash
 *     created_at updated_at                                                  text
 *     tags languages                                                         arrays of text
 *     base_models     array of objects: name, author, version, organization, description,
 *                     url, doi, uuid, repo_url
 *     domain                                                                 text
 *     intended_users out_of_scope target_hardware                            arrays of text
 *     training_data training_data_hash                                       text
 *     datasets        as base_models
 *     hyperparameters training metrics                                       objects
 *     bias_risks limitations                                                 text
 *     compliance      object: gdpr_training_consent (a truth value), data_retention_policy,
 *                     model_card_url, bias_audit_date, export_control; each may also be a key
 *                     of the model (compliance.export_control)
 *     more            object: members of model_card and of the front matter without a field
 *
 * Sources: the formats' versions 1.3 (8.7) and 1.7 (4.1); the model_card of aprender's files;
 * the front matter that the Hub of HuggingFace reads.
 */
#ifndef CHECK_CARD_H
#define CHECK_CARD_H

#include "core/err.h"
#include "core/json.h"
#include "model/weights.h"

/* Returns the card of a model with its side files and long values in memory (those that were
 * not kept are left out); it has no members if the model says nothing. A new reference, or
 * NULL with e filled: front matter that cannot be read is ERR_CORRUPT. */
json_t *card_read(const struct weights *w, struct err *e);

#endif
