#include "sim/simulator.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "methods/kernel_cost.h"

/* ---- processors ---------------------------------------------------------------------------- */

/* Whether compression was measured on several ranks of a machine at once. */
static bool has_sharing(const struct gw_cluster *cluster) {
    bool measured = false;
    for (size_t i = 0; i < cluster->compressors.count; i++) {
        measured = measured || gw_kernel_shares(&cluster->compressors.list[i]);
    }
    return cluster->sharing.ranks > 1 && measured;
}

bool gw_cluster_interferes(const struct gw_cluster *cluster) {
    return cluster->overlap != NULL || has_sharing(cluster);
}

void gw_interference_find_sharing(struct gw_simulator *simulator) {
    const struct gw_simulation *simulation = &simulator->simulation;
    simulator->interference.shares = simulation->interference && !simulation->timed_compression &&
                                     has_sharing(simulator->cluster) &&
                                     gw_schedule_compresses(simulator->schedule);
}

/*
 * Least elements at which crowding is looked up. Below, waking ranks for a start takes longer than
 * compressing (four ranks on two processors: 0.3 to 1 ms), and hides the effect of shared memory.
 */
static const double fewest_elements = 1 << 20;

/* Seconds of a compression by one rank alone, and by all ranks of a machine at once. */
struct both {
    double alone_s, together_s;
};

static struct both compress_s(const struct gw_schedule *schedule,
                              const struct gw_operation *operation,
                              const struct gw_kernel_cost *cost, double elements) {
    double share = gw_schedule_share(schedule, operation, cost, elements);
    double alone_s = gw_kernel_s(cost, elements, share);
    return (struct both){.alone_s = alone_s,
                         .together_s = gw_kernel_together_s(cost, elements, share, alone_s)};
}

/*
 * Slowdown of a compression by others on its machine beyond taking turns, as by shared memory: time
 * together over turns times time alone, at least 1. Both are differences between all elements and a
 * quarter of them, which leave out the time to wake ranks for a start. 0: needs no processor.
 */
static double crowding_of(const struct gw_simulator *simulator, size_t index) {
    const struct gw_schedule *schedule = simulator->schedule;
    const struct gw_operation *operation = &schedule->operations[index];
    const struct gw_sharing *sharing = &simulator->cluster->sharing;
    const struct gw_kernel_cost *cost = simulator->kernels[index];
    if (!gw_kernel_shares(cost)) {
        return 0;
    }
    double elements = fmax((double)operation->elements, fewest_elements);
    double turns = gw_sharing_turns(sharing, sharing->together);
    struct both all = compress_s(schedule, operation, cost, elements);
    struct both part = compress_s(schedule, operation, cost, elements / 4);
    double alone_s = all.alone_s - part.alone_s;
    double together_s = all.together_s - part.together_s;
    return alone_s > 0 ? fmax(1, together_s / (turns * alone_s)) : 1;
}

static void find_crowding(struct gw_simulator *simulator) {
    const struct gw_schedule *schedule = simulator->schedule;
    for (size_t i = 0; i < schedule->operation_count; i++) {
        if (schedule->operations[i].kind == GW_COMPRESS) {
            simulator->interference.crowding[i] = crowding_of(simulator, i);
        }
    }
}

/*
 * Whether a compression takes turns, so that overlap factors would count turns twice: they were
 * measured with all of a machine's ranks at once, and slow a waiting compression as if it ran.
 */
static bool takes_turns(const struct gw_simulator *simulator, size_t index) {
    const struct gw_sharing *sharing = &simulator->cluster->sharing;
    return simulator->interference.shares && sharing->ranks > sharing->processors &&
           gw_kernel_shares(simulator->kernels[index]);
}

static enum gw_status open_sharing(struct gw_simulator *simulator, struct gw_result *result,
                                   struct gw_error *error) {
    const struct gw_schedule *schedule = simulator->schedule;
    const struct gw_sharing *sharing = &simulator->cluster->sharing;
    char note[GW_RESULT_NOTE_SIZE];
    size_t count = schedule->operation_count + 1;
    double *crowding = gw_arena_zeros(&simulator->arena, count, sizeof *crowding);
    double *led_s = gw_arena_zeros(&simulator->arena, count, sizeof *led_s);
    GW_TRY(gw_arena_check(&simulator->arena, "opening a simulation", error));
    simulator->interference.crowding = crowding;
    find_crowding(simulator);
    for (size_t i = 0; i < schedule->operation_count; i++) {
        if (gw_led_cost(simulator, &schedule->operations[i]) != NULL) {
            simulator->interference.led_s = led_s;
        }
    }
    size_t workers = schedule->workers < sharing->ranks ? schedule->workers : sharing->ranks;
    if (result != NULL && workers > 1) {
        (void)snprintf(note, sizeof note, "%zu workers of a machine compress on its %zu processors",
                       workers, sharing->processors);
        gw_result_note(result, note);
    }
    return GW_OK;
}

/* ---- classes ------------------------------------------------------------------------------- */

static bool has_factors(const struct gw_overlap *overlap, const char *compute) {
    for (size_t i = 0; i < overlap->pair_count; i++) {
        if (strcmp(overlap->pairs[i].compute, compute) == 0) {
            return true;
        }
    }
    return false;
}

/* Name of forward, backward and update in the cluster's overlap factors; NULL: it has none. */
static const char *name_of_passes(const struct gw_cluster *cluster) {
    const struct gw_overlap *overlap = cluster->overlap;
    return overlap == NULL                             ? NULL
           : has_factors(overlap, GW_OVERLAP_BACKWARD) ? GW_OVERLAP_BACKWARD
           : has_factors(overlap, GW_OVERLAP_TIMED)    ? GW_OVERLAP_TIMED
                                                       : NULL;
}

static bool is_of_passes(const char *compute) {
    return strcmp(compute, GW_OVERLAP_BACKWARD) == 0 || strcmp(compute, GW_OVERLAP_TIMED) == 0;
}

static enum gw_status check_streams(const struct gw_schedule *schedule, struct gw_error *error) {
    for (size_t i = 0; i < schedule->operation_count; i++) {
        const struct gw_operation *operation = &schedule->operations[i];
        if (gw_operation_is_shared(operation) != (operation->stream == GW_STREAM_COMMUNICATION)) {
            return gw_fail(
                error, GW_BAD_INPUT,
                "interference: operation %zu: expected exchanges and updates of a server on "
                "the communication stream and all else on the compute stream, got %s on the %s "
                "stream",
                i, gw_activity_name(operation->kind), gw_stream_name(operation->stream));
        }
    }
    return GW_OK;
}

/* `names` has the classes' names from 1 on. */
static uint32_t class_named(const char *name, const char **names, size_t *class_count) {
    for (uint32_t class = 1; class < *class_count; class ++) {
        if (strcmp(names[class], name) == 0) {
            return class;
        }
    }
    names[*class_count] = name;
    return (uint32_t)(*class_count)++;
}

/* Puts operations into classes: compressors that run and take no turns, each its own; passes only
 * if the cluster has factors of them, or factors are assumed. */
static void sort_operations(struct gw_simulator *simulator, const char **names) {
    struct gw_interference *out = &simulator->interference;
    const struct gw_simulation *simulation = &simulator->simulation;
    const struct gw_schedule *schedule = simulator->schedule;
    bool assumes = simulation->unmeasured.compute > 0;
    const char *passes = name_of_passes(simulator->cluster);
    out->complete = passes != NULL || simulation->timed_passes;
    passes = passes == NULL && assumes ? GW_OVERLAP_BACKWARD : passes;
    passes = simulation->timed_passes ? NULL : passes;
    for (size_t i = 0; i < schedule->operation_count; i++) {
        const struct gw_operation *operation = &schedule->operations[i];
        bool compresses = operation->kind == GW_COMPRESS;
        bool slowed = compresses ? !simulation->timed_compression && !takes_turns(simulator, i)
                                 : passes != NULL && !gw_operation_is_shared(operation);
        if (slowed) {
            out->class_of[i] =
                class_named(compresses ? operation->method : passes, names, &out->class_count);
        }
    }
}

/* ---- factors ------------------------------------------------------------------------------- */

/* The compressor itself if its factors with the collective were measured, else the first one that
 * has some; NULL: none. */
static const char *find_measured(const struct gw_overlap *overlap, const char *collective,
                                 const char *compute) {
    if (gw_overlap_find(overlap, collective, compute) != NULL) {
        return compute;
    }
    for (size_t i = 0; i < overlap->pair_count; i++) {
        const struct gw_overlap_pair *pair = &overlap->pairs[i];
        if (strcmp(pair->collective, collective) == 0 && !is_of_passes(pair->compute)) {
            return pair->compute;
        }
    }
    return NULL;
}

/* The collective itself if any factors with it were measured, else the first collective that has
 * some. */
static const char *find_collective(const struct gw_overlap *overlap, const char *collective) {
    for (size_t i = 0; i < overlap->pair_count; i++) {
        if (strcmp(overlap->pairs[i].collective, collective) == 0) {
            return collective;
        }
    }
    return overlap->pair_count > 0 ? overlap->pairs[0].collective : collective;
}

static void note_substitute(struct gw_result *result, const char *compute, const char *collective,
                            const char *measured_compute, const char *measured_collective) {
    char note[GW_RESULT_NOTE_SIZE];
    if (result != NULL && strcmp(collective, measured_collective) != 0) {
        snprintf(note, sizeof note,
                 "overlap of %s and %s not measured; taken to be as of %s and %s", compute,
                 collective, measured_compute, measured_collective);
        gw_result_warn(result, note);
    } else if (result != NULL && strcmp(compute, measured_compute) != 0) {
        snprintf(note, sizeof note, "overlap of %s and %s not measured; taken to be as of %s",
                 compute, collective, measured_compute);
        gw_result_warn(result, note);
    }
}

static void note_unmeasured(struct gw_result *result, const char *compute, const char *collective) {
    char note[GW_RESULT_NOTE_SIZE];
    if (result != NULL) {
        snprintf(note, sizeof note,
                 "overlap of %s and %s not measured; taken to slow neither (gradweave calibrate "
                 "--only overlap --add measures it)",
                 compute, collective);
        gw_result_warn(result, note);
    }
}

/* The measured pair, or a substitute for it, which `result` notes; NULL: there is none. */
static const struct gw_overlap_pair *find_pair(const struct gw_overlap *overlap,
                                               const char *collective, const char *compute,
                                               struct gw_result *result) {
    if (overlap == NULL) {
        return NULL;
    }
    const char *near = find_collective(overlap, collective);
    const char *measured = is_of_passes(compute) ? compute : find_measured(overlap, near, compute);
    if (measured == NULL) {
        note_unmeasured(result, compute, collective);
        return NULL;
    }
    note_substitute(result, compute, collective, measured, near);
    return gw_overlap_find(overlap, near, measured);
}

/*
 * Raises measured factors below 1 to 1: they are noise. Exchanges beside a trainer's pass keep
 * theirs: they follow each other while its processors are awake, but curves are of single ones.
 */
static struct gw_slowing slowing_of(const struct gw_overlap_pair *pair, double bytes) {
    struct gw_slowing measured = gw_overlap_at(pair, bytes);
    bool beside_pass = strcmp(pair->compute, GW_OVERLAP_BACKWARD) == 0;
    return (struct gw_slowing){.compute = fmax(1, measured.compute),
                               .communication = beside_pass ? measured.communication
                                                            : fmax(1, measured.communication)};
}

/* Finds the pairs of the exchange with all classes; exchanges of no bytes have none. */
static void find_pairs(struct gw_interference *out, const struct gw_operation *exchange,
                       const struct gw_overlap_pair **pairs, const struct gw_cluster *cluster,
                       const char *const *names, struct gw_result *result) {
    for (size_t class = 1; class < out->class_count && exchange->bytes > 0; class ++) {
        pairs[class] = find_pair(cluster->overlap, exchange->method, names[class], result);
        out->complete = out->complete && pairs[class] != NULL;
    }
}

/* Fills slowdowns; operations of class 0 are never slowed. */
static void find_slowing(struct gw_simulator *simulator) {
    struct gw_interference *interference = &simulator->interference;
    const struct gw_schedule *schedule = simulator->schedule;
    const struct gw_slowing none = {.compute = 1, .communication = 1};
    const struct gw_slowing *assumed = &simulator->simulation.unmeasured;
    const struct gw_slowing unmeasured = assumed->compute > 0 ? *assumed : none;
    size_t count = interference->class_count;
    for (size_t i = 0; i < schedule->operation_count * count; i++) {
        const struct gw_overlap_pair *pair = interference->pairs[i];
        const struct gw_operation *operation = &schedule->operations[i / count];
        double bytes = (double)operation->bytes;
        interference->slowing[i] = !(bytes > 0) || i % count == 0 ? none
                                   : pair != NULL                 ? slowing_of(pair, bytes)
                                                                  : unmeasured;
    }
}

void gw_interference_again(struct gw_simulator *simulator) {
    find_slowing(simulator);
    if (simulator->interference.crowding != NULL) {
        find_crowding(simulator);
    }
}

static void note_interference(struct gw_result *result, size_t measured, size_t workers) {
    char note[GW_RESULT_NOTE_SIZE];
    if (result != NULL) {
        gw_result_note(result, "compression and exchanges that run at once slow each other");
    }
    if (result != NULL && measured != workers) {
        snprintf(note, sizeof note, "overlap of %zu workers not measured; taken to be as of %zu",
                 workers, measured);
        gw_result_warn(result, note);
    }
}

/* Finds overlap factors of the schedule's exchanges and classes. */
static enum gw_status open_overlap(struct gw_simulator *simulator, struct gw_result *result,
                                   struct gw_error *error) {
    const struct gw_cluster *cluster = simulator->cluster;
    const struct gw_schedule *schedule = simulator->schedule;
    size_t count = schedule->operation_count + 1;
    struct gw_interference *out = &simulator->interference;
    const char **names = gw_arena_zeros(&simulator->arena, count, sizeof *names);
    GW_TRY(gw_arena_check(&simulator->arena, "opening a simulation", error));
    if (cluster->overlap != NULL || simulator->simulation.unmeasured.compute > 0) {
        sort_operations(simulator, names);
    }
    size_t pairs = count * out->class_count;
    out->slowing = gw_arena_zeros(&simulator->arena, pairs, sizeof *out->slowing);
    out->pairs = gw_arena_zeros(&simulator->arena, pairs, sizeof *out->pairs);
    GW_TRY(gw_arena_check(&simulator->arena, "opening a simulation", error));
    for (size_t i = 0; i < schedule->operation_count; i++) {
        if (schedule->operations[i].kind == GW_EXCHANGE) {
            find_pairs(out, &schedule->operations[i], out->pairs + i * out->class_count, cluster,
                       names, result);
        }
    }
    find_slowing(simulator);
    if (cluster->overlap != NULL && out->class_count > 1) {
        note_interference(result, cluster->overlap->workers, simulator->simulation.workers);
    }
    return GW_OK;
}

enum gw_status gw_interference_open(struct gw_simulator *simulator, struct gw_result *result,
                                    struct gw_error *error) {
    const struct gw_cluster *cluster = simulator->cluster;
    struct gw_interference *out = &simulator->interference;
    bool shares = simulator->interference.shares;
    GW_TRY(check_streams(simulator->schedule, error));
    out->class_count = 1;
    out->class_of = gw_arena_zeros(&simulator->arena, simulator->schedule->operation_count + 1,
                                   sizeof *out->class_of);
    GW_TRY(gw_arena_check(&simulator->arena, "opening a simulation", error));
    GW_TRY(open_overlap(simulator, result, error));
    out->accelerated =
        cluster->overlap == NULL || !has_factors(cluster->overlap, GW_OVERLAP_BACKWARD);
    return shares ? open_sharing(simulator, result, error) : GW_OK;
}
