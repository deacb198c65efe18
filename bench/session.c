/* The cost of a trainer's session itself: tensors of 16 elements, a group of one rank whose
 * exchanges are copies. build/release/bench/session */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gradweave.h>

enum { ITERATIONS = 301, MAX_TENSORS = 1000, ELEMENTS = 16 };

static float gradients[MAX_TENSORS][ELEMENTS];

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void require(enum gradweave_status status, const struct gradweave_error *error) {
    if (status != GRADWEAVE_OK) {
        (void)fprintf(stderr, "session: %s\n", error->message);
        exit((int)status);
    }
}

/* ---- a group of one rank ------------------------------------------------------------------- */

static int copy_sum(void *context, const float *send, float *receive, size_t count) {
    (void)context;
    memcpy(receive, send, count * sizeof *send);
    return 0;
}

static int gather_bytes(void *context, const void *send, size_t bytes, void *receive) {
    (void)context;
    memcpy(receive, send, bytes);
    return 0;
}

/* ---- measuring ----------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Seconds of one iteration of nothing but calls. */
static double time_iteration(struct gradweave_session *session, size_t tensors) {
    struct gradweave_error error;
    double started_s = now_s();
    require(gradweave_session_begin(session, &error), &error);
    for (size_t i = tensors; i-- > 0;) {
        require(gradweave_session_ready(session, i, gradients[i], gradients[i], &error), &error);
    }
    require(gradweave_session_wait(session, &error), &error);
    return now_s() - started_s;
}

/* The median of an iteration, all tensors in one group or each in its own. */
static double measure_iterations(struct gradweave_ranks *ranks, const char *algorithm,
                                 size_t tensors, int each) {
    static struct gradweave_group groups[MAX_TENSORS];
    static uint64_t elements[MAX_TENSORS];
    struct gradweave_session *session = NULL;
    struct gradweave_error error;
    double times_s[ITERATIONS];
    for (size_t i = 0; i < tensors; i++) {
        groups[i] = (struct gradweave_group){.first = tensors - 1 - i, .last = tensors - 1 - i};
        elements[i] = ELEMENTS;
        for (size_t j = 0; j < ELEMENTS; j++) {
            gradients[i][j] = (float)(i + j + 1);
        }
    }
    const struct gradweave_training training = {.tensor_count = tensors,
                                                .elements = elements,
                                                .algorithm = algorithm,
                                                .density = 0.1,
                                                .groups = groups,
                                                .group_count = each ? tensors : 0,
                                                .average = 1};
    require(gradweave_session_open(&training, ranks, &session, &error), &error);
    for (size_t i = 0; i < ITERATIONS; i++) {
        times_s[i] = time_iteration(session, tensors);
    }
    gradweave_session_close(session);
    qsort(times_s, ITERATIONS, sizeof *times_s, ascending);
    return times_s[ITERATIONS / 2];
}

int main(void) {
    static const char *const algorithms[] = {"dense", "topk", "randk", "exdyna"};
    static const size_t counts[] = {62, 161, 1000};
    const struct gradweave_process_group group = {
        .size = 1, .allreduce = copy_sum, .allgather = gather_bytes};
    struct gradweave_ranks *ranks = NULL;
    struct gradweave_error error;
    require(gradweave_join_group(&group, &ranks, &error), &error);
    printf("a tensor's share of an iteration of calls alone, medians of %d, in us\n\n", ITERATIONS);
    printf("%-10s %8s %12s %12s\n", "algorithm", "tensors", "one group", "group each");
    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++) {
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            double one_s = measure_iterations(ranks, algorithms[a], counts[c], 0);
            double each_s = measure_iterations(ranks, algorithms[a], counts[c], 1);
            printf("%-10s %8zu %12.2f %12.2f\n", algorithms[a], counts[c],
                   1e6 * one_s / (double)counts[c], 1e6 * each_s / (double)counts[c]);
        }
    }
    gradweave_leave(ranks);
    return 0;
}
