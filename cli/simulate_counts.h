/* Where simulations take the numbers of selected elements from. */
#ifndef GW_CLI_SIMULATE_COUNTS_H
#define GW_CLI_SIMULATE_COUNTS_H

#include "cli/cli.h"
#include "kernels/gradients/emulation.h"

struct gw_counts_options {
    const char *source; /* "asked", "trained" or a file; NULL: as asked */
    const char *out;    /* NULL: counts are not kept */
};
extern const struct gw_option gw_counts_table[]; /* for struct gw_counts_options */

/* What a simulation takes, and what its result says of it. */
struct gw_counted {
    struct gw_counts counts;          /* without iterations: as asked */
    const struct gw_counts *borrowed; /* NULL: those above */
    struct gw_selected *selected;
    char source[GW_RESULT_NOTE_SIZE];
    char note[GW_RESULT_NOTE_SIZE];
};

/* Gives the simulation what was selected in each of so many iterations; `out` lives longer. */
enum gw_status gw_counted_open(const struct gw_counts_options *options,
                               const struct gw_question *question,
                               const struct gw_pipeline *pipeline, size_t iterations,
                               struct gw_simulation *simulation, struct gw_counted *out,
                               struct gw_error *error);

/* The same of counts that live longer, with what `source` says of them. */
enum gw_status gw_counted_borrow(const struct gw_counts *counts, const char *source,
                                 struct gw_simulation *simulation, struct gw_counted *out,
                                 struct gw_error *error);

/* Says in a result of so many iterations what they took; sets its bytes to their mean. */
void gw_counted_tell(const struct gw_counted *counted, struct gw_pipeline *pipeline,
                     struct gw_result *result);

void gw_counted_close(struct gw_counted *counted);

#endif
