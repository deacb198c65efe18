#include "calibrate/measure/clocks.h"
#include "calibrate/hosts/hosts.h"

#include <gsl/gsl_fit.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum gw_status gw_clocks_open(struct gw_communicator *communicator, const struct gw_clock *own,
                              struct gw_clocks *out, struct gw_error *error) {
    char mine[128] = ""; /* the monotonic clock: its boot, and its time namespace */
    char boot[GW_FACT_SIZE];
    *out = (struct gw_clocks){.own = own};
    if (gw_fact_boot("", boot)) {
        (void)snprintf(mine, 64, "%.63s", boot);
        (void)!readlink("/proc/self/ns/time", mine + 64, 63);
    }
    void *gathered = NULL;
    GW_TRY(gw_gather_all(communicator, mine, sizeof mine, "comparing clocks", &gathered, error));
    const char *all = gathered;
    out->shared = own == &gw_machine_clock && mine[0] != '\0';
    for (int rank = 0; rank < communicator->size; rank++) {
        out->shared =
            out->shared && memcmp(all + (size_t)rank * sizeof mine, all, sizeof mine) == 0;
    }
    free(gathered);
    return GW_OK;
}

double gw_clocks_common_s(const struct gw_clocks *clocks, double own_s) {
    return own_s + clocks->offset_s + clocks->rate * (own_s - clocks->reference_s);
}

double gw_clocks_from_common_s(const struct gw_clocks *clocks, double common_s) {
    double at_reference_s = clocks->reference_s + clocks->offset_s;
    return clocks->reference_s + (common_s - at_reference_s) / (1 + clocks->rate);
}

/* ---- queries ------------------------------------------------------------------------------- */

enum { ROUND_TRIPS = 30 };

static size_t place_before(const struct gw_clocks *clocks, size_t answers) {
    return (clocks->asked - answers) % GW_CLOCK_ANSWERS;
}

static enum gw_status query_clock(struct gw_clocks *clocks, struct gw_communicator *communicator,
                                  struct gw_error *error) {
    double shortest_s = INFINITY;
    const double apart_s = 0.5;
    double base_s = clocks->at_s[place_before(clocks, 1)] - clocks->at_s[place_before(clocks, 2)];
    if (clocks->asked < 2 || base_s >= apart_s) {
        clocks->asked++; /* otherwise replaces the last answer: the line needs a long base */
    }
    size_t place = place_before(clocks, 1);
    for (int i = 0; i < ROUND_TRIPS; i++) {
        double theirs_s = 0;
        double sent_s = gw_clock_read_s(clocks->own);
        GW_TRY(gw_send(communicator, 0, &sent_s, sizeof sent_s, error));
        GW_TRY(gw_receive(communicator, 0, &theirs_s, sizeof theirs_s, error));
        double round_s = gw_clock_read_s(clocks->own) - sent_s;
        if (round_s < shortest_s) {
            shortest_s = round_s;
            clocks->at_s[place] = sent_s + round_s / 2;
            clocks->ahead_s[place] = theirs_s - clocks->at_s[place];
        }
    }
    return GW_OK;
}

/* Fits a rate only if the answers are seconds apart: an error of a microsecond over a millisecond
 * would be a rate a hundred times that of any clock. */
static void fit_line(struct gw_clocks *clocks) {
    const double long_enough_s = 1;
    size_t count = clocks->asked < GW_CLOCK_ANSWERS ? clocks->asked : GW_CLOCK_ANSWERS;
    size_t last = place_before(clocks, 1);
    double since_s[GW_CLOCK_ANSWERS];
    double earliest_s = 0;
    for (size_t i = 0; i < count; i++) {
        since_s[i] = clocks->at_s[i] - clocks->at_s[last];
        earliest_s = fmin(earliest_s, since_s[i]);
    }
    clocks->reference_s = clocks->at_s[last];
    clocks->offset_s = clocks->ahead_s[last];
    clocks->rate = 0;
    if (-earliest_s >= long_enough_s) {
        double cov00 = 0;
        double cov01 = 0;
        double cov11 = 0;
        double squares = 0;
        gsl_fit_linear(since_s, 1, clocks->ahead_s, 1, count, &clocks->offset_s, &clocks->rate,
                       &cov00, &cov01, &cov11, &squares);
    }
}

enum gw_status gw_clocks_ask(struct gw_clocks *clocks, struct gw_communicator *communicator,
                             struct gw_error *error) {
    if (clocks->shared) {
        return GW_OK;
    }
    if (communicator->rank == 0) {
        for (int i = 0; i < ROUND_TRIPS * (communicator->size - 1); i++) { /* rank after rank */
            int rank = 1 + i / ROUND_TRIPS;
            double time_s = 0;
            GW_TRY(gw_receive(communicator, rank, &time_s, sizeof time_s, error));
            time_s = gw_clock_read_s(clocks->own);
            GW_TRY(gw_send(communicator, rank, &time_s, sizeof time_s, error));
        }
        return GW_OK;
    }
    GW_TRY(query_clock(clocks, communicator, error));
    fit_line(clocks);
    return GW_OK;
}
