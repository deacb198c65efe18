/* How bench says what it measured. */
#ifndef GW_CLI_BENCH_H
#define GW_CLI_BENCH_H

#include "calibrate/bench.h"

/* What was asked for. */
struct gw_bench_request {
    const char *shape;
    size_t elements, threads, repeats;
    double density;
    const struct gw_gpu *gpu; /* NULL: the CPU */
};

void gw_bench_print(const struct gw_bench_request *request, const struct gw_bench_result *result);
enum gw_status gw_bench_print_json(const struct gw_bench_request *request,
                                   const struct gw_bench_result *result, struct gw_error *error);

#endif
