/* fuzz_torch: the properties of tests/fuzz/fuzz.h, for files of PyTorch.
 *
 * The mutator changes what lies in an archive and describes it again: its members with sizes and
 * CRC-32 or sums, or the opcodes of its pickle. Sparse tensors are made dense.
 */
#include "imports/torch/torch.h"
#include "mutate.h"

#include "mutate_pickle.h"
#include "mutate_tar.h"
#include "mutate_zip.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct format_choice chosen[] = { { &torch_options[TORCH_DENSE], "" } };

	fuzz_own = chosen;
	fuzz_own_count = 1;
	return fuzz_container(&format_pytorch, data, size);
}

static void
change_member(struct buf *content, const struct zip_entry *x, unsigned seed)
{
	size_t n = content->n;

	if (x->name_bytes >= 4 && memcmp(x->name + x->name_bytes - 4, ".pkl", 4) == 0)
		mutate_pickle(content, seed);
	else
		mutate_piece(content, 0, &n);
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct err e = ERR_INIT;
	struct buf b = { 0 };
	struct zip z;

	if (seed % 8 == 0)
		return LLVMFuzzerMutate(data, size, max);
	if (tar_begins(data, size)) {
		mutate_tar(&b, data, size, seed / 8);
		return mutate_done(&b, data, size, max);
	}
	if (zip_open(&z, data, size, NULL, "in", &e) == 0 && z.count > 0) {
		mutate_zip(&b, &z, seed / 8, change_member);
	} else {
		buf_put(&b, data, size);
		mutate_pickle(&b, seed / 8);
	}
	zip_free(&z);
	return mutate_done(&b, data, size, max);
}
