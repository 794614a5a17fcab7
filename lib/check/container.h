/* container: points about the file around the model: what its reader refused (check/refusal.h),
 * and what it accepted although a good writer does not write it (model/oddity.h). */
#ifndef CHECK_CONTAINER_H
#define CHECK_CONTAINER_H

#include "check/survey.h"

int container_judge(const struct survey *s, struct findings *f, struct err *e);

/* A reader's refusal as a finding of its point. False if the model is not at fault. */
bool container_refused(const struct err *why, struct findings *f);

#endif
