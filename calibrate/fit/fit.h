/* Fits of measurements: cost curves and LogGP parameters, with the data that readers need to judge
 * them; private to this room. */
#ifndef GW_CALIBRATE_FIT_H
#define GW_CALIBRATE_FIT_H

#include "calibrate/calibrate.h"
#include "calibrate/measure/points.h"
#include "calibrate/measure/timing.h"

/* ---- cost curves --------------------------------------------------------------------------- */

/*
 * Chooses, from a straight line, n log2 n if the subject sorts, two segments and the points
 * themselves, the simplest that predicts held-out sizes as well as any. `details` gets the medians
 * with their spread ("raw") and, with 3 sizes or more, the candidates with their held-out errors
 * and 95% intervals ("fit"). The caller owns both. Medians are > 0. Only count, median and interval
 * of a summary are needed to fit it again.
 */
enum gw_status gw_choose_curve(const struct gw_subject *subject,
                               const struct gw_measurement *measurements, size_t count,
                               struct gw_curve *curve, cJSON **details, struct gw_error *error);

/* Writes into the open object. */
void gw_write_measurement(struct gw_json_writer *writer, const struct gw_measurement *measurement,
                          const char *size_key);

/* Kinds of cost curves, in the order of how freely they follow the points. */
enum gw_candidate_kind {
    GW_CANDIDATE_STRAIGHT,
    GW_CANDIDATE_NLOG2N,
    GW_CANDIDATE_TWO_SEGMENT, /* one line up to a size, another from the next on */
    GW_CANDIDATE_POINTS,
    GW_CANDIDATE_KINDS
};
extern const char *const gw_candidate_names[GW_CANDIDATE_KINDS];

struct gw_candidate {
    enum gw_candidate_kind kind;
    bool fitted;           /* false: not wanted, or too few points */
    struct gw_curve curve; /* its points belong to the candidate */
    struct gw_fit fits[2]; /* the line, or the two lines; none for points */
    size_t first_count;    /* of two segments: number of points of the first line */
    /* (predicted - measured) / measured of each held-out size, all but the ends. */
    size_t held_out;
    double *residuals;
    double costly_error;    /* of all sizes: sum of errors over sum of times */
    double held_out_costly; /* the same of held-out sizes */
    double held_out_mean, held_out_max;
};

/*
 * Fits the wanted kinds to the points (at least 2, sizes ascending, times > 0) and judges them.
 * *chosen is the poorest kind that no richer one is significantly better than: by Wilcoxon's signed
 * ranks of the losses at the same sizes, which single sizes that all kinds miss do not affect, so
 * that noise replaces a straight line in at most one of twenty cases; or, if its residuals have a
 * trend, a richer kind with a smaller error at costly sizes. Of two kinds with equally many
 * coefficients, the one with less loss.
 */
enum gw_status gw_candidates_open(const bool wanted[GW_CANDIDATE_KINDS],
                                  const struct gw_curve_point *points, size_t count,
                                  struct gw_candidate out[GW_CANDIDATE_KINDS],
                                  enum gw_candidate_kind *chosen, struct gw_error *error);
void gw_candidates_close(struct gw_candidate candidates[GW_CANDIDATE_KINDS]);

/*
 * The line through at most GW_MAX_LAST_POINTS points, by medians over all pairs of them (Theil and
 * Sen).
 */
struct gw_curve gw_median_line(const struct gw_curve_point *points, size_t count);

/* ---- LogGP parameters from times of messages between two ranks ----------------------------- */

/*
 * The model (traces/cluster.h): a message of n bytes keeps its sender busy for o + n O, then the
 * link for max(g, n G), arrives L later, and keeps its receiver busy for o. Hence
 *
 *     from call to call:   T(n) = 2 o + n O + max(g, n G) + L      half of a round trip
 *     one after the other: F(n) = max(o + n O, g, n G)             each of many
 */
enum gw_loggp_kind {
    GW_PING_PONG,    /* T(n) */
    GW_FLOOD,        /* F(n) */
    GW_SEND_CALL,    /* sender's busy time for a message that is buffered: o + n O */
    GW_RECEIVE_CALL, /* receiver's busy time for a message that has arrived already */
    GW_LOGGP_KINDS
};

extern const char *const gw_loggp_names[GW_LOGGP_KINDS];

struct gw_loggp_point {
    enum gw_loggp_kind kind;
    double bytes, time_s; /* of one message */
};

/* |predicted - measured| / measured over the points of a kind. */
struct gw_loggp_error {
    double median, max;
};

struct gw_loggp_fit {
    struct gw_loggp loggp;
    struct gw_loggp_error ping_pong, flood;
};

/* Refuses points with fewer than two sizes of a kind (one for floods), and sizes or times that are
 * not positive and finite. All parameters are >= 0. */
enum gw_status gw_loggp_fit(const struct gw_loggp_point *points, size_t count,
                            struct gw_loggp_fit *out, struct gw_error *error);

#endif
