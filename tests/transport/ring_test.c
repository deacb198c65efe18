/* Parts and sums that go round a ring, against what each rank can work out by itself. */
#include <mpi.h>

#include "tests/test.h"
#include "transport/mpi/ring.h"

enum { MOST_RANKS = 16, CASES = 60 };

static int rank, ranks;
static struct gw_mpi_sum floats;

/* All ranks draw the same: bytes of a part, of none to some segments. */
static size_t draw_bytes(struct gw_random *random) {
    static const size_t edges[] = {
        0, 4, GW_MPI_SEGMENT - 4, GW_MPI_SEGMENT, GW_MPI_SEGMENT + 4, 4 * GW_MPI_SEGMENT - 8};
    size_t which = (size_t)(gw_random_uniform(random) * 8);
    return which < sizeof edges / sizeof *edges ? edges[which]
                                                : 4 * (size_t)(gw_random_uniform(random) * 40000);
}

/* The data that ranks exchange, in floats; a 7 follows the received data. */
struct exchange {
    size_t bytes[MOST_RANKS + 1]; /* where the parts begin, and the last one ends */
    size_t total;
    float *send, *receive;
};

static void open_exchange(struct gw_random *random, struct exchange *out) {
    out->bytes[0] = 0;
    for (int r = 0; r < ranks; r++) {
        out->bytes[r + 1] = out->bytes[r] + draw_bytes(random);
    }
    out->total = out->bytes[ranks] / sizeof(float);
    out->send = calloc(out->total + 1, sizeof *out->send);
    out->receive = calloc(out->total + 1, sizeof *out->receive);
    assert_true(out->send != NULL && out->receive != NULL);
    out->receive[out->total] = 7;
}

static void close_exchange(struct exchange *exchange) {
    assert_true(exchange->receive[exchange->total] == 7);
    free(exchange->send);
    free(exchange->receive);
}

/* Small whole numbers, whose sums have no rounding. */
static float value_of(int of, size_t i) {
    return (float)((size_t)(of + 1) * (i % 977));
}

static void fill(struct exchange *exchange, size_t count) {
    for (size_t i = 0; i < count; i++) {
        exchange->send[i] = value_of(rank, i);
    }
}

TEST(parts_of_all_ranks_come_to_all) {
    struct gw_random *random = random_stream(1);
    for (int c = 0; c < CASES; c++) {
        struct exchange exchange;
        open_exchange(random, &exchange);
        fill(&exchange, (exchange.bytes[rank + 1] - exchange.bytes[rank]) / sizeof(float));
        assert_int_equal(
            gw_mpi_ring_allgather(MPI_COMM_WORLD, exchange.send, exchange.receive, exchange.bytes),
            MPI_SUCCESS);
        for (int r = 0; r < ranks; r++) {
            size_t begin = exchange.bytes[r] / sizeof(float);
            for (size_t i = begin; i < exchange.bytes[r + 1] / sizeof(float); i++) {
                assert_true(exchange.receive[i] == value_of(r, i - begin));
            }
        }
        close_exchange(&exchange);
    }
}

TEST(vectors_are_summed_over_all_ranks) {
    struct gw_random *random = random_stream(2);
    int of_all = ranks * (ranks + 1) / 2;
    for (int c = 0; c < CASES; c++) {
        struct exchange exchange;
        open_exchange(random, &exchange);
        fill(&exchange, exchange.total);
        assert_int_equal(gw_mpi_ring_allreduce(MPI_COMM_WORLD, &floats, exchange.send,
                                               exchange.receive, exchange.bytes),
                         MPI_SUCCESS);
        for (size_t i = 0; i < exchange.total; i++) {
            assert_true(exchange.receive[i] == (float)of_all * (float)(i % 977) &&
                        exchange.send[i] == value_of(rank, i));
        }
        close_exchange(&exchange);
    }
}

TEST(parts_for_all_ranks_come_to_them) {
    struct gw_random *random = random_stream(3);
    for (int c = 0; c < CASES; c++) {
        struct exchange exchange;
        open_exchange(random, &exchange);
        size_t count = exchange.total / (size_t)ranks;
        fill(&exchange, exchange.total);
        assert_int_equal(gw_mpi_ring_alltoall(MPI_COMM_WORLD, exchange.send, count * sizeof(float),
                                              exchange.receive),
                         MPI_SUCCESS);
        for (size_t i = 0; i < count * (size_t)ranks; i++) {
            size_t at = (size_t)rank * count + i % count;
            assert_true(exchange.receive[i] == value_of((int)(i / count), at));
        }
        close_exchange(&exchange);
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
    assert_int_equal(gw_mpi_ring_allreduce(MPI_COMM_WORLD, &floats, send, sums, offsets),
                     MPI_SUCCESS);
    memcpy(firsts, sums, COUNT * sizeof *sums);
    MPI_Bcast(firsts, COUNT, MPI_FLOAT, 0, MPI_COMM_WORLD);
    assert_memory_equal(firsts, sums, COUNT * sizeof *sums);
    gw_random_close(random);
    free(send);
    free(sums);
    free(firsts);
}

static int begin(void **state) {
    (void)state;
    MPI_Init(NULL, NULL);
    floats = (struct gw_mpi_sum){MPI_FLOAT, MPI_SUM, sizeof(float)};
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
