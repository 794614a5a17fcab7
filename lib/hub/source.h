/* source: where a model is published, as users write it.
 *
 *     hf://[models/]ORG/REPO[@REVISION][/PATH]     a model of the hub: a file or a folder
 *     hf://ORG/REPO[/PATH][@REVISION]              the same
 *     hf://ORG/REPO:TAG                            its only GGUF file with TAG in the name
 *     https://HUB/ORG/REPO[/(resolve|blob|raw|tree)/REVISION[/PATH]]   from the browser
 *     http[s]://...                                any other address: a file
 *     file://PATH, PATH                            a file or folder of this machine
 *     ollama://[HOST/][ORG/]NAME[:TAG]             a registry of Ollama
 *     oci://HOST/NAME[:TAG][@sha256:HEX]           any registry
 *
 * Names of repositories and revisions are those that the hub allows; a path of a file never
 * leaves the folder it is put into (hub_path_is_safe). The text itself may be a secret (a
 * signed address), so messages name it by `label`.
 */
#ifndef HUB_SOURCE_H
#define HUB_SOURCE_H

#include <stdbool.h>

#include "core/err.h"
#include "net/url.h"

enum hub_kind {
	HUB_HF, HUB_HTTP, HUB_FILE, HUB_OLLAMA, HUB_OCI
};

#define HUB_NAME 128 /* of an organization or repository */
#define HUB_PATH 1024
#define HUB_REVISION 256

struct hub_source {
	enum hub_kind kind;
	char label[512];             /* for messages: without secrets */
	char org[HUB_NAME], repo[HUB_NAME]; /* hf */
	char revision[HUB_REVISION]; /* hf; "" if not given */
	char path[HUB_PATH];         /* hf: in the repository, or ""; file: the path */
	bool folder;                 /* hf: path is a folder (it ended in "/") */
	char tag[HUB_NAME + 1];      /* hf: of ORG/REPO:TAG; ollama, oci: "" if not given */
	struct url url;              /* http */
	char registry[URL_HOST + 8]; /* ollama, oci: HOST[:PORT]; "" if not given */
	char name[256];              /* ollama, oci: without the registry */
	char digest[80];             /* oci: sha256:HEX, or "" */
};

/* Parses text. endpoint: the hub's address ("https://huggingface.co"), whose pages are taken
 * for its models. ERR_USAGE that says what is wrong. */
int hub_source_parse(struct hub_source *s, const char *text, const char *endpoint,
                     struct err *e);

/* Whether text begins with one of the schemes above, so that it is not the name of a file. */
bool hub_is_source(const char *text);

/* Whether a path from a server can become files below a folder: parts of 1 to 255 bytes, of
 * UTF-8 without control characters and backslashes, none of them ".", ".." or ".git", without
 * a drive letter, at most HUB_PATH - 1 bytes in all. */
bool hub_path_is_safe(const char *path);

#endif
