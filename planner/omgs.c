/*
 * The OMGS paper's Algorithm 1, with the slips of its listing mended: a merged (empty) tensor costs
 * neither compression nor communication. The decision at l uses only what precedes it in ready
 * order, so the O(L) recomputation after each merge (lines 10-12) reduces to carrying two clocks;
 * sums are added in the listing's order, so that ties fall as they do there.
 */
#include "planner/policies.h"

static enum gw_status mark(const struct gw_planning *planning, uint64_t argument, bool *ends,
                           struct gw_error *error) {
    (void)argument;
    (void)error;
    const struct gw_tensor *tensors = planning->model->tensors;
    size_t last = planning->model->tensor_count - 1;
    double alpha = gw_planning_startup_s(planning);
    double tau_b = planning->model->forward_s; /* the open group's backward begins: eq. (2) */
    double mu_c = 0;                           /* the last closed group's exchange ends */
    double t_b = tensors[last].backward_s;     /* of the open group: eq. (15) */
    uint64_t d = tensors[last].elements;       /* of the open group: eq. (14) */
    size_t count = 1;                          /* of the open group's tensors */
    for (size_t l = last; l > 0; l--) {
        double compressed = tau_b + t_b + gw_planning_compress_s(planning, d);
        double tau_c = compressed > mu_c ? compressed : mu_c; /* eq. (8) */
        double exchange = gw_planning_exchange_s(planning, d, count);
        uint64_t d_next = tensors[l - 1].elements;
        double mu = tau_b + t_b + tensors[l - 1].backward_s;
        bool q3 =
            mu + gw_planning_compress_s(planning, d) + gw_planning_compress_s(planning, d_next) <
            tau_c + exchange;
        bool q5 = tau_c + alpha > mu + gw_planning_compress_s(planning, d + d_next);
        if (q3 && q5) {
            t_b = tensors[l - 1].backward_s + t_b;
            d = d_next + d;
            count++;
            continue;
        }
        ends[l] = true;
        tau_b = compressed;
        mu_c = tau_c + exchange;
        t_b = tensors[l - 1].backward_s;
        d = d_next;
        count = 1;
    }
    return GW_OK;
}

const struct gw_policy gw_policy_omgs = {
    .name = "omgs",
    .title = "greedy: Algorithm 1",
    .paper = "OMGS-SGD (Shi et al., INFOCOM 2020)",
    .mark = mark,
};
