/*
 * How much compression and collectives slow each other when a rank's two threads run both; private
 * to this room.
 */
#ifndef GW_CALIBRATE_OVERLAP_H
#define GW_CALIBRATE_OVERLAP_H

#include <pthread.h>

#include "calibrate/measure/measure.h"
#include "kernels/gpu.h"

/* ---- rounds -------------------------------------------------------------------------------- */

/* Seconds that one of each takes: compute INFINITY if none began and ended in the block. */
struct gw_pace {
    double compute_s, communication_s;
    double share; /* of the block in which there was communication */
};

/* How rounds are measured: the ranks' pace in a block, one after the other or both at once. */
struct gw_overlap_rounds {
    enum gw_status (*measure)(void *context, double block_s, bool at_once, struct gw_pace *out,
                              struct gw_error *error);
    void *context;
    const struct gw_clock *clock;
    double block_s;   /* what each is measured for alone, and twice that at once, at least */
    size_t rounds;    /* fewer where they take longer than this: */
    double longest_s; /* 3 if these take less than twice as long, 1 at least */
};

/*
 * Each round measures the one alone, the other alone and both at once, one right after the other,
 * so that what drifts slowly does not look like a factor. Times are means over a block - where
 * threads share a core, one in many is long, and a median would not see it - and the largest of any
 * rank. Factors are medians over rounds, with their 95% intervals by the bootstrap: of five rounds
 * or fewer the whole range. Every rank comes to the same ones. The point's bytes stay as they are.
 *
 * Factors are those of the time in which there is communication. Compute's is 100 at most; if it
 * loses more than that time, the rest is in communication's, as if that took longer.
 *
 * Where an action takes longer than a block, blocks at once are longer, up to 2 s. A round in which
 * a rank has done none even so says nothing of compute. Without any other one *known is false, and
 * the point's factors stay as they are.
 */
enum gw_status gw_measure_overlap_rounds(struct gw_communicator *communicator,
                                         const struct gw_overlap_rounds *rounds,
                                         struct gw_overlap_point *out, bool *known,
                                         struct gw_error *error);

/* ---- two threads of a rank ----------------------------------------------------------------- */

/* What a compute thread has told of its pass so far. */
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
    gw_action *compute;                      /* on a thread of its own, again and again */
    double (*took_s)(void *compute_context); /* of the last one; NULL: from call to return */
    void *compute_context;
    /*
     * One collective, or several that count as one, which all ranks call. Rank 0 says with `last`
     * that it is to be the last one of a series, and all learn it from the collective itself
     * (*was_last): so they stop together, with nothing else between two of them, or next to
     * nothing.
     */
    enum gw_status (*communicate)(void *context, bool last, bool *was_last, struct gw_error *error);
    void *communicate_context;
    double rest_s;             /* after each collective: some take all of a processor's time ... */
    struct gw_pass *pass;      /* or an action is a pass, whose gradients they wait for; or NULL */
    size_t apart;              /* so many more of these before each collective */
    double alone_s;            /* that a collective takes alone; 0: to be measured */
    double block_s, longest_s; /* as of rounds */
    size_t rounds;
};

/*
 * Rounds by the machine's clock. At once, the compute thread begins before the first collective and
 * goes on until after the last, and only what it does in between counts. Alone, blocks are up to
 * 1 s long where an action takes longer.
 *
 * Passes go on as those of a training: those of all ranks begin together, each collective waits for
 * gradients of all, and what ends waits for the others. A pass takes what the last rank's takes, a
 * collective the time from where the last rank came until it has ended on all.
 */
enum gw_status gw_measure_overlap(struct gw_communicator *communicator,
                                  const struct gw_overlap_subject *subject,
                                  struct gw_overlap_point *out, bool *known,
                                  struct gw_error *error);

/* ---- what a compute thread does ------------------------------------------------------------ */

enum {
    GW_OVERLAP_SERIES = 8,
    GW_OVERLAP_LEAST_POOL = 8 << 20 /* bytes: more than caches near a core hold */
};

/* It compresses one group after the other, on processors or on a GPU. */
struct gw_overlap_load {
    size_t elements;                        /* of a group */
    const struct gw_compressor *compressor; /* set by gw_overlap_load_choose */
    struct gw_pool gradient, residual;
    struct gw_task task;
    /* On processors: */
    struct gw_workspace workspace;
    struct gw_selection selection;
    /* On a GPU, with a stream as exec's for compute: */
    struct gw_device *device;
    struct gw_device_stream *stream;
    const struct gw_gpu_kernel *gpu;
    struct gw_gpu_workspace *gpu_workspace;
    struct gw_gpu_selection gpu_selection;
    struct gw_device_event *from[GW_OVERLAP_SERIES], *to[GW_OVERLAP_SERIES];
    double seconds; /* that the last series took */
};

/* Of the calibration's device; *out is safe to close in any case. */
enum gw_status gw_overlap_load_open(struct gw_overlap_load *out,
                                    const struct gw_calibration *calibration, int rank,
                                    struct gw_error *error);
void gw_overlap_load_close(struct gw_overlap_load *load);

void gw_overlap_load_choose(struct gw_overlap_load *load, const struct gw_compressor *compressor);

/*
 * A gw_action of a load, the context. On a GPU it compresses a series of groups, and
 * gw_overlap_load_took_s says what that takes there by the GPU's clock. One is launched while those
 * before it are compressed, as behind a backward pass; the first, for which the GPU waits, counts
 * as the mean of the others.
 */
enum gw_status gw_overlap_load_run(void *context, struct gw_error *error);
double gw_overlap_load_took_s(void *context);

#endif
