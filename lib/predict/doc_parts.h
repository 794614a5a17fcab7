/* doc_parts: what the files of doc.h share. */
#ifndef PREDICT_DOC_PARTS_H
#define PREDICT_DOC_PARTS_H

#include "predict/doc.h"

/* Bytes of a number of a type of UBJSON; 0 for others. */
unsigned doc_width(char type);

/* Reads a number of a type of UBJSON. */
double doc_binary_number(struct doc *d, char type);

#endif
