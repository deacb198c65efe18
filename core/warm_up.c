#include "core/warm_up.h"

#include <math.h>

enum { IN_A_ROW = 6 }; /* more than SIDCo's five iterations between two adaptations */

void gw_warm_up_add(struct gw_warm_up *warm_up, double selected, double asked) {
    double ratio = selected / asked;
    warm_up->close = fabs(ratio - 1) <= warm_up->tolerance ? warm_up->close + 1 : 0;
    warm_up->unchanged = ratio == warm_up->ratio ? warm_up->unchanged + 1 : 0;
    warm_up->ratio = ratio;
}

bool gw_warm_up_reached(const struct gw_warm_up *warm_up) {
    return warm_up->close >= IN_A_ROW;
}

bool gw_warm_up_unchanged(const struct gw_warm_up *warm_up) {
    return warm_up->unchanged >= IN_A_ROW;
}
