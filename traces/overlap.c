#include "traces/overlap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/cluster.h"

/* ---- building ------------------------------------------------------------------------------ */

static enum gw_status add_pair(struct gw_overlap *overlap, const char *collective,
                               const char *compute, struct gw_overlap_pair **out,
                               struct gw_error *error) {
    struct gw_overlap_pair *larger =
        realloc(overlap->pairs, (overlap->pair_count + 1) * sizeof *larger);
    struct gw_overlap_pair pair = {.collective = strdup(collective), .compute = strdup(compute)};
    overlap->pairs = larger == NULL ? overlap->pairs : larger;
    if (larger == NULL || pair.collective == NULL || pair.compute == NULL) {
        free(pair.collective);
        free(pair.compute);
        return gw_fail_memory(error, "adding overlap factors");
    }
    *out = &larger[overlap->pair_count++];
    **out = pair;
    return GW_OK;
}

enum gw_status gw_overlap_add(struct gw_overlap *overlap, const char *collective,
                              const char *compute, struct gw_overlap_point point,
                              struct gw_error *error) {
    struct gw_overlap_pair *pair = NULL;
    for (size_t i = 0; i < overlap->pair_count && pair == NULL; i++) {
        struct gw_overlap_pair *other = &overlap->pairs[i];
        bool same =
            strcmp(other->collective, collective) == 0 && strcmp(other->compute, compute) == 0;
        pair = same ? other : NULL;
    }
    if (pair == NULL) {
        GW_TRY(add_pair(overlap, collective, compute, &pair, error));
    }
    struct gw_overlap_point *larger =
        realloc(pair->points, (pair->point_count + 1) * sizeof *larger);
    if (larger == NULL) {
        return gw_fail_memory(error, "adding overlap factors");
    }
    pair->points = larger;
    larger[pair->point_count++] = point;
    return GW_OK;
}

void gw_overlap_free(struct gw_overlap *overlap) {
    if (overlap == NULL) {
        return;
    }
    for (size_t i = 0; i < overlap->pair_count; i++) {
        free(overlap->pairs[i].collective);
        free(overlap->pairs[i].compute);
        free(overlap->pairs[i].points);
    }
    free(overlap->pairs);
    cJSON_Delete(overlap->kept);
    free(overlap);
}

void gw_cluster_set_overlap(struct gw_cluster *cluster, struct gw_overlap *overlap) {
    gw_overlap_free(cluster->overlap);
    cluster->overlap = overlap;
}

/* ---- looking up ---------------------------------------------------------------------------- */

const struct gw_overlap_pair *gw_overlap_find(const struct gw_overlap *overlap,
                                              const char *collective, const char *compute) {
    for (size_t i = 0; i < overlap->pair_count; i++) {
        const struct gw_overlap_pair *pair = &overlap->pairs[i];
        if (strcmp(pair->collective, collective) == 0 && strcmp(pair->compute, compute) == 0) {
            return pair;
        }
    }
    return NULL;
}

/* Equal factors stay what they are, to the bit. */
static double between(double a, double b, double share) {
    return a == b ? a : exp(log(a) + share * (log(b) - log(a)));
}

struct gw_slowing gw_overlap_at(const struct gw_overlap_pair *pair, double bytes) {
    const struct gw_overlap_point *points = pair->points;
    size_t above = 0;
    while (above < pair->point_count && points[above].bytes < bytes) {
        above++;
    }
    const struct gw_overlap_point *high =
        &points[above < pair->point_count ? above : pair->point_count - 1];
    const struct gw_overlap_point *low = above > 0 ? &points[above - 1] : high;
    double share = low < high ? log(bytes / low->bytes) / log(high->bytes / low->bytes) : 0;
    return (struct gw_slowing){
        .compute = between(low->compute.factor, high->compute.factor, share),
        .communication = between(low->communication.factor, high->communication.factor, share)};
}
