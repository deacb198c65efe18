/* Properties of files that are no documents: schedules, journals of calibrations, samples of noise,
 * and kernels' facts of hosts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrate/hosts/hosts.h"
#include "calibrate/measure/journal.h"
#include "calibrate/measure/points.h"
#include "tests/fuzz/readers.h"
#include "tests/goal/goal_text.h"
#include "traces/imports.h"

/* ---- GOAL ---------------------------------------------------------------------------------- */

static void check_operations(const struct gw_goal *goal) {
    for (uint32_t i = 0; i < goal->operation_count; i++) {
        const struct gw_goal_operation *operation = &goal->operations[i];
        bool any = operation->kind == GW_GOAL_RECEIVE && operation->peer == GW_GOAL_ANY;
        fuzz_expect(operation->kind >= GW_GOAL_SEND && operation->kind <= GW_GOAL_CALC, "a kind");
        fuzz_expect(any || operation->peer < goal->rank_count, "a peer");
        fuzz_expect(operation->cpu < goal->cpus && operation->nic < goal->nics, "a cpu or a nic");
        fuzz_expect(operation->state == 0, "a state");
    }
}

/* Dependents are of the same rank, starts first, and together as many as operations wait for. */
static void check_dependents(const struct gw_goal *goal, const struct gw_goal_rank *rank) {
    uint32_t waits = 0;
    uint32_t dependents = 0;
    for (uint32_t i = rank->first; i < rank->first + rank->count; i++) {
        bool ends = false;
        waits += goal->operations[i].waits;
        dependents += goal->operations[i].dependent_count;
        const uint32_t *list = gw_goal_dependents(goal, &goal->operations[i]);
        for (uint32_t j = 0; j < goal->operations[i].dependent_count; j++) {
            uint32_t dependent = list[j] & ~GW_GOAL_AT_START;
            bool at_start = dependent != list[j];
            fuzz_expect(dependent - rank->first < rank->count, "a dependent in another rank");
            fuzz_expect(!at_start || !ends, "a start behind an end");
            fuzz_expect(goal->operations[dependent].waits > 0, "a dependent that does not wait");
            ends = !at_start;
        }
    }
    fuzz_expect(waits == dependents, "a number of waits");
}

static void check_goal(const struct gw_goal *goal) {
    uint64_t count = 0;
    fuzz_expect(goal->rank_count > 0, "a rank");
    for (uint32_t i = 0; i < goal->rank_count; i++) {
        const struct gw_goal_rank *rank = &goal->ranks[i];
        fuzz_expect(rank->first <= goal->operation_count, "a first operation");
        count += rank->count;
        check_dependents(goal, rank);
    }
    fuzz_expect(count == goal->operation_count, "operations outside ranks");
    check_operations(goal);
}

/* The parameters that it names, if it can be run with these, or else LogGOPSim's own. */
static void run(struct gw_goal *goal) {
    struct gw_loggops parameters = {.L = 2500, .o = 1500, .g = 1000, .G = 6, .S = 65535};
    struct gw_loggp_text named;
    struct gw_goal_result result;
    if (goal->loggp[0] != '\0' && gw_loggp_parse(goal->loggp, &named, NULL) == GW_OK) {
        (void)gw_loggp_for_goal(&named, &parameters, NULL);
    }
    enum gw_status status = gw_goal_run(goal, &parameters, NULL, &result, &fuzz_error);
    fuzz_expect(status == GW_OK || status == GW_BAD_INPUT, "another status of a run");
    if (status == GW_OK) {
        for (uint32_t i = 0; i < goal->rank_count; i++) {
            fuzz_expect(result.finish_ns[i] <= (uint64_t)1 << 63, "a time");
        }
        fuzz_expect(result.events >= goal->operation_count, "operations that never ran");
        free(result.finish_ns);
    }
}

/* Messages begin "f:LINE: ". */
bool fuzz_goal(const char *text, size_t length) {
    static const struct gw_goal nothing;
    struct gw_goal goal;
    char *ends = malloc(length == 0 ? 1 : length); /* where its memory does: no zero follows */
    if (ends == NULL) {
        abort();
    }
    memcpy(ends, text, length);
    enum gw_status status = read_goal_text(ends, length, "f", &goal, &fuzz_error);
    free(ends);
    if (fuzz_accepted(status, "f")) {
        check_goal(&goal);
        run(&goal);
        gw_goal_free(&goal);
        return true;
    }
    fuzz_expect(fuzz_error.message[2] >= '1' && fuzz_error.message[2] <= '9',
                "a message without the line");
    fuzz_expect(strstr(fuzz_error.message, ", got ") != NULL, "a message that says half");
    fuzz_expect(memcmp(&goal, &nothing, sizeof goal) == 0,
                "a refused schedule that holds something");
    return false;
}

/* ---- what benchmarks printed ---------------------------------------------------------------- */

/* An imported cluster can be written, and read as a cluster. */
static void check_imported(const struct gw_cluster *cluster) {
    struct gw_cluster again;
    const char *path = fuzz_path("imported.json");
    fuzz_expect(cluster->collective_count > 0, "a collective");
    fuzz_expect(gw_cluster_write(cluster, path, &fuzz_error) == GW_OK, "a file");
    fuzz_expect(gw_cluster_read(path, &again, &fuzz_error) == GW_OK, "a file to be read");
    fuzz_expect(again.collective_count == cluster->collective_count, "all collectives");
    gw_cluster_free(&again);
}

enum benchmark { NCCL_TESTS, OSU, INSPECTOR, BENCHMARKS };

static enum gw_status import(enum benchmark benchmark, const char *path,
                             struct gw_cluster *cluster) {
    const struct gw_import_paths paths = {.count = 1, .list = &path};
    switch (benchmark) {
    case NCCL_TESTS:
        return gw_import_nccl_tests(path, 0, cluster, &fuzz_error);
    case OSU:
        return gw_import_osu(path, 4, cluster, &fuzz_error);
    default:
        return gw_import_inspector(&paths, NULL, cluster, &fuzz_error);
    }
}

/* A list of parameters makes a model. */
static bool accepts_sizes(const char *path) {
    const struct gw_sizes_request request = {.name = "listed", .backward_s = 0.045};
    cJSON *document = NULL;
    struct gw_model model;
    if (!fuzz_accepted(gw_import_sizes(path, &request, &document, &fuzz_error), path)) {
        return false;
    }
    fuzz_expect(gw_model_take(document, path, &model, &fuzz_error) == GW_OK, "a model");
    gw_model_free(&model);
    return true;
}

/* Tried as output of each benchmark: all but one refuse it. */
bool fuzz_benchmark(const char *text, size_t length) {
    const char *path = fuzz_write("all_reduce.txt", text, length);
    double bytes_per_s = 0;
    bool accepted = fuzz_accepted(gw_import_perftest(path, &bytes_per_s, &fuzz_error), path);
    fuzz_expect(!accepted || bytes_per_s > 0, "a rate");
    accepted = accepts_sizes(path) || accepted;
    for (enum benchmark benchmark = 0; benchmark < BENCHMARKS; benchmark++) {
        struct gw_cluster cluster;
        fuzz_expect(gw_cluster_create(&cluster, "imported", 1, 0, &fuzz_error) == GW_OK, "memory");
        if (fuzz_accepted(import(benchmark, path, &cluster), path) &&
            fuzz_accepted(gw_import_finish(&cluster, &fuzz_error), "")) {
            check_imported(&cluster);
            accepted = true;
        }
        gw_cluster_free(&cluster);
    }
    return accepted;
}

/* ---- calibrations that were interrupted ---------------------------------------------------- */

static enum gw_status open_journal(const char *path, struct gw_points *points,
                                   struct gw_journal *journal) {
    static struct gw_series series[] = {
        {.workers = 2, .subject = {.name = "allgather", .smallest = 1024, .largest = 1 << 14}},
        {.workers = 4, .subject = {.name = "topk", .smallest = 1024, .largest = 1 << 14}}};
    static const struct gw_stop_rule rule = {
        .precision = 0.02, .max_s_per_point = 10, .fewest_visits = 5, .seed = 1};
    static const struct gw_journal_title title = {.request = 17, .hosts = 4, .point_count = 10};
    if (gw_points_open(series, 2, 2, points, NULL) != GW_OK) {
        abort();
    }
    return gw_journal_open(path, &title, true, points, &rule, journal, &fuzz_error);
}

/* Opened again it holds the same. */
static void check_again(const char *path, const struct gw_points *points, size_t kept) {
    struct gw_points again;
    struct gw_journal journal;
    size_t length = 0;
    fuzz_expect(open_journal(path, &again, &journal) == GW_OK, "no second opening");
    for (size_t i = 0; i < points->count; i++) {
        fuzz_expect(again.items[i].count == points->items[i].count &&
                        again.items[i].state == points->items[i].state,
                    "other repeats the second time");
    }
    free(fuzz_read(path, &length));
    fuzz_expect(length == kept, "another length the second time");
    gw_journal_close(&journal);
    gw_points_free(&again);
}

bool fuzz_journal(const char *text, size_t length) {
    char path[160];
    struct gw_points points;
    struct gw_journal journal;
    size_t repeats = 0;
    (void)snprintf(path, sizeof path, "%s", fuzz_write("cluster.json.partial", text, length));
    bool accepted = fuzz_accepted(open_journal(path, &points, &journal), path);
    for (size_t p = 0; p < points.count; p++) {
        const struct gw_measured_point *point = &points.items[p];
        repeats += point->count;
        fuzz_expect(point->count <= GW_MAX_REPEATS && point->late <= point->count, "repeats");
        for (size_t i = 0; i < point->count; i++) {
            fuzz_expect(isfinite(point->seconds[i]) && point->seconds[i] > 0, "a repeat's time");
        }
    }
    gw_journal_close(&journal);
    if (accepted) {
        size_t kept = 0;
        free(fuzz_read(path, &kept));
        check_again(path, &points, kept);
    }
    gw_points_free(&points);
    return accepted && repeats > 0;
}

/* ---- samples of noise ---------------------------------------------------------------------- */

bool fuzz_sample(const char *text, size_t length) {
    char sample[160];
    struct gw_noise noise;
    double mean = 0;
    (void)snprintf(sample, sizeof sample, "sample:%s", fuzz_write("noise.txt", text, length));
    if (!fuzz_accepted(gw_noise_read(sample, "--noise", &noise, &fuzz_error), sample + 7)) {
        return false;
    }
    bool recorded = noise.kind == GW_NOISE_RECORDED;
    fuzz_expect((recorded || noise.kind == GW_NOISE_SAMPLE) && noise.count > 0,
                "a sample of nothing");
    fuzz_expect(recorded == (noise.ranks > 0) && (!recorded || noise.count % noise.ranks == 0),
                "iterations of unlike numbers of ranks");
    for (size_t i = 0; i < noise.count; i++) {
        double factor = gw_noise_factor(&noise, gw_noise_worker_stream(&noise, 1, 2, i), i);
        fuzz_expect(isfinite(factor) && factor >= 0, "a factor of noise");
        mean += noise.sample[i] / (double)noise.count;
    }
    fuzz_expect(recorded || fabs(mean - 1) < 1e-6, "a sample of another mean");
    gw_noise_free(&noise);
    return true;
}

/* ---- what kernels say of hosts ------------------------------------------------------------- */

bool fuzz_facts(const char *text, size_t length) {
    static const char *const keys[] = {"model name", "CPU part", "PRETTY_NAME", "MemTotal"};
    struct gw_cpus cpus;
    char fact[GW_FACT_SIZE];
    double number = 0;
    bool accepted = gw_cpus_parse(text, &cpus);
    size_t count = gw_cpus_count(&cpus);
    fuzz_expect(accepted ? count <= GW_MAX_CPUS : count == 0, "a set of processors");
    if (accepted) {
        char list[GW_CPUS_TEXT_SIZE];
        gw_cpus_print(&cpus, list);
        fuzz_expect(memchr(list, '\0', sizeof list) != NULL, "a list without an end");
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        accepted |= gw_fact_find(text, keys[i], fact);
        for (const char *c = fact; *c != '\0'; c++) {
            fuzz_expect(*c >= ' ' && *c <= '~', "a fact that is no text");
        }
    }
    const char *path = fuzz_write("fact", text, length);
    if (gw_fact_read_number("", path, &number)) {
        fuzz_expect(isfinite(number) && number >= 0, "a number");
        accepted = true;
    }
    return accepted;
}
