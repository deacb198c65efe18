/* A new calibration and an older one of the same cluster: whether their hosts are the same, the
 * parts that only the older one has, and whether it still describes the cluster. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/hosts/hosts.h"
#include "calibrate/measure/journal.h"
#include "calibrate/measure/points.h"
#include "calibrate/measure/survey.h"
#include "calibrate/measure/timing.h"
#include "calibrate/report.h"

/* ---- reading ------------------------------------------------------------------------------- */

enum gw_status gw_calibration_read(struct gw_communicator *communicator, const char *name,
                                   struct gw_cluster *out, struct gw_error *error) {
    char *text = NULL;
    size_t length = 0;
    char *path = NULL;
    enum gw_status status =
        communicator->rank == 0 ? gw_data_resolve(GW_DATA_CLUSTERS, name, &path, error) : GW_OK;
    if (path != NULL) {
        status = gw_file_read(path, &text, &length, error);
    }
    free(path);
    GW_TRY(gw_agree(communicator, status, error));
    status = gw_broadcast(communicator, 0, &length, sizeof length, error);
    if (status == GW_OK && communicator->rank != 0) {
        text = calloc(length + 1, 1);
        status = text == NULL ? gw_fail_memory(error, "reading a cluster") : GW_OK;
    }
    status = gw_agree(communicator, status, error);
    if (status == GW_OK) {
        status = gw_broadcast(communicator, 0, text, length, error);
    }
    if (status == GW_OK) {
        status = gw_cluster_parse(text, length, name, out, error);
    }
    free(text);
    return gw_agree(communicator, status, error);
}

/* ---- the same hosts ------------------------------------------------------------------------ */

static enum gw_status compare_hosts(const struct gw_cluster *cluster,
                                    const struct gw_host_list *list, size_t size,
                                    struct gw_error *error) {
    const cJSON *source = cJSON_GetObjectItemCaseSensitive(cluster->kept, "source");
    const cJSON *listed = cJSON_GetObjectItemCaseSensitive(source, "hosts");
    if (!cJSON_IsArray(listed)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: source.hosts: expected a list, as calibrate writes it, got none",
                       cluster->path);
    }
    if (cluster->workers != size) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: workers: expected %zu, the size of the MPI job, got %zu", cluster->path,
                       size, cluster->workers);
    }
    const cJSON *next = listed->child;
    for (size_t h = 0; h < list->count; h++) {
        const char *name = cJSON_IsString(next) ? next->valuestring : "";
        if (next == NULL || strncmp(name, list->names[h], GW_HOST_SIZE - 1) != 0) {
            return gw_fail(error, GW_BAD_INPUT,
                           "%s: source.hosts: expected this job's hosts, with \"%s\" for rank %d, "
                           "got \"%s\"",
                           cluster->path, list->names[h], list->first_rank[h], name);
        }
        next = next->next;
    }
    return next == NULL ? GW_OK
                        : gw_fail(error, GW_BAD_INPUT,
                                  "%s: source.hosts: expected this job's hosts, got \"%s\" as well",
                                  cluster->path, cJSON_IsString(next) ? next->valuestring : "");
}

enum gw_status gw_calibration_require_same_hosts(struct gw_communicator *communicator,
                                                 const struct gw_cluster *cluster, bool cuda,
                                                 struct gw_error *error) {
    struct gw_host_list list;
    GW_TRY(gw_host_list_open(communicator, &list, error));
    enum gw_status status = GW_OK;
    if (communicator->rank == 0) {
        status = compare_hosts(cluster, &list, (size_t)communicator->size, error);
        const char *device = gw_cluster_device(cluster);
        bool was_cuda = device != NULL && strcmp(device, "cuda") == 0;
        if (status == GW_OK && was_cuda != cuda) {
            status = gw_fail(error, GW_BAD_INPUT,
                             "--device: expected %s, which cluster %s was calibrated with",
                             was_cuda ? "cuda" : "cpu", cluster->name);
        }
    }
    gw_host_list_close(&list);
    return gw_agree(communicator, status, error);
}

static double number_in(const cJSON *object, const char *key) {
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(number) && number->valuedouble > 0 ? number->valuedouble : 0;
}

/* ---- parts of the older one ---------------------------------------------------------------- */

/* Moves the members of an object that another one lacks. */
static enum gw_status move_members(cJSON *from, cJSON *into, struct gw_error *error) {
    cJSON *next = NULL;
    for (cJSON *member = from == NULL ? NULL : from->child; member != NULL; member = next) {
        next = member->next;
        if (cJSON_GetObjectItemCaseSensitive(into, member->string) == NULL) {
            GW_TRY(
                gw_json_put(into, member->string, cJSON_DetachItemViaPointer(from, member), error));
        }
    }
    return GW_OK;
}

/* Moves a collective's entries of numbers of workers that another list lacks. */
static enum gw_status move_entries(cJSON *from, cJSON *into, struct gw_error *error) {
    cJSON *next = NULL;
    for (cJSON *entry = from == NULL ? NULL : from->child; entry != NULL; entry = next) {
        bool is_there = false;
        const cJSON *other = NULL;
        next = entry->next;
        cJSON_ArrayForEach(other, into) {
            is_there = is_there || number_in(other, "workers") == number_in(entry, "workers");
        }
        GW_TRY(is_there ? GW_OK
                        : gw_json_append(into, cJSON_DetachItemViaPointer(from, entry), error));
    }
    return GW_OK;
}

/* Moves curves and other keys between documents of clusters. Growth laws follow from all curves
 * together and are fitted again. "earlier" in the source tells where the older curves come from. */
static enum gw_status move_older(cJSON *from, cJSON *into, struct gw_error *error) {
    static const char *const lists[] = {"collectives", "compressors", "aggregation"};
    cJSON *source = cJSON_GetObjectItemCaseSensitive(into, "source");
    cJSON *earlier = cJSON_GetObjectItemCaseSensitive(from, "source");
    cJSON *measured = cJSON_GetObjectItemCaseSensitive(into, lists[0]);
    cJSON *entries = NULL;
    cJSON_DeleteItemFromObjectCaseSensitive(from, "growth");
    if (source != NULL && earlier != NULL) {
        GW_TRY(gw_json_put(source, "earlier", cJSON_DetachItemViaPointer(from, earlier), error));
    }
    cJSON_ArrayForEach(entries, measured) {
        cJSON *older = cJSON_GetObjectItemCaseSensitive(from, lists[0]);
        GW_TRY(
            move_entries(cJSON_GetObjectItemCaseSensitive(older, entries->string), entries, error));
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        cJSON *list = cJSON_GetObjectItemCaseSensitive(into, lists[i]);
        GW_TRY(list == NULL
                   ? GW_OK
                   : move_members(cJSON_GetObjectItemCaseSensitive(from, lists[i]), list, error));
    }
    return move_members(from, into, error); /* with lists that are of the older one alone */
}

enum gw_status gw_calibration_read_older(struct gw_communicator *communicator, const char *path,
                                         bool cuda, struct gw_cluster *out,
                                         struct gw_error *error) {
    *out = (struct gw_cluster){0};
    enum gw_status status = communicator->rank == 0 ? gw_cluster_read(path, out, error) : GW_OK;
    GW_TRY(gw_agree(communicator, status, error));
    return gw_calibration_require_same_hosts(communicator, out, cuda, error);
}

enum gw_status gw_calibration_add_older(struct gw_cluster *cluster, const struct gw_cluster *older,
                                        struct gw_error *error) {
    struct gw_cluster both = {0};
    struct gw_json root = {.file = older->path};
    cJSON *from = NULL;
    cJSON *into = NULL;
    enum gw_status status = gw_cluster_document(older, &from, error);
    status = status == GW_OK ? gw_cluster_document(cluster, &into, error) : status;
    status = status == GW_OK ? move_older(from, into, error) : status;
    root.node = into;
    status = status == GW_OK ? gw_fields_read(&gw_cluster_fields, &root, &both, error) : status;
    cJSON_Delete(from);
    cJSON_Delete(into);
    if (status != GW_OK) {
        gw_cluster_free(&both);
        return status;
    }
    gw_cluster_free(cluster);
    free(both.path);
    *cluster = both;
    cluster->path = NULL;
    return gw_cluster_put_growth(cluster, error);
}

/* ---- measuring curves again ---------------------------------------------------------------- */

struct recheck {
    const struct gw_cluster *cluster;
    double tolerance;
    struct gw_point_survey survey;
};

/* The file's measured sizes of a series' curve; NULL: it has no such curve. */
static const struct gw_raw *find_raw(const struct gw_cluster *cluster,
                                     const struct gw_series *series) {
    const struct gw_subject *subject = &series->subject;
    if (subject->separate) {
        const struct gw_kernel_cost *cost = gw_kernel_cost_find(
            series->aggregates ? &cluster->aggregation : &cluster->compressors, subject->name);
        const struct gw_compressor *compressor = gw_compressor_find(subject->name);
        /* Without a curve of the search in sketches, curves of sketches include it. */
        bool includes_search =
            compressor != NULL && compressor->sketched &&
            gw_kernel_cost_find(&cluster->aggregation, gw_aggregator_names[GW_HEAVYMIX]) == NULL;
        return cost == NULL || includes_search ? NULL : &cost->raw;
    }
    const struct gw_collective_cost *cost =
        gw_cluster_find_collective(cluster, subject->name, (size_t)series->workers);
    return cost == NULL ? NULL : &cost->raw;
}

static bool is_usable(const struct gw_raw_size *raw, const struct gw_subject *subject,
                      double limit_s) {
    return raw->size >= 1 && raw->size <= (double)subject->largest &&
           raw->size == floor(raw->size) && fmod(raw->size, sizeof(float)) == 0 &&
           raw->median_s > 0 && raw->p5_s > 0 && raw->p95_s > 0 && raw->median_s < limit_s;
}

/* Adds the sizes of a series at 15, 50 and 85% of those that take less than limit_s. */
static enum gw_status add_sizes(struct recheck *recheck, size_t which, double limit_s,
                                struct gw_error *error) {
    static const double places[] = {0.15, 0.5, 0.85}; /* small, medium, large */
    const struct gw_series *series = &recheck->survey.list.items[which];
    const struct gw_raw *raw = gw_needed(find_raw(recheck->cluster, series));
    size_t usable = 0;
    size_t seen = 0;
    for (size_t i = 0; i < raw->count; i++) {
        usable += is_usable(&raw->sizes[i], &series->subject, limit_s);
    }
    for (size_t i = 0; i < raw->count; i++) {
        bool wanted = false;
        if (!is_usable(&raw->sizes[i], &series->subject, limit_s)) {
            continue;
        }
        for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
            wanted = wanted || (double)seen == rint(places[p] * (double)(usable - 1));
        }
        seen++;
        GW_TRY(wanted ? gw_points_add(&recheck->survey.points, which, (size_t)raw->sizes[i].size,
                                      error)
                      : GW_OK);
    }
    return GW_OK;
}

static enum gw_status choose_points(struct recheck *recheck, double time_s,
                                    struct gw_error *error) {
    struct gw_series_list *list = &recheck->survey.list;
    size_t known = 0;
    for (size_t s = 0; s < list->count; s++) { /* without spreads as large as time slices */
        if (!list->items[s].together && find_raw(recheck->cluster, &list->items[s]) != NULL) {
            list->items[known++] = list->items[s];
        }
    }
    list->count = known;
    recheck->survey.points = (struct gw_points){.series = list->items, .series_count = list->count};
    double limit_s = gw_largest_share_s(recheck->survey.list.count, time_s);
    for (size_t s = 0; s < recheck->survey.list.count; s++) {
        GW_TRY(add_sizes(recheck, s, limit_s, error));
    }
    return recheck->survey.points.count > 0
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "%s: expected curves with raw measurements, as calibrate writes them, "
                         "got none that can be measured again",
                         recheck->cluster->path);
}

static enum gw_status fill_row(const struct recheck *recheck, const struct gw_measured_point *point,
                               struct gw_check_row *row, struct gw_error *error) {
    const struct gw_series *series = &recheck->survey.list.items[point->series];
    const struct gw_raw *raws = gw_needed(find_raw(recheck->cluster, series));
    const struct gw_raw_size *raw = raws->sizes;
    while (raw->size != (double)point->size) {
        raw++;
    }
    struct gw_measurement measurement;
    GW_TRY(gw_point_measurement(point, &recheck->survey.rule, &measurement, error));
    *row = (struct gw_check_row){.name = series->subject.name,
                                 .is_compressor = series->subject.separate,
                                 .aggregates = series->aggregates,
                                 .workers = (size_t)series->workers,
                                 .size = (double)point->size,
                                 .file_s = raw->median_s,
                                 .file_p5_s = raw->p5_s,
                                 .file_p95_s = raw->p95_s,
                                 .now_s = measurement.summary};
    row->change = row->now_s.median / row->file_s - 1;
    /* The change exceeds the tolerance, and the interval excludes the file's usual repeats. */
    row->moved =
        fabs(row->change) > recheck->tolerance &&
        (row->now_s.median_low > row->file_p95_s || row->now_s.median_high < row->file_p5_s);
    return GW_OK;
}

static void log_point(void *context, double share, const char *what) {
    (void)context;
    (void)share;
    gw_log(GW_LOG_VERBOSE, "measuring %s", what);
}

/* On rank 0: lists rows of the measured points. */
static enum gw_status list_rows(const struct recheck *recheck, struct gw_check *check,
                                struct gw_error *error) {
    const struct gw_points *points = &recheck->survey.points;
    for (size_t i = 0; i < points->count; i++) {
        struct gw_check_row row = {0};
        if (points->items[i].count == 0) {
            continue;
        }
        GW_TRY(fill_row(recheck, &points->items[i], &row, error));
        check->moved += row.moved;
        check->moved -= check->rows[i].moved;
        check->rows[i] = row;
    }
    return GW_OK;
}

static enum gw_status measure_twice(struct recheck *recheck, double time_s, struct gw_check *check,
                                    struct gw_error *error) {
    struct gw_point_survey *survey = &recheck->survey;
    const struct gw_report report = {.on_progress = log_point, .scale = 1};
    struct gw_journal journal = {.descriptor = -1};
    const double shares[] = {0.7, 0.3};
    for (int pass = 0; pass < 2; pass++) {
        double moved = 0;
        GW_TRY(gw_measure_points(survey, shares[pass] * time_s, &journal, &report, error));
        if (survey->communicator->rank == 0) {
            GW_TRY(list_rows(recheck, check, error));
            for (size_t i = 0; i < survey->points.count; i++) { /* of those that have moved */
                struct gw_measured_point *point = &survey->points.items[i];
                point->state = check->rows[i].moved ? GW_POINT_OPEN : GW_POINT_LEFT_OUT;
                point->count = point->late = point->visits = 0;
                point->spent_s = 0;
                point->error = INFINITY;
            }
            moved = (double)check->moved;
        }
        GW_TRY(gw_agree_maximum(survey->communicator, &moved, 1, error));
        if (moved == 0) {
            break;
        }
    }
    return GW_OK;
}

static void judge_check(struct gw_check *check) {
    size_t touched = 0;
    for (size_t i = 0; i < check->count;) {
        const struct gw_check_row *first = &check->rows[i];
        size_t moved = 0;
        for (; i < check->count && check->rows[i].workers == first->workers &&
               check->rows[i].name == first->name;
             i++) {
            moved += check->rows[i].moved;
        }
        check->curves++;
        check->moved_curves += moved >= 2;
        touched += moved > 0;
    }
    check->describes = check->moved_curves == 0 && 4 * touched < check->curves;
}

enum gw_status gw_calibration_check(struct gw_communicator *communicator,
                                    const struct gw_calibration *calibration,
                                    const struct gw_cluster *cluster, double tolerance,
                                    struct gw_check *out, struct gw_error *error) {
    double started_s = gw_clock_read_s(calibration->clock);
    struct recheck recheck = {.cluster = cluster, .tolerance = tolerance};
    struct gw_calibration asked = *calibration;
    double density =
        number_in(cJSON_GetObjectItemCaseSensitive(cluster->kept, "source"), "density");
    asked.density = density > 0 && density <= 1 ? density : calibration->density;
    *out = (struct gw_check){0};
    enum gw_status status = gw_point_survey_open(communicator, &asked, &recheck.survey, error);
    status = status == GW_OK ? choose_points(&recheck, asked.time_s, error) : status;
    if (status == GW_OK) {
        out->count = recheck.survey.points.count;
        out->rows = calloc(out->count, sizeof *out->rows);
        double left_s = asked.time_s - (gw_clock_read_s(asked.clock) - started_s);
        status = out->rows == NULL ? gw_fail_memory(error, "checking a calibration")
                                   : measure_twice(&recheck, fmax(left_s, 0), out, error);
    }
    gw_point_survey_close(&recheck.survey);
    if (status == GW_OK && communicator->rank == 0) {
        judge_check(out);
    }
    if (status != GW_OK) {
        gw_check_free(out);
    }
    return status;
}

void gw_check_free(struct gw_check *check) {
    free(check->rows);
    *check = (struct gw_check){0};
}
