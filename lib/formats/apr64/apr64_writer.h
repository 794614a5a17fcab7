/* apr64_writer: shared by the parts of the writer. Each part uses only those before it:
 * apr64_writer.c (members of the text), apr64_meta.c (members that upstream looks for),
 * apr64_text.c (the metadata), apr64_sink.c (the file).
 */
#ifndef FORMATS_APR64_WRITER_H
#define FORMATS_APR64_WRITER_H

#include "formats/apr64/apr64.h"
#include "formats/container.h"

/* A value or a side file that waits in the spool. */
struct apr64_kept {
	uint64_t at, bytes;
};

/* Room in the metadata for a frame that comes last, and values for the file's CRC: that of the
 * bytes before the room (from the previous room, or the file's first byte). */
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
	bool *member;         /* for each key: true if it is a member of its own */
	unsigned aliases;     /* a bit for each apr64_alias among these members */
	size_t *by_name;

	struct spool text;    /* the metadata */
	struct buf b;         /* its next bytes */
	bool vocabulary;      /* the metadata has a vocabulary */
	struct apr64_room *rooms; /* of records, then of signatures */
	size_t room_count;

	uint64_t *offsets;    /* of the plan's tensors, in the data */
	uint64_t data_bytes, data_at;
	bool head_done;
	size_t prov, sign;    /* their numbers so far */

	/* The current item. */
	struct container_body body;
	size_t room;          /* CONTAINER_LATE: index of its room */
};

/* apr64_writer.c: apr64_put_name begins a member: puts prefix and name, up to the value.
 * apr64_flush moves s->b to the text; 0 or -1. */
void apr64_put_name(struct apr64_sink *s, const char *prefix, const char *name);
int apr64_flush(struct apr64_sink *s, struct err *e);

/* True if this key is a member, under this or another name with the same meaning. */
bool apr64_has_member(const struct apr64_sink *s, const char *name);

/* apr64_meta.c: put the members that follow from the plan, except those whose name is already
 * used. Uses plan, blobs, kept and member of the sink; changes text, b and vocabulary. 0 or
 * -1. */
int apr64_put_derived(struct apr64_sink *s, struct err *e);

/* apr64_text.c: choose the keys that become members, in s->member; make s->text from the plan
 * and the kept bodies. 0 or -1. */
int apr64_choose_members(struct apr64_sink *s, struct err *e);
int apr64_make_text(struct apr64_sink *s, struct err *e);

#endif
