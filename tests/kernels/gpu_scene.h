/* A GPU beside the host, for tests that do the same on both; skipped where there is no GPU. */
#ifndef GW_TESTS_KERNELS_GPU_SCENE_H
#define GW_TESTS_KERNELS_GPU_SCENE_H

#include "kernels/gpu.h"
#include "tests/device/device_support.h"
#include "tests/kernels/inputs.h"

enum { HOST, GPU, SIDES };

struct scene {
    struct gw_device *device;
    struct gw_device_stream *stream;
    struct gw_memory memories[SIDES];
    struct gw_random *random;
};

static inline struct scene open_scene(uint64_t stream) {
    struct scene scene = {.device = need_device()};
    scene.stream = open_stream(scene.device);
    scene.random = random_stream(stream);
    assert_ok(gw_memory_open(&scene.memories[HOST], NULL, NULL));
    assert_ok(gw_memory_open(&scene.memories[GPU], scene.stream, NULL));
    return scene;
}

static inline void close_scene(struct scene *scene) {
    gw_memory_close(&scene->memories[HOST]);
    gw_memory_close(&scene->memories[GPU]);
    gw_device_stream_close(scene->stream);
    gw_device_close(scene->device);
}

static inline size_t below(const struct scene *scene, size_t limit) {
    return (size_t)gw_random_below(scene->random, limit);
}

/* The same `count` items on both sides, and one behind them that nothing may change. */
enum { TWINS_GUARD = 7 }; /* each byte of it */

struct twins {
    void *at[SIDES];
    size_t count, size;
};

static inline struct twins make_twins(const struct scene *scene, size_t count, size_t size) {
    struct twins twins = {.count = count, .size = size};
    twins.at[HOST] = allocate(count + 1, size);
    memset((char *)twins.at[HOST] + count * size, TWINS_GUARD, size);
    assert_ok(gw_device_allocate(scene->device, (count + 1) * size, &twins.at[GPU], NULL));
    return twins;
}

/* Once the host's are filled. */
static inline void send_up(const struct scene *scene, const struct twins *twins) {
    assert_ok(gw_device_copy(scene->stream, twins->at[GPU], twins->at[HOST],
                             (twins->count + 1) * twins->size, NULL));
    assert_ok(gw_device_stream_finish(scene->stream, NULL));
}

/* To the bit. */
static inline void check_twins(const struct scene *scene, const struct twins *twins,
                               const char *what) {
    size_t bytes = (twins->count + 1) * twins->size;
    char *actual = allocate(bytes, 1);
    const char *expected = twins->at[HOST];
    copy_from_device(scene->stream, actual, twins->at[GPU], bytes);
    for (size_t i = 0; i < bytes; i += twins->size) {
        if (memcmp(actual + i, expected + i, twins->size) != 0) {
            float values[2];
            memcpy(&values[0], actual + i, sizeof values[0]);
            memcpy(&values[1], expected + i, sizeof values[1]);
            fail_msg("%s %zu of %zu: %.9g, expected %.9g", what, i / twins->size, twins->count,
                     (double)values[0], (double)values[1]);
        }
    }
    for (size_t i = bytes - twins->size; i < bytes; i++) {
        assert_int_equal(expected[i], TWINS_GUARD);
    }
    free(actual);
}

static inline void free_twins(const struct scene *scene, const struct twins *twins) {
    free(twins->at[HOST]);
    gw_device_free(scene->device, twins->at[GPU]);
}

#endif
