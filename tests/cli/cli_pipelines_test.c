/* The time of every pipeline, and of changed choices, at 2, 3, 4, 5 and 8 workers, worked out by
 * hand: a model of two tensors on straight curves. */
#include <math.h>

#include "tests/cli/program_inputs.h"
#include "tests/test.h"

#define TWO "two.json --cluster lines.json"

/* ---- what is simulated --------------------------------------------------------------------- */

/* `head` is ready first, after 5 ms, then `stem`, after 6 ms. */
static const char two_model[] =
    "{'schema': 'gradweave/model@1', 'name': 'two', 'forward_s': 0.003, 'update_s': 0.0005, "
    "'tensors': [{'name': 'stem', 'elements': 1000000, 'shape': [1000000], 'backward_s': 0.001},"
    "{'name': 'head', 'elements': 9000000, 'shape': [1000, 90, 100], 'backward_s': 0.002}]}";

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

/* With groups that overlap, each padded allgather costs its counts once more. */
static double apart_padded(double p) {
    double head = allgather(p, 4) + allgather(p, 0.9 * ENTRIES);
    return fmax(5.91 + head, 7.02) + allgather(p, 4) + allgather(p, 0.1 * ENTRIES) + update;
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

/* Bytes of codes. */
static double half_codes(double n) {
    return 2 * n;
}
static double byte_codes(double n) {
    return n + 4 * ceil(n / 256);
}
static double sign_codes(double n) {
    return ceil(n / 8) + 4;
}

/* An alltoall takes what an allgather of a part of it does; sums of a part are coded by 1e-5 s and
 * 1e-10 s an element. */
static double two_phases(double p, double n, double (*codes)(double n)) {
    double part = ceil(n / p);
    return allgather(p, codes(n) / p) + 0.01 + 1e-7 * part + allgather(p, codes(part));
}

static double two_phases_bytes(double p, double (*codes)(double n)) {
    double head = codes(9e6) + codes(ceil(9e6 / p));
    return head + codes(1e6) + codes(ceil(1e6 / p));
}

static double apart_two_phases(double p, double (*codes)(double n)) {
    return fmax(5.91 + two_phases(p, 9e6, codes), 7.02) + two_phases(p, 1e6, codes) + update;
}

static double halves(double p) {
    return fmax(5.91 + allreduce(p, 0.45 * DENSE), 7.02) + allreduce(p, 0.05 * DENSE) + update;
}

static double halves_in_two_phases(double p) {
    return apart_two_phases(p, half_codes);
}
static double halves_in_two_phases_bytes(double p) {
    return two_phases_bytes(p, half_codes);
}

static double bytes_in_two_phases(double p) {
    return apart_two_phases(p, byte_codes);
}
static double bytes_in_two_phases_bytes(double p) {
    return two_phases_bytes(p, byte_codes);
}

static double onebit(double p) {
    return compressed + two_phases(p, 1e7, sign_codes) + update;
}
static double onebit_bytes(double p) {
    return sign_codes(1e7) + sign_codes(ceil(1e7 / p));
}

enum { LEVELS = 5000000 + 4 * 19532 }; /* 4 bits an element, and a scale for each 512 */
static double qsgd(double p) {
    return compressed + allgather(p, LEVELS) + update;
}

/* Factors of `head` as a matrix of 1,000 x 9,000; `stem` is none. */
static double powersgd_of_rank(double p, double rank) {
    double factors = allreduce(p, 4 * rank * 1000) + allreduce(p, 4 * rank * 9000);
    return fmax(5.91 + factors, 7.02) + allreduce(p, 0.1 * DENSE) + update;
}
static double powersgd(double p) {
    return powersgd_of_rank(p, 4);
}
static double powersgd_of_rank_16(double p) {
    return powersgd_of_rank(p, 16);
}

struct timed {
    const char *name;
    double (*milliseconds)(double p);
    double bytes; /* from each worker; 0: those of ... */
    double (*bytes_of)(double p);
};

static const struct timed pipelines[] = {
    {"dense", dense, DENSE, NULL},
    {"p-sgd", apart_dense, DENSE, NULL},
    {"ddp", apart_dense, DENSE, NULL},
    {"mg-wfbp", apart_dense, DENSE, NULL},
    {"topk", together, ENTRIES, NULL},
    {"lags", apart_sparse, ENTRIES, NULL},
    {"mgs", apart_sparse, ENTRIES, NULL},
    {"omgs", omgs, ENTRIES, NULL},
    {"omgs-optimal", optimal, ENTRIES, NULL},
    {"randk", randk, VALUES, NULL},
    {"dgc", padded, 4 + ENTRIES, NULL},
    {"redsync", padded, 4 + ENTRIES, NULL},
    {"gaussiank", padded, 4 + ENTRIES, NULL},
    {"gtopk", gtopk, ENTRIES, NULL},
    {"sketched-sgd", sketched_sgd, 4 * 5 * 65536 + 3 * VALUES, NULL},
    {"gs-sgd", gs_sgd, 4 * 5 * 65536 + VALUES, NULL},
    {"ps", ps, 2.0 * DENSE, NULL},
    {"layer-drop", layer_drop, 2 * (VALUES + 8), NULL},
    {"hard-threshold", padded, 4 + ENTRIES, NULL},
    {"sidco", padded, 4 + ENTRIES, NULL},
    {"clt-k", clt_k, 2 * VALUES, NULL},
    {"exdyna", exdyna, 0, exdyna_bytes},
    {"bf16", halves, 0.5 * DENSE, NULL},
    {"fp16", halves, 0.5 * DENSE, NULL},
    {"bf16-fp32", halves_in_two_phases, 0, halves_in_two_phases_bytes},
    {"int8", bytes_in_two_phases, 0, bytes_in_two_phases_bytes},
    {"fp8", bytes_in_two_phases, 0, bytes_in_two_phases_bytes},
    {"onebit", onebit, 0, onebit_bytes},
    {"qsgd", qsgd, LEVELS, NULL},
    {"powersgd", powersgd, 4 * 4 * 10000 + 0.1 * DENSE, NULL},
};
enum { PIPELINES = sizeof pipelines / sizeof *pipelines };

/* Pipelines with changed choices. */
static const struct timed changed[] = {
    {"topk --policy optimal", optimal, ENTRIES, NULL},
    {"omgs --policy single", together, ENTRIES, NULL},
    {"topk --compressor gaussiank", padded, 4 + ENTRIES, NULL},
    {"dense --compressor exdyna", exdyna, 0, exdyna_bytes},
    {"exdyna --compressor none", dense, DENSE, NULL},
    {"ps --compressor topk", together, ENTRIES, NULL},
    {"topk --exchange gtopk", gtopk, ENTRIES, NULL},
    {"topk --exchange leader", clt_k, 2 * VALUES, NULL},
    {"dense --exchange server", ps, 2.0 * DENSE, NULL},
    {"gs-sgd --exchange sketch-server", sketched_sgd, 4 * 5 * 65536 + 3 * VALUES, NULL},
    {"gaussiank --policy per-tensor", apart_padded, 8 + ENTRIES, NULL},
    {"powersgd --compressor powersgd:16", powersgd_of_rank_16, 4 * 16 * 10000 + 0.1 * DENSE, NULL},
    {"dgc --policy per-tensor", apart_padded, 8 + ENTRIES, NULL},
    {"redsync --policy per-tensor", apart_padded, 8 + ENTRIES, NULL},
    {"sidco --policy per-tensor", apart_padded, 8 + ENTRIES, NULL},
    {"hard-threshold --policy per-tensor", apart_padded, 8 + ENTRIES, NULL},
};

static void check_time(const char *folder, const struct timed *timed) {
    for (size_t w = 0; w < WORKERS; w++) {
        double p = (double)workers[w];
        double bytes = timed->bytes > 0 ? timed->bytes : timed->bytes_of(p);
        double iteration_s = timed->milliseconds(p) / 1e3;
        cJSON *result =
            ask_result(folder, "gradweave simulate " TWO " --algo %s --workers %zu --json",
                       timed->name, workers[w]);
        if (!near(number_at(result, "iteration_s"), iteration_s, 1e-9) ||
            number_at(result, "bytes_per_worker") != bytes) {
            fail_msg("%s, %zu workers: expected %.9g s and %.0f bytes, got %.9g s and %.0f bytes",
                     timed->name, workers[w], iteration_s, bytes, number_at(result, "iteration_s"),
                     number_at(result, "bytes_per_worker"));
        }
        check_times(result);
    }
}

TEST(takes_what_the_formula_says) {
    for (size_t i = 0; i < PIPELINES; i++) {
        check_time(*state, &pipelines[i]);
    }
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
        check_time(*state, &changed[i]);
    }
}

TEST(every_pipeline_has_a_formula) {
    cJSON *list = ask_document(*state, "gradweave list algorithms --json", "gradweave/list@1");
    const cJSON *algorithm = NULL;
    cJSON_ArrayForEach(algorithm, item_at(list, "algorithms")) {
        size_t i = 0;
        while (i < PIPELINES && strcmp(pipelines[i].name, text_at(algorithm, "name")) != 0) {
            i++;
        }
        if (i == PIPELINES) {
            fail_msg("no line in pipelines[] for %s", text_at(algorithm, "name"));
        }
    }
}

/* ---- plans --------------------------------------------------------------------------------- */

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

/* Simulated messages take about as long as measured curves. Pipelines of compressors that the
 * cluster has no curve of are left out. */
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
    assert_true(compared > PIPELINES / 2);
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

FIXTURES(make_lines, remove_folder)
