#include "calibrate/settle.h"

#include <math.h>

enum {
    ROUNDS = 2000, /* ExDyna takes 1,400 to change its threshold a thousandfold */
    IN_A_ROW = 6,  /* more than SIDCo's five iterations between two adaptations */
};
static const double close_to_wanted = 0.03;

enum gw_status gw_settle(const struct gw_compressor *compressor, struct gw_task *task,
                         struct gw_selection *selection, double longest_s, struct gw_error *error) {
    double end_s = gw_clock_now_s() + longest_s;
    size_t close = 0;
    size_t last = 0;
    size_t same = 0;
    for (size_t i = 0; i < ROUNDS && close < IN_A_ROW && same < IN_A_ROW; i++) {
        GW_TRY(compressor->select(task, selection, error));
        if (compressor->observe != NULL) {
            compressor->observe(task->state, &selection->count);
        }
        task->iteration++;
        double ratio = (double)selection->count / (double)task->k;
        close = fabs(ratio - 1) < close_to_wanted ? close + 1 : 0;
        same = selection->count == last && compressor->observe == NULL ? same + 1 : 0;
        last = selection->count;
        if (gw_clock_now_s() > end_s) {
            break;
        }
    }
    return GW_OK;
}
