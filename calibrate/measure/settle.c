#include "calibrate/measure/settle.h"

enum { ROUNDS = 2000 }; /* ExDyna takes 1,400 to change its threshold a thousandfold */
static const double close_to_asked = 0.03; /* of the same gradient again and again */

enum gw_status gw_settle(const struct gw_compressor *compressor, struct gw_task *task,
                         const struct gw_selecting *selecting, double longest_s,
                         struct gw_error *error) {
    double end_s = gw_clock_now_s() + longest_s;
    bool learns = gw_kernel_of(compressor)->observe != NULL;
    struct gw_warm_up warm_up = {.tolerance = close_to_asked};
    bool ends = false;
    for (size_t i = 0; i < ROUNDS && !ends; i++) {
        size_t count = 0;
        GW_TRY(selecting->select(selecting->context, task, &count, error));
        gw_state_observe(compressor, task->state, &count);
        task->iteration++;
        gw_warm_up_add(&warm_up, (double)count, (double)task->k);
        ends = gw_warm_up_reached(&warm_up) || (!learns && gw_warm_up_unchanged(&warm_up)) ||
               gw_clock_now_s() > end_s;
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
    GW_TRY(gw_kernel_of(cpu->compressor)->select(task, cpu->selection, error));
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
