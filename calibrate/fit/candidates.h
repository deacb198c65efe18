/*
 * What a cost curve may be, and which of these predicts sizes that were not measured best; private
 * to this room.
 */
#ifndef GW_CALIBRATE_CANDIDATES_H
#define GW_CALIBRATE_CANDIDATES_H

#include "core/core.h"

/* In the order of how freely they follow the points. */
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
    /* |predicted - measured| / measured of sizes that were held out, each but the ends in turn. */
    size_t held_out;
    double *losses;
    double held_out_mean, held_out_max;
};

/*
 * Fits the kinds that are wanted to the points (at least 2, sizes ascending, times > 0) and judges
 * them. *chosen is the poorest kind that no richer one is significantly better than: by Wilcoxon's
 * signed ranks of the losses at the same sizes, which single sizes that all of them miss do not
 * upset, so that noise takes a straight line for something else in at most one of twenty cases. Of
 * two kinds with as many coefficients the one with less loss.
 */
enum gw_status gw_candidates_open(const bool wanted[GW_CANDIDATE_KINDS],
                                  const struct gw_curve_point *points, size_t count,
                                  struct gw_candidate out[GW_CANDIDATE_KINDS],
                                  enum gw_candidate_kind *chosen, struct gw_error *error);
void gw_candidates_close(struct gw_candidate candidates[GW_CANDIDATE_KINDS]);

#endif
