/* suffix: the container that a file's name promises. */
#ifndef MODEL_SUFFIX_H
#define MODEL_SUFFIX_H

/* "gguf", "safetensors" or "apr" (for all three formats with that suffix), in upper or lower
 * case; NULL if the path has none of these suffixes. */
const char *suffix_container(const char *path);

#endif
