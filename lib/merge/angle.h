/* angle: coefficients of vectors from the products of each pair: points on an arc, means on a
 * sphere. A result that lies in the span of the vectors is a sum of them, so steps towards a
 * mean need only the products, not the vectors.
 *
 * gram: n × n products, gram[i * n + j] = x_i · x_j. to: n coefficients.
 */
#ifndef MERGE_ANGLE_H
#define MERGE_ANGLE_H

#include <stdbool.h>
#include <stddef.h>

#define ANGLE_MODELS 64

/* Between two vectors: sin((1-t)a)/sin a and sin(ta)/sin a for the angle a between them. 1-t and
 * t if |cos a| exceeds `straight` (1: only if the sine is below 1e-8), or if one vector is 0. */
void angle_slerp(const double *gram, double t, double straight, double *to);

/* The share of the mean in a point between the base and the mean of n differences d:
 * N c / (1 + (N-1) c), where c is the mean cosine of the pairs. to: that by n. */
void angle_stock(const double *gram, size_t n, double *to);

/* The mean on the sphere of n vectors of equal weight, with the mean of their lengths. Vectors
 * that are not longer than tol count only for the length. */
void angle_karcher(const double *gram, size_t n, unsigned steps, double tol, double *to);

/* One step from the weighted mean of the unit vectors, in its tangent space. False if that mean
 * has no direction and n is not 2 (2: the weighted sum). */
bool angle_multislerp(const double *gram, size_t n, const double *weight, double eps,
                      double *to);

#endif
