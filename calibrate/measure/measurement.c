#include "calibrate/measure/measurement.h"

#include "calibrate/measure/points.h"

enum gw_status gw_summarise_repeats(double *values, size_t count, uint64_t seed, uint64_t stream,
                                    struct gw_summary *out, struct gw_error *error) {
    struct gw_random *random = NULL;
    GW_TRY(gw_random_open(&random, seed, stream, error));
    enum gw_status status =
        gw_summarise_bootstrap(values, count, GW_FEWEST_LONG_REPEATS, random, out, error);
    gw_random_close(random);
    return status;
}
