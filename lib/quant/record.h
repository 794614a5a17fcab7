/* record: the metadata of a quantized model about its quantization.
 *
 * For loaders, as llama-quantize writes it:
 *     general.quantization_version, general.file_type   u32
 *     quantize.imatrix.file, .dataset                   string
 *     quantize.imatrix.entries_count, .chunks_count     u32
 * and keys that a user sets (quant/key_value.h) between these two groups.
 *
 * For people, the version 1 specification's quantization info:
 *     apr.quantization.method            string   TYPE, and --pure
 *     apr.quantization.bits_per_weight   f32      of all tensors, in their new types
 *     apr.quantization.original_types    array:string   of what changed, each once;
 *                                        what an earlier run recorded comes first
 *     apr.quantization.rules             array:string   REGEX=TYPE, --hook, if given
 *     apr.quantization.calibration_method   string   mse, minmax, percentile (struct calibration),
 *                                           imatrix, or none
 *     apr.quantization.calibration_percentile f32    of that method
 *     apr.quantization.calibration_samples  u32      parts of the text, if known
 *     apr.quantization.calibration_tokens   u64      and with a text of this run: their tokens,
 *     apr.quantization.calibration_sha256   string   and the digest of the text
 *     apr.quantization.warning           string   where too much was lost (quant/loss.h);
 *                                        an earlier run's stays
 *
 * A key that is set moves to the end, as with llama-quantize, so that the file has the
 * same bytes as its, apart from the second group.
 */
#ifndef QUANT_RECORD_H
#define QUANT_RECORD_H

#include "quant/recipe.h"

/* Set the keys. Call it once m's tensors have their new types. */
int record_apply(const struct recipe *r, const struct recipe_options *o, struct model *m,
                 struct err *e);

/* Set the warning. */
int record_warning(struct model *m, const char *text, struct err *e);

#endif
