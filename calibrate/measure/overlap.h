/* Overlap factors: how much compression and collectives slow each other when a rank's two threads
 * run both; private to this room. */
#ifndef GW_CALIBRATE_OVERLAP_H
#define GW_CALIBRATE_OVERLAP_H

#include <pthread.h>

#include "calibrate/measure/compressors.h"
#include "calibrate/measure/pool.h"
#include "calibrate/report.h"

/* ---- rounds -------------------------------------------------------------------------------- */

/*
 * Seconds that one action of each takes; compute is INFINITY if none began and ended in the block.
 */
struct gw_pace {
    double compute_s, communication_s;
    double share; /* share of the block with communication */
};

/* The measurement of rounds: the ranks' pace in a block, one after the other or both at once. */
struct gw_overlap_rounds {
    enum gw_status (*measure)(void *context, double block_s, bool at_once, struct gw_pace *out,
                              struct gw_error *error);
    void *context;
    const struct gw_clock *clock;
    double block_s;   /* minimum time for each alone, and half of that for both at once */
    size_t rounds;    /* fewer if they take longer than this: */
    double longest_s; /* 3 if these take less than twice as long, at least 1 */
};

/*
 * Each round measures the one alone, the other alone and both at once, right after each other, so
 * that slow drift does not look like a factor. Times are means over a block - where threads share a
 * core, one in many is long, and a median would not show it - and the largest of any rank. Factors
 * are medians over rounds, with their 95% intervals by the bootstrap; the whole range for five
 * rounds or fewer. Every rank gets the same ones. The point's bytes do not change.
 *
 * Factors are of the time with communication. Compute's is at most 100; if it loses more than that
 * time, the rest is added to communication's, as if that took longer.
 *
 * If an action takes longer than a block, blocks of both at once are longer, up to 2 s. A round in
 * which a rank still has none is ignored for compute. Without any other round *known is false, and
 * the point's factors do not change.
 */
enum gw_status gw_measure_overlap_rounds(struct gw_communicator *communicator,
                                         const struct gw_overlap_rounds *rounds,
                                         struct gw_overlap_point *out, bool *known,
                                         struct gw_error *error);

/* ---- two threads of a rank ----------------------------------------------------------------- */

/* The progress of a compute thread's pass. */
struct gw_pass {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t gradients;
    bool working;
    double ended_s; /* on the machine's clock */
};

void gw_pass_open(struct gw_pass *pass);
void gw_pass_close(struct gw_pass *pass);

struct gw_overlap_subject {
    gw_action *compute;                      /* on a thread of its own, repeatedly */
    double (*took_s)(void *compute_context); /* of the last one; NULL: from call to return */
    void *compute_context;
    /*
     * One collective, or several that count as one, which all ranks call. Rank 0 passes `last` if
     * it is to be the last one of a series, and all learn it from the collective itself
     * (*was_last): so they stop together, with hardly anything else between two of them.
     */
    enum gw_status (*communicate)(void *context, bool last, bool *was_last, struct gw_error *error);
    void *communicate_context;
    double rest_s;             /* after each collective: some take all of a processor's time ... */
    struct gw_pass *pass;      /* or a pass as the action, whose gradients collectives wait for; or
                                * NULL */
    size_t apart;              /* number of these before each collective */
    double alone_s;            /* time of a collective alone; 0: to be measured */
    double block_s, longest_s; /* as of rounds */
    size_t rounds;
};

/*
 * Measures rounds by the machine's clock. At once, the compute thread begins before the first
 * collective and continues until after the last, and only its actions in between count. Alone,
 * blocks are up to 1 s long if an action takes longer.
 *
 * Passes continue as in a training: those of all ranks begin together, each collective waits for
 * gradients of all, and a pass that ends waits for the others. A pass takes the time of the last
 * rank's, a collective the time from the arrival of the last rank until it has ended on all.
 */
enum gw_status gw_measure_overlap(struct gw_communicator *communicator,
                                  const struct gw_overlap_subject *subject,
                                  struct gw_overlap_point *out, bool *known,
                                  struct gw_error *error);

/* ---- compression as the compute thread's work ---------------------------------------------- */

enum {
    GW_OVERLAP_SERIES = 8,
    GW_OVERLAP_MIN_POOL = 8 << 20 /* bytes: more than the caches near a core hold */
};

/* Compresses one group after the other, on processors or on a GPU. */
struct gw_overlap_load {
    size_t elements;                        /* of a group */
    const struct gw_compressor *compressor; /* the caller sets it */
    struct gw_pool gradient, residual;
    struct gw_task task;
    struct gw_selecting selecting;
    struct gw_device_stream *stream; /* of a GPU, like exec's for compute; NULL: on processors */
    struct gw_device_event *from[GW_OVERLAP_SERIES], *to[GW_OVERLAP_SERIES];
    double seconds; /* of the last series */
};

/* Opens a load on the calibration's device; *out may be closed on failure too. */
enum gw_status gw_overlap_load_open(struct gw_overlap_load *out,
                                    const struct gw_calibration *calibration, int rank,
                                    struct gw_error *error);
void gw_overlap_load_close(struct gw_overlap_load *load);

/*
 * A gw_action of a load, the context. On a GPU it compresses a series of groups, and
 * gw_overlap_load_took_s gives its time by the GPU's clock. Each group is launched while those
 * before it are compressed, as after a backward pass; the first, for which the GPU waits, counts as
 * the mean of the others.
 */
enum gw_status gw_overlap_load_run(void *context, struct gw_error *error);
double gw_overlap_load_took_s(void *context);

/* ---- all ---------------------------------------------------------------------------------- */

/* Overlap factors: how much concurrent compression and collectives slow each other. */
enum gw_status gw_calibrate_overlap(struct gw_communicator *communicator,
                                    const struct gw_calibration *calibration,
                                    const struct gw_report *report, struct gw_cluster *cluster,
                                    struct gw_error *error);

#endif
