/*
 * Two actions of a rank, alone and at once: how much each is slowed by the other; private to this
 * room.
 */
#ifndef GW_CALIBRATE_OVERLAP_PAIR_H
#define GW_CALIBRATE_OVERLAP_PAIR_H

#include "calibrate/measure/measurement.h"

/*
 * One collective, or several that count as one, which all ranks call. Rank 0 says with `last` that
 * it is to be the last one of a series, and all learn it from the collective itself (*was_last): so
 * they stop together, with nothing else between two of them, or next to nothing.
 */
typedef enum gw_status gw_communicate(void *context, bool last, bool *was_last,
                                      struct gw_error *error);

struct gw_overlap_subject {
    gw_action *compute;                      /* on a thread of its own, again and again */
    double (*took_s)(void *compute_context); /* of the last one; NULL: from call to return */
    void *compute_context;
    gw_communicate *communicate;
    void *communicate_context;
    double block_s;   /* what each is measured for alone, and twice that at once, at least */
    size_t rounds;    /* fewer where they take longer than this: */
    double longest_s; /* 3 if these take less than twice as long, 1 at least */
};

/*
 * Each round measures the one alone, the other alone and both at once, one right after the other,
 * so that what drifts slowly does not look like a factor. At once, the compute thread begins before
 * the first collective and goes on until after the last, and only what it does in between counts.
 * Times are means over a block - where threads share a core, one in many is long, and a median
 * would not see it - and the largest of any rank; factors are medians over rounds, with their 95%
 * intervals by the bootstrap: of five rounds or fewer the whole range. Every rank comes to the same
 * ones. The point's bytes stay as they are.
 *
 * Where an action takes longer than a block, blocks are longer: up to 1 s alone and 2 s at
 * once. A round in which a rank has done none even so says nothing of compute. Without any other
 * one *known is false, and the point's factors stay as they are.
 */
enum gw_status gw_measure_overlap(struct gw_communicator *communicator,
                                  const struct gw_overlap_subject *subject,
                                  struct gw_overlap_point *out, bool *known,
                                  struct gw_error *error);

#endif
