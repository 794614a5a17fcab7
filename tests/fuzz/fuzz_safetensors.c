/* fuzz_safetensors: the properties of tests/fuzz/fuzz.h, for safetensors files and for
 * models of other containers packed as safetensors. In addition:
 *
 *     A header that the reader accepts is JSON with the same meaning for jansson too:
 *     no header has two readings.
 */
#include "mutate.h"

#include "formats/gguf/gguf.h"
#include "formats/safetensors/safetensors.h"

static const struct format *
format_of(const uint8_t *data, size_t size)
{
	if (format_stream.probe(data, size))
		return &format_stream;
	if (format_gguf.probe(data, size))
		return &format_gguf;
	return &format_safetensors;
}

/* ---- packed as safetensors ---- */

static void
pack(const uint8_t *data, size_t size, unsigned way)
{
	static int first = -1, second = -1;
	struct fuzz_run run = { .format = format_of(data, size), .to = &format_safetensors,
		.from = way & 1 ? FROM_PIPE : FROM_FILE };

	if (first < 0) {
		first = memfd_create("first", MFD_CLOEXEC);
		second = memfd_create("second", MFD_CLOEXEC);
	}
	run.fd = first;
	switch (way >> 1 & 3) {
	case 1:
		run.operation = "fuzz";
		break;
	case 2:
		run.options = (struct format_options){ .align = 64 };
		break;
	case 3:
		run.options = (struct format_options){ .plain = true };
		run.no_seek = true;
		break;
	}
	fuzz_run(&run, data, size);
	/* --plain drops keys that are not strings: that is not a loss to be found. */
	if (run.err.code == ERR_NONE && !run.options.plain)
		fuzz_again(&run, second);
}

/* ---- read by another parser ---- */

static void
same_tensor(const json_t *header, const struct safetensors_entry *x)
{
	const json_t *o = json_object_get(header, tensor_name(x->tensor)), *shape;
	const struct tensor *t = x->tensor;
	unsigned i;

	must(json_object_size(o) == 3);
	must(strcmp(json_string_value(json_object_get(o, "dtype")),
	            safetensors_type(tensor_type(t))) == 0);
	shape = json_object_get(o, "shape");
	must(json_array_size(shape) == tensor_ndim(t));
	for (i = 0; i < tensor_ndim(t); i++)
		must((uint64_t)json_integer_value(json_array_get(shape, i)) ==
		     tensor_dims(t)[i]);
	shape = json_object_get(o, "data_offsets");
	must(json_array_size(shape) == 2);
	must((uint64_t)json_integer_value(json_array_get(shape, 0)) == x->at);
}

static void
same_key(const json_t *metadata, const struct safetensors_key *k)
{
	const json_t *v = json_object_get(metadata, k->name);

	must(json_is_string(v));
	if (k->text && !safetensors_is_base64(k->name))
		must(json_string_length(v) == k->bytes &&
		     memcmp(json_string_value(v), k->text, k->bytes) == 0);
}

/* Names are unique only where the whole file was taken. */
static void
compare(const uint8_t *data, size_t size)
{
	struct safetensors_header h = { 0 };
	struct err e = ERR_INIT;
	struct source *source;
	struct reader r;
	json_t *header;
	size_t i;

	reader_memory(&r, data, size, "in", &e);
	source = format_safetensors.reads->open(&r, &(struct format_options){ 0 }, NULL, &e);
	source_close(source);
	if (!source)
		return;
	reader_memory(&r, data, size, "in", &e);
	must(safetensors_header_read(&h, &r) == 0);
	header = json_parse(data + 8, (size_t)h.bytes, ERR_CORRUPT, "header", &e);
	must_say(header, &e);
	must(json_object_size(header) ==
	     h.entry_count + (h.style.metadata_at != MODEL_NONE));
	for (i = 0; i < h.entry_count; i++)
		same_tensor(header, &h.entries[i]);
	must(json_object_size(json_object_get(header, SAFETENSORS_METADATA)) == h.key_count);
	for (i = 0; i < h.key_count; i++)
		same_key(json_object_get(header, SAFETENSORS_METADATA), &h.keys[i]);
	json_decref(header);
	safetensors_header_free(&h);
	reader_close(&r);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned way = fuzz_way >= 0 ? (unsigned)fuzz_way : crc32_add(0, data, size);

	pack(data, size, way);
	if (format_of(data, size) != &format_safetensors)
		return 0;
	compare(data, size);
	return fuzz_container(&format_safetensors, data, size);
}

/* One frame of a stream. */
static size_t
mutate_stream(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct piece list[32];
	size_t n = mutate_frames(data, size, list, sizeof list / sizeof *list), after;
	const struct piece *p = &list[n ? seed % n : 0];
	struct buf b = { 0 };

	if (n == 0)
		return LLVMFuzzerMutate(data, size, max);
	after = p->at + FRAME_OVERHEAD + p->head + p->body;
	buf_put(&b, data, p->at);
	mutate_frame(&b, data, p, seed / 32);
	buf_put(&b, data + after, size - after);
	return mutate_done(&b, data, size, max);
}

/* The header, or the data, with a length that is true. */
static size_t
mutate_file(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct buf b = { 0 };
	size_t n = (size_t)le64(data), rest = size - 8 - n;

	buf_put(&b, data, size);
	must(buf_ok(&b));
	if (seed % 8 == 0)
		mutate_piece(&b, 8 + n, &rest);
	else
		mutate_piece(&b, 8, &n);
	must(buf_ok(&b));
	le64_put(b.p, n);
	return mutate_done(&b, data, size, max);
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	const struct format *format = format_of(data, size);

	if (seed % 8 == 0 || format == &format_gguf)
		return LLVMFuzzerMutate(data, size, max);
	if (format == &format_stream)
		return mutate_stream(data, size, max, seed / 8);
	if (size < 8 || le64(data) > size - 8)
		return LLVMFuzzerMutate(data, size, max);
	return mutate_file(data, size, max, seed / 8);
}
