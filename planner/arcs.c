#include "planner/search.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Number of arcs that fit in about 256 MB. */
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

/*
 * Costs of groups from below: whatever tensors a group holds, it costs no less than its startup and
 * tensor_s[p] of each of them, where p tensors are ready before that one. Lowers both so far that
 * this holds of a choice's groups.
 */
static void lower_compress_s(const struct gw_costs *costs, const uint64_t *elements,
                             double *tensor_s, double *startup_s) {
    const struct gw_curve *curve = &costs->compress;
    size_t count = costs->model->tensor_count;
    bool sparse = gw_costs_compress(costs);
    bool points = sparse && curve->point_count > 0;
    double low = (double)gw_model_smallest(costs->model);
    double ratio = points ? least_ratio(curve, 1, 0, low, (double)elements[count]) : 0;
    /* n and n log2 n never cost less together than apart; the startup is paid once at least. */
    double fixed_s = sparse && !points ? curve->fixed_s : 0;
    for (size_t p = 0; p < count; p++) {
        double n = (double)(elements[p + 1] - elements[p]);
        double least_s = sparse && !points ? gw_curve_time(curve, n) - fixed_s : n * ratio;
        tensor_s[p] = fmin(tensor_s[p], least_s);
    }
    *startup_s = fmin(*startup_s, fixed_s);
}

static void lower_exchange_s(const struct gw_costs *costs, const uint64_t *elements,
                             double *tensor_s, double *startup_s) {
    struct gw_curve straight = costs->exchange;
    straight.per_nlog2n_s = 0; /* leaving it out is less still */
    size_t count = costs->model->tensor_count;
    bool sparse = gw_compressor_selects(costs->way.compressor);
    double whole = (double)elements[count];
    double low = (double)gw_model_smallest(costs->model);
    /* A sparse group of n elements sends i entries with n < (i + 1) / density. */
    double unit = (double)gw_exchange_bytes(sparse, costs->model->bytes_per_element, 1, 1);
    double share = sparse ? gw_way_sent_density(&costs->way) : 1;
    double entry_s = straight.per_unit_s * unit;
    double fixed_s = straight.fixed_s - (sparse ? entry_s : 0);
    /* One group is best: another costs a startup and saves less than one entry. */
    bool one = straight.point_count == 0 && fixed_s >= 0;
    if (sparse) {
        low = (double)gw_elements_kept((uint64_t)low, share);
        whole = (double)gw_elements_kept(elements[count], share);
    }
    double per_element_s =
        share * (one ? entry_s : least_ratio(&straight, unit, sparse ? 1 : 0, low, whole));
    for (size_t p = 0; p < count; p++) {
        double n = (double)(elements[p + 1] - elements[p]);
        tensor_s[p] = fmin(tensor_s[p], n * per_element_s);
    }
    *startup_s = fmin(*startup_s, one ? fixed_s : 0);
}

/* Makes costs of tensors those of a tensor and all after it, in steps. */
static void add_rests(const struct gw_arcs *arcs, double startup_s, double *rest) {
    double tensors_s = 0;
    rest[arcs->tensors] = 0;
    for (size_t p = arcs->tensors; p-- > 0;) {
        tensors_s += rest[p];
        rest[p] = (tensors_s + startup_s) * (1 - rounding) / arcs->step_s;
    }
}

/* For each position, times that no way of grouping the tensors after it falls below: of their
 * compression together, and of their exchange. */
static void bound_rests(struct gw_arcs *arcs) {
    double compress_s = INFINITY;
    double exchange_s = INFINITY;
    for (size_t p = 0; p < arcs->tensors; p++) {
        arcs->rest_compress[p] = arcs->rest_exchange[p] = INFINITY;
    }
    for (size_t k = 0; k < arcs->choices->count; k++) {
        const struct gw_costs *costs = &arcs->choices->costs[k];
        lower_compress_s(costs, arcs->elements, arcs->rest_compress, &compress_s);
        lower_exchange_s(costs, arcs->elements, arcs->rest_exchange, &exchange_s);
    }
    add_rests(arcs, compress_s, arcs->rest_compress);
    add_rests(arcs, exchange_s, arcs->rest_exchange);
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

/* The energy that the tensors before each position lose by a choice, in whole steps. */
static void add_losses(struct gw_arcs *arcs, double weight_s) {
    size_t count = arcs->tensors;
    for (size_t k = 0; arcs->lost != NULL && k < arcs->choices->count; k++) {
        const double *lost = arcs->choices->lost + k * count;
        double *sum = arcs->lost + k * (count + 1);
        for (size_t p = 0; p < count; p++) {
            sum[p + 1] = sum[p] + to_steps(arcs, lost[count - 1 - p] * weight_s);
        }
    }
}

/* The sizes of the tensors before each position, by each choice, if a choice has a rank. */
static enum gw_status add_sizes(struct gw_arcs *arcs, struct gw_error *error) {
    const struct gw_mix *choices = arcs->choices;
    size_t count = arcs->tensors;
    bool ranked = false;
    for (size_t k = 0; k < choices->count; k++) {
        ranked = ranked || choices->costs[k].way.compressor->rank > 0;
    }
    if (!ranked) {
        return GW_OK;
    }
    arcs->sizes = calloc(choices->count * (count + 1), sizeof *arcs->sizes);
    if (arcs->sizes == NULL) {
        return gw_fail_memory(error, "planning");
    }
    for (size_t k = 0; k < choices->count; k++) {
        struct gw_size *before = arcs->sizes + k * (count + 1);
        for (size_t p = 0; p < count; p++) {
            before[p + 1] = before[p];
            gw_costs_add_tensor(&choices->costs[k], count - 1 - p, &before[p + 1]);
        }
    }
    return GW_OK;
}

/* Added to a plan's time by the choice that loses most of all tensors. */
static double most_lost_s(const struct gw_mix *choices, double weight_s) {
    double most = 0;
    for (size_t k = 0; choices->lost != NULL && k < choices->count; k++) {
        size_t count = choices->costs->model->tensor_count;
        double lost = 0;
        for (size_t i = 0; i < count; i++) {
            lost += choices->lost[k * count + i];
        }
        most = fmax(most, lost);
    }
    return weight_s * most;
}

enum gw_status gw_arcs_open(struct gw_arcs *arcs, const struct gw_mix *choices, double weight_s,
                            double known_s, struct gw_error *error) {
    const struct gw_model *model = choices->costs->model;
    size_t count = model->tensor_count;
    bool lossy = choices->lost != NULL && weight_s > 0;
    *arcs = (struct gw_arcs){
        .choices = choices,
        .tensors = count,
        .lost = lossy ? calloc(choices->count * (count + 1), sizeof(double)) : NULL,
        .elements = calloc(count + 1, sizeof *arcs->elements),
        .ready = calloc(count + 1, sizeof *arcs->ready),
        .rest_compress = calloc(count + 1, sizeof(double)),
        .rest_exchange = calloc(count + 1, sizeof(double)),
        .rows = calloc(count, sizeof *arcs->rows),
        .scratch = calloc((count + GW_COSTS_ROW) * choices->count, sizeof *arcs->scratch),
        .near = calloc(choices->count, sizeof *arcs->near)};
    if ((lossy && arcs->lost == NULL) || arcs->elements == NULL || arcs->ready == NULL ||
        arcs->rest_compress == NULL || arcs->rest_exchange == NULL || arcs->rows == NULL ||
        arcs->scratch == NULL || arcs->near == NULL) {
        return gw_fail_memory(error, "planning");
    }
    int exponent = 0;
    (void)frexp(fmin(fmax(known_s, most_lost_s(choices, weight_s)), DBL_MAX), &exponent);
    arcs->step_s = ldexp(1, exponent > -900 ? exponent - 53 : -953);
    arcs->steps_per_s = 1 / arcs->step_s;
    arcs->rising = true;
    for (size_t k = 0; k < choices->count; k++) {
        const struct gw_costs *costs = &choices->costs[k];
        bool sparse = gw_costs_compress(costs);
        arcs->rising = arcs->rising && curve_rises(&costs->exchange) &&
                       (!sparse || curve_rises(&costs->compress));
        arcs->superadditive = choices->count == 1 && sparse && costs->compress.point_count == 0;
        arcs->startup = sparse ? costs->compress.fixed_s / arcs->step_s : 0;
    }
    double ready = gw_model_ahead_s(model);
    arcs->ready[0] = to_steps(arcs, ready);
    for (size_t p = 0; p < count; p++) {
        arcs->elements[p + 1] = arcs->elements[p] + model->tensors[count - 1 - p].elements;
        ready += model->tensors[count - 1 - p].backward_s;
        arcs->ready[p + 1] = to_steps(arcs, ready);
        arcs->rows[p] = (struct gw_arc_row){.first = p + 1, .last = count};
    }
    add_losses(arcs, weight_s);
    bound_rests(arcs);
    return add_sizes(arcs, error);
}

void gw_arcs_close(struct gw_arcs *arcs) {
    free(arcs->lost);
    free(arcs->elements);
    free(arcs->sizes);
    free(arcs->ready);
    free(arcs->rest_compress);
    free(arcs->rest_exchange);
    free(arcs->rows);
    free(arcs->scratch);
    free(arcs->near);
    free(arcs->stored);
}

static struct gw_size size_of(const struct gw_arcs *arcs, size_t from, size_t to, size_t choice) {
    struct gw_size size = {.elements = arcs->elements[to] - arcs->elements[from],
                           .tensors = to - from};
    if (arcs->sizes != NULL) {
        const struct gw_size *before = arcs->sizes + choice * (arcs->tensors + 1);
        size.rows = before[to].rows - before[from].rows;
        size.columns = before[to].columns - before[from].columns;
        size.raw = before[to].raw - before[from].raw;
    }
    return size;
}

static struct gw_arc arc_of(const struct gw_arcs *arcs, size_t from, size_t to, size_t choice,
                            double compress_s, double exchange_s) {
    struct gw_arc arc = {.to = (uint32_t)to, .choice = (uint32_t)choice};
    double lost = arcs->lost == NULL ? 0 : arcs->ready[to] - gw_arcs_ready(arcs, from, &arc);
    arc.compress = to_steps(arcs, compress_s) + gw_arcs_tie_break + lost;
    arc.exchange = to_steps(arcs, exchange_s) + gw_arcs_tie_break + lost;
    return arc;
}

struct gw_arc gw_arcs_cost(const struct gw_arcs *arcs, size_t from, size_t to, size_t choice) {
    const struct gw_costs *costs = &arcs->choices->costs[choice];
    struct gw_size size = size_of(arcs, from, to, choice);
    return arc_of(arcs, from, to, choice, gw_costs_compress_s(costs, size.elements),
                  gw_costs_exchange_s(costs, &size));
}

/* Whether an arc costs no more than another between the same positions, and loses no more. */
static bool beats(const struct gw_arcs *arcs, size_t from, const struct gw_arc *arc,
                  const struct gw_arc *other) {
    double ready = gw_arcs_ready(arcs, from, arc);
    double other_ready = gw_arcs_ready(arcs, from, other);
    return ready >= other_ready && ready + arc->compress <= other_ready + other->compress &&
           ready + arc->exchange <= other_ready + other->exchange;
}

/* Leaves out those of `count` arcs between the same positions that others beat; returns how many
 * are left. */
static size_t drop_beaten(const struct gw_arcs *arcs, size_t from, struct gw_arc *parallel,
                          size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct gw_arc arc = parallel[i];
        size_t before = 0;
        while (before < kept && !beats(arcs, from, &parallel[before], &arc)) {
            before++;
        }
        if (before < kept) {
            continue;
        }
        kept = 0;
        for (size_t k = 0; k < before; k++) {
            if (!beats(arcs, from, &arc, &parallel[k])) {
                parallel[kept++] = parallel[k];
            }
        }
        parallel[kept++] = arc;
    }
    return kept;
}

size_t gw_arcs_find(struct gw_arcs *arcs, size_t from, size_t to, const struct gw_arc **found) {
    const struct gw_arc_row *row = &arcs->rows[from];
    if (to < row->first || to > row->last) {
        return 0;
    }
    if (arcs->storage != GW_ARCS_STORED) {
        for (size_t k = 0; k < arcs->choices->count; k++) {
            arcs->scratch[k] = gw_arcs_cost(arcs, from, to, k);
        }
        *found = arcs->scratch;
        return drop_beaten(arcs, from, arcs->scratch, arcs->choices->count);
    }
    const struct gw_arc *low = arcs->stored + row->start;
    const struct gw_arc *end = low + row->count;
    for (size_t left = row->count; left > 1; left -= left / 2) {
        low += low[left / 2 - 1].to < to ? left / 2 : 0;
    }
    low += low->to < to;
    *found = low;
    while (low < end && low->to == to) {
        low++;
    }
    return (size_t)(low - *found);
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

/* Makes the arcs from a position to `count` others from `first` on, [count][choices]. */
static void make_parallel(struct gw_arcs *arcs, size_t from, size_t first, size_t count,
                          struct gw_arc *made) {
    size_t choices = arcs->choices->count;
    struct gw_size sizes[GW_COSTS_ROW];
    double compress_s[GW_COSTS_ROW];
    double exchange_s[GW_COSTS_ROW];
    for (size_t k = 0; k < choices; k++) {
        for (size_t i = 0; i < count && (k == 0 || arcs->sizes != NULL); i++) {
            sizes[i] = size_of(arcs, from, first + i, k);
        }
        gw_costs_row(&arcs->choices->costs[k], sizes, count, &arcs->near[k], compress_s,
                     exchange_s);
        for (size_t i = 0; i < count; i++) {
            made[i * choices + k] = arc_of(arcs, from, first + i, k, compress_s[i], exchange_s[i]);
        }
    }
}

size_t gw_arcs_row(struct gw_arcs *arcs, size_t from, struct gw_front_pair least, double limit,
                   struct gw_arc **row) {
    if (arcs->storage == GW_ARCS_STORED) {
        *row = arcs->stored + arcs->rows[from].start;
        return arcs->rows[from].count;
    }
    *row = arcs->scratch;
    size_t choices = arcs->choices->count;
    size_t count = 0;
    memset(arcs->near, 0, choices * sizeof *arcs->near);
    /* The least compression time grows from one arc to the next, but for the startup that the last
     * arc does not share with a rest. */
    double end = arcs->ready[arcs->tensors] - (arcs->superadditive ? arcs->startup : 0);
    size_t last = arcs->rows[from].last;
    for (size_t first = arcs->rows[from].first; first <= last; first += GW_COSTS_ROW) {
        size_t left = last + 1 - first < GW_COSTS_ROW ? last + 1 - first : GW_COSTS_ROW;
        struct gw_arc *made = arcs->scratch + count; /* moves on to the front of the row */
        make_parallel(arcs, from, first, left, made);
        for (size_t to = first; to < first + left; to++) {
            const struct gw_arc *parallel = made + (to - first) * choices;
            struct gw_arc *kept = arcs->scratch + count;
            double compress = parallel[0].compress;
            double compressed = INFINITY; /* by any choice */
            size_t promising = 0;         /* an arc that is not beats none that is */
            for (size_t k = 0; k < choices; k++) {
                const struct gw_arc arc = parallel[k];
                double by = gw_arcs_ready(arcs, from, &arc) + arc.compress;
                double ready = least.first + by;
                double begin = ready > least.second ? ready : least.second;
                compressed = by < compressed ? by : compressed;
                kept[promising] = arc;
                promising += begin + arc.exchange + arcs->rest_exchange[to] < limit;
            }
            if ((arcs->rising && least.first + compressed + arcs->rest_exchange[from] >= limit) ||
                (arcs->superadditive &&
                 end + least.first + compress + arcs->rest_compress[to] >= limit)) {
                return count;
            }
            count += promising > 1 ? drop_beaten(arcs, from, kept, promising) : promising;
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
    arcs->total +=
        arcs->storage == GW_ARCS_COMPUTED ? (last + 1 - first) * arcs->choices->count : count;
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
