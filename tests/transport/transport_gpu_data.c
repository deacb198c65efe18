#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "tests/transport/transport_gpu_checks.h"

uint64_t gpu_seed;

unsigned char *gpu_bytes_of(uint64_t round, int rank, size_t bytes) {
    unsigned char *data = malloc(bytes + 1);
    uint64_t key = gw_random_mix(gpu_seed + 64 * round + (uint64_t)rank);
    for (size_t i = 0; i < bytes; i++) {
        key = i % 64 == 0 ? gw_random_mix(key + i) : key;
        data[i] = (unsigned char)((key >> i % 57) + i);
    }
    return data;
}

float *gpu_numbers_of(uint64_t round, int rank, size_t count) {
    unsigned char *bytes = gpu_bytes_of(round, rank, count);
    float *numbers = malloc((count + 1) * sizeof *numbers);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = (float)bytes[i] - 100;
    }
    free(bytes);
    return numbers;
}

size_t gpu_size_of(size_t stage, uint64_t round, size_t unit) {
    const size_t sizes[] = {0, unit, stage / unit * unit, (2 * stage / unit + 7) * unit};
    uint64_t random = gw_random_mix(gpu_seed + 31 * round);
    return round < sizeof sizes / sizeof *sizes
               ? sizes[round]
               : random % ((size_t)1 << random / 1024 % 18) / unit * unit;
}

size_t gpu_part_size(const struct gw_communicator *communicator, uint64_t round) {
    return gpu_size_of(GW_STAGE_BYTES / (size_t)communicator->size / 4 * 4, round, 1);
}
