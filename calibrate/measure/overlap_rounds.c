/* Rounds of two actions of a rank, alone and at once, and their factors. */
#include <math.h>
#include <string.h>

#include "calibrate/measure/overlap.h"
#include "calibrate/measure/points.h"

enum {
    MIN_ROUNDS = 3, /* ... in twice the time, after which one suffices */
    MAX_ROUNDS = 64
};

static const double longest_both_s = 2; /* of a block that waits for an action to end */

/* Above this factor there is hardly any compute. */
static const double largest_factor = 100;

/*
 * Sets *known to false, or *out to the slowed pace over the pace alone. All ranks get the same
 * spent_s, since started_s. Both at once are measured again, for twice as long, until the block is
 * long enough for an action of the slowest rank.
 */
static enum gw_status run_round(struct gw_communicator *communicator,
                                const struct gw_overlap_rounds *rounds, struct gw_pace *out,
                                bool *known, double started_s, double *spent_s,
                                struct gw_error *error) {
    struct gw_pace alone;
    struct gw_pace both;
    double slowest[6];
    double block_s = rounds->block_s;
    GW_TRY(communicator->transport->barrier(communicator, error));
    GW_TRY(rounds->measure(rounds->context, block_s, false, &alone, error));
    do {
        block_s *= 2;
        GW_TRY(rounds->measure(rounds->context, block_s, true, &both, error));
        memcpy(slowest,
               (double[]){alone.compute_s, alone.communication_s, both.compute_s,
                          both.communication_s, both.share,
                          gw_clock_read_s(rounds->clock) - started_s},
               sizeof slowest);
        GW_TRY(gw_agree_maximum(communicator, slowest, 6, error));
    } while (isfinite(slowest[0]) && isinf(slowest[2]) && 2 * block_s <= longest_both_s);
    alone = (struct gw_pace){.compute_s = slowest[0], .communication_s = slowest[1]};
    both = (struct gw_pace){
        .compute_s = slowest[2], .communication_s = slowest[3], .share = slowest[4]};
    *spent_s = slowest[5];
    *known = isfinite(alone.compute_s) && isfinite(both.compute_s);
    /* Slowing during the time with communication. A loss of compute beyond that, because its caches
     * hold other data, counts as if communication took longer. */
    double lost = (1 - alone.compute_s / both.compute_s) / both.share;
    *out = (struct gw_pace){.compute_s = 1 / fmax(1 / largest_factor, 1 - lost),
                            .communication_s =
                                both.communication_s / alone.communication_s * fmax(1, lost)};
    return GW_OK;
}

static enum gw_status summarise_factors(double *factors, size_t count,
                                        struct gw_overlap_factor *out, struct gw_error *error) {
    struct gw_summary summary;
    GW_TRY(gw_summarise_repeats(factors, count, 1, 1, &summary, error));
    *out = (struct gw_overlap_factor){
        .factor = summary.median, .low = summary.median_low, .high = summary.median_high};
    return GW_OK;
}

enum gw_status gw_measure_overlap_rounds(struct gw_communicator *communicator,
                                         const struct gw_overlap_rounds *rounds,
                                         struct gw_overlap_point *out, bool *known,
                                         struct gw_error *error) {
    double compute[MAX_ROUNDS];
    double communication[MAX_ROUNDS];
    size_t most = rounds->rounds < MAX_ROUNDS ? rounds->rounds : MAX_ROUNDS;
    size_t known_count = 0;
    size_t count = 0;
    double started_s = gw_clock_read_s(rounds->clock);
    double spent_s = 0;
    while (count < most && (count == 0 || spent_s < rounds->longest_s ||
                            (count < MIN_ROUNDS && spent_s < 2 * rounds->longest_s))) {
        struct gw_pace factors = {.share = 1};
        bool round_known = false;
        GW_TRY(run_round(communicator, rounds, &factors, &round_known, started_s, &spent_s, error));
        count++;
        if (round_known) {
            compute[known_count] = factors.compute_s;
            communication[known_count++] = factors.communication_s;
        }
    }
    *known = known_count > 0;
    if (!*known) {
        return GW_OK;
    }
    GW_TRY(summarise_factors(compute, known_count, &out->compute, error));
    return summarise_factors(communication, known_count, &out->communication, error);
}
