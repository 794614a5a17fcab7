/* descriptors: standard input, output and error. */
#ifndef CORE_DESCRIPTORS_H
#define CORE_DESCRIPTORS_H

/* Opens descriptors 0 to 2 if they are closed. Otherwise the next file opened would get the
 * number, and messages would be written into a model. */
void descriptors_occupy(void);

#endif
