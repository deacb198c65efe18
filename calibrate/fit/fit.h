/*
 * From measurements to cost curves and LogGP parameters, with what a reader needs to judge them;
 * private to this room.
 */
#ifndef GW_CALIBRATE_FIT_H
#define GW_CALIBRATE_FIT_H

#include "calibrate/measure/measure.h"

/* ---- cost curves --------------------------------------------------------------------------- */

/*
 * Of a straight line, n log2 n if the subject sorts, two segments and the points themselves, the
 * simplest that predicts sizes that are held out as well as any. `details` gets the medians with
 * their spread ("raw") and the candidates with their held-out errors, if there are 3 sizes or more,
 * and 95% intervals ("fit"). Both become the caller's. Medians are > 0. Of a summary only count,
 * median and its interval are needed to fit it again.
 */
enum gw_status gw_choose_curve(const struct gw_subject *subject,
                               const struct gw_measurement *measurements, size_t count,
                               struct gw_curve *curve, cJSON **details, struct gw_error *error);

/* Into the open object. */
void gw_write_measurement(struct gw_json_writer *writer, const struct gw_measurement *measurement,
                          const char *size_key);

/* What a cost curve may be, in the order of how freely these follow the points. */
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
    bool fitted;           /* false: not asked for, or too few points */
    struct gw_curve curve; /* its points are the candidate's */
    struct gw_fit fits[2]; /* the line, or the two lines; of points none */
    size_t first_count;    /* of two segments: how many points the first line is through */
    /* (predicted - measured) / measured of sizes that were held out, each but the ends in turn. */
    size_t held_out;
    double *residuals;
    double costly_error;    /* of all sizes: what the curve is off, of the sum of their times */
    double held_out_costly; /* the same of sizes that were held out */
    double held_out_mean, held_out_max;
};

/*
 * Fits the kinds that are wanted to the points (at least 2, sizes ascending, times > 0) and judges
 * them. *chosen is the poorest kind that no richer one is significantly better than: by Wilcoxon's
 * signed ranks of the losses at the same sizes, which single sizes that all of them miss do not
 * upset, so that noise takes a straight line for something else in at most one of twenty cases. Or
 * if its residuals have a trend, and a richer one is less off where time is spent. Of two kinds
 * with as many coefficients the one with less loss.
 */
enum gw_status gw_candidates_open(const bool wanted[GW_CANDIDATE_KINDS],
                                  const struct gw_curve_point *points, size_t count,
                                  struct gw_candidate out[GW_CANDIDATE_KINDS],
                                  enum gw_candidate_kind *chosen, struct gw_error *error);
void gw_candidates_close(struct gw_candidate candidates[GW_CANDIDATE_KINDS]);

/* The line through points, GW_MOST_LAST at most, by medians of what all pairs of them say (Theil
 * and Sen). */
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
    GW_RECEIVE_CALL, /* receiver's busy time for a message that is there already */
    GW_LOGGP_KINDS
};

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

/*
 * Refuses points of which a kind has fewer than two sizes (one: floods), and sizes or times that
 * are not positive and finite. No parameter becomes negative.
 */
enum gw_status gw_loggp_fit(const struct gw_loggp_point *points, size_t count,
                            struct gw_loggp_fit *out, struct gw_error *error);

#endif
