/* How tests of compressors on a GPU compare them with those of the CPU; after cmocka.h. */
#ifndef GW_TESTS_SELECTING_GPU_H
#define GW_TESTS_SELECTING_GPU_H

#include "kernels/gpu.h"
#include "tests/device/device_support.h"
#include "tests/kernels/kernels_support.h"

/* What selects, on either side, from the same gradients. */
struct contest {
    const struct gw_compressor *compressor;
    const struct gw_gpu_kernel *on_gpu;
    struct gw_task task; /* with u and gradient of the host, and its workspace and state */
    void *gpu_state;
    struct gw_device_stream *stream;
    struct gw_gpu_workspace *workspace;
    struct gw_gpu_selection selected;
    struct gw_selection expected;
    float *u, *gradient; /* GPU */
    size_t room;         /* of both, in elements */
};

/* Parts of larger vectors: they begin `offset` elements behind an aligned place. */
static inline void put(struct contest *contest, size_t offset) {
    size_t bytes = contest->task.n * sizeof(float);
    assert_true(contest->task.n + offset <= contest->room);
    assert_int_equal(
        gw_device_copy(contest->stream, contest->u + offset, contest->task.u, bytes, NULL), GW_OK);
    if (contest->task.gradient != NULL) {
        assert_int_equal(gw_device_copy(contest->stream, contest->gradient + offset,
                                        contest->task.gradient, bytes, NULL),
                         GW_OK);
    }
}

/* Whether both sides select the same, and leave the same in u, where `offset` says on the GPU. */
static inline bool same_selection(struct contest *contest, size_t offset) {
    struct gw_task task = contest->task;
    size_t count = 0;
    struct gw_error error = {0};
    put(contest, offset);
    task.u = contest->u + offset;
    task.gradient = task.gradient == NULL ? NULL : contest->gradient + offset;
    task.state = contest->gpu_state;
    assert_int_equal(gw_gpu_selection_reserve(
                         &contest->selected, gw_device_stream_device(contest->stream),
                         gw_gpu_selection_capacity(contest->compressor, task.n, task.k), NULL),
                     GW_OK);
    assert_int_equal(gw_gpu_compress(contest->on_gpu, &task, contest->stream, contest->workspace,
                                     &contest->selected, NULL),
                     GW_OK);
    enum gw_status status =
        gw_gpu_selection_finish(&contest->selected, contest->stream, &count, &error);
    enum gw_status expected =
        gw_compress(contest->compressor, &contest->task, &contest->expected, NULL);
    if (status != expected || (status == GW_OK && count != contest->expected.count)) {
        print_error("status %d of %d, %zu selected of %zu\n", (int)status, (int)expected, count,
                    contest->expected.count);
        return false;
    }
    if (status != GW_OK) {
        return strstr(error.message, "NaN") != NULL;
    }
    struct gw_entry *entries = allocate(count + 1, sizeof *entries);
    float *left = allocate(task.n, sizeof *left);
    copy_from_device(contest->stream, entries, contest->selected.entries, count * sizeof *entries);
    copy_from_device(contest->stream, left, task.u, task.n * sizeof *left);
    size_t bytes = count * sizeof *entries;
    bool same = (bytes == 0 || memcmp(entries, contest->expected.entries, bytes) == 0) &&
                memcmp(left, contest->task.u, task.n * sizeof *left) == 0;
    for (size_t i = 0; i < count && !same; i++) {
        if (memcmp(&entries[i], &contest->expected.entries[i], sizeof *entries) != 0) {
            print_error("entry %zu of %zu: %u %.9g, expected %u %.9g\n", i, count, entries[i].index,
                        (double)entries[i].value, contest->expected.entries[i].index,
                        (double)contest->expected.entries[i].value);
            break;
        }
    }
    free(entries);
    free(left);
    return same;
}

static inline struct contest begin_contest(struct gw_device *device, const char *name,
                                           size_t room) {
    const struct gw_compressor *compressor = gw_compressor_find(name);
    struct contest contest = {.compressor = compressor,
                              .on_gpu = gw_gpu_kernel_of(compressor),
                              .stream = open_stream(device),
                              .room = room};
    assert_non_null(contest.on_gpu);
    contest.task.workspace = allocate(1, sizeof *contest.task.workspace);
    assert_int_equal(gw_gpu_workspace_open(device, &contest.workspace, NULL), GW_OK);
    assert_int_equal(gw_device_allocate(device, room * sizeof(float), (void **)&contest.u, NULL),
                     GW_OK);
    assert_int_equal(
        gw_device_allocate(device, room * sizeof(float), (void **)&contest.gradient, NULL), GW_OK);
    return contest;
}

/* States for the task as it is, of both sides, where the compressor has one. */
static inline void open_states(struct contest *contest) {
    const struct gw_task *task = &contest->task;
    assert_int_equal(gw_state_open(contest->compressor, task, &contest->task.state, NULL), GW_OK);
    assert_int_equal(gw_state_open(contest->compressor, task, &contest->gpu_state, NULL), GW_OK);
}

static inline void close_states(struct contest *contest) {
    gw_state_close(contest->compressor, contest->task.state);
    gw_state_close(contest->compressor, contest->gpu_state);
}

static inline void end_contest(struct contest *contest) {
    struct gw_device *device = gw_device_stream_device(contest->stream);
    gw_gpu_selection_free(&contest->selected);
    gw_gpu_workspace_close(contest->workspace);
    gw_selection_free(&contest->expected);
    gw_workspace_free(contest->task.workspace);
    free(contest->task.workspace);
    gw_device_free(device, contest->u);
    gw_device_free(device, contest->gradient);
    gw_device_stream_close(contest->stream);
}

#endif
