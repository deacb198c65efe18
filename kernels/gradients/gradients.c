#include "kernels/kernels.h"

enum gw_status gw_gradient_fill(float *values, size_t n, double sigma, uint64_t seed,
                                uint64_t stream, struct gw_error *error) {
    struct gw_random *random = NULL;
    GW_TRY(gw_random_open(&random, seed, stream, error));
    for (size_t i = 0; i < n; i++) {
        values[i] = (float)gw_random_normal(random, sigma);
    }
    gw_random_close(random);
    return GW_OK;
}
