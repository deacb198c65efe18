/* Declarations of the files that read and write clusters; private to this room. */
#ifndef GW_TRACES_PARTS_H
#define GW_TRACES_PARTS_H

#include "traces/cluster.h"

/* ---- curves and entries in a cluster file ---------------------------------------------------- */

/* The names of a curve's coefficients. */
enum gw_curve_names {
    GW_COLLECTIVE_NAMES, /* alpha_s, beta_s_per_byte; both needed unless there are points */
    GW_KERNEL_NAMES,     /* fixed_s, per_element_s, per_nlog2n_s; those that are absent are 0 */
};

/* Reads a curve, the caller's; one that falls by more than noise is bad input. */
enum gw_status gw_curve_read(const struct gw_json *place, enum gw_curve_names names,
                             struct gw_curve *out, struct gw_error *error);

/* Writes the curve in place of the open object's. */
void gw_curve_write(struct gw_json_writer *writer, const struct gw_curve *curve,
                    enum gw_curve_names names);

/*
 * Marks the points of a longest series that never falls (Fredman, 1975). Among several, takes the
 * one with the largest last size, then the largest size before that, and so on. rises: [points],
 * false.
 */
enum gw_status gw_curve_find_rising(const struct gw_curve *curve, bool *rises,
                                    struct gw_error *error);

/*
 * Makes a curve rise that falls (gw_cluster_find_fall): the points of such a series keep their
 * times, and each other one gets the time nearest to its own between those of its neighbours in
 * it. A single slow size moves alone.
 */
enum gw_status gw_curve_make_rise(struct gw_curve *curve, const struct gw_raw *raw,
                                  struct gw_error *error);

/*
 * Adds a point at size 1 to a curve of points from a size of at least GW_MIN_BEGUN_SIZE on that
 * would reach zero above size zero: a time in proportion to that of the smallest size, less than
 * which no smaller size is taken to need.
 */
enum { GW_MIN_BEGUN_SIZE = 1024 }; /* chosen */
enum gw_status gw_curve_begin_above_zero(struct gw_curve *curve, struct gw_error *error);

/* Reads the details in the entry's `kept`: measured sizes, margins, skew, held-out error, origin.
 */
enum gw_status gw_collective_read_details(struct gw_collective_cost *cost, struct gw_error *error);

/* Removes an entry of the cluster's collectives; those behind it move up. */
void gw_cluster_remove_collective(struct gw_cluster *cluster, size_t index);

/* Returns an object for an entry: a copy of the one read or measured, or an empty one. */
static inline cJSON *gw_entry_object(const cJSON *kept) {
    return kept != NULL ? cJSON_Duplicate(kept, 1) : cJSON_CreateObject();
}

/* "compressors" or "aggregation", which `key` names; what was read so far is freed by the caller.
 */
enum gw_status gw_kernel_costs_read(const struct gw_json *kernels, struct gw_kernel_costs *costs,
                                    struct gw_error *error);
void gw_kernel_costs_write(struct gw_json_writer *writer, const char *key,
                           const struct gw_kernel_costs *costs);
void gw_kernel_costs_free(struct gw_kernel_costs *costs);

/* ---- "network" and "overlap" as they stand in a cluster file -------------------------------- */

/*
 * Reads the cluster's network, unless its workers are bad input. "within" may be absent if each
 * node has one worker, "between" if there is one node: each then equals the other.
 */
enum gw_status gw_network_read(const struct gw_json *place, void *out, struct gw_error *error);

/* Reads the cluster's overlap factors. */
enum gw_status gw_overlap_read(const struct gw_json *place, void *cluster, struct gw_error *error);

extern const struct gw_fields gw_network_fields, gw_overlap_fields;

/* Write the cluster's network and overlap factors into its document. */
void gw_network_write(const struct gw_cluster *cluster, struct gw_json_writer *writer);
void gw_overlap_write(const struct gw_cluster *cluster, struct gw_json_writer *writer);

void gw_network_free(struct gw_network *network);

#endif
