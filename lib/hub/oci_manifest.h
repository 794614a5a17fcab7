/* oci_manifest: what a manifest of a registry says about a model.
 *
 * Three dialects describe models in registries; the media types of the layers tell them apart:
 *
 *     Ollama          application/vnd.ollama.image.{model,projector,adapter,template,system,
 *                     params,license,messages}
 *     Docker          application/vnd.docker.ai.{gguf.v3,safetensors,mmproj,license,
 *                     chat.template.jinja}
 *     CNCF ModelPack  application/vnd.cncf.model.{weight,weight.config,doc,code,dataset}.v1.
 *                     {raw,tar,tar+gzip,tar+zstd}, with the annotation org.cncf.model.filepath
 *
 * Layers of other types are files if org.opencontainers.image.title names them. A registry may
 * serve a manifest as any Content-Type (Ollama: text/plain), so only its text counts.
 *
 * A manifest is untrusted: its size is bounded, digests are 64 hexadecimal digits, and a path
 * of a layer counts only if hub_path_is_safe allows it.
 *
 * Sources: OCI image and distribution specifications 1.1; ModelPack model-spec; the model
 * specification of Docker; media types of Ollama as its registry serves them.
 */
#ifndef HUB_OCI_MANIFEST_H
#define HUB_OCI_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define OCI_MANIFEST (4u << 20) /* bytes of a manifest at most, as registries have it */
#define OCI_LAYERS 4096
#define OCI_DIGEST 72           /* "sha256:HEX" and a NUL */

/* What registries are asked for: manifests of both kinds, and lists of them. */
#define OCI_ACCEPT "Accept: application/vnd.docker.distribution.manifest.v2+json, " \
	"application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json"

#define OCI_TYPE_MANIFEST "application/vnd.oci.image.manifest.v1+json"
#define OCI_TYPE_MODEL "application/vnd.cncf.model.manifest.v1+json"
#define OCI_TYPE_CONFIG "application/vnd.cncf.model.config.v1+json"
#define OCI_TYPE_WEIGHT "application/vnd.cncf.model.weight.v1.raw"
#define OCI_TYPE_WEIGHT_CONFIG "application/vnd.cncf.model.weight.config.v1.raw"
#define OCI_TYPE_DOC "application/vnd.cncf.model.doc.v1.raw"
#define OCI_TYPE_CODE "application/vnd.cncf.model.code.v1.raw"
#define OCI_PATH "org.cncf.model.filepath"
#define OCI_TITLE "org.opencontainers.image.title"

enum oci_role {
	OCI_MODEL,           /* weights */
	OCI_SIDE,            /* configuration and tokenizer beside weights */
	OCI_DOC,             /* licence, readme */
	OCI_EXTRA,           /* template, parameters, code, data: only if asked for */
	OCI_ARCHIVE,         /* a tar archive, which is not read */
	OCI_OTHER            /* of an unknown type, without a name */
};

struct oci_layer {
	char *path;          /* the file that it becomes; unique */
	char *type;          /* media type */
	char digest[OCI_DIGEST];
	uint64_t size;
	enum oci_role role;
};

struct oci_manifest {
	struct oci_layer *layers;
	size_t n;
	char config[OCI_DIGEST]; /* digest, or "" */
	uint64_t config_size;
	char child[OCI_DIGEST];  /* of a list of manifests: the first that may be a model; else "" */
	bool has_archives;
};

/* Reads a manifest. label names it in messages. 0, or -1 with e filled: ERR_CORRUPT, or
 * ERR_FORMAT if it is not a manifest. oci_manifest_free in any case. */
int oci_manifest_parse(struct oci_manifest *m, const void *text, size_t n, const char *label,
                       struct err *e);
void oci_manifest_free(struct oci_manifest *m);

/* Whether text is "sha256:" and 64 lower-case hexadecimal digits. */
bool oci_digest_is_valid(const char *text);

#endif
