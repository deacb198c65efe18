/* LogGP parameters on the command line. */
#ifndef GW_CLI_LOGGP_H
#define GW_CLI_LOGGP_H

#include "goal/goal.h"
#include "traces/traces.h"

/*
 * "L=2500,o=1500,g=1000,O=0,G=6,S=65535": nanoseconds, nanoseconds per byte and bytes, in any
 * order; what is not given is 0, and S without limit.
 */
struct gw_loggp_text {
    double L, o, g, O, G, S;
};

enum gw_status gw_loggp_parse(const char *text, struct gw_loggp_text *out, struct gw_error *error);

/* The parameters for a GOAL schedule, whose times are whole numbers. */
enum gw_status gw_loggp_for_goal(const struct gw_loggp_text *text, struct gw_loggops *out,
                                 struct gw_error *error);

/* The parameters for a cluster's messages. */
struct gw_loggp gw_loggp_for_network(const struct gw_loggp_text *text);

#endif
