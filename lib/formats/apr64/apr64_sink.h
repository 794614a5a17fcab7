/* apr64_sink: what the parts of the writer share: apr64_sink.c (the file),
 * apr64_text.c (its metadata), apr64_meta.c (members that upstream looks for).
 */
#ifndef FORMATS_APR64_SINK_H
#define FORMATS_APR64_SINK_H

#include "formats/apr64/apr64.h"
#include "formats/container.h"

/* A value or a side file, as it waits in the spool. */
struct apr64_kept {
	uint64_t at, bytes;
};

/* Room in the metadata for what is known last, and what the CRC needs: that of
 * what stands before it (from the room before, or the file's first byte). */
struct apr64_room {
	uint64_t at, length;  /* in the text; characters of base64 */
	uint64_t before;      /* bytes */
	uint32_t before_crc, crc;
};

struct apr64_sink {
	struct sink sink;
	struct out out;
	struct format_options options;
	const struct model *plan;
	bool from_apr64;      /* the model was such a file first */

	struct spool kept;    /* bodies of blobs and licence */
	struct apr64_kept *blobs, licence;
	bool *member;         /* of each key: it is a member of its own */
	unsigned aliases;     /* a bit for each apr64_alias that one of them is */
	size_t *by_name;

	struct spool text;    /* the metadata */
	struct buf b;         /* what comes next of it */
	bool vocabulary;      /* it has one */
	struct apr64_room *rooms; /* of records, then of signatures */
	size_t room_count;

	uint64_t *offsets;    /* of the plan's tensors, in the data */
	uint64_t data_bytes, data_at;
	bool head_done;
	size_t prov, sign;    /* that have come */

	/* The current item. */
	struct container_body body;
	size_t room;          /* CONTAINER_LATE: where it goes */
};

/* Make s->text of the plan and what is kept. */
int apr64_make_text(struct apr64_sink *s, struct err *e);

/* Which keys are members, into s->member. 0 or -1. */
int apr64_choose_members(struct apr64_sink *s, struct err *e);

/* Members that follow from the plan, where none of that name is there. Of the sink, plan,
 * blobs, kept and member are used, and text, b and vocabulary changed. */
int apr64_put_derived(struct apr64_sink *s, struct err *e);

/* A member's name, and all that leads to its value. */
void apr64_put_name(struct apr64_sink *s, const char *prefix, const char *name);

/* Move s->b to the text. */
int apr64_flush(struct apr64_sink *s, struct err *e);

/* Is this key a member, under this or another name that means the same? */
bool apr64_has_member(const struct apr64_sink *s, const char *name);

/* What its file would have in place of its type. */
static inline bool
apr64_is_foreign(const struct tensor *t)
{
	return apr64_code(tensor_type(t)) == DTYPE_NONE;
}

#endif
