#include "generate/softmax.h"

#include <math.h>

struct softmax
softmax_of(const float *logits, size_t n)
{
	struct softmax s = { .top = 0 };
	double most, sum = 0;
	size_t i;

	for (i = 1; i < n; i++)
		if (logits[i] > logits[s.top])
			s.top = (uint32_t)i;
	most = (double)logits[s.top];
	for (i = 0; i < n; i++)
		sum += exp((double)logits[i] - most);
	s.base = most + log(sum);
	return s;
}
