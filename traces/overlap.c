#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/parts.h"

/* ---- building ------------------------------------------------------------------------------ */

static enum gw_status add_pair(struct gw_overlap *overlap, const char *collective,
                               const char *compute, struct gw_overlap_pair **out,
                               struct gw_error *error) {
    struct gw_overlap_pair *larger =
        gw_grow(overlap->pairs, overlap->pair_count + 1, &overlap->pair_capacity, sizeof *larger);
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

static struct gw_overlap_pair *find_pair(const struct gw_overlap *overlap, const char *collective,
                                         const char *compute) {
    for (size_t i = 0; i < overlap->pair_count; i++) {
        struct gw_overlap_pair *pair = &overlap->pairs[i];
        if (strcmp(pair->collective, collective) == 0 && strcmp(pair->compute, compute) == 0) {
            return pair;
        }
    }
    return NULL;
}

static enum gw_status add_point(struct gw_overlap_pair *pair, struct gw_overlap_point point,
                                struct gw_error *error) {
    GW_GROW(pair->points, pair->point_count + 1, pair->point_capacity, "adding overlap factors",
            error);
    size_t at = pair->point_count++;
    for (; at > 0 && pair->points[at - 1].bytes > point.bytes; at--) {
        pair->points[at] = pair->points[at - 1];
    }
    pair->points[at] = point;
    return GW_OK;
}

enum gw_status gw_overlap_add(struct gw_overlap *overlap, const char *collective,
                              const char *compute, struct gw_overlap_point point,
                              struct gw_error *error) {
    struct gw_overlap_pair *pair = find_pair(overlap, collective, compute);
    if (pair == NULL) {
        GW_TRY(add_pair(overlap, collective, compute, &pair, error));
    }
    return add_point(pair, point, error);
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
    return find_pair(overlap, collective, compute);
}

/* Interpolates between factors; equal ones are returned exactly. */
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

/* ---- reading ------------------------------------------------------------------------------- */

/* Checks a factor; one written by hand may lack the interval. */
static enum gw_status check_factor(const struct gw_json *place, void *out, struct gw_error *error) {
    struct gw_overlap_factor *factor = out;
    struct gw_json low = gw_json_member(place, "low");
    struct gw_json high = gw_json_member(place, "high");
    factor->low = low.node == NULL ? factor->factor : factor->low;
    factor->high = high.node == NULL ? factor->factor : factor->high;
    if (factor->low > factor->factor) {
        return gw_json_expected(&low, "at most the factor", error);
    }
    return factor->high < factor->factor ? gw_json_expected(&high, "at least the factor", error)
                                         : GW_OK;
}

static const struct gw_field factor_rows[] = {
    {"factor", GW_AS_FACTOR, .at = offsetof(struct gw_overlap_factor, factor),
     .text = "its time beside the other over its time alone"},
    {"low", GW_AS_FACTOR, .at = offsetof(struct gw_overlap_factor, low), .optional = true,
     .text = "of the 95% interval"},
    {"high", GW_AS_FACTOR, .at = offsetof(struct gw_overlap_factor, high), .optional = true,
     .text = "of the 95% interval"},
    {0}};

static const struct gw_fields factor_fields = {sizeof(struct gw_overlap_factor),
                                               .rows = factor_rows, .check = check_factor};

static const struct gw_field point_rows[] = {
    {"bytes", GW_AS_SIZE, .at = offsetof(struct gw_overlap_point, bytes),
     .text = "that each worker contributes, in ascending order"},
    {"compute", GW_AS_OBJECT, .at = offsetof(struct gw_overlap_point, compute),
     .of = &factor_fields, .text = "of the compressor, `backward` or `timed`"},
    {"communication", GW_AS_OBJECT, .at = offsetof(struct gw_overlap_point, communication),
     .of = &factor_fields, .text = "of the collective"},
    {0}};

static const struct gw_fields point_fields = {sizeof(struct gw_overlap_point), .rows = point_rows};

static enum gw_status read_pair(const struct gw_json *place, const char *collective,
                                const char *compute, struct gw_overlap *overlap,
                                struct gw_error *error) {
    GW_TRY(gw_json_array(place, error));
    if (cJSON_GetArraySize(place->node) == 0) {
        return gw_json_expected(place, "at least one size", error);
    }
    double previous_bytes = 0;
    size_t index = 0;
    struct gw_overlap_pair *pair = NULL;
    const cJSON *node = NULL;
    GW_TRY(add_pair(overlap, collective, compute, &pair, error)); /* keys are there once */
    cJSON_ArrayForEach(node, place->node) {
        struct gw_json item = gw_json_item(place, node, index++);
        struct gw_overlap_point point = {0};
        GW_TRY(gw_json_object(&item, error));
        GW_TRY(gw_fields_read(&point_fields, &item, &point, error));
        if (point.bytes <= previous_bytes) {
            struct gw_json bytes = gw_json_member(&item, "bytes");
            return gw_json_expected(&bytes, "sizes in ascending order", error);
        }
        GW_TRY(add_point(pair, point, error));
        previous_bytes = point.bytes;
    }
    return GW_OK;
}

static enum gw_status read_factors(const struct gw_json *factors, void *out,
                                   struct gw_error *error) {
    const cJSON *of_collective = NULL;
    GW_TRY(gw_json_object(factors, error));
    cJSON_ArrayForEach(of_collective, factors->node) {
        struct gw_json collective = gw_json_child(factors, of_collective);
        GW_TRY(gw_json_object(&collective, error));
        const cJSON *pair = NULL;
        cJSON_ArrayForEach(pair, collective.node) {
            struct gw_json points = gw_json_child(&collective, pair);
            GW_TRY(read_pair(&points, of_collective->string, pair->string, out, error));
        }
    }
    return GW_OK;
}

static const struct gw_fields pair_fields = {.each = &point_fields};
static const struct gw_fields factors_fields = {.each = &pair_fields};

static const struct gw_field rows[] = {
    {"workers", GW_AS_COUNT, .at = offsetof(struct gw_overlap, workers),
     .text = "of the collectives"},
    {"session_s", GW_AS_SECONDS, .at = offsetof(struct gw_overlap, session_s), .optional = true,
     .text = "by which an iteration of a trainer's session is longer than its parts"},
    {"factors", GW_AS_BY_HAND, .of = &factors_fields, .read = read_factors,
     .text = "by collective and by compressor, `backward` or `timed`: lists"},
    {"", GW_AS_KEPT, .at = offsetof(struct gw_overlap, kept)},
    {0}};

const struct gw_fields gw_overlap_fields = {
    sizeof(struct gw_overlap), .rows = rows,
    .unread = GW_KEYS("elements", "waiting", "backward_s", "source")};

enum gw_status gw_overlap_read(const struct gw_json *place, void *cluster, struct gw_error *error) {
    struct gw_overlap *overlap = calloc(1, sizeof *overlap);
    if (overlap == NULL) {
        return gw_fail_memory(error, "reading overlap factors");
    }
    enum gw_status status = gw_json_object(place, error);
    status = status == GW_OK ? gw_fields_read(&gw_overlap_fields, place, overlap, error) : status;
    if (status != GW_OK) {
        gw_overlap_free(overlap);
        return status;
    }
    gw_cluster_set_overlap(cluster, overlap);
    return GW_OK;
}

/* ---- writing ------------------------------------------------------------------------------- */

static void write_factor(struct gw_json_writer *writer, const char *key,
                         const struct gw_overlap_factor *factor) {
    gw_writer_reopen_object(writer, key, 0);
    gw_writer_number(writer, "factor", factor->factor);
    if (factor->low != factor->factor || factor->high != factor->factor) {
        gw_writer_number(writer, "low", factor->low);
        gw_writer_number(writer, "high", factor->high);
    }
    gw_writer_end(writer);
}

/* Writes the factors over those read, and keeps unknown members. */
void gw_overlap_write(const struct gw_cluster *cluster, struct gw_json_writer *writer) {
    const struct gw_overlap *overlap = cluster->overlap;
    if (overlap == NULL) {
        return;
    }
    gw_writer_open(writer, "overlap", gw_entry_object(overlap->kept));
    gw_writer_number(writer, "workers", (double)overlap->workers);
    if (overlap->session_s > 0) {
        gw_writer_number(writer, "session_s", overlap->session_s);
    }
    gw_writer_reopen_object(writer, "factors", 0);
    for (size_t i = 0; i < overlap->pair_count; i++) {
        const struct gw_overlap_pair *pair = &overlap->pairs[i];
        gw_writer_reopen_object(writer, pair->collective, 0);
        gw_writer_reopen_array(writer, pair->compute);
        for (size_t p = 0; p < pair->point_count; p++) {
            gw_writer_reopen_object(writer, NULL, p);
            gw_writer_number(writer, "bytes", pair->points[p].bytes);
            write_factor(writer, "compute", &pair->points[p].compute);
            write_factor(writer, "communication", &pair->points[p].communication);
            gw_writer_end(writer);
        }
        gw_writer_end(writer);
        gw_writer_end(writer);
    }
    gw_writer_end(writer);
    gw_writer_end(writer);
}
