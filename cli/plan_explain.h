/* Why a plan takes as long as it does: what each stream does for its groups, and who waits. */
#ifndef GW_CLI_PLAN_EXPLAIN_H
#define GW_CLI_PLAN_EXPLAIN_H

#include "cli/cli.h"

struct gw_explanation {
    const struct gw_question *question;
    const struct gw_plan *plan;
    struct gw_group_times *groups; /* [plan->group_count] */
    double comm_s;                 /* of all exchanges */
    double exposed_comm_s;         /* after the last compression */
    double update_s;               /* after the last exchange */
    /*
     * The group from which on the network does not pause: the iteration lasts as long as the
     * compute until it is compressed, its exchange and those after it, and the update.
     */
    size_t critical_group;
    enum gw_stream bottleneck; /* the stream that has the larger part of that */
};

/* Explains a plan for the question, exchanged as `exchange` says (NULL: as its compressor's own).
 * Borrows both. */
enum gw_status gw_explanation_open(const struct gw_question *question, const struct gw_plan *plan,
                                   const char *exchange, struct gw_explanation *out,
                                   struct gw_error *error);
void gw_explanation_close(struct gw_explanation *explanation);

/* A table of the groups and a summary, for a person. */
void gw_explanation_print(const struct gw_explanation *explanation);

/* The same as member "explanation" of a document. */
enum gw_status gw_explanation_put(const struct gw_explanation *explanation, cJSON *document,
                                  struct gw_error *error);

/* The two streams as a picture: .png, .svg or .pdf. */
enum gw_status gw_explanation_draw(const struct gw_explanation *explanation, const char *path,
                                   struct gw_error *error);

#endif
