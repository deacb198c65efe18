/* Parameters that a user gives many values of, for `plan --sweep` and for `sweep`. */
#ifndef GW_CLI_PARAMETERS_H
#define GW_CLI_PARAMETERS_H

#include "cli/cli.h"

/* What their values may be. */
extern const struct gw_values_rule gw_density_rule, gw_workers_rule, gw_bandwidth_rule;

/*
 * Gives the question a cluster whose collectives move bytes `factor` times as fast; startups stay.
 * `question` is a copy of another one, which keeps its cluster; gw_question_end_bandwidth frees
 * what the copy got, and does nothing to a copy whose bandwidth was never changed.
 */
enum gw_status gw_question_set_bandwidth(struct gw_question *question, double factor,
                                         struct gw_error *error);
void gw_question_end_bandwidth(struct gw_question *question, const struct gw_question *original);

#endif
