/* Networks to plan for: such as people train, and such as are hard to plan for. */
#ifndef GW_BENCH_NETWORKS_H
#define GW_BENCH_NETWORKS_H

#include "planner/planner.h"

/* What a family makes a network from, and where it puts its tensors. */
struct bench_draft {
    struct gw_random *random;
    double startup_s; /* of the exchange: families aim at the limits of a policy's conditions */
    size_t count;
    struct gw_tensor *tensors; /* comes in all zero */
};

struct bench_family {
    const char *name;
    void (*fill)(const struct bench_draft *draft); /* NULL: draws from the model of that name */
};

/* All families, ended by one without a name. */
extern const struct bench_family bench_families[];

enum gw_status bench_fill(const struct bench_family *family, const struct bench_draft *draft,
                          struct gw_error *error);

#endif
