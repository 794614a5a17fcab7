/* dir_name: what names of files in a folder mean; no files are touched. */
#ifndef CORE_DIR_NAME_H
#define CORE_DIR_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a name can only mean a file in a folder: 1 to 255 bytes of UTF-8 without "/" or
 * control characters that do not begin with a dot. */
bool dir_name_is_plain(const char *name);

/* Whether a name means FOLDER/config.json, one folder below with a plain name: no other file
 * there is ever read or written. The functions that open and stat a file also take such names;
 * a link in place of the folder is not followed. */
bool dir_name_is_below(const char *name);

/* Whether a name can only mean a file in a folder or below it: at most 6 plain names, 255 bytes
 * in all. dir_open also takes such names; folders that are links are not followed. */
bool dir_name_is_inside(const char *name);

/* Whether a name means a file of a package of Core ML: Data/.../FILE, or weights/FILE beside its
 * model. */
bool dir_name_in_package(const char *name);

/* Whether a name means a file of a SavedModel of TensorFlow: variables/FILE or assets/.../FILE. */
bool dir_name_in_saved_model(const char *name);

/* Copies FOLDER of FOLDER/FILE; false if there is no "/" or it does not fit. */
bool dir_name_folder(const char *name, char folder[256]);

bool dir_name_ends(const char *name, const char *with);

/* PATH/NAME in a new string, or NULL (no memory). */
char *dir_label(const char *path, const char *name);

/* The last part of a path, as a new string; NULL if it says nothing, as "/" and "..", or if
 * memory ran out. */
char *dir_last(const char *path);

/* The name of one of several files: PREFIX-00002-of-00003ENDING. */
struct dir_number {
	uint64_t number, of; /* from 1 */
	size_t prefix;       /* bytes of PREFIX */
};
bool dir_numbered(const char *name, const char *ending, struct dir_number *n);

/* Whether the name stands for several files: it is an index or one of the files. */
bool dir_is_several(const char *name);

/* Builds the name of such a file in a new string; NULL: no memory. */
char *dir_number_name(const char *prefix, size_t prefix_bytes, uint64_t number,
                      uint64_t of, const char *ending);

#endif
