/* The time of every pipeline at 2, 3, 4, 5 and 8 workers, worked out by hand: a model of two
 * tensors on straight curves. Changes of their choices. */
#include <math.h>

#include "tests/cli/program_inputs.h"
#include "tests/cli/refusals.h"
#include "tests/test.h"

#define TWO "two.json --cluster lines.json"

/* ---- what is simulated --------------------------------------------------------------------- */

/* `head` is ready first, after 5 ms, then `stem`, after 6 ms. */
static const char two_model[] =
    "{'schema': 'gradweave/model@1', 'name': 'two', 'forward_s': 0.003, 'update_s': 0.0005, "
    "'tensors': [{'name': 'stem', 'elements': 1000000, 'backward_s': 0.001},"
    "{'name': 'head', 'elements': 9000000, 'backward_s': 0.002}]}";

static const size_t workers[] = {2, 3, 4, 5, 8};
enum { WORKERS = 5 };

/* Milliseconds for bytes among P; of gather and scatter among P + 1, the last of which serves. */
static double allreduce(double p, double bytes) {
    return 0.1 * p + 1e-6 * p * bytes;
}
static double allgather(double p, double bytes) {
    return (p - 1) * (0.2 + 1e-6 * bytes);
}
static double broadcast(double p, double bytes) {
    return 0.05 * p + 2e-6 * bytes;
}
static double sendrecv(double bytes) {
    return 0.04 + 1e-6 * bytes;
}
static double push(double p, double bytes) {
    return p * (0.03 + 1e-6 * bytes);
}
static double pull(double p, double bytes) {
    return p * (0.02 + 1e-6 * bytes);
}

/* Entries of a collective: alpha + beta bytes in milliseconds, where P - 1 - server of the ranks
 * count; multiplied out. */
static size_t put_lines(char *text, size_t size, const char *name, size_t server,
                        double (*line)(double p, double bytes)) {
    size_t used = (size_t)snprintf(text, size, "'%s': [", name);
    for (size_t i = 0; i < WORKERS; i++) {
        double p = (double)workers[i];
        double alpha = line(p, 0);
        double beta = (line(p, 1e9) - alpha) / 1e9;
        used += (size_t)snprintf(text + used, size - used,
                                 "%s{'workers': %zu, 'alpha_s': %.17g, 'beta_s_per_byte': %.17g}",
                                 i == 0 ? "" : ",", workers[i] + server, alpha / 1e3, beta / 1e3);
    }
    return used + (size_t)snprintf(text + used, size - used, "],");
}

static void write_lines(const char *folder) {
    char text[8192];
    size_t used = (size_t)snprintf(
        text, sizeof text,
        "{'schema': 'gradweave/cluster@1', 'name': 'lines', 'workers': 4, 'collectives': {");
    used += put_lines(text + used, sizeof text - used, "allreduce", 0, allreduce);
    used += put_lines(text + used, sizeof text - used, "allgather", 0, allgather);
    used += put_lines(text + used, sizeof text - used, "broadcast", 0, broadcast);
    used += put_lines(text + used, sizeof text - used, "gather", 1, push);
    used += put_lines(text + used, sizeof text - used, "scatter", 1, pull);
    (void)snprintf(
        text + used, sizeof text - used, "%s",
        "'sendrecv': [{'workers': 2, 'alpha_s': 4e-5, 'beta_s_per_byte': 1e-9}]},"
        "'compressors': {" EVERY_COMPRESSOR("{'fixed_s': 1e-5, 'per_element_s': 1e-10}") "}}");
    write_text(folder, "lines.json", text);
}

static int make_lines(void **state) {
    if (make_inputs(state) != 0) {
        return -1;
    }
    write_text(*state, "two.json", two_model);
    write_lines(*state);
    return 0;
}

/* ---- by hand ------------------------------------------------------------------------------- */

/* Ten million elements, of which 10,000 are selected: 6 ms of compute, 1.01 ms of compression. */
enum { DENSE = 40000000, ENTRIES = 80000, VALUES = 40000 };
static const double computed = 6, compressed = 7.01, update = 0.5;

/* 0.574 x 10,000 x ln(1000) = 39,651 columns, rounded up to 65,536; 5 rows of 4 bytes each. */
static const double sketch = 4 * 5 * 65536;

static double tree(double p, double bytes) {
    return (p <= 2 ? 1 : p <= 4 ? 2 : 3) * sendrecv(bytes) + broadcast(p, bytes);
}

/* A group each: the head's exchange, which is ready at 5 ms, lasts until after 6 ms. */
static double apart_dense(double p) {
    return 5 + allreduce(p, 0.9 * DENSE) + allreduce(p, 0.1 * DENSE) + update;
}

/* The head is compressed after 0.91 ms, the stem 1 ms and 0.11 ms later. */
static double apart_sparse(double p) {
    return fmax(5.91 + allgather(p, 0.9 * ENTRIES), 7.02) + allgather(p, 0.1 * ENTRIES) + update;
}

static double together(double p) {
    return compressed + allgather(p, ENTRIES) + update;
}

static double padded(double p) {
    return compressed + allgather(p, 4) + allgather(p, ENTRIES) + update;
}

/* A startup is as long as the stem still needs only at 8 workers. */
static double omgs(double p) {
    return p > 5 ? together(p) : apart_sparse(p);
}

static double optimal(double p) {
    return fmin(together(p), apart_sparse(p));
}

static double dense(double p) {
    return computed + allreduce(p, DENSE) + update;
}

static double randk(double p) {
    return compressed + allreduce(p, VALUES) + update;
}

static double gtopk(double p) {
    return compressed + tree(p, ENTRIES) + update;
}

static double gs_sgd(double p) {
    return compressed + tree(p, sketch) + tree(p, VALUES) + update;
}

static double sketched_sgd(double p) {
    return compressed + push(p, sketch) + pull(p, VALUES) + push(p, VALUES) + pull(p, VALUES) +
           update;
}

static double ps(double p) {
    return computed + push(p, DENSE) + update + pull(p, DENSE);
}

/* A number for each of the two layers says whether it comes. */
static double layer_drop(double p) {
    return compressed + push(p, VALUES + 8) + update + pull(p, VALUES + 8);
}

static double clt_k(double p) {
    return compressed + broadcast(p, VALUES) + allreduce(p, VALUES) + update;
}

static double exdyna(double p) {
    return compressed + allgather(p, 4) + allgather(p, 4 * ceil(10000 / p)) + allreduce(p, VALUES) +
           update;
}

static double exdyna_bytes(double p) {
    return 4 + 4 * ceil(10000 / p) + VALUES;
}

static const struct {
    const char *name;
    double (*milliseconds)(double p);
    double bytes; /* from each worker; 0: exdyna's */
} pipelines[] = {
    {"dense", dense, DENSE},
    {"p-sgd", apart_dense, DENSE},
    {"ddp", apart_dense, DENSE},
    {"mg-wfbp", apart_dense, DENSE},
    {"topk", together, ENTRIES},
    {"lags", apart_sparse, ENTRIES},
    {"mgs", apart_sparse, ENTRIES},
    {"omgs", omgs, ENTRIES},
    {"omgs-optimal", optimal, ENTRIES},
    {"randk", randk, VALUES},
    {"dgc", padded, 4 + ENTRIES},
    {"redsync", padded, 4 + ENTRIES},
    {"gaussiank", padded, 4 + ENTRIES},
    {"gtopk", gtopk, ENTRIES},
    {"sketched-sgd", sketched_sgd, 4 * 5 * 65536 + 3 * VALUES},
    {"gs-sgd", gs_sgd, 4 * 5 * 65536 + VALUES},
    {"ps", ps, 2.0 * DENSE},
    {"layer-drop", layer_drop, 2 * (VALUES + 8)},
    {"hard-threshold", padded, 4 + ENTRIES},
    {"sidco", padded, 4 + ENTRIES},
    {"clt-k", clt_k, 2 * VALUES},
    {"exdyna", exdyna, 0},
};
enum { PIPELINES = sizeof pipelines / sizeof *pipelines };

TEST(takes_what_the_formula_says) {
    cJSON *list = ask_document(*state, "gradweave list algorithms --json", "gradweave/list@1");
    assert_int_equal(cJSON_GetArraySize(item_at(list, "algorithms")), PIPELINES);
    for (size_t i = 0; i < PIPELINES; i++) {
        for (size_t w = 0; w < WORKERS; w++) {
            double p = (double)workers[w];
            char command[256];
            (void)snprintf(command, sizeof command,
                           "gradweave simulate " TWO " --algo %s --workers %zu --json",
                           pipelines[i].name, workers[w]);
            cJSON *result = ask_result(*state, command);
            double bytes = pipelines[i].bytes > 0 ? pipelines[i].bytes : exdyna_bytes(p);
            if (!near(number_at(result, "iteration_s"), pipelines[i].milliseconds(p) / 1e3, 1e-9) ||
                number_at(result, "bytes_per_worker") != bytes) {
                print_error("%s: %.0f bytes\n", command, number_at(result, "bytes_per_worker"));
                fail();
            }
            check_times(result);
        }
    }
}

/* ---- choices ------------------------------------------------------------------------------- */

static cJSON *simulate(const char *folder, const char *options) {
    return ask_result(folder, "gradweave simulate " TWO " %s --json", options);
}

static void check_changed(const cJSON *result, const char *name, const char *value) {
    const cJSON *changed = cJSON_GetObjectItem(result, "changed");
    const cJSON *item = cJSON_GetObjectItem(changed, name);
    if (value == NULL) {
        assert_null(item);
    } else {
        assert_string_equal(cJSON_GetStringValue(item), value);
    }
}

TEST(choices_can_be_changed) {
    static const struct {
        const char *options, *algorithm, *policy, *compressor, *exchange;
        double (*milliseconds)(double p);
    } cases[] = {
        {"--algo topk --policy optimal", "topk", "optimal", NULL, NULL, optimal},
        {"--algo omgs --policy single", "omgs", "single", NULL, NULL, together},
        {"--algo topk --policy single", "topk", NULL, NULL, NULL, together},
        {"--algo topk --compressor gaussiank", "topk", NULL, "gaussiank", "allgather-padded",
         padded},
        {"--algo dense --compressor exdyna", "dense", NULL, "exdyna", "union", exdyna},
        {"--algo exdyna --compressor none", "exdyna", NULL, "none", "allreduce", dense},
        {"--algo ps --compressor topk", "ps", NULL, "topk", "allgather", together},
        {"--algo topk --exchange gtopk", "topk", NULL, NULL, "gtopk", gtopk},
        {"--algo topk --exchange leader", "topk", NULL, NULL, "leader", clt_k},
        {"--algo dense --exchange server", "dense", NULL, NULL, "server", ps},
        {"--algo gs-sgd --exchange sketch-server", "gs-sgd", NULL, NULL, "sketch-server",
         sketched_sgd},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cJSON *result = simulate(*state, cases[i].options);
        assert_true(near(number_at(result, "iteration_s"), cases[i].milliseconds(4) / 1e3, 1e-9));
        assert_string_equal(text_at(result, "algorithm"), cases[i].algorithm);
        check_changed(result, "policy", cases[i].policy);
        check_changed(result, "compressor", cases[i].compressor);
        check_changed(result, "exchange", cases[i].exchange);
    }
    check_says(*state,
               "gradweave simulate " TWO " --algo omgs --policy optimal "
               "--compressor gaussiank",
               "omgs with policy optimal, compressor gaussiank, "
               "exchange allgather-padded: 1 group,",
               NULL);
}

TEST(plan_names_an_exchange_that_was_chosen) {
    static const char *const commands[][2] = {
        {"gradweave plan " TWO " --exchange leader", "\ntopk exchange by leader; no plan takes"},
        {"gradweave plan " TWO " --compressor none", "\ndense exchange; no plan takes"}};
    for (size_t i = 0; i < 2; i++) {
        check_says(*state, commands[i][0], commands[i][1], NULL);
    }
}

/* With groups that overlap, the padded allgathers cost their counts once more each. */
TEST(unpublished_combinations_overlap) {
    static const char *const compressors[] = {"gaussiank", "dgc", "redsync", "sidco",
                                              "hard-threshold"};
    for (size_t i = 0; i < sizeof compressors / sizeof *compressors; i++) {
        char options[128];
        (void)snprintf(options, sizeof options, "--algo %s --policy per-tensor", compressors[i]);
        cJSON *result = simulate(*state, options);
        double head = allgather(4, 4) + allgather(4, 0.9 * ENTRIES);
        double stem = allgather(4, 4) + allgather(4, 0.1 * ENTRIES);
        assert_true(near(number_at(result, "iteration_s"),
                         (fmax(5.91 + head, 7.02) + stem + update) / 1e3, 1e-9));
        assert_true(number_at(result, "groups") == 2);
    }
}

/* `plan` with every exchange says what `simulate` then takes, and that none is faster. */
TEST(plans_every_exchange) {
    static const struct {
        const char *compressor, *exchange, *algorithm;
    } pairs[] = {{"gaussiank", "allgather-padded", "gaussiank"},
                 {"dgc", "allgather-padded", "dgc"},
                 {"hard-threshold", "allgather-padded", "hard-threshold"},
                 {"exdyna", "union", "exdyna"},
                 {"topk", "gtopk", "gtopk"},
                 {"topk", "leader", "clt-k"},
                 {"count-sketch", "sketch-server", "sketched-sgd"},
                 {"count-sketch", "sketch-tree", "gs-sgd"},
                 {"layer-drop", "layer-server", "layer-drop"},
                 {"none", "server", "ps"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        cJSON *all =
            ask_for(*state, "gradweave/plans@1",
                    "gradweave plan " TWO " --compressor %s --exchange %s --density 0.01 --json",
                    pairs[i].compressor, pairs[i].exchange);
        const cJSON *plan = NULL;
        double optimal_s = 0;
        cJSON_ArrayForEach(plan, item_at(all, "plans")) {
            cJSON *result = ask_result(
                *state, "gradweave simulate " TWO " --algo %s --policy %s --density 0.01 --json",
                pairs[i].algorithm, text_at(plan, "policy"));
            double iteration_s = number_at(plan, "iteration_s");
            assert_true(near(number_at(result, "iteration_s"), iteration_s, 1e-9));
            assert_true(iteration_s >= number_at(plan, "lower_bound_s"));
            optimal_s = strcmp(text_at(plan, "policy"), "optimal") == 0 ? iteration_s : optimal_s;
        }
        assert_true(near(optimal_s,
                         number_at(cJSON_GetArrayItem(item_at(all, "plans"), 0), "lower_bound_s"),
                         1e-9));
    }
}

/* ---- messages ------------------------------------------------------------------------------ */

/* Simulated messages take about as long as measured curves; the file lacks a newer compressor's. */
TEST(messages_take_about_as_long) {
    size_t compared = 0;
    for (size_t i = 0; i < PIPELINES; i++) {
        struct answer answer =
            ask(*state, "gradweave simulate two.json --cluster box-4x1gbit --algo %s",
                pipelines[i].name);
        if (strstr(answer.err, "compressors.") != NULL &&
            strstr(answer.err, ": expected a measured curve") != NULL) {
            continue;
        }
        double seconds[2];
        for (int messages = 0; messages < 2; messages++) {
            cJSON *result = ask_result(
                *state, "gradweave simulate two.json --cluster box-4x1gbit --algo %s%s --json",
                pipelines[i].name, messages ? " --network messages" : " --no-interference");
            seconds[messages] = number_at(result, "iteration_s");
        }
        assert_true(near(seconds[1], seconds[0], 0.3));
        compared++;
    }
    assert_true(compared >= 22);
}

/* A server's update delays what comes back by just itself, also if workers are slow. */
TEST(servers_update) {
    static const char *const levels[] = {"", " --network messages", " --straggler 0:3",
                                         " --network messages --straggler 0:3",
                                         " --no-interference"};
    char idle[512];
    (void)snprintf(idle, sizeof idle, "%s", two_model);
    (void)memcpy(strstr(idle, "0.0005"), "0.0000", 6);
    write_text(*state, "idle-server.json", idle);
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        double seconds[2];
        for (int updates = 0; updates < 2; updates++) {
            cJSON *result =
                ask_result(*state, "gradweave simulate %s --cluster box-4x1gbit --algo ps%s --json",
                           updates ? "two.json" : "idle-server.json", levels[i]);
            seconds[updates] = number_at(result, "iteration_s");
        }
        assert_true(near(seconds[1] - seconds[0], update / 1e3, 1e-8));
    }
}

/* ---- refusals ------------------------------------------------------------------------------ */

static const struct refusal refused[] = {
    {"simulate " TWO " --algo topk --exchange union",
     "exchange union: expected a compressor whose workers share out the elements, got topk"},
    {"simulate " TWO " --algo topk --exchange allreduce",
     "exchange allreduce: expected no compressor, got topk"},
    {"simulate " TWO " --algo dense --exchange allgather",
     "exchange allgather: expected a compressor that selects exactly the asked number "},
    {"simulate " TWO " --algo gaussiank --exchange gtopk", "exchange gtopk: expected a compressor"},
    {"simulate " TWO " --algo randk --exchange leader", "exchange leader: expected a compressor"},
    {"simulate " TWO " --algo topk --compressor zip", "compressor: expected none or one of"},
    {"simulate " TWO " --algo topk --exchange mail", "exchange: expected one of allreduce, "},
    {"simulate " TWO " --algo topk --policy never", "policy: expected one of"},
    {"plan " TWO " --compressor topk --exchange union", "exchange union: expected a compressor"},
    {"plan " TWO " --exchange server", "exchange server: expected no compressor, got topk"},
    {"plan " TWO " --sweep density=0.1 --exchange union", "exchange union: expected"},
    {"sweep --model two.json --cluster lines.json --exchange union",
     "dense: exchange union: expected"},
    {"simulate two.json --cluster p102-1gbe-16 --algo ps", "push: "},
    {"simulate two.json --cluster p102-1gbe-16 --algo ps",
     "collectives.gather: expected a measured curve, got nothing (gradweave calibrate --only "
     "gather --add measures it)"},
    {"simulate two.json --cluster p102-1gbe-16 --algo gtopk", "collectives.sendrecv: expected"},
    {"list exchange", "expected one of algorithms, compressors, exchanges"},
};

TEST(refuses_what_makes_no_sense) {
    check_refusals(*state, refused, sizeof refused / sizeof *refused, 2);
}

/* One worker has nobody to exchange with, and a server nothing to add up. */
TEST(one_worker_needs_no_server) {
    cJSON *alone = simulate(*state, "--algo gtopk --workers 1");
    assert_true(near(number_at(alone, "iteration_s"), (compressed + update) / 1e3, 1e-9));
    static const struct refusal served[] = {
        {"simulate " TWO " --algo ps --workers 1",
         "exchange server: expected at least 2 workers beside the server, got 1"},
        {"simulate " TWO " --algo topk --compressor layer-drop --workers 1",
         "exchange layer-server: expected at least 2 workers"}};
    check_refusals(*state, served, sizeof served / sizeof *served, 2);
    cJSON *ranking = ask_document(*state, "gradweave compare " TWO " --workers 1 --json",
                                  "gradweave/comparison@1");
    const char *const names[] = {"sketched-sgd", "ps", "layer-drop"};
    assert_int_equal(cJSON_GetArraySize(item_at(ranking, "infeasible")), 3);
    for (int i = 0; i < 3; i++) {
        const cJSON *entry = cJSON_GetArrayItem(item_at(ranking, "infeasible"), i);
        assert_string_equal(text_at(entry, "algorithm"), names[i]);
        assert_non_null(strstr(text_at(entry, "reason"), "expected at least 2 workers"));
    }
}

/* ExDyna's workers share out what is asked for: among those that are given, not the plan's. */
TEST(workers_overrule_those_of_a_plan) {
    check_says(*state,
               "gradweave plan " TWO " --policy per-tensor --compressor "
               "exdyna --workers 2 --out for-two.json",
               NULL);
    cJSON *given = simulate(*state, "--algo exdyna --policy per-tensor --plan for-two.json "
                                    "--workers 8");
    cJSON *made = simulate(*state, "--algo exdyna --policy per-tensor --workers 8");
    assert_true(number_at(given, "bytes_per_worker") == number_at(made, "bytes_per_worker"));
    assert_true(number_at(given, "iteration_s") == number_at(made, "iteration_s"));
}

/* A server's update is exposed, but no exchange. */
TEST(waiting_for_a_server_is_no_exchange) {
    cJSON *ranking = ask_document(*state, "gradweave compare " TWO " --algo dense,ps --json",
                                  "gradweave/comparison@1");
    const cJSON *ps = cJSON_GetArrayItem(item_at(ranking, "results"), 1);
    assert_string_equal(text_at(ps, "algorithm"), "ps");
    assert_true(near(number_at(ps, "breakdown.exposed_comm_s"),
                     number_at(ps, "comm_s") + update / 1e3, 1e-9));
    assert_non_null(
        strstr(text_at(ranking, "why"), " of exchanges and 500.0 us of waiting, dense "));
}

FIXTURES(make_lines, remove_folder)
