/* The policies: how each of them marks the tensors with which groups end, and their table. */
#include "planner/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- groups ---------------------------------------------------------------------------------- */

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

/* ---- policies with groups of a size ---------------------------------------------------------- */

static void mark_per_tensor(const struct gw_costs *costs, uint64_t argument, bool *ends) {
    (void)argument;
    for (size_t tensor = 0; tensor < costs->model->tensor_count; tensor++) {
        ends[tensor] = true;
    }
}

static void mark_single(const struct gw_costs *costs, uint64_t argument, bool *ends) {
    (void)costs;
    (void)argument;
    ends[0] = true;
}

static void mark_threshold(const struct gw_costs *costs, uint64_t argument, bool *ends) {
    gw_close_at(costs->model, 1, argument, argument, ends);
}

static void mark_bucket(const struct gw_costs *costs, uint64_t argument, bool *ends) {
    gw_close_at(costs->model, costs->model->bytes_per_element, argument, argument, ends);
}

/* torch's default for the first bucket, and for bucket_cap_mb. */
enum { FIRST_BUCKET_BYTES = 1 << 20, BUCKET_CAP_BYTES = 25 << 20 };

static void mark_ddp(const struct gw_costs *costs, uint64_t argument, bool *ends) {
    gw_close_at(costs->model, costs->model->bytes_per_element, FIRST_BUCKET_BYTES, argument, ends);
}

/* ---- MG-WFBP --------------------------------------------------------------------------------- */

/*
 * MG-WFBP's greedy merge (OMGS paper's [16]). Whether tensor l joins the next one depends only on
 * the groups that are already closed, so that the published recomputation of all later start times
 * after each merge comes down to one clock for compute and one for communication.
 */
static void mark_mg_wfbp(const struct gw_costs *costs, uint64_t argument, bool *ends) {
    (void)argument;
    const struct gw_model *model = costs->model;
    double alpha = gw_costs_startup_s(costs);
    double ready = gw_model_ahead_s(model); /* of the tensor at hand */
    double free_at = 0;                     /* end of the last closed group's exchange */
    struct gw_size size = {0};              /* of the open group */
    for (size_t l = model->tensor_count - 1; l > 0; l--) {
        ready += model->tensors[l].backward_s;
        gw_costs_add_tensor(costs, l, &size);
        double compressed = ready + gw_costs_compress_s(costs, size.elements);
        double start = compressed > free_at ? compressed : free_at;
        double duration = gw_costs_exchange_s(costs, &size);
        double next_ready = compressed + model->tensors[l - 1].backward_s;
        if (next_ready < start + duration && next_ready - start < alpha) {
            continue;
        }
        ends[l] = true;
        ready = compressed;
        free_at = start + duration;
        size = (struct gw_size){0};
    }
}

/* ---- OMGS ------------------------------------------------------------------------------------ */

/*
 * The OMGS paper's Algorithm 1, with the slips of its listing mended: a merged (empty) tensor costs
 * neither compression nor communication. The decision at l uses only what precedes it in ready
 * order, so the O(L) recomputation after each merge (lines 10-12) reduces to carrying two clocks;
 * sums are added in the listing's order, so that ties fall as they do there.
 */
static void mark_omgs(const struct gw_costs *costs, uint64_t argument, bool *ends) {
    (void)argument;
    const struct gw_tensor *tensors = costs->model->tensors;
    size_t last = costs->model->tensor_count - 1;
    double alpha = gw_costs_startup_s(costs);
    double tau_b = gw_model_ahead_s(costs->model); /* the open group's backward begins: eq. (2) */
    double mu_c = 0;                               /* the last closed group's exchange ends */
    double t_b = tensors[last].backward_s;         /* of the open group: eq. (15) */
    struct gw_size size = {0};                     /* of the open group */
    for (size_t l = last; l > 0; l--) {
        gw_costs_add_tensor(costs, l, &size);
        uint64_t d = size.elements; /* eq. (14) */
        double compressed = tau_b + t_b + gw_costs_compress_s(costs, d);
        double tau_c = compressed > mu_c ? compressed : mu_c; /* eq. (8) */
        double exchange = gw_costs_exchange_s(costs, &size);
        uint64_t d_next = tensors[l - 1].elements;
        double mu = tau_b + t_b + tensors[l - 1].backward_s;
        bool q3 = mu + gw_costs_compress_s(costs, d) + gw_costs_compress_s(costs, d_next) <
                  tau_c + exchange;
        bool q5 = tau_c + alpha > mu + gw_costs_compress_s(costs, d + d_next);
        if (q3 && q5) {
            t_b = tensors[l - 1].backward_s + t_b;
            continue;
        }
        ends[l] = true;
        tau_b = compressed;
        mu_c = tau_c + exchange;
        t_b = tensors[l - 1].backward_s;
        size = (struct gw_size){0};
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

const struct gw_policy gw_policies[] = {
    {
        .name = "per-tensor",
        .title = "every tensor alone",
        .paper = "WFBP (P-SGD), LAGS-SGD",
        .mark = mark_per_tensor,
    },
    {
        .name = "single",
        .title = "all tensors in one group",
        .paper = "TopK-SGD",
        .mark = mark_single,
    },
    {
        .name = "threshold",
        .title = "close a group as soon as it holds that many elements",
        .paper = "MGS-SGD (OMGS paper, Tables V and VI: 8192)",
        .argument = "elements",
        .default_argument = 8192,
        .mark = mark_threshold,
    },
    {
        .name = "bucket",
        .title = "close a group as soon as its gradients hold that many bytes",
        .paper = "tensor fusion (Horovod: 64 MiB); DDP of today with bucket_cap_mb",
        .argument = "bytes",
        .default_argument = 67108864,
        .mark = mark_bucket,
    },
    {
        .name = "ddp",
        .title = "a bucket of 1 MiB, then of 25 MiB or that many bytes",
        .paper = "PyTorch DDP's default; with bytes, bucket_cap_mb of 2020",
        .argument = "bytes",
        .is_optional = true,
        .default_argument = BUCKET_CAP_BYTES,
        .mark = mark_ddp,
    },
    {
        .name = "mg-wfbp",
        .title = "greedy: merge while the next tensor is ready before a startup has passed",
        .paper = "MG-WFBP (Shi et al., INFOCOM 2019)",
        .mark = mark_mg_wfbp,
    },
    {
        .name = "omgs",
        .title = "greedy: Algorithm 1",
        .paper = "OMGS-SGD (Shi et al., INFOCOM 2020)",
        .mark = mark_omgs,
    },
    {
        .name = "optimal",
        .title = "the fastest of all plans",
        .paper = "gradweave",
    },
    {0},
};

const char *gw_policy_form(const struct gw_policy *policy, char out[GW_POLICY_FORM_SIZE]) {
    bool numbered = policy->argument != NULL;
    (void)snprintf(out, GW_POLICY_FORM_SIZE, "%s%s%s%s%s", policy->name,
                   policy->is_optional ? "[" : "", numbered ? ":" : "",
                   numbered ? policy->argument : "", policy->is_optional ? "]" : "");
    return out;
}

enum gw_status gw_policy_parse(const char *text, const struct gw_policy **policy,
                               uint64_t *argument, struct gw_error *error) {
    size_t length = strcspn(text, ":");
    size_t i = 0;
    while (gw_policies[i].name != NULL && (strncmp(gw_policies[i].name, text, length) != 0 ||
                                           gw_policies[i].name[length] != '\0')) {
        i++;
    }
    *policy = &gw_policies[i];
    if ((*policy)->name == NULL) {
        char names[256] = "";
        for (i = 0; gw_policies[i].name != NULL; i++) {
            char form[GW_POLICY_FORM_SIZE];
            gw_list_name(names, sizeof names, gw_policy_form(&gw_policies[i], form));
        }
        return gw_fail(error, GW_BAD_INPUT, "policy: expected one of %s; got \"%s\"", names, text);
    }
    bool given = text[length] == ':';
    const char *digits = text + length + given;
    if ((*policy)->argument == NULL) {
        return given ? gw_fail(error, GW_BAD_INPUT,
                               "policy: expected %s without a number; got \"%s\"", (*policy)->name,
                               text)
                     : GW_OK;
    }
    if (!given && (*policy)->is_optional) {
        *argument = (*policy)->default_argument;
        return GW_OK;
    }
    double size = 0;
    bool bytes = strcmp((*policy)->argument, "bytes") == 0;
    bool parsed = bytes ? gw_parse_size(digits, &size) : gw_parse_count(digits, argument);
    if (!given || !parsed) {
        return gw_fail(error, GW_BAD_INPUT,
                       "policy: expected %s%s%s:N with N a positive number of %s, such as %s; got "
                       "\"%s\"",
                       (*policy)->is_optional ? (*policy)->name : "",
                       (*policy)->is_optional ? " or " : "", (*policy)->name, (*policy)->argument,
                       bytes ? "25MiB" : "8192 or 8k", text);
    }
    *argument = bytes ? (uint64_t)size : *argument;
    return GW_OK;
}
