/* cache_type: how keys and values are kept, by name. */
#ifndef INFER_CACHE_TYPE_H
#define INFER_CACHE_TYPE_H

enum cache_type { CACHE_F16, CACHE_F32, CACHE_Q8_0 };

/* The names that options use: "f16", "f32", "q8_0". */
const char *cache_type_name(enum cache_type type);

/* 0, or -1 if the name is unknown. */
int cache_type_by_name(const char *name, enum cache_type *type);

#endif
