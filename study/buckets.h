/* Advice on the buckets of DistributedDataParallel; private to this room. */
#ifndef GW_STUDY_BUCKETS_H
#define GW_STUDY_BUCKETS_H

#include "study/advice.h"

/* Fills the advice's buckets: plan, cap and default, and which of them hold. */
enum gw_status gw_advise_buckets(struct gw_advice *advice, struct gw_error *error);

#endif
