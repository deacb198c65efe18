/* Parts and sums that go round a ring, against what each rank can work out by itself. */
#include <mpi.h>

#include "tests/test.h"
#include "transport/mpi/ring.h"

enum { MOST_RANKS = 16, CASES = 60 };

static int rank, ranks;

/* All ranks draw the same: bytes of a part, of none to some segments. */
static size_t draw_bytes(struct gw_random *random) {
    static const size_t edges[] = {0, 4, (56 << 10) - 4, 56 << 10, (56 << 10) + 4, 200000};
    size_t which = (size_t)(gw_random_uniform(random) * 8);
    return which < sizeof edges / sizeof *edges ? edges[which]
                                                : 4 * (size_t)(gw_random_uniform(random) * 40000);
}

static size_t draw_offsets(struct gw_random *random, size_t offsets[MOST_RANKS + 1]) {
    offsets[0] = 0;
    for (int r = 0; r < ranks; r++) {
        offsets[r + 1] = offsets[r] + draw_bytes(random);
    }
    return offsets[ranks];
}

/* Small whole numbers, whose sums have no rounding. */
static float value_of(int of, size_t i) {
    return (float)((size_t)(of + 1) * (i % 977));
}

TEST(parts_of_all_ranks_come_to_all) {
    struct gw_random *random = random_stream(1);
    for (int c = 0; c < CASES; c++) {
        size_t offsets[MOST_RANKS + 1];
        size_t total = draw_offsets(random, offsets) / sizeof(float);
        float *send = calloc(total + 1, sizeof *send);
        float *receive = calloc(total + 1, sizeof *receive);
        receive[total] = 7;
        size_t own = (offsets[rank + 1] - offsets[rank]) / sizeof(float);
        for (size_t i = 0; i < own; i++) {
            send[i] = value_of(rank, i);
        }
        assert_int_equal(gw_mpi_ring_allgather(MPI_COMM_WORLD, send, receive, offsets),
                         MPI_SUCCESS);
        for (int r = 0; r < ranks; r++) {
            for (size_t i = offsets[r] / sizeof(float); i < offsets[r + 1] / sizeof(float); i++) {
                assert_true(receive[i] == value_of(r, i - offsets[r] / sizeof(float)));
            }
        }
        assert_true(receive[total] == 7);
        free(send);
        free(receive);
    }
}

TEST(vectors_are_summed_over_all_ranks) {
    struct gw_random *random = random_stream(2);
    int of_all = ranks * (ranks + 1) / 2;
    for (int c = 0; c < CASES; c++) {
        size_t offsets[MOST_RANKS + 1];
        size_t total = draw_offsets(random, offsets) / sizeof(float);
        float *send = calloc(total + 1, sizeof *send);
        float *receive = calloc(total + 1, sizeof *receive);
        receive[total] = 7;
        for (size_t i = 0; i < total; i++) {
            send[i] = value_of(rank, i);
        }
        assert_int_equal(gw_mpi_ring_allreduce(MPI_COMM_WORLD, send, receive, offsets),
                         MPI_SUCCESS);
        for (size_t i = 0; i < total; i++) {
            assert_true(receive[i] == (float)of_all * (float)(i % 977) &&
                        send[i] == value_of(rank, i));
        }
        assert_true(receive[total] == 7);
        free(send);
        free(receive);
    }
}

/* Also of numbers whose sums depend on their order. */
TEST(all_ranks_have_the_same_bits) {
    struct gw_random *random = open_random_from(seed, 100 + (uint64_t)rank);
    enum { COUNT = 50000 };
    float *send = calloc(COUNT, sizeof *send);
    float *sums = calloc(COUNT, sizeof *sums);
    float *firsts = calloc(COUNT, sizeof *firsts);
    size_t offsets[MOST_RANKS + 1] = {0};
    for (int r = 0; r < ranks; r++) {
        offsets[r + 1] = (size_t)(r + 1) * COUNT / (size_t)ranks * sizeof(float);
    }
    for (size_t i = 0; i < COUNT; i++) {
        send[i] = (float)gw_random_uniform(random);
    }
    assert_int_equal(gw_mpi_ring_allreduce(MPI_COMM_WORLD, send, sums, offsets), MPI_SUCCESS);
    memcpy(firsts, sums, COUNT * sizeof *sums);
    MPI_Bcast(firsts, COUNT, MPI_FLOAT, 0, MPI_COMM_WORLD);
    assert_memory_equal(firsts, sums, COUNT * sizeof *sums);
    gw_random_close(random);
    free(send);
    free(sums);
    free(firsts);
}

TEST(short_parts_do_not_go_round) {
    for (int p = 1; p <= 64; p++) {
        for (size_t part = 1 << 10; part <= 1 << 20; part *= 2) {
            assert_int_equal(gw_mpi_ring_is_worth(p, (size_t)p * part), p > 2 && part >= 16 << 10);
        }
    }
}

static int begin(void **state) {
    (void)state;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return ranks <= MOST_RANKS ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    MPI_Finalize();
    return 0;
}

FIXTURES(begin, end)
