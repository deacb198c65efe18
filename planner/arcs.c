#include "planner/arcs.h"
#include "planner/rest.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As many as fit in about 200 MB. */
static const size_t most_stored = 8000000;

static bool curve_rises(const struct gw_curve *curve) {
    for (size_t i = 1; i < curve->point_count; i++) {
        if (curve->points[i].time_s < curve->points[i - 1].time_s) {
            return false;
        }
    }
    return true;
}

/* Rounded up, so that two groups never cost less than one that takes as long as both. */
static double to_steps(const struct gw_arcs *arcs, double time_s) {
    double steps = time_s / arcs->step_s;
    double whole = steps < 0x1p53 ? (double)(int64_t)steps : steps;
    return whole < steps ? whole + 1 : whole;
}

enum gw_status gw_arcs_open(struct gw_arcs *arcs, const struct gw_planning *planning,
                            double known_s, struct gw_error *error) {
    const struct gw_model *model = planning->model;
    size_t count = model->tensor_count;
    *arcs = (struct gw_arcs){.planning = planning,
                             .tensors = count,
                             .elements = calloc(count + 1, sizeof *arcs->elements),
                             .ready = calloc(count + 1, sizeof *arcs->ready),
                             .rest_compress = calloc(count + 1, sizeof(double)),
                             .rest_exchange = calloc(count + 1, sizeof(double)),
                             .rows = calloc(count, sizeof *arcs->rows),
                             .scratch = calloc(count, sizeof *arcs->scratch)};
    if (arcs->elements == NULL || arcs->ready == NULL || arcs->rest_compress == NULL ||
        arcs->rest_exchange == NULL || arcs->rows == NULL || arcs->scratch == NULL) {
        return gw_fail_memory(error, "planning");
    }
    int exponent = 0;
    (void)frexp(fmin(known_s, DBL_MAX), &exponent);
    arcs->step_s = ldexp(1, exponent > -900 ? exponent - 53 : -953);
    arcs->rising = curve_rises(planning->exchange) &&
                   (planning->compress == NULL || curve_rises(planning->compress));
    arcs->superadditive = planning->compress != NULL && planning->compress->point_count == 0;
    arcs->startup = planning->compress != NULL ? planning->compress->fixed_s / arcs->step_s : 0;
    double ready = model->forward_s;
    arcs->ready[0] = to_steps(arcs, ready);
    for (size_t p = 0; p < count; p++) {
        arcs->elements[p + 1] = arcs->elements[p] + model->tensors[count - 1 - p].elements;
        ready += model->tensors[count - 1 - p].backward_s;
        arcs->ready[p + 1] = to_steps(arcs, ready);
        arcs->rows[p] = (struct gw_arc_row){.first = p + 1, .last = count};
    }
    gw_rest_compress_s(planning, arcs->elements, arcs->rest_compress);
    gw_rest_exchange_s(planning, arcs->elements, arcs->rest_exchange);
    for (size_t p = 0; p <= count; p++) {
        arcs->rest_compress[p] /= arcs->step_s;
        arcs->rest_exchange[p] /= arcs->step_s;
    }
    return GW_OK;
}

void gw_arcs_close(struct gw_arcs *arcs) {
    free(arcs->elements);
    free(arcs->ready);
    free(arcs->rest_compress);
    free(arcs->rest_exchange);
    free(arcs->rows);
    free(arcs->scratch);
    free(arcs->stored);
}

struct gw_arc gw_arcs_cost(const struct gw_arcs *arcs, size_t from, size_t to) {
    uint64_t n = arcs->elements[to] - arcs->elements[from];
    return (struct gw_arc){
        .to = to,
        .compress = to_steps(arcs, gw_planning_compress_s(arcs->planning, n)) + gw_arcs_tie_break,
        .exchange = to_steps(arcs, gw_planning_exchange_s(arcs->planning, n, to - from)) +
                    gw_arcs_tie_break};
}

void gw_arcs_begin_pass(struct gw_arcs *arcs, bool dropping) {
    arcs->dropping = dropping;
    if (!dropping) {
        return;
    }
    if (arcs->storage == GW_ARCS_COMPUTED && arcs->total <= most_stored) {
        arcs->storage = GW_ARCS_STORING;
        arcs->stored_count = 0;
    }
    arcs->total = 0;
    arcs->longest = 0;
}

size_t gw_arcs_row(struct gw_arcs *arcs, size_t from, struct gw_front_pair least, double limit,
                   struct gw_arc **row) {
    if (arcs->storage == GW_ARCS_STORED) {
        *row = arcs->stored + arcs->rows[from].start;
        return arcs->rows[from].count;
    }
    *row = arcs->scratch;
    size_t count = 0;
    /* What must be compressed in any case grows from one arc to the next, but for the startup that
     * the last arc does not share with a rest. */
    double end = arcs->ready[arcs->tensors] - (arcs->superadditive ? arcs->startup : 0);
    for (size_t to = arcs->rows[from].first; to <= arcs->rows[from].last; to++) {
        struct gw_arc arc = gw_arcs_cost(arcs, from, to);
        double compress = least.first + arc.compress;
        double ready = arcs->ready[to] + compress;
        if ((arcs->rising && ready + arcs->rest_exchange[from] >= limit) ||
            (arcs->superadditive && end + compress + arcs->rest_compress[to] >= limit)) {
            break;
        }
        if (fmax(least.second, ready) + arc.exchange + arcs->rest_exchange[to] < limit) {
            arcs->scratch[count++] = arc;
        }
    }
    return count;
}

enum gw_status gw_arcs_keep(struct gw_arcs *arcs, size_t from, const struct gw_arc *row,
                            size_t count, struct gw_error *error) {
    if (!arcs->dropping) {
        return GW_OK;
    }
    struct gw_arc_row *kept = &arcs->rows[from];
    size_t first = count > 0 ? row[0].to : from + 1;
    size_t last = count > 0 ? row[count - 1].to : from;
    *kept = (struct gw_arc_row){.first = first, .last = last, .start = kept->start, .count = count};
    arcs->longest = last - from > arcs->longest ? last - from : arcs->longest;
    arcs->total += arcs->storage == GW_ARCS_COMPUTED ? last + 1 - first : count;
    if (arcs->storage == GW_ARCS_STORING && arcs->stored_count + count > most_stored) {
        arcs->storage = GW_ARCS_COMPUTED;
    }
    if (arcs->storage != GW_ARCS_STORING || count == 0) {
        return GW_OK;
    }
    struct gw_arc *stored = gw_grow(arcs->stored, arcs->stored_count + count + 1,
                                    &arcs->stored_capacity, sizeof *stored);
    if (stored == NULL) {
        return gw_fail_memory(error, "planning");
    }
    arcs->stored = stored;
    memcpy(stored + arcs->stored_count, row, count * sizeof *stored);
    kept->start = arcs->stored_count;
    arcs->stored_count += count;
    return GW_OK;
}

void gw_arcs_end_pass(struct gw_arcs *arcs) {
    arcs->storage = arcs->storage == GW_ARCS_STORING ? GW_ARCS_STORED : arcs->storage;
}
