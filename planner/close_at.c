#include "planner/policies.h"

void gw_close_at(const struct gw_model *model, uint64_t unit, uint64_t first, uint64_t others,
                 bool *ends) {
    double limit = (double)first;
    double held = 0;
    for (size_t tensor = model->tensor_count; tensor-- > 0;) {
        held += (double)unit * (double)model->tensors[tensor].elements;
        if (held >= limit) {
            ends[tensor] = true;
            held = 0;
            limit = (double)others;
        }
    }
}
