#include "kernels/sidco_fit.h"

#include <math.h>

enum { ADAPT_EVERY = 5 }; /* iterations */

static const double first_ratio = 0.25;
static const double tolerance = 0.2; /* of k' / k */

size_t gw_sidco_ratios(double rho, size_t stages, double *ratios) {
    if (stages == 1 || rho >= first_ratio) {
        ratios[0] = rho;
        return 1;
    }
    ratios[0] = first_ratio;
    for (size_t m = 1; m < stages; m++) {
        ratios[m] = pow(rho / first_ratio, 1 / ((double)stages - 1));
    }
    return stages;
}

double gw_sidco_next_threshold(double previous, double mean_excess, double ratio) {
    return previous - mean_excess * log(ratio);
}

static size_t most_stages(double rho) {
    double most = ceil(log2(1 / rho));
    return most < 1 ? 1 : most > GW_SIDCO_STAGES ? GW_SIDCO_STAGES : (size_t)most;
}

void gw_sidco_stages_adapt(struct gw_sidco *state, size_t selected, size_t wanted, double rho) {
    state->sum += (double)selected / (double)wanted;
    state->seen++;
    if (state->seen < ADAPT_EVERY) {
        return;
    }
    double mean = state->sum / ADAPT_EVERY;
    if (mean > 1 + tolerance && state->stages > 1) {
        state->stages--;
    } else if (mean < 1 - tolerance && state->stages < most_stages(rho)) {
        state->stages++;
    }
    state->seen = 0;
    state->sum = 0;
}
