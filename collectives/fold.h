/*
 * Algorithms for powers of two with any number of workers: of the first pairs of neighbours, as
 * many as there are workers too many, the odd one hands its data to the even one, waits, and is
 * handed the result. Those that remain are the core, numbered from 0 without gaps. (Rabenseifner,
 * ICCS 2004; Thakur, Rabenseifner and Gropp 2005.) Private to this room.
 */
#ifndef GW_COLLECTIVES_FOLD_H
#define GW_COLLECTIVES_FOLD_H

#include "collectives/collectives.h"

struct gw_fold {
    uint32_t log2_core, core; /* the largest power of two that is not above the workers */
    uint32_t pairs;           /* workers - core */
};

struct gw_fold gw_fold(uint32_t workers);

/*
 * The rank that is number `number` of the core; for `core`, the number of workers. Data in the
 * order of ranks is then in the order of the core too, and what its numbers a .. b-1 stand for lies
 * between these ranks of a and b.
 */
uint32_t gw_fold_rank(const struct gw_fold *fold, uint32_t number);

/* Where a rank's step stands if the core takes `rounds` rounds. */
struct gw_fold_place {
    enum { GW_FOLD_IN, GW_FOLD_ROUND, GW_FOLD_OUT } phase;
    uint32_t odd, even;     /* in and out: the pair, of which the rank is one */
    uint32_t number, round; /* round: the rank's number in the core */
};

uint32_t gw_fold_steps(const struct gw_fold *fold, uint32_t rank, uint32_t rounds);
struct gw_fold_place gw_fold_place(const struct gw_fold *fold, uint32_t rank, uint32_t index,
                                   uint32_t rounds);

/* The step in or out of an allreduce of vectors of so many blocks. */
struct gw_step gw_fold_allreduce(const struct gw_call *call, const struct gw_fold_place *place,
                                 uint32_t rank, uint32_t blocks);

/* What both steps cost if there are pairs. */
double gw_fold_allreduce_cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte);

#endif
