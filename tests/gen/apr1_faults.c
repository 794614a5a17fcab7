/* apr1_faults: APR version 1 files with a single fault each, and other files that begin
 * with their magic. Sizes and the checksum are computed after the change, so that they
 * are right unless they are the fault. Status 0 in the manifest: not a fault, but
 * unusual. Three mothers: a file of another program, records of ours, and a tensor
 * index.
 */
#include "apr1.h"

/* A plan for records and the tensor index, as our own writer spells it. */
#define PLAN "{\"version\":1,\"source\":{},\"metadata\":[[\"k\",\"u32\",7]],\"blobs\":[" \
	"[\"README\",\"text/plain\",5]],\"signatures\":0}"

static void
put_linear(struct apr1 *m)
{
	struct gen *g = &m->payload;

	m->type = 1;
	mark(&m->meta, "map");
	mp_map(&m->meta, 2);
	mark(&m->meta, "key");
	mp_pair(&m->meta, "created_at", "1764278947");
	mark(&m->meta, "second");
	mp_pair(&m->meta, "aprender_version", "0.11.0");
	put_u8(g, 1);
	put_floats(g, 3, 1);
	put_f32(g, 0.5f);
	put_u8(g, 1);
}

static void
put_custom(struct gen *g, unsigned members, const char *payload)
{
	mark(g, "entries");
	mp_map(g, 3 + (payload == NULL));
	mp_text(g, "created_at");
	mark(g, "date");
	mp_text(g, "");
	mark(g, "writer");
	mp_pair(g, "aprender_version", "apr tools");
	mp_text(g, "custom");
	mark(g, "members");
	mp_map(g, members);
	mark(g, "plan");
	mp_text(g, "apr_stream");
	put_u8(g, 0xd9);
	put_u8(g, (uint8_t)strlen(PLAN));
	mark(g, "json");
	put_text(g, PLAN);
	mark(g, "kind");
	if (payload)
		mp_pair(g, "apr_payload", payload);
}

/* Four records: not quantized, by an id, per tensor, by a name. */
static void
put_records_as(struct apr1 *m, const char *payload)
{
	struct gen *g = &m->payload;

	m->type = 0xff;
	m->flags = 0x20;
	put_custom(&m->meta, 3, payload);
	mark(&m->meta, "blob");
	mp_pair(&m->meta, "apr.blob.README", "aGVsbG8=");
	mark(g, "count");
	put_u64(g, 4);
	mark(g, "a");
	put_string(g, "a");
	mark(g, "a.id");
	put_u8(g, 0);
	mark(g, "a.type");
	put_string(g, "F32");
	mark(g, "a.axes");
	put_u64(g, 2);
	mark(g, "a.dims");
	put_u64(g, 2);
	put_u64(g, 3);
	mark(g, "a.bytes");
	put_u64(g, 24);
	put_ramp(g, 24);
	put_string(g, "b");
	mark(g, "b.id");
	put_u8(g, 1);
	put_u64(g, 2);
	put_u64(g, 1);
	mark(g, "b.dims");
	put_u64(g, 32);
	mark(g, "b.bytes");
	put_u64(g, 34);
	put_ramp(g, 34);
	mark(g, "b.block");
	put_u64(g, 32);
	mark(g, "c");
	put_string(g, "c");
	put_u8(g, 0x10);
	put_u64(g, 1);
	put_u64(g, 5);
	mark(g, "c.bytes");
	put_u64(g, 5);
	put_ramp(g, 5);
	put_f32(g, 0.5f);
	put_u32(g, 0);
	mark(g, "d");
	put_string(g, "d");
	put_u8(g, 0xff);
	mark(g, "d.type");
	put_string(g, "Q6_K");
	put_u64(g, 1);
	put_u64(g, 256);
	put_u64(g, 210);
	put_ramp(g, 210);
	mark(g, "d.block");
	put_u64(g, 256);
	mark(g, "records.end");
}

static void
put_records(struct apr1 *m)
{
	put_records_as(m, "records");
}

static void
put_kmeans(struct apr1 *m)
{
	put_records_as(m, "KMeans");
}

static void
put_rexords(struct apr1 *m)
{
	put_records_as(m, "rexords");
}

/* Two tensors: [2,3] f32 and a u8 that is a Q8_0. */
static void
put_index(struct apr1 *m)
{
	static const uint32_t dims[] = { 2, 3 }, strides[] = { 3, 1 }, bytes[] = { 34 };
	static const uint32_t one[] = { 1 };
	struct gen *g = &m->payload;
	uint64_t start;

	m->type = 0x20;
	m->flags = 0x30;
	put_custom(&m->meta, 3, NULL);
	mp_pair(&m->meta, "apr_tensors", "{\"b\":[\"Q8_0\",[1,32]]}");
	mp_pair(&m->meta, "apr.blob.README", "aGVsbG8=");
	mp_text(&m->meta, "tensor_names");
	mark(&m->meta, "names");
	mp_array(&m->meta, 2);
	mp_text(&m->meta, "a");
	mark(&m->meta, "name");
	mp_text(&m->meta, "b");
	start = (32 + m->meta.n + 4 + 44 + 36 + 63) / 64 * 64;
	mark(g, "count");
	put_u32(g, 2);
	mark(g, "hash");
	put_aligned(g, "a", 0, 2, dims, strides, 0, start, 24);
	mark(g, "b.hash");
	put_aligned(g, "b", 4, 1, bytes, one, 4, start + 64, 34);
	mark(g, "index.end");
	put_fill(g, 0, (size_t)(start - 32 - m->meta.n) - g->n);
	put_ramp(g, 24);
	put_fill(g, 0, 40);
	put_ramp(g, 34);
	mark(g, "data.end");
}

/* Two chunks of ours, not compressed. */
static void
put_chunks(struct apr1 *m)
{
	struct gen *g = &m->payload;
	uint8_t data[24];
	struct gen ramp = { 0 };
	uint64_t start;

	m->type = 0xff;
	m->flags = 4;
	put_custom(&m->meta, 3, "records");
	mp_pair(&m->meta, "apr.blob.README", "aGVsbG8=");
	put_ramp(&ramp, 24);
	memcpy(data, ramp.p, 24);
	start = 32 + m->meta.n + 4 + 2 * (28 + 9 + 1 + 11 + 16);
	mark(g, "count");
	put_u32(g, 2);
	mark(g, "offset");
	put_u64(g, start);
	mark(g, "stored");
	put_u64(g, 24);
	mark(g, "plain");
	put_u64(g, 24);
	mark(g, "crc");
	put_u32(g, crc32_of(data, 24));
	put_string(g, "a");
	put_u8(g, 0);
	put_string(g, "F32");
	put_u64(g, 1);
	put_u64(g, 6);
	mark(g, "b.offset");
	put_u64(g, start + 24);
	put_u64(g, 8);
	put_u64(g, 8);
	put_u32(g, crc32_of(data, 8));
	put_string(g, "b");
	put_u8(g, 0);
	put_string(g, "I32");
	put_u64(g, 1);
	put_u64(g, 2);
	mark(g, "data");
	put_ramp(g, 24);
	put_ramp(g, 8);
	gen_free(&ramp);
}

#define META(...) .meta = { __VA_ARGS__ }
#define PAYLOAD(...) .payload = { __VA_ARGS__ }
#define FILE_(...) .file = { __VA_ARGS__ }   /* before the checksum */
#define AFTER(...) .after = { __VA_ARGS__ }
#define LINEAR put_linear
#define RECORDS put_records
#define INDEX put_index
#define CHUNKS put_chunks
#define IN "InvalidFormat: "

static const struct fault {
	const char *name;
	int status;
	const char *says, *pipe; /* pipe: the message for a pipe, if it differs */
	void (*mother)(struct apr1 *);
	struct edit meta[2], payload[2], file[3], after[2];
	struct { unsigned at; uint8_t value; } entry; /* a byte of the first of the index */
} faults[] = {
	/* The header. */
	{ "apr1_magic_only", 4, "ends here, in its header", NULL, LINEAR, AFTER(CUT("major")) },
	{ "apr1_header_cut", 4, "ends here, in its header", NULL, LINEAR, AFTER(CUT("zeros")) },
	{ "apr1_header_only", 4, "it was cut short", NULL, LINEAR, AFTER(CUT("metadata")) },
	{ "apr1_cut_in_metadata", 4, "it was cut short", NULL, LINEAR, AFTER(CUT("payload")) },
	{ "apr1_cut_in_payload", 4, "it was cut short", NULL, LINEAR, AFTER(CUT("behind")) },
	{ "apr1_without_checksum", 4, "it was cut short", NULL, LINEAR, AFTER(CUT("crc")) },
	{ "apr1_trailing_byte", 4, "bytes after its end", NULL, LINEAR, AFTER(TAIL("x")) },
	{ "apr1_major_0", 4, "UnsupportedVersion: is APRN version 0.0", NULL, LINEAR,
	  FILE_(SET8("major", 0)) },
	{ "apr1_major_2", 4, "UnsupportedVersion: is APRN version 2.0", NULL, LINEAR,
	  FILE_(SET8("major", 2)) },
	{ "apr1_type_0", 4, IN "model type 0x0000", NULL, LINEAR, FILE_(TEXT("type", "\0\0")) },
	{ "apr1_type_6_high", 4, IN "model type 0x0106", NULL, LINEAR,
	  FILE_(TEXT("type", "\6\1")) },
	{ "apr1_type_0b", 4, IN "model type 0x000b", NULL, LINEAR,
	  FILE_(TEXT("type", "\13\0")) },
	{ "apr1_metadata_less", 4, "has bytes after its end", NULL, LINEAR,
	  FILE_(ADD32("metadata_size", -1)) },
	{ "apr1_metadata_more", 4, "it was cut short", NULL, LINEAR,
	  FILE_(ADD32("metadata_size", 1)) },
	{ "apr1_metadata_32_mib", 4, IN "metadata of 33554433 bytes", NULL, LINEAR,
	  FILE_(SET32("metadata_size", (32u << 20) + 1)) },
	{ "apr1_metadata_max", 4, IN "metadata of 4294967295 bytes", NULL, LINEAR,
	  FILE_(SET32("metadata_size", UINT32_MAX)) },
	{ "apr1_payload_less", 4, IN "the payload has 25 bytes", NULL, LINEAR,
	  FILE_(ADD32("payload_size", -1)) },
	{ "apr1_payload_both_less", 4, "has bytes after its end", NULL, LINEAR,
	  FILE_(ADD32("payload_size", -1), ADD32("plain_size", -1)) },
	{ "apr1_payload_max", 4, "it was cut short", NULL, LINEAR,
	  FILE_(SET32("payload_size", UINT32_MAX), SET32("plain_size", UINT32_MAX)) },
	{ "apr1_plain_less", 4, IN "the payload has 26 bytes, uncompressed 25", NULL, LINEAR,
	  FILE_(ADD32("plain_size", -1)) },
	{ "apr1_plain_more", 4, IN "the payload has 26 bytes, uncompressed 27", NULL, LINEAR,
	  FILE_(ADD32("plain_size", 1)) },
	{ "apr1_compression_4", 4, IN "compression 4", NULL, LINEAR,
	  FILE_(SET8("compression", 4)) },
	{ "apr1_compression_255", 4, IN "compression 255", NULL, LINEAR,
	  FILE_(SET8("compression", 255)) },
	{ "apr1_not_zstd", 4, "(E002)", NULL, LINEAR, FILE_(SET8("compression", 1)) },
	{ "apr1_not_lz4", 4, "26 bytes of lz4 are not 26", NULL, LINEAR,
	  FILE_(SET8("compression", 3)) },
	{ "apr1_bomb", 4, "26 compressed bytes cannot be 4294967295", NULL, LINEAR,
	  FILE_(SET8("compression", 1), SET32("plain_size", UINT32_MAX)) },
	{ "apr1_encrypted", 1, "DecryptionFailed: its payload is encrypted", NULL, LINEAR,
	  FILE_(SET8("flags", 1)) },
	{ "apr1_mode_3", 4, IN "encryption mode 3", NULL, LINEAR,
	  FILE_(SET8("flags", 1), SET8("byte22", 3)) },
	{ "apr1_signed_without_block", 4, "it was cut short", NULL, LINEAR,
	  FILE_(SET8("flags", 2)) },
	{ "apr1_licence_of_1", 4, IN "its licence block of 1 bytes", NULL, LINEAR,
	  FILE_(SET8("flags", 8), INSERT("end", "x")) },
	{ "apr1_flag_80", 0, "flag 0x80 has no meaning", NULL, LINEAR,
	  FILE_(SET8("flags", 0x80)) },
	{ "apr1_flag_streaming", 0, "is marked STREAMING", NULL, LINEAR,
	  FILE_(SET8("flags", 4)) },
	{ "apr1_score_101", 0, "its score is 101", NULL, LINEAR, FILE_(SET8("byte22", 101)) },
	{ "apr1_reserved", 0, "reserved bytes of the header are not zero", NULL, LINEAR,
	  FILE_(SET8("zeros", 1)) },
	{ "apr1_checksum", 4, "ChecksumMismatch: its CRC is", NULL, LINEAR,
	  AFTER(ADD32("crc", 1)) },
	{ "apr1_changed", 4, "ChecksumMismatch: its CRC is", NULL, LINEAR,
	  AFTER(SET8("payload", 9)) },
	/* The metadata. */
	{ "apr1_metadata_text", 4, IN "its metadata is no", NULL, LINEAR,
	  META(TEXT("map", "\xa1")) },
	{ "apr1_key_number", 4, IN "a key of its metadata is not text", NULL, LINEAR,
	  META(TEXT("key", "\xc4\x09")) },
	{ "apr1_key_not_utf8", 4, IN "a key of its metadata is not text", NULL, LINEAR,
	  META(TEXT("key", "\xaa\xff")) },
	{ "apr1_key_nul", 4, IN "a key of its metadata is not text", NULL, LINEAR,
	  META(TEXT("key", "\xaa\0")) },
	{ "apr1_key_twice", 4, IN "metadata key a occurs twice", NULL, LINEAR,
	  META(SET8("map", 0x84), INSERT("key", "\xa1" "a" "\1\xa1" "a" "\2")) },
	{ "apr1_key_ours", 4, IN "its metadata has a key that begins with apr1.", NULL, LINEAR,
	  META(SET8("map", 0x83), INSERT("key", "\xa6" "apr1.x" "\1")) },
	{ "apr1_value_c1", 4, IN "its metadata is not MessagePack", NULL, LINEAR,
	  META(SET8("map", 0x83), INSERT("key", "\xa1" "a" "\xc1")) },
	{ "apr1_value_ext", 4, IN "its metadata is not MessagePack", NULL, LINEAR,
	  META(SET8("map", 0x83), INSERT("key", "\xa1" "a" "\xd4\1\1")) },
	{ "apr1_value_text_cut", 4, IN "its metadata is not MessagePack", NULL, LINEAR,
	  META(SET8("map", 0x83), INSERT("key", "\xa1" "a" "\xdb\xff\xff\xff\xff")) },
	{ "apr1_value_array_max", 4, IN "its metadata is not MessagePack", NULL, LINEAR,
	  META(SET8("map", 0x83), INSERT("key", "\xa1" "a" "\xdd\xff\xff\xff\xff")) },
	{ "apr1_value_map_max", 4, IN "its metadata is not MessagePack", NULL, LINEAR,
	  META(SET8("map", 0x83), INSERT("key", "\xa1" "a" "\xdf\xff\xff\xff\xff")) },
	{ "apr1_value_too_deep", 4, IN "its metadata is not MessagePack", NULL, LINEAR,
	  META(SET8("map", 0x83), INSERT("key", "\xa1" "a" "\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91"
	              "\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\1")) },
	{ "apr1_text_not_utf8", 4, IN "metadata key a has a value that is neither", NULL, LINEAR,
	  META(SET8("map", 0x83), INSERT("key", "\xa1" "a" "\xa1\xff")) },
	{ "apr1_map_of_numbers", 4, IN "metadata key a has a value that is neither", NULL, LINEAR,
	  META(SET8("map", 0x83), INSERT("key", "\xa1" "a" "\x81\1\1")) },
	{ "apr1_map_twice", 4, IN "metadata key a has a value that is neither", NULL, LINEAR,
	  META(SET8("map", 0x83), INSERT("key", "\xa1" "a" "\x82\xa1" "x" "\1\xa1" "x" "\2")) },
	{ "apr1_bytes_in_list", 4, IN "metadata key a has a value that is neither", NULL, LINEAR,
	  META(SET8("map", 0x83), INSERT("key", "\xa1" "a" "\x91\xc4\1\1")) },
	/* What other programs read of a model must follow from what is signed. */
#define NOT_DERIVED(x) IN "entry " x " of its metadata is not what follows from its keys"
	{ "apr1_derived_date", 4, NOT_DERIVED("created_at"), NULL, RECORDS,
	  META(SET8("date", 0xa1), INSERT("writer", "1")) },
	{ "apr1_derived_writer", 4, NOT_DERIVED("aprender_version"), NULL, RECORDS,
	  META(TEXT("writer", "\xb0" "aprender_version\xa9" "bpr")) },
	{ "apr1_derived_missing", 4, NOT_DERIVED("aprender_version"), NULL, RECORDS,
	  META(TEXT("writer", "\xb0" "aprender_versiom")) },
	{ "apr1_derived_name", 4, NOT_DERIVED("model_name"), NULL, RECORDS,
	  META(SET8("entries", 0x84), INSERT("writer", "\xaa" "model_name\xa1x")) },
	{ "apr1_derived_description", 4, NOT_DERIVED("description"), NULL, RECORDS,
	  META(SET8("entries", 0x84), INSERT("writer", "\xab" "description\xa1x")) },
	{ "apr1_derived_other_member", 4, IN "something was added to its metadata", NULL, RECORDS,
	  META(SET8("members", 0x84), INSERT("plan", "\xa1" "x\xa1y")) },
	/* Our own metadata. */
	{ "apr1_plan_number", 4, IN "member apr_stream of its metadata", NULL, RECORDS,
	  META(TEXT("plan", "\xaa" "apr_stream" "\xc4")) },
	{ "apr1_plan_no_json", 4, "apr_stream: is not valid JSON", NULL, RECORDS,
	  META(TEXT("json", "?")) },
	{ "apr1_blob_missing", 4, IN "blob README is not there", NULL, RECORDS,
	  META(TEXT("blob", "\xaf" "apr.blob.READYY")) },
	{ "apr1_blob_other_length", 4, IN "member apr.blob.README of its metadata", NULL, RECORDS,
	  META(TEXT("blob", "\xaf" "apr.blob.README\xa8" "aGVsbA==")) },
	{ "apr1_blob_no_base64", 4, "is not base64", NULL, RECORDS,
	  META(TEXT("blob", "\xaf" "apr.blob.README\xa8" "aGV!bG8=")) },
	{ "apr1_ours_too_many", 4, IN "a member of its metadata, which is one of ours, belongs",
	  NULL, RECORDS, META(SET8("members", 0x84), INSERT("blob", "\xaa" "apr.blob.X\xa0")) },
	{ "apr1_payload_unknown", 4, "ModelTypeMismatch: no payload is called rexords", NULL,
	  put_rexords, META({ .op = EDIT_NONE }) },
	{ "apr1_payload_other", 4, "ModelTypeMismatch: its payload does not have the layout KMeans", NULL,
	  put_kmeans, META({ .op = EDIT_NONE }) },
	{ "apr1_digest_without_block", 4, IN "its metadata has a digest of a licence block", NULL,
	  RECORDS, META(SET8("members", 0x84), INSERT("blob", "\xb2" "apr_licence_sha256\xa1" "0")) },
	/* Records. */
	{ "apr1_records_1_more", 4, IN "what its payload lists goes beyond its end", NULL, RECORDS,
	  PAYLOAD(SET64("count", 5)) },
	{ "apr1_records_1_less", 4, IN "bytes after the last record", NULL, RECORDS,
	  PAYLOAD(SET64("count", 3)) },
	{ "apr1_records_max", 4, IN "what its payload lists goes beyond its end", NULL, RECORDS,
	  PAYLOAD(SET64("count", UINT64_MAX)) },
	{ "apr1_record_name_long", 4, IN "what its payload lists goes beyond its end", NULL,
	  RECORDS, PAYLOAD(SET64("a", UINT64_MAX)) },
	{ "apr1_record_name_not_utf8", 4, "(E002)", NULL, RECORDS,
	  PAYLOAD(TEXT("a", "\1\0\0\0\0\0\0\0\xff")) },
	{ "apr1_record_id_4", 4, "UnsupportedQuantization: b has the quantized type 0x04", NULL,
	  RECORDS, PAYLOAD(SET8("b.id", 4)) },
	{ "apr1_record_type", 4, "UnsupportedQuantization: a has the type F99", NULL, RECORDS,
	  PAYLOAD(TEXT("a.type", "\3\0\0\0\0\0\0\0F99")) },
	{ "apr1_record_axes_9", 4, IN "a tensor of 9 dimensions", NULL, RECORDS,
	  PAYLOAD(SET64("a.axes", 9)) },
	{ "apr1_record_shape", 4, IN "a has 24 bytes, not 36", NULL, RECORDS,
	  PAYLOAD(SET64("a.dims", 3)) },
	{ "apr1_record_overflow", 4, "(E002)", NULL, RECORDS,
	  PAYLOAD(SET64("a.dims", UINT64_MAX)) },
	{ "apr1_record_bytes_max", 4, IN "what its payload lists goes beyond its end", NULL,
	  RECORDS, PAYLOAD(SET64("a.bytes", UINT64_MAX)) },
	{ "apr1_record_block_33", 4, "QuantizationCorrupt: b has another block size", NULL,
	  RECORDS, PAYLOAD(SET64("b.block", 33)) },
	{ "apr1_record_blocks", 4, "QuantizationCorrupt: b has 34 bytes, not 68", NULL, RECORDS,
	  PAYLOAD(SET64("b.dims", 64)) },
	{ "apr1_record_rows", 4, "(E002)", NULL, RECORDS, PAYLOAD(SET64("b.dims", 33)) },
	{ "apr1_record_twice", 4, "(E002)", NULL, RECORDS,
	  PAYLOAD(TEXT("c", "\1\0\0\0\0\0\0\0" "a")) },
	/* Chunks. */
	{ "apr1_chunks_1_more", 4, IN "", NULL, CHUNKS, PAYLOAD(SET32("count", 3)) },
	{ "apr1_chunks_1_less", 4, IN "its chunks do not fill the payload", NULL, CHUNKS,
	  PAYLOAD(SET32("count", 1)) },
	{ "apr1_chunks_max", 4, IN "", NULL, CHUNKS, PAYLOAD(SET32("count", UINT32_MAX)) },
	{ "apr1_chunk_offset_less", 4, IN "", NULL, CHUNKS, PAYLOAD(ADD32("offset", -1)) },
	{ "apr1_chunk_offset_0", 4, IN "what its payload lists goes beyond its end", NULL, CHUNKS,
	  PAYLOAD(SET64("offset", 0)) },
	{ "apr1_chunk_offset_max", 4, IN "what its payload lists goes beyond its end", NULL,
	  CHUNKS, PAYLOAD(SET64("offset", UINT64_MAX)) },
	{ "apr1_chunk_hole", 4, IN "the chunk of b does not begin", NULL, CHUNKS,
	  PAYLOAD(ADD32("b.offset", 1)) },
	{ "apr1_chunk_overlap", 4, IN "the chunk of b does not begin", NULL, CHUNKS,
	  PAYLOAD(ADD32("b.offset", -8)) },
	{ "apr1_chunk_stored", 4, IN "the chunk of a has two lengths", NULL, CHUNKS,
	  PAYLOAD(SET64("stored", 23)) },
	{ "apr1_chunk_stored_max", 4, IN "what its payload lists goes beyond its end", NULL,
	  CHUNKS, PAYLOAD(SET64("stored", UINT64_MAX)) },
	{ "apr1_chunk_plain", 4, IN "the chunk of a has two lengths", NULL, CHUNKS,
	  PAYLOAD(SET64("plain", 28)) },
	{ "apr1_chunk_crc", 4, "ChecksumMismatch: the chunk of a is damaged", NULL, CHUNKS,
	  PAYLOAD(ADD32("crc", 1)) },
	/* The tensor index. */
	{ "apr1_index_compressed", 4, IN "TRUENO_NATIVE and compression", NULL, INDEX,
	  FILE_(SET8("compression", 1)) },
	{ "apr1_index_1_more", 4, IN "", NULL, INDEX, PAYLOAD(SET32("count", 3)) },
	{ "apr1_index_1_less", 4, "(E002)", NULL, INDEX, PAYLOAD(SET32("count", 1)) },
	{ "apr1_index_max", 4, IN "", NULL, INDEX, PAYLOAD(SET32("count", UINT32_MAX)) },
	{ "apr1_hash", 4, IN "name 0 of tensor_names does not have the hash", NULL, INDEX,
	  PAYLOAD(ADD32("hash", 1)) },
	{ "apr1_name", 4, IN "name 1 of tensor_names does not have the hash", NULL, INDEX,
	  META(TEXT("name", "\xa1" "c")) },
	{ "apr1_names_one_less", 4, IN "1 tensor_names for 2 tensors", NULL, INDEX,
	  META(TEXT("names", "\x91\xa3" "aXb")) },
	{ "apr1_names_no_list", 4, IN "metadata key tensor_names is not a list", NULL, INDEX,
	  META(TEXT("names", "\xa4" "aaaa")) },
	{ "apr1_index_type_5", 4, IN "its tensor index has the type 5", NULL, INDEX,
	  .entry = { 8, 5 } },
	{ "apr1_index_axes_9", 4, IN "a tensor of 9 dimensions", NULL, INDEX,
	  .entry = { 9, 9 } },
	{ "apr1_index_alignment_16", 4, IN "an alignment of 16", NULL, INDEX,
	  .entry = { 26, 16 } },
	{ "apr1_index_hint_9", 4, IN "backend hint 9", NULL, INDEX, .entry = { 27, 9 } },
	{ "apr1_index_offset", 4, IN "", NULL, INDEX, .entry = { 28, 1 } },
	{ "apr1_index_bytes_less", 4, IN "a has 23 bytes, fewer than its shape needs", NULL, INDEX,
	  .entry = { 36, 23 } },
	{ "apr1_index_bytes_more", 4, IN "a has 25 bytes, not 24", NULL, INDEX,
	  .entry = { 36, 25 } },
	{ "apr1_index_stride", 4, IN "what its payload lists goes beyond its end", NULL, INDEX,
	  .entry = { 18, 200 } },
};

static void
apply(struct gen *g, const struct edit *x, size_t n)
{
	for (; n > 0; n--, x++)
		if (x->op)
			edit(g, x);
}

static void
write_one(struct folder *folder, const struct fault *f)
{
	struct apr1 m = { 0 };

	f->mother(&m);
	apply(&m.meta, f->meta, 2);
	apply(&m.payload, f->payload, 2);
	if (f->entry.at)
		m.payload.p[mark_at(&m.payload, "hash") + f->entry.at] = f->entry.value;
	apr1_assemble(&m);
	apply(&m.file, f->file, 3);
	apr1_checksum(&m);
	apply(&m.file, f->after, 2);
	folder_file(folder, f->name, &m.file);
	apr1_free(&m);
}

/* The magic, and files of other formats. */
static void
relatives(struct folder *folder)
{
	struct gen g = { 0 };

	put_text(&g, "APRN");
	put_fill(&g, 0, 4);
	folder_file(folder, "apr1_cookbook_empty", &g);
	folder_fault(folder, "apr1_cookbook_empty", 4, "ends here, in its header", NULL);
	gen_free(&g);
	/* apr-cookbook's bundle: flags at 6, size at 8, then tensors. */
	put_text(&g, "APRN");
	put_number(&g, 1, 2);
	put_number(&g, 0x0002, 2);
	put_u32(&g, 20);
	put_fill(&g, 0, 20);
	put_ramp(&g, 20);
	folder_file(folder, "apr1_cookbook_bundle", &g);
	folder_fault(folder, "apr1_cookbook_bundle", 4, "is a bundle of apr-cookbook", NULL);
	gen_free(&g);
}

int
main(int argc, char **argv)
{
	static const struct fault good[] = {
		{ .name = "good", .mother = LINEAR }, { .name = "good_records", .mother = RECORDS },
		{ .name = "good_chunks", .mother = CHUNKS }, { .name = "good_index", .mother = INDEX },
	};
	struct folder folder;
	size_t i;

	folder_open(&folder, argc, argv);
	for (i = 0; i < sizeof good / sizeof *good; i++)
		write_one(&folder, &good[i]);
	for (i = 0; i < sizeof faults / sizeof *faults; i++) {
		write_one(&folder, &faults[i]);
		folder_fault(&folder, faults[i].name, faults[i].status, faults[i].says,
		             faults[i].pipe);
	}
	relatives(&folder);
	return folder_close(&folder);
}
