/* aprjson: APR1 files with a JSON layout, which AprWriter of aprender wrote in 2025 and 2026.
 *
 *     magic       "APR1"
 *     u32         bytes of the metadata
 *     metadata    a JSON object; each member becomes a key with the same name
 *     u32         number of tensors
 *     u32         bytes of the index
 *     index       a JSON list of objects: name, dtype ("F32", ...), shape (rows first), offset
 *                 (from the end of the index), size in bytes
 *     values      of the tensors, without gaps
 *     u32         CRC-32 of all bytes before it
 *
 * All numbers are little-endian. Two other layouts have the same magic and are refused by name:
 * that of whisper.apr, and APR2 files whose magic was changed.
 *
 * Source: src/serialization/apr of aprender.
 */
#ifndef IMPORTS_APRJSON_APRJSON_H
#define IMPORTS_APRJSON_APRJSON_H

#include "imports/import.h"

#endif
