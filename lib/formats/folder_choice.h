/* folder_choice: which files of a folder are its model, by their names. */
#ifndef FORMATS_FOLDER_CHOICE_H
#define FORMATS_FOLDER_CHOICE_H

#include "core/dir.h"
#include "formats/folder.h"

#define FOLDER_INDEX_END ".index.json" /* follows the ending of the kind */

/* A kind by its place in the list, or NULL past the last. */
const struct folder_kind *folder_kind_row(size_t i);

/* The weights of a folder. If both names are NULL, files is the number of files that may be
 * the model. */
struct folder_choice {
	const struct folder_kind *kind; /* NULL: none */
	const char *single, *index;     /* one of list, or of the kind */
	size_t files;
};

/* Choose the first kind that the folder has. */
struct folder_choice folder_choose(const struct dir_names *list);

#endif
