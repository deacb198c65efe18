#include "calibrate/settle.h"

#include <math.h>

enum {
    ROUNDS = 2000, /* ExDyna takes 1,400 to change its threshold a thousandfold */
    IN_A_ROW = 6,  /* more than SIDCo's five iterations between two adaptations */
};
static const double close_to_wanted = 0.03;

enum gw_status gw_settle(const struct gw_compressor *compressor, struct gw_task *task,
                         const struct gw_selecting *selecting, double longest_s,
                         struct gw_error *error) {
    double end_s = gw_clock_now_s() + longest_s;
    size_t close = 0;
    size_t last = 0;
    size_t same = 0;
    for (size_t i = 0; i < ROUNDS && close < IN_A_ROW && same < IN_A_ROW; i++) {
        size_t count = 0;
        GW_TRY(selecting->select(selecting->context, task, &count, error));
        if (compressor->observe != NULL) {
            compressor->observe(task->state, &count);
        }
        task->iteration++;
        double ratio = (double)count / (double)task->k;
        close = fabs(ratio - 1) < close_to_wanted ? close + 1 : 0;
        same = count == last && compressor->observe == NULL ? same + 1 : 0;
        last = count;
        if (gw_clock_now_s() > end_s) {
            break;
        }
    }
    return GW_OK;
}

struct on_cpu {
    const struct gw_compressor *compressor;
    struct gw_selection *selection;
};

static enum gw_status select_on_cpu(void *context, const struct gw_task *task, size_t *count,
                                    struct gw_error *error) {
    const struct on_cpu *cpu = context;
    GW_TRY(cpu->compressor->select(task, cpu->selection, error));
    *count = cpu->selection->count;
    return GW_OK;
}

enum gw_status gw_settle_on_cpu(const struct gw_compressor *compressor, struct gw_task *task,
                                struct gw_selection *selection, double longest_s,
                                struct gw_error *error) {
    struct on_cpu cpu = {.compressor = compressor, .selection = selection};
    const struct gw_selecting selecting = {.select = select_on_cpu, .context = &cpu};
    return gw_settle(compressor, task, &selecting, longest_s, error);
}
