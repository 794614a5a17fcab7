/* push_session: the upload of an object in parts, kept so that a later process goes on with it.
 *
 * The hub gives each part an address of its own, and an address that joins them; it does not say
 * which parts it has, but each answer has an ETag, which joining needs. A record of that is
 *
 *     APR/uploads/HEX.json    HEX is the SHA-256 of "ENDPOINT\nORG/REPO\nOID"
 *
 *     {"oid":OID,"size":N,"chunk":N,"complete":ADDRESS,"addresses":[ADDRESS, ...]}
 *     {"part":1,"etag":ETAG}  a line for each part that has arrived
 *
 * with mode 0600, because whoever has the addresses can write these parts until they expire. It
 * is locked while a process uses it, and goes when the object is complete, or after
 * SESSION_DAYS.
 */
#ifndef HUB_PUSH_SESSION_H
#define HUB_PUSH_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/json.h"

#define SESSION_PARTS 20000
#define SESSION_BYTES (32u << 20) /* of a record at most */
#define SESSION_DAYS 7

struct push_session {
	int fd;             /* the record, locked; -1: nothing is kept */
	char path[4096];
	char oid[65];
	uint64_t size;      /* of the object */
	uint64_t chunk;     /* of a part; the last one may be shorter */
	size_t n;           /* parts; 0 without a session */
	size_t sent;        /* parts with an ETag */
	char *complete;
	char **address;     /* n each */
	char **etag;        /* NULL: not sent */
};

/* Opens the record of an object in a folder, which may be NULL or not exist, and reads what an
 * earlier process has sent. A record that is damaged, of something else or in use counts as none.
 * session_close in any case. */
void session_open(struct push_session *s, const char *folder, const char *key, const char *oid,
                  uint64_t size);

/* Begins anew: header has the address of each part under its number. ERR_CORRUPT if it does not.
 * 0 or -1. */
int session_begin(struct push_session *s, const char *complete, const json_t *header,
                  uint64_t chunk, struct err *e);

/* Part i (from 0) has arrived. 0, or -1 without memory; a record that cannot be written is given
 * up. */
int session_sent(struct push_session *s, size_t i, const char *etag, struct err *e);

/* The object is complete, or the session is of no use any more: removes the record. */
void session_forget(struct push_session *s);
void session_close(struct push_session *s);

/* Removes records that are older than SESSION_DAYS. */
void session_sweep(const char *folder);

/* Reads a record of s->oid and s->size; s->n stays 0 if it is not one. For tests and fuzzers. */
void session_parse(struct push_session *s, const char *text, size_t n);

#endif
