/* Costs of exchanges, a second time: from the papers' formulas and the measured curves, without
 * methods/ and core/curve.c. */
#ifndef GW_TESTS_EXCHANGE_DEFINITION_H
#define GW_TESTS_EXCHANGE_DEFINITION_H

#include <math.h>
#include <string.h>

#include "tests/support.h"
#include "traces/traces.h"

/* A curve's value without core/curve.c: a scan for the segment instead of a bisection. */
static inline double value_of(const struct gw_curve *curve, double n) {
    if (n <= 0) {
        return 0;
    }
    if (curve->point_count == 0) {
        return curve->fixed_s + curve->per_unit_s * n + curve->per_nlog2n_s * n * log2(n);
    }
    size_t i = 1;
    while (i + 1 < curve->point_count && curve->points[i].size <= n) {
        i++;
    }
    const struct gw_curve_point *a = &curve->points[i - 1];
    const struct gw_curve_point *b = &curve->points[i];
    if (n > b->size && b->time_s < a->time_s) {
        return b->time_s; /* beyond the points no curve falls */
    }
    return fmax(0, a->time_s + (n - a->size) * (b->time_s - a->time_s) / (b->size - a->size));
}

static inline double collective_s(const struct gw_cluster *cluster, const char *name,
                                  double bytes) {
    for (size_t i = 0; i < cluster->collective_count; i++) {
        if (strcmp(cluster->collectives[i].name, name) == 0) {
            return value_of(&cluster->collectives[i].curve, bytes);
        }
    }
    fail_msg("no %s", name);
    return 0;
}

/* Up a tree pair by pair, and down again. */
static inline double tree_s(const struct gw_cluster *cluster, size_t workers, double bytes) {
    return ceil(log2((double)workers)) * collective_s(cluster, "sendrecv", bytes) +
           collective_s(cluster, "broadcast", bytes);
}

/* 5 rows of 4-byte cells: for each some 0.574 k ln(n / k) columns, at least k, rounded up. */
static inline double sketch_bytes(double n, double k) {
    return 4 * 5 * fmax(16, exp2(ceil(log2(fmax(k, 2 * 0.287 * k * log(n / k))))));
}

/* The cost of work on received data; 0 for an aggregator that was not measured. */
static inline double kernel_s(const struct gw_cluster *cluster, const char *name, double n) {
    for (size_t i = 0; i < cluster->aggregation.count; i++) {
        if (strcmp(cluster->aggregation.list[i].name, name) == 0) {
            return value_of(&cluster->aggregation.list[i].curve, n);
        }
    }
    return 0;
}

static inline double kept_of(double n, double density) {
    return fmax(1, floor(n * density));
}

/* The time of one element with a table of so many bytes, at the nearest size that has it. */
static inline double one_by_table_s(const struct gw_curve *curve, double n, double bytes,
                                    double density) {
    double own = sketch_bytes(n, kept_of(n, density));
    double way = own < bytes ? 1 : -1;
    for (double step = 4294967296; step >= 1 && own != bytes; step /= 2) {
        double next = n + way * step; /* up to the last one that has another table */
        if (next >= 1 && way * (bytes - sketch_bytes(next, kept_of(next, density))) > 0) {
            n = next;
        }
    }
    n += own != bytes ? way : 0;
    return value_of(curve, n) / n;
}

/*
 * Searching n elements for k of them: as tables of the same size are searched at both densities,
 * which count by the inverse square of doublings; beyond the nearer of the two alone.
 */
static inline double search_s(const struct gw_cluster *cluster, double n, double k) {
    const struct gw_kernel_cost *cost = gw_kernel_cost_find(&cluster->aggregation, "heavymix");
    if (cost == NULL || cost->densities[0] == 0) {
        return kernel_s(cluster, "heavymix", n);
    }
    double first_s = value_of(&cost->curve, n);
    double second_s = value_of(&cost->denser, n);
    double bytes = sketch_bytes(n, k);
    double first = sketch_bytes(n, kept_of(n, cost->densities[0]));
    double second = sketch_bytes(n, kept_of(n, cost->densities[1]));
    if (first == second || first_s == second_s) {
        return first_s;
    }
    double by_first_s = n * one_by_table_s(&cost->curve, n, bytes, cost->densities[0]);
    double by_second_s = n * one_by_table_s(&cost->denser, n, bytes, cost->densities[1]);
    double doublings[2] = {fabs(log2(bytes / first)), fabs(log2(bytes / second))};
    double found_s = doublings[0] < doublings[1] ? by_first_s : by_second_s;
    if (doublings[0] == 0 || doublings[1] == 0) {
        found_s = doublings[0] == 0 ? by_first_s : by_second_s;
    } else if (first < bytes && bytes < second) {
        double weights[2] = {1 / pow(doublings[0], 2), 1 / pow(doublings[1], 2)};
        found_s = (weights[0] * by_first_s + weights[1] * by_second_s) / (weights[0] + weights[1]);
    }
    return fmax(first_s / 2, found_s);
}

/*
 * Lists of k entries each at random places of n elements: on the line through two densities, by the
 * shares of cache lines, of 16 elements, in which there is none; below the first as there.
 */
static inline double scattered_s(const struct gw_cluster *cluster, const char *name, double lists,
                                 double k, double n) {
    const struct gw_kernel_cost *cost = gw_kernel_cost_find(&cluster->aggregation, name);
    if (cost == NULL || cost->densities[0] == 0) {
        return kernel_s(cluster, name, lists * k);
    }
    double density = fmin(fmax(k / n, cost->densities[0]), 1);
    double none[3] = {cost->densities[0], density, cost->densities[1]};
    for (int i = 0; i < 3; i++) {
        none[i] = none[i] < 1 ? exp(16 * log1p(-none[i])) : 0;
    }
    double first_s = value_of(&cost->curve, lists * k);
    double second_s = value_of(&cost->denser, lists * k);
    double of_first = (none[1] - none[2]) / (none[0] - none[2]);
    return fmax(second_s / 2, of_first * first_s + (1 - of_first) * second_s);
}

/* The cost of work on the data of the papers' exchanges; arguments as below. */
static inline double aggregation_by_definition(const struct gw_cluster *cluster, size_t workers,
                                               const char *exchange, double n, double k) {
    double all = (double)workers;
    double rounds = ceil(log2(all));
    double cells = sketch_bytes(n, k) / 4;
    double values = scattered_s(cluster, "take-and-put", 1, k, n);
    if (strcmp(exchange, "allgather") == 0 || strcmp(exchange, "allgather-padded") == 0) {
        return scattered_s(cluster, "scatter-add", all, k, n);
    } else if (strcmp(exchange, "common-values") == 0 || strcmp(exchange, "union") == 0 ||
               strcmp(exchange, "leader") == 0) {
        return values;
    } else if (strcmp(exchange, "gtopk") == 0) {
        return rounds * kernel_s(cluster, "merge", k) +
               scattered_s(cluster, "scatter-add", 1, k, n) +
               scattered_s(cluster, "give-back", 1, k, n);
    } else if (strcmp(exchange, "sketch-tree") == 0) {
        return rounds * (kernel_s(cluster, "sum", cells) + kernel_s(cluster, "sum", k)) +
               search_s(cluster, n, k) + values;
    } else if (strcmp(exchange, "sketch-server") == 0) {
        return kernel_s(cluster, "sum", all * cells) + kernel_s(cluster, "sum", all * k) +
               search_s(cluster, n, k) + values;
    } else if (strcmp(exchange, "server") == 0) {
        return kernel_s(cluster, "sum", all * n);
    }
    return strcmp(exchange, "layer-server") == 0 ? kernel_s(cluster, "sum", all * k) : 0;
}

/* The time of the papers' exchanges for a group of n elements in `layers` layers, k selected,
 * without aggregation; `served`: time of a server's update. */
static inline double legs_by_definition(const struct gw_cluster *cluster, size_t workers,
                                        const char *exchange, double n, double k, double layers,
                                        double served) {
    double sketch = sketch_bytes(n, k);
    if (strcmp(exchange, "allreduce") == 0) {
        return collective_s(cluster, "allreduce", 4 * n);
    } else if (strcmp(exchange, "allgather") == 0) {
        return collective_s(cluster, "allgather", 8 * k);
    } else if (strcmp(exchange, "allgather-padded") == 0) {
        return collective_s(cluster, "allgather", 4) + collective_s(cluster, "allgather", 8 * k);
    } else if (strcmp(exchange, "common-values") == 0) {
        return collective_s(cluster, "allreduce", 4 * k);
    } else if (strcmp(exchange, "union") == 0) {
        return collective_s(cluster, "allgather", 4) +
               collective_s(cluster, "allgather", 4 * ceil(k / (double)workers)) +
               collective_s(cluster, "allreduce", 4 * k);
    } else if (strcmp(exchange, "leader") == 0) {
        return collective_s(cluster, "broadcast", 4 * k) +
               collective_s(cluster, "allreduce", 4 * k);
    } else if (strcmp(exchange, "gtopk") == 0) {
        return tree_s(cluster, workers, 8 * k);
    } else if (strcmp(exchange, "sketch-tree") == 0) {
        return tree_s(cluster, workers, sketch) + tree_s(cluster, workers, 4 * k);
    } else if (strcmp(exchange, "sketch-server") == 0) {
        return collective_s(cluster, "gather", sketch) + collective_s(cluster, "scatter", 4 * k) +
               collective_s(cluster, "gather", 4 * k) + collective_s(cluster, "scatter", 4 * k);
    } else if (strcmp(exchange, "server") == 0) {
        return collective_s(cluster, "gather", 4 * n) + served +
               collective_s(cluster, "scatter", 4 * n);
    }
    assert_string_equal(exchange, "layer-server");
    return collective_s(cluster, "gather", 4 * (k + layers)) + served +
           collective_s(cluster, "scatter", 4 * (k + layers));
}

/* With aggregation. */
static inline double exchange_by_definition(const struct gw_cluster *cluster, size_t workers,
                                            const char *exchange, double n, double k, double layers,
                                            double served) {
    return legs_by_definition(cluster, workers, exchange, n, k, layers, served) +
           aggregation_by_definition(cluster, workers, exchange, n, k);
}

/* The part that does not depend on sizes: what next to nothing takes. */
static inline double startup_by_definition(const struct gw_cluster *cluster, size_t workers,
                                           const char *exchange) {
    const double little = 1e-9;
    double gather = collective_s(cluster, "gather", little);
    double scatter = collective_s(cluster, "scatter", little);
    double allgather = collective_s(cluster, "allgather", little);
    double allreduce = collective_s(cluster, "allreduce", little);
    if (strcmp(exchange, "allgather-padded") == 0) {
        return 2 * allgather;
    } else if (strcmp(exchange, "union") == 0) {
        return 2 * allgather + allreduce;
    } else if (strcmp(exchange, "leader") == 0) {
        return collective_s(cluster, "broadcast", little) + allreduce;
    } else if (strcmp(exchange, "gtopk") == 0) {
        return tree_s(cluster, workers, little);
    } else if (strcmp(exchange, "sketch-tree") == 0) {
        return 2 * tree_s(cluster, workers, little);
    } else if (strstr(exchange, "server") != NULL) {
        return (strcmp(exchange, "sketch-server") == 0 ? 2 : 1) * (gather + scatter);
    }
    return strcmp(exchange, "allgather") == 0 ? allgather : allreduce;
}

static inline bool has_server_update(const char *exchange) {
    return strcmp(exchange, "server") == 0 || strcmp(exchange, "layer-server") == 0;
}

#endif
