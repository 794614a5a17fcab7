/* loss: tensors that a conversion damages more than it should.
 *
 * The measure is the error's share of a tensor's squares: the sum of (y - x)^2 over the sum
 * of x^2. In a product with activations that do not depend on the weights, the same share
 * of the result's power becomes noise. The version 1 specification demands a warning for an
 * "accuracy degradation > 5%" (§6.2.9) and leaves the measure open. This measure separates
 * types that serve from types that do not (DEVIATIONS.md): 0.3 % for Q8_0's worst, under
 * 1 % for four bits, 2 % for Q3_K, 4 to 9 % for Q2_K.
 */
#ifndef QUANT_LOSS_H
#define QUANT_LOSS_H

#include "model/tensor.h"
#include "quant/convert.h"

#define LOSS_MOST 0.05

struct loss {
	size_t changed, over;        /* tensors; those that lose more than LOSS_MOST */
	const struct tensor *worst;  /* borrowed; NULL: none is over */
	const struct dtype *worst_to;
	double share;                /* loss of the worst */
};

/* Count a tensor that became type to with the measured error s. */
void loss_add(struct loss *l, const struct tensor *t, const struct dtype *to,
              const struct convert_stats *s);

/* "in 13 of 23 changed tensors ...", with the name escaped and cut if it is long; empty
 * if no tensor loses that much. Returns dst. */
#define LOSS_TEXT 512
char *loss_text(const struct loss *l, char dst[LOSS_TEXT]);

#endif
