/* push: files of this machine to a repository of the hub or a registry.
 *
 * To the hub (https://huggingface.co, or HF_ENDPOINT):
 *
 *     POST E/api/repos/create                        only if asked for
 *     POST E/api/models/ORG/REPO/preupload/REV       which files are LFS files
 *     POST E/ORG/REPO.git/info/lfs/objects/batch     where each of these goes, unless it is there
 *     PUT  of the whole object, or of its parts and a POST that joins them
 *     POST of the object's "verify" address, if it has one
 *     POST E/api/models/ORG/REPO/commit/REV          all files at once, as lines of JSON
 *
 * To a registry: each file becomes a layer of a CNCF ModelPack artifact (hub/oci_manifest.h):
 *
 *     HEAD R/v2/NAME/blobs/DIGEST                    whether it is there
 *     POST R/v2/NAME/blobs/uploads/                  an address for it
 *     PATCH of pieces, GET of what has arrived after a failure, PUT ?digest=DIGEST
 *     PUT  R/v2/NAME/manifests/TAG
 *
 * A signature becomes an artifact of its own whose "subject" is the model's manifest.
 *
 * What exists is not sent again, so a run that failed goes on where it ended: an object at a
 * time, and a part at a time if the hub asks for parts; to a registry within one run also a piece
 * at a time. Nothing becomes visible before
 * everything has arrived. Digests are computed before the first request; a file that changes
 * later is refused by the receiver.
 *
 * Sources: huggingface_hub, _commit_api.py and lfs.py; the LFS batch interface; the OCI
 * distribution specification 1.1; ModelPack model-spec.
 */
#ifndef HUB_PUSH_H
#define HUB_PUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "hub/source.h"
#include "net/http.h"

#define PUSH_FILES 10000
#define PUSH_UPLOADS "uploads" /* folder in the cache of these tools: hub/push_session.h */
#define PUSH_PIECE (UINT64_C(64) << 20) /* of a blob for a registry */

struct push_file {
	char *at;                /* the file here */
	char *name;              /* there */
	uint64_t size;
	char sha256[65];
	int fd;
	bool lfs;                /* hub: as an LFS object */
	bool there;              /* it was there before */
};

struct push {
	const struct hub_source *to;
	const char *message;     /* of the commit, or NULL */
	const char *token_file;  /* or NULL */
	const char *signature;   /* registry: a file, or NULL */
	bool create;             /* hub: create the repository, unless it exists, */
	bool private_repo;       /* as a private one */
	void (*note)(const char *text);
	struct push_file *files;
	size_t n, cap;
	uint64_t bytes, sent;
	char result[800];        /* what was made: the address of a commit, or NAME@DIGEST */
};

/* Adds a file, or the files of a folder except hidden ones. The files stay open. */
int push_add(struct push *p, const char *path, struct err *e);

/* Computes the digests. */
int push_hash(struct push *p, struct err *e);

/* Sends everything. */
int push_run(struct push *p, struct web *web, struct err *e);
void push_free(struct push *p);

/* ---- parts ---- */

int push_hf(struct push *p, struct web *web, struct err *e);
int push_oci(struct push *p, struct web *web, struct err *e);

/* "sha256:HEX" of n bytes. */
int push_digest(const void *bytes, size_t n, char digest[72], struct err *e);

#endif
