/*
 * Plans, and clusters' networks and overlap factors, gone wrong, in their bytes and in their JSON:
 * the reader never crashes, refuses in words, and what it accepts makes sense: a plan has every
 * tensor once, in order. GRADWEAVE_SEED repeats a run.
 */
#include "tests/test.h"
#include "traces/traces.h"

enum { most_tensors = 24, most_nodes = 4096, cases = 20000 };

static struct gw_error error;

static size_t below(struct gw_random *random, size_t limit) {
    return (size_t)gw_random_below(random, limit);
}

/* ---- valid documents ----------------------------------------------------------------------- */

static void make_plan(struct gw_random *random, struct gw_plan *out) {
    size_t tensor_count = 1 + below(random, most_tensors);
    assert_ok(gw_plan_create(out, "tiny", "omgs", "topk", 0.001, 16, &error));
    out->iteration_s = 0.25;
    out->lower_bound_s = 0.1;
    out->groups = calloc(tensor_count, sizeof *out->groups);
    assert_non_null(out->groups);
    size_t first = tensor_count - 1;
    for (size_t tensor = tensor_count; tensor-- > 0;) {
        if (tensor == 0 || below(random, 3) == 0) {
            out->groups[out->group_count++] = (struct gw_group){.first = first, .last = tensor};
            first = tensor - 1;
        }
    }
    if (below(random, 2) == 0) {
        assert_ok(gw_plan_note(out, "derived", &error));
    }
}

static cJSON *make_plan_document(struct gw_random *random) {
    struct gw_plan plan;
    cJSON *document = NULL;
    make_plan(random, &plan);
    assert_ok(gw_plan_document(&plan, &document, &error));
    gw_plan_free(&plan);
    return document;
}

static struct gw_loggp draw_loggp(struct gw_random *random) {
    return (struct gw_loggp){.latency_s = 1e-5 * gw_random_uniform(random),
                             .overhead_s = 1e-6 * gw_random_uniform(random),
                             .gap_s = 1e-6 * gw_random_uniform(random),
                             .gap_s_per_byte = 1e-9 * gw_random_uniform(random)};
}

/* Of one node, of one worker on each, or of both: "within" or "between" may be absent. */
static cJSON *make_network_document(struct gw_random *random) {
    struct gw_cluster cluster;
    cJSON *document = NULL;
    size_t per_node = 1 + below(random, 2);
    size_t workers = per_node * (1 + below(random, 3));
    struct gw_network network = {.within = draw_loggp(random),
                                 .nodes_per_switch = below(random, 3),
                                 .oversubscription = 1 + gw_random_uniform(random)};
    network.between = below(random, 2) == 0 ? network.within : draw_loggp(random);
    assert_ok(gw_cluster_create(&cluster, "tiny", workers, per_node, &error));
    assert_ok(gw_cluster_set_network(&cluster, network, &error));
    assert_ok(gw_cluster_document(&cluster, &document, &error));
    gw_cluster_free(&cluster);
    return document;
}

static struct gw_overlap_factor draw_factor(struct gw_random *random) {
    double factor = 1 + gw_random_uniform(random);
    return below(random, 2) == 0 ? (struct gw_overlap_factor){factor, factor, factor}
                                 : (struct gw_overlap_factor){factor, 0.5 * factor, 2 * factor};
}

static cJSON *make_overlap_document(struct gw_random *random) {
    static const char *const collectives[] = {"allgather", "allreduce"};
    static const char *const computes[] = {"topk", "timed"};
    struct gw_cluster cluster;
    cJSON *document = NULL;
    struct gw_overlap *overlap = calloc(1, sizeof *overlap);
    assert_non_null(overlap);
    overlap->workers = 1 + below(random, 8);
    for (size_t count = below(random, 6), bytes = 1; count > 0; count--, bytes *= 2) {
        struct gw_overlap_point point = {(double)bytes, draw_factor(random), draw_factor(random)};
        assert_ok(gw_overlap_add(overlap, collectives[below(random, 2)], computes[below(random, 2)],
                                 point, &error));
    }
    assert_ok(gw_cluster_create(&cluster, "tiny", 2, 1, &error));
    gw_cluster_set_overlap(&cluster, overlap);
    assert_ok(gw_cluster_document(&cluster, &document, &error));
    gw_cluster_free(&cluster);
    return document;
}

/* ---- damage to JSON ------------------------------------------------------------------------ */

struct place {
    cJSON *parent, *node;
};

/* All nodes below the root. */
static size_t find_places(cJSON *parent, struct place *places, size_t count) {
    for (cJSON *node = parent->child; node != NULL && count < most_nodes; node = node->next) {
        places[count++] = (struct place){.parent = parent, .node = node};
        count = find_places(node, places, count);
    }
    return count;
}

static const char *const oddities[] = {"0",
                                       "1",
                                       "2",
                                       "-1",
                                       "-0",
                                       "0.5",
                                       "2.5",
                                       "1e999",
                                       "-1e999",
                                       "1e308",
                                       "1e-400",
                                       "4294967296",
                                       "9007199254740991",
                                       "9007199254740992",
                                       "9007199254740993",
                                       "18446744073709551615",
                                       "18446744073709551616",
                                       "null",
                                       "true",
                                       "false",
                                       "[]",
                                       "{}",
                                       "[[]]",
                                       "[0]",
                                       "[1, 0]",
                                       "[[0]]",
                                       "\"\"",
                                       "\"1\"",
                                       "\"\\u0000\"",
                                       "\"gradweave/plan@1\"",
                                       "\"gradweave/plan@2\""};

static void put_oddity(struct gw_random *random, const struct place *place) {
    const char *text = oddities[below(random, sizeof oddities / sizeof *oddities)];
    cJSON *odd = cJSON_CreateRaw(text);
    assert_true(
        cJSON_IsArray(place->parent)
            ? cJSON_ReplaceItemViaPointer(place->parent, place->node, odd)
            : cJSON_ReplaceItemInObjectCaseSensitive(place->parent, place->node->string, odd));
}

/* A number next to the one that is there. */
static void put_neighbour(struct gw_random *random, const struct place *place) {
    if (cJSON_IsNumber(place->node)) {
        double step = below(random, 2) == 0 ? 1 : -1;
        cJSON_SetNumberValue(place->node, place->node->valuedouble + step);
    }
}

/* Also of an object: its key then stands there twice. */
static void repeat(const struct place *place) {
    cJSON *copy = cJSON_Duplicate(place->node, 1);
    assert_non_null(copy);
    if (cJSON_IsArray(place->parent)) {
        assert_true(cJSON_AddItemToArray(place->parent, copy));
    } else {
        assert_true(cJSON_AddItemToObject(place->parent, place->node->string, copy));
    }
}

static void move_to_the_end(const struct place *place) {
    if (cJSON_IsArray(place->parent)) {
        cJSON *node = cJSON_DetachItemViaPointer(place->parent, place->node);
        assert_true(cJSON_AddItemToArray(place->parent, node));
    }
}

static void damage_document(struct gw_random *random, cJSON *document) {
    static struct place places[most_nodes];
    size_t count = find_places(document, places, 0);
    if (count == 0) {
        return;
    }
    const struct place *place = &places[below(random, count)];
    switch (below(random, 5)) {
    case 0:
        cJSON_Delete(cJSON_DetachItemViaPointer(place->parent, place->node));
        break;
    case 1:
        put_oddity(random, place);
        break;
    case 2:
        put_neighbour(random, place);
        break;
    case 3:
        repeat(place);
        break;
    default:
        move_to_the_end(place);
    }
}

/* ---- damage to bytes ----------------------------------------------------------------------- */

/* Inserts `length` bytes at `at`; the text has room. */
static void insert(char *text, size_t *used, size_t at, const char *bytes, size_t length) {
    memmove(text + at + length, text + at, *used - at + 1);
    memcpy(text + at, bytes, length);
    *used += length;
}

static void damage_bytes(struct gw_random *random, char *text, size_t *used) {
    static const char telling[] = "{}[]\",:0123456789-+.eE \\\n\t\xff";
    size_t at = below(random, *used);
    size_t length = 1 + below(random, *used - at < 16 ? *used - at : 16);
    char bytes[16];
    switch (below(random, 5)) {
    case 0:
        text[at] = (char)(text[at] ^ (1 << below(random, 8)));
        break;
    case 1:
        text[at] = telling[below(random, sizeof telling - 1)];
        break;
    case 2:
        insert(text, used, at, &telling[below(random, sizeof telling - 1)], 1);
        break;
    case 3:
        memcpy(bytes, text + at, length);
        insert(text, used, below(random, *used), bytes, length);
        break;
    default:
        if (length < *used) {
            memmove(text + at, text + at + length, *used - at - length + 1);
            *used -= length;
        }
    }
}

/* ---- what must hold ------------------------------------------------------------------------ */

static size_t accepted;
static const char *subject; /* the document that is judged, for messages */

static void expect(bool truth, const char *what) {
    if (!truth) {
        fail_msg("%s; the error: %s; the document: %s", what, error.message, subject);
    }
}

/* The groups as the document has them, read without the reader. */
static void check_coverage(const struct gw_plan *plan, const char *text) {
    cJSON *document = cJSON_Parse(text);
    const cJSON *groups = cJSON_GetObjectItemCaseSensitive(document, "groups");
    const cJSON *group = NULL;
    const cJSON *tensor = NULL;
    size_t count = 0;
    double next = (double)plan->groups[0].first;
    cJSON_ArrayForEach(group, groups) {
        expect(count < plan->group_count, "more groups in the document");
        expect(cJSON_GetArraySize(group) > 0, "an empty group");
        expect((double)plan->groups[count].first == next, "another first tensor");
        cJSON_ArrayForEach(tensor, group) {
            expect(cJSON_IsNumber(tensor) && tensor->valuedouble == next, "a tensor out of order");
            next--;
        }
        expect((double)plan->groups[count++].last == next + 1, "another last tensor");
    }
    expect(count == plan->group_count, "fewer groups in the document");
    expect(next == -1, "an end before tensor 0");
    cJSON_Delete(document);
}

static void check_fields(const struct gw_plan *plan) {
    expect(plan->model != NULL && plan->policy != NULL && plan->compressor != NULL, "no name");
    expect(plan->density > 0 && plan->density <= 1, "a density");
    expect(plan->workers >= 1, "workers");
    expect(isfinite(plan->iteration_s) && plan->iteration_s >= 0, "an iteration_s");
    expect(isfinite(plan->lower_bound_s) && plan->lower_bound_s >= 0, "a lower_bound_s");
}

/* A model fits exactly if it has as many tensors. */
static void check_model(const struct gw_plan *plan) {
    struct gw_model model = {.name = plan->model};
    for (size_t change = 0; change < 3; change++) {
        model.tensor_count = plan->groups[0].first + change;
        enum gw_status expected = change == 1 ? GW_OK : GW_BAD_INPUT;
        expect(gw_plan_check(plan, &model, "f", &error) == expected, "a model that does not fit");
    }
}

/* What was accepted is accepted again as it is written back. */
static void check_round_trip(const struct gw_plan *plan) {
    cJSON *document = NULL;
    char *text = NULL;
    struct gw_plan again;
    assert_ok(gw_plan_document(plan, &document, &error));
    assert_ok(gw_json_print(document, &text, &error));
    expect(gw_plan_parse(text, strlen(text), "f", &again, &error) == GW_OK, "no second reading");
    expect(again.group_count == plan->group_count &&
               memcmp(again.groups, plan->groups, plan->group_count * sizeof *plan->groups) == 0,
           "other groups at the second reading");
    expect(again.workers == plan->workers && again.density == plan->density &&
               again.iteration_s == plan->iteration_s &&
               again.lower_bound_s == plan->lower_bound_s && again.note_count == plan->note_count,
           "other fields at the second reading");
    gw_plan_free(&again);
    cJSON_Delete(document);
    free(text);
}

static void check_refusal(enum gw_status status) {
    expect(status == GW_BAD_INPUT && error.status == GW_BAD_INPUT, "another status");
    expect(strncmp(error.message, "f: ", 3) == 0, "a message without the file");
    expect(strstr(error.message, "expected ") != NULL, "a message that does not help");
}

static void judge_plan(const char *text, size_t length) {
    static const struct gw_plan nothing;
    struct gw_plan plan;
    subject = text;
    error = (struct gw_error){0};
    enum gw_status status = gw_plan_parse(text, length, "f", &plan, &error);
    if (status == GW_OK) {
        accepted++;
        check_fields(&plan);
        check_coverage(&plan, text);
        check_model(&plan);
        check_round_trip(&plan);
        gw_plan_free(&plan);
        return;
    }
    check_refusal(status);
    expect(memcmp(&plan, &nothing, sizeof plan) == 0, "a refused plan that holds something");
}

static bool makes_sense(const struct gw_loggp *loggp) {
    const double values[] = {loggp->latency_s, loggp->overhead_s, loggp->gap_s,
                             loggp->gap_s_per_byte, loggp->overhead_s_per_byte};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (!isfinite(values[i]) || values[i] < 0) {
            return false;
        }
    }
    return true;
}

static void check_network(const struct gw_network *network, const struct gw_network *again) {
    expect(makes_sense(&network->within) && makes_sense(&network->between), "a parameter");
    expect(isfinite(network->oversubscription) && network->oversubscription >= 1,
           "an oversubscription");
    expect(again != NULL && memcmp(again, network, offsetof(struct gw_network, kept)) == 0,
           "another network at the second reading");
}

static bool slows(const struct gw_overlap_factor *factor) {
    return isfinite(factor->high) && factor->low > 0 && factor->low <= factor->factor &&
           factor->factor <= factor->high;
}

static void check_pair(const struct gw_overlap_pair *pair, const struct gw_overlap *again) {
    const struct gw_overlap_pair *other = gw_overlap_find(again, pair->collective, pair->compute);
    size_t bytes = pair->point_count * sizeof *pair->points;
    expect(pair->point_count > 0, "no size");
    for (size_t i = 0; i < pair->point_count; i++) {
        const struct gw_overlap_point *point = &pair->points[i];
        expect(point->bytes > (i == 0 ? 0 : pair->points[i - 1].bytes), "a size");
        expect(slows(&point->compute) && slows(&point->communication), "a factor");
        struct gw_slowing slowing = gw_overlap_at(pair, 1.5 * point->bytes);
        expect(isfinite(slowing.compute) && slowing.communication > 0, "a factor between");
    }
    expect(other != NULL && other->point_count == pair->point_count &&
               memcmp(other->points, pair->points, bytes) == 0,
           "other factors at the second reading");
}

static void check_overlap(const struct gw_overlap *overlap, const struct gw_overlap *again) {
    expect(again != NULL && again->pair_count == overlap->pair_count &&
               again->workers == overlap->workers,
           "another overlap at the second reading");
    for (size_t i = 0; i < overlap->pair_count; i++) {
        check_pair(&overlap->pairs[i], again);
    }
}

static void check_parts(const struct gw_cluster *cluster) {
    struct gw_cluster again;
    cJSON *document = NULL;
    char *text = NULL;
    assert_ok(gw_cluster_document(cluster, &document, &error));
    assert_ok(gw_json_print(document, &text, &error));
    expect(gw_cluster_parse(text, strlen(text), "f", &again, &error) == GW_OK, "no second reading");
    if (cluster->network != NULL) {
        check_network(cluster->network, again.network);
    }
    if (cluster->overlap != NULL) {
        check_overlap(cluster->overlap, again.overlap);
    }
    gw_cluster_free(&again);
    cJSON_Delete(document);
    free(text);
}

static void judge_cluster(const char *text, size_t length) {
    static const struct gw_cluster nothing;
    struct gw_cluster cluster;
    subject = text;
    error = (struct gw_error){0};
    enum gw_status status = gw_cluster_parse(text, length, "f", &cluster, &error);
    if (status == GW_OK) {
        accepted++;
        check_parts(&cluster);
        gw_cluster_free(&cluster);
        return;
    }
    check_refusal(status);
    expect(memcmp(&cluster, &nothing, sizeof cluster) == 0,
           "a refused cluster that holds something");
}

static const struct subject_kind {
    cJSON *(*make)(struct gw_random *random);
    void (*judge)(const char *text, size_t length);
} plans = {make_plan_document, judge_plan}, networks = {make_network_document, judge_cluster},
  overlaps = {make_overlap_document, judge_cluster};

/* In their JSON, or in their bytes, which are as many or a few more. */
static void damage(const struct subject_kind *kind, bool bytes) {
    struct gw_random *random = random_stream(bytes ? 2 : 1);
    accepted = 0;
    int trials = gw_trials(cases);
    for (int i = 0; i < trials; i++) {
        cJSON *document = kind->make(random);
        char *printed = NULL;
        for (size_t times = bytes ? 0 : below(random, 4); times > 0; times--) {
            damage_document(random, document);
        }
        assert_ok(gw_json_print(document, &printed, &error));
        size_t used = strlen(printed);
        char *text = calloc(used + (bytes ? 64 : 1), 1);
        assert_non_null(text);
        memcpy(text, printed, used);
        for (size_t times = bytes ? below(random, 4) : 0; times > 0; times--) {
            damage_bytes(random, text, &used);
        }
        kind->judge(text, used);
        free(text);
        free(printed);
        cJSON_Delete(document);
    }
    print_message("%zu of %d %s accepted\n", accepted, trials, bytes ? "texts" : "documents");
    assert_in_range(accepted, trials / 4, 3 * trials / 4);
}

TEST(damaged_json_is_refused_or_whole) {
    damage(&plans, false);
}

TEST(damaged_bytes_are_refused_or_whole) {
    damage(&plans, true);
}

TEST(damaged_networks_are_refused_or_make_sense) {
    damage(&networks, false);
    damage(&networks, true);
}

TEST(damaged_overlaps_are_refused_or_make_sense) {
    damage(&overlaps, false);
    damage(&overlaps, true);
}
