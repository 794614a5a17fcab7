/* suffix: the container that a file's name promises. */
#ifndef MODEL_SUFFIX_H
#define MODEL_SUFFIX_H

/* "gguf", "safetensors" or "apr" (each of the three formats with that suffix), in either
 * case; NULL where the path ends in none of them. */
const char *suffix_container(const char *path);

#endif
