/* signature_text: the signature that holds for a model, as notes (report/lines.h) and as
 * JSON. All functions append. name: of the model.
 */
#ifndef REPORT_SIGNATURE_TEXT_H
#define REPORT_SIGNATURE_TEXT_H

#include "core/buf.h"
#include "crypto/authentic.h"
#include "crypto/verdict.h"

/* A signature over content: the signer, with the whole key, the root, and the signer's
 * statements. v: verdict_give has returned 0. */
void signature_notes(struct buf *to, const struct verdict *v, const char *name,
                     const struct digest *root, enum signature_scope scope);
void signature_put_json(struct buf *to, const struct verdict *v, const char *name,
                        const struct digest *root, enum signature_scope scope);

/* The outer signature of a sealed model. */
void signature_put_seal_json(struct buf *to, const struct authentic_seal *a,
                             const char *name);

#endif
