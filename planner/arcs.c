#include "planner/search.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Number of arcs that fit in about 200 MB. */
static const size_t most_stored = 8000000;

/* ---- least costs ahead ----------------------------------------------------------------------- */

/* Bound on the relative error by which rounding may lower a sum of many times. */
static const double rounding = 1e-11;

/*
 * The least of time(i * unit) / (i + over) over whole numbers i in [low, high]. On a straight piece
 * of the curve that ratio is monotone, so that it is least at a piece's first or last i.
 */
static double least_ratio(const struct gw_curve *curve, double unit, double over, double low,
                          double high) {
    double least = fmin(gw_curve_time(curve, low * unit) / (low + over),
                        gw_curve_time(curve, high * unit) / (high + over));
    for (size_t point = 0; point < curve->point_count; point++) {
        double below = floor(curve->points[point].size / unit);
        for (int above = 0; above <= 1; above++) {
            double i = below + above;
            if (i > low && i < high) {
                least = fmin(least, gw_curve_time(curve, i * unit) / (i + over));
            }
        }
    }
    return least;
}

static void in_proportion(const uint64_t *elements, size_t count, double per_element_s,
                          double *least_s) {
    for (size_t p = 0; p <= count; p++) {
        least_s[p] = (double)(elements[count] - elements[p]) * per_element_s * (1 - rounding);
    }
}

/*
 * For each position p = 0..tensors (tensors that are ready), times that no way of grouping the
 * tensors after it falls below: of their compression together, and of their exchange. `elements`
 * [tensors + 1] are those before each position.
 */
static void rest_compress_s(const struct gw_costs *costs, const uint64_t *elements,
                            double *least_s) {
    const struct gw_curve *curve = &costs->compress;
    size_t count = costs->model->tensor_count;
    if (!gw_costs_compress(costs)) {
        in_proportion(elements, count, 0, least_s);
        return;
    }
    if (curve->point_count > 0) {
        double low = (double)gw_model_smallest(costs->model);
        in_proportion(elements, count, least_ratio(curve, 1, 0, low, (double)elements[count]),
                      least_s);
        return;
    }
    /* n and n log2 n never cost less together than apart; the startup is paid once at least. */
    double apart_s = 0;
    least_s[count] = 0;
    for (size_t p = count; p-- > 0;) {
        double n = (double)(elements[p + 1] - elements[p]);
        apart_s += gw_curve_time(curve, n) - curve->fixed_s;
        least_s[p] = (apart_s + curve->fixed_s) * (1 - rounding);
    }
}

static void rest_exchange_s(const struct gw_costs *costs, const uint64_t *elements,
                            double *least_s) {
    struct gw_curve straight = costs->exchange;
    straight.per_nlog2n_s = 0; /* leaving it out is less still */
    size_t count = costs->model->tensor_count;
    bool sparse = gw_costs_compress(costs);
    double whole = (double)elements[count];
    double low = (double)gw_model_smallest(costs->model);
    /* A sparse group of n elements sends i entries with n < (i + 1) / density. */
    double unit = (double)gw_exchange_bytes(sparse, costs->model->bytes_per_element, 1, 1);
    double share = sparse ? costs->way.density : 1;
    if (straight.point_count == 0 && (!sparse || straight.fixed_s >= straight.per_unit_s * unit)) {
        /* One group is best: another costs a startup and saves less than one entry. */
        least_s[count] = 0;
        for (size_t p = 0; p < count; p++) {
            double entries = share * (double)(elements[count] - elements[p]) - (sparse ? 1 : 0);
            least_s[p] =
                (straight.fixed_s + straight.per_unit_s * unit * fmax(entries, 0)) * (1 - rounding);
        }
        return;
    }
    if (sparse) {
        low = (double)gw_elements_kept((uint64_t)low, share);
        whole = (double)gw_elements_kept(elements[count], share);
    }
    in_proportion(elements, count, share * least_ratio(&straight, unit, sparse ? 1 : 0, low, whole),
                  least_s);
}

/* ---- arcs ------------------------------------------------------------------------------------ */

static bool curve_rises(const struct gw_curve *curve) {
    for (size_t i = 1; i < curve->point_count; i++) {
        if (curve->points[i].time_s < curve->points[i - 1].time_s) {
            return false;
        }
    }
    return true;
}

/* Rounds costs up, so that two groups never cost less than one that takes as long as both. */
static double to_steps(const struct gw_arcs *arcs, double time_s) {
    double steps = time_s * arcs->steps_per_s;
    double whole = steps < 0x1p53 ? (double)(int64_t)steps : steps;
    return whole < steps ? whole + 1 : whole;
}

enum gw_status gw_arcs_open(struct gw_arcs *arcs, const struct gw_costs *costs, double known_s,
                            struct gw_error *error) {
    const struct gw_model *model = costs->model;
    size_t count = model->tensor_count;
    *arcs = (struct gw_arcs){.costs = costs,
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
    arcs->steps_per_s = 1 / arcs->step_s;
    bool sparse = gw_costs_compress(costs);
    arcs->rising = curve_rises(&costs->exchange) && (!sparse || curve_rises(&costs->compress));
    arcs->superadditive = sparse && costs->compress.point_count == 0;
    arcs->startup = sparse ? costs->compress.fixed_s / arcs->step_s : 0;
    double ready = gw_model_ahead_s(model);
    arcs->ready[0] = to_steps(arcs, ready);
    for (size_t p = 0; p < count; p++) {
        arcs->elements[p + 1] = arcs->elements[p] + model->tensors[count - 1 - p].elements;
        ready += model->tensors[count - 1 - p].backward_s;
        arcs->ready[p + 1] = to_steps(arcs, ready);
        arcs->rows[p] = (struct gw_arc_row){.first = p + 1, .last = count};
    }
    rest_compress_s(costs, arcs->elements, arcs->rest_compress);
    rest_exchange_s(costs, arcs->elements, arcs->rest_exchange);
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

static struct gw_arc arc_of(const struct gw_arcs *arcs, size_t to, double compress_s,
                            double exchange_s) {
    return (struct gw_arc){.to = to,
                           .compress = to_steps(arcs, compress_s) + gw_arcs_tie_break,
                           .exchange = to_steps(arcs, exchange_s) + gw_arcs_tie_break};
}

struct gw_arc gw_arcs_cost(const struct gw_arcs *arcs, size_t from, size_t to) {
    uint64_t n = arcs->elements[to] - arcs->elements[from];
    return arc_of(arcs, to, gw_costs_compress_s(arcs->costs, n),
                  gw_costs_exchange_s(arcs->costs, n, to - from));
}

bool gw_arcs_find(const struct gw_arcs *arcs, size_t from, size_t to, struct gw_arc *out) {
    const struct gw_arc_row *row = &arcs->rows[from];
    if (to < row->first || to > row->last) {
        return false;
    }
    if (arcs->storage != GW_ARCS_STORED) {
        *out = gw_arcs_cost(arcs, from, to);
        return true;
    }
    const struct gw_arc *low = arcs->stored + row->start;
    for (size_t left = row->count; left > 1; left -= left / 2) {
        low += low[left / 2].to <= to ? left / 2 : 0;
    }
    *out = *low;
    return out->to == to;
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
    struct gw_costs_near near = {0};
    /* The least compression time grows from one arc to the next, but for the startup that the last
     * arc does not share with a rest. */
    double end = arcs->ready[arcs->tensors] - (arcs->superadditive ? arcs->startup : 0);
    size_t last = arcs->rows[from].last;
    for (size_t first = arcs->rows[from].first; first <= last; first += GW_COSTS_ROW) {
        uint64_t n[GW_COSTS_ROW];
        double compress_s[GW_COSTS_ROW];
        double exchange_s[GW_COSTS_ROW];
        size_t left = last + 1 - first < GW_COSTS_ROW ? last + 1 - first : GW_COSTS_ROW;
        for (size_t i = 0; i < left; i++) {
            n[i] = arcs->elements[first + i] - arcs->elements[from];
        }
        gw_costs_row(arcs->costs, n, first - from, left, &near, compress_s, exchange_s);
        for (size_t to = first; to < first + left; to++) {
            struct gw_arc arc = arc_of(arcs, to, compress_s[to - first], exchange_s[to - first]);
            double compress = least.first + arc.compress;
            double ready = arcs->ready[to] + compress;
            if ((arcs->rising && ready + arcs->rest_exchange[from] >= limit) ||
                (arcs->superadditive && end + compress + arcs->rest_compress[to] >= limit)) {
                return count;
            }
            double begin = ready > least.second ? ready : least.second;
            if (begin + arc.exchange + arcs->rest_exchange[to] < limit) {
                arcs->scratch[count++] = arc;
            }
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
