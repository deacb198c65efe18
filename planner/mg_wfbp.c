/*
 * MG-WFBP's greedy merge (OMGS paper's [16]). Whether tensor l joins the next one depends only on
 * the groups that are already closed, so that the published recomputation of all later start times
 * after each merge comes down to one clock for compute and one for communication.
 */
#include "planner/policies.h"

static enum gw_status mark(const struct gw_planning *planning, uint64_t argument, bool *ends,
                           struct gw_error *error) {
    (void)argument;
    (void)error;
    const struct gw_model *model = planning->model;
    double alpha = gw_planning_startup_s(planning);
    double ready = model->forward_s; /* of the tensor at hand */
    double free_at = 0;              /* end of the last closed group's exchange */
    uint64_t elements = 0;           /* of the open group */
    size_t count = 0;                /* of its tensors */
    for (size_t l = model->tensor_count - 1; l > 0; l--) {
        ready += model->tensors[l].backward_s;
        elements += model->tensors[l].elements;
        count++;
        double compressed = ready + gw_planning_compress_s(planning, elements);
        double start = compressed > free_at ? compressed : free_at;
        double duration = gw_planning_exchange_s(planning, elements, count);
        double next_ready = compressed + model->tensors[l - 1].backward_s;
        if (next_ready < start + duration && next_ready - start < alpha) {
            continue;
        }
        ends[l] = true;
        ready = compressed;
        free_at = start + duration;
        elements = 0;
        count = 0;
    }
    return GW_OK;
}

const struct gw_policy gw_policy_mg_wfbp = {
    .name = "mg-wfbp",
    .title = "greedy: merge while the next tensor is ready before a startup has passed",
    .paper = "MG-WFBP (Shi et al., INFOCOM 2019)",
    .mark = mark,
};
