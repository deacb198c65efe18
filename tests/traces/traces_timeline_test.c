/* Timelines: where the time went, traces, spans that cannot be, and results over them. */
#include "tests/test.h"
#include "tests/timeline_order.h"
#include "tests/traces/traces_support.h"

static void add(struct gw_timeline *timeline, size_t lane, enum gw_activity activity,
                double start_s, double end_s) {
    bool communicates = activity == GW_WAIT || activity == GW_EXCHANGE;
    struct gw_span span = {.lane = lane,
                           .stream = communicates ? GW_STREAM_COMMUNICATION : GW_STREAM_COMPUTE,
                           .activity = activity,
                           .group = GW_NO_GROUP,
                           .label = "",
                           .start_s = start_s,
                           .end_s = end_s};
    assert_ok(gw_timeline_add(timeline, span, &error));
}

static double sum_of_parts(const struct gw_breakdown *parts) {
    return parts->forward_s + parts->backward_s + parts->compress_s + parts->exposed_comm_s +
           parts->other_s;
}

/* ---- breakdowns ---------------------------------------------------------------------------- */

/* Worker 0, and three workers from 5 on that behave alike; ten seconds. */
static void make_timeline(struct gw_timeline *out) {
    assert_ok(gw_timeline_create(out, 2, &error));
    out->lanes[1] = (struct gw_lane){.worker = 5, .workers = 3};
    add(out, 1, GW_FORWARD, 0, 1);
    add(out, 0, GW_FORWARD, 0, 2);
    add(out, 1, GW_EXCHANGE, 0.5, 2.5); /* hidden: 0 exposed */
    add(out, 1, GW_BACKWARD, 1, 4);
    add(out, 0, GW_BACKWARD, 2, 3);
    add(out, 0, GW_COMPRESS, 3, 3.5);
    add(out, 0, GW_EXCHANGE, 3.5, 4.5); /* hidden */
    add(out, 1, GW_EXCHANGE, 4, 8);     /* 4 exposed */
    add(out, 0, GW_BACKWARD, 3.5, 5);
    add(out, 0, GW_WAIT, 5, 6);          /* 1 exposed */
    add(out, 0, GW_EXCHANGE, 6, 8);      /* 2 exposed */
    add(out, 0, GW_EXCHANGE, 8.5, 9.25); /* 0.5 exposed: the update begins at 9 */
    add(out, 0, GW_UPDATE, 9, 9.5);
    add(out, 1, GW_UPDATE, 9, 9.5);
    assert_ok(gw_timeline_add_iteration(out, 0, 10, &error));
}

TEST(a_breakdown_by_hand) {
    struct gw_timeline timeline;
    struct gw_measure measure;
    make_timeline(&timeline);
    assert_true(spans_are_ordered(&timeline));
    assert_ok(gw_timeline_measure(&timeline, &measure, &error));
    assert_true(near(measure.iteration_s, 10, 0));
    assert_true(near(measure.breakdown.forward_s, (2 + 3 * 1) / 4.0, 0));
    assert_true(near(measure.breakdown.backward_s, (2.5 + 3 * 3) / 4, 0));
    assert_true(near(measure.breakdown.compress_s, 0.5 / 4, 0));
    assert_true(near(measure.breakdown.exposed_comm_s, (3.5 + 3 * 4) / 4, 0));
    assert_true(near(measure.breakdown.other_s, (1.5 + 3 * 2) / 4, 0));
    assert_true(near(measure.comm_s, (3.75 + 3 * 6) / 4, 0));
    assert_true(near(sum_of_parts(&measure.breakdown), 10, 0));
    gw_timeline_free(&timeline);
}

TEST(measuring_no_iteration_is_refused) {
    struct gw_timeline timeline;
    struct gw_measure measure;
    make_timeline(&timeline);
    gw_timeline_clear(&timeline);
    assert_int_equal(gw_timeline_measure(&timeline, &measure, &error), GW_BAD_INPUT);
    assert_string_equal(error.message, "timeline: expected an iteration to measure, got none");
    gw_timeline_free(&timeline);
}

/* Spans on whole seconds; row[t]: the activity in second t, or -1. */
enum { seconds = 200 };

static void add_random_row(struct gw_timeline *timeline, size_t lane, const enum gw_activity *kinds,
                           size_t kind_count, struct gw_random *random, int row[seconds]) {
    size_t time = gw_random_below(random, 5);
    for (size_t t = 0; t < seconds; t++) {
        row[t] = -1;
    }
    while (time < seconds) {
        size_t end = time + 1 + gw_random_below(random, gw_random_below(random, 2) ? 3 : 40);
        end = end < seconds ? end : seconds;
        enum gw_activity activity = kinds[gw_random_below(random, kind_count)];
        add(timeline, lane, activity, (double)time, (double)end);
        for (size_t t = time; t < end; t++) {
            row[t] = (int)activity;
        }
        time = end + (gw_random_below(random, 2) ? 0 : gw_random_below(random, 20));
    }
}

TEST(breakdowns_of_random_timelines) {
    static const enum gw_activity computing[] = {GW_FORWARD, GW_BACKWARD, GW_COMPRESS, GW_UPDATE};
    static const enum gw_activity communicating[] = {GW_WAIT, GW_EXCHANGE};
    struct gw_random *random = NULL;
    assert_ok(gw_random_open(&random, 1, 1, &error));
    for (int round = 0, rounds = gw_trials(300); round < rounds; round++) {
        struct gw_timeline timeline;
        assert_ok(gw_timeline_create(&timeline, 3, &error));
        double total[GW_ACTIVITY_COUNT] = {0};
        double exposed = 0;
        double workers = 0;
        for (size_t lane = 0; lane < 3; lane++) {
            int compute[seconds];
            int communication[seconds];
            add_random_row(&timeline, lane, communicating, 2, random, communication);
            add_random_row(&timeline, lane, computing, 4, random, compute);
            timeline.lanes[lane].workers = 1 + gw_random_below(random, 5);
            double weight = (double)timeline.lanes[lane].workers;
            workers += weight;
            for (size_t t = 0; t < seconds; t++) {
                exposed += compute[t] < 0 && communication[t] >= 0 ? weight : 0;
                if (compute[t] >= 0) {
                    total[compute[t]] += weight;
                }
                total[GW_EXCHANGE] += communication[t] == GW_EXCHANGE ? weight : 0;
            }
        }
        struct gw_measure measure;
        assert_ok(gw_timeline_add_iteration(&timeline, 0, seconds, &error));
        assert_true(spans_are_ordered(&timeline));
        assert_ok(gw_timeline_measure(&timeline, &measure, &error));
        assert_true(near(measure.breakdown.forward_s, total[GW_FORWARD] / workers, 1e-12));
        assert_true(near(measure.breakdown.backward_s, total[GW_BACKWARD] / workers, 1e-12));
        assert_true(near(measure.breakdown.compress_s, total[GW_COMPRESS] / workers, 1e-12));
        assert_true(near(measure.breakdown.exposed_comm_s, exposed / workers, 1e-12));
        assert_true(near(measure.comm_s, total[GW_EXCHANGE] / workers, 1e-12));
        assert_true(near(sum_of_parts(&measure.breakdown), seconds, 1e-12));
        gw_timeline_free(&timeline);
    }
    gw_random_close(random);
}

/* ---- traces -------------------------------------------------------------------------------- */

static void assert_same_timeline(const struct gw_timeline *a, const struct gw_timeline *b) {
    assert_int_equal(a->lane_count, b->lane_count);
    assert_memory_equal(a->lanes, b->lanes, a->lane_count * sizeof *a->lanes);
    assert_int_equal(a->iteration_count, b->iteration_count);
    assert_memory_equal(a->iterations, b->iterations, a->iteration_count * sizeof *a->iterations);
    assert_int_equal(a->span_count, b->span_count);
    for (size_t i = 0; i < a->span_count; i++) {
        const struct gw_span *one = &a->spans[i];
        const struct gw_span *other = &b->spans[i];
        assert_true(one->lane == other->lane && one->stream == other->stream &&
                    one->activity == other->activity && one->group == other->group);
        assert_true(one->elements == other->elements && one->bytes == other->bytes);
        assert_string_equal(one->label, other->label);
        assert_true(near(other->start_s, one->start_s, 1e-15));
        assert_true(near(other->end_s, one->end_s, 1e-15));
    }
}

static double number_in(const cJSON *object, const char *key) {
    const cJSON *item = cJSON_GetObjectItem(object, key);
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

static const char *text_in(const cJSON *object, const char *key) {
    const cJSON *item = cJSON_GetObjectItem(object, key);
    assert_true(cJSON_IsString(item));
    return item->valuestring;
}

static void assert_event(const cJSON *event, const struct gw_timeline *timeline,
                         const struct gw_span *span) {
    const cJSON *arguments = cJSON_GetObjectItem(event, "args");
    assert_string_equal(text_in(event, "ph"), "X");
    assert_string_equal(text_in(event, "cat"), gw_activity_name(span->activity));
    assert_true(number_in(event, "pid") == (double)timeline->lanes[span->lane].worker);
    assert_true(number_in(event, "tid") == (double)span->stream);
    assert_true(near(number_in(event, "ts"), 1e6 * span->start_s, 1e-15));
    assert_true(near(number_in(event, "dur"), 1e6 * (span->end_s - span->start_s), 1e-15));
    assert_string_equal(text_in(arguments, "label"), span->label);
    assert_true(number_in(arguments, "elements") == (double)span->elements);
    assert_true(number_in(arguments, "bytes") == (double)span->bytes);
    if (span->group == GW_NO_GROUP) {
        assert_null(cJSON_GetObjectItem(arguments, "group"));
    } else {
        assert_true(number_in(arguments, "group") == span->group);
    }
}

static size_t count_events(const cJSON *events, const char *phase) {
    const cJSON *event = NULL;
    size_t count = 0;
    cJSON_ArrayForEach(event, events) {
        count += strcmp(text_in(event, "ph"), phase) == 0;
    }
    return count;
}

static cJSON *write_and_read(const char *folder, const struct gw_timeline *timeline) {
    cJSON *document = NULL;
    const char *path = path_in(folder, "trace.json");
    assert_ok(gw_timeline_write(timeline, path, &error));
    assert_ok(gw_json_read(path, &document, &error));
    return document;
}

/* Viewers of Chrome traces need names of processes and threads, and times in microseconds. */
TEST_IN_FOLDER(a_trace_has_every_span) {
    struct gw_timeline timeline;
    make_timeline(&timeline);
    timeline.spans[1].start_s = 1.0 / 3;
    timeline.spans[6].group = 3;
    timeline.spans[6].label = "allgather";
    struct gw_span more[] = {
        {1, GW_STREAM_COMMUNICATION, GW_WAIT, 0, "all\"gather\"", 7, 80, 10.1, 10.1},
        {0, GW_STREAM_COMPUTE, GW_BACKWARD, 4294967294, "conv\xc3\xa4", 9007199254740991, 0, 11.3,
         12.7},
    };
    for (size_t i = 0; i < 2; i++) {
        assert_ok(gw_timeline_add(&timeline, more[i], &error));
    }
    assert_ok(gw_timeline_add_iteration(&timeline, 10, 12.7, &error));
    cJSON *document = write_and_read(*state, &timeline);
    const cJSON *events = cJSON_GetObjectItem(document, "traceEvents");
    static const char *const expected[] = {
        "{'schema': 'gradweave/timeline@1', 'lanes': [[0, 1], [5, 3]], 'iterations_s': [[0, 10], "
        "[10, 12.7]]}",
        "{'ph': 'M', 'name': 'process_name', 'pid': 5, 'args': {'name': 'worker 5 and 2 like it'}}",
        "{'ph': 'M', 'name': 'thread_name', 'pid': 5, 'tid': 1, 'args': {'name': 'communication'}}",
        "{'ph': 'X', 'name': 'exchange allgather, group 3', 'cat': 'exchange', 'pid': 0, 'tid': 1, "
        "'ts': 3.5e6, 'dur': 1e6, 'args': {'label': 'allgather', 'group': 3, 'elements': 0, "
        "'bytes': 0}}"};
    const cJSON *const found[] = {cJSON_GetObjectItem(document, "otherData"),
                                  cJSON_GetArrayItem(events, 3), cJSON_GetArrayItem(events, 5),
                                  cJSON_GetArrayItem(events, 12)};
    for (size_t i = 0; i < 4; i++) {
        assert_same_json(cJSON_Duplicate(found[i], 1), expected[i]);
    }
    assert_int_equal(count_events(events, "M"), 2 * 3);
    assert_int_equal(count_events(events, "X"), timeline.span_count);
    for (size_t i = 0; i < timeline.span_count; i++) {
        assert_event(cJSON_GetArrayItem(events, (int)(2 * 3 + i)), &timeline, &timeline.spans[i]);
    }
    cJSON_Delete(document);
    gw_timeline_free(&timeline);
}

/* The next event of that phase, and of a counter of that name unless it is NULL. */
static const cJSON *next_event(const cJSON **rest, const char *phase, const char *name) {
    const cJSON *event = *rest;
    while (event != NULL && (strcmp(text_in(event, "ph"), phase) != 0 ||
                             (name != NULL && strcmp(text_in(event, "name"), name) != 0))) {
        event = event->next;
    }
    assert_non_null(event);
    *rest = event->next;
    return event;
}

/* Two groups: the first is compressed from 1 to 2 s, and its exchange outlasts the backward pass.
 */
TEST_IN_FOLDER(a_trace_counts_bytes_and_exposure_and_has_arrows) {
    const struct gw_span spans[] = {
        {0, GW_STREAM_COMMUNICATION, GW_EXCHANGE, 0, "allgather", 0, 100, 2, 4},
        {0, GW_STREAM_COMPUTE, GW_BACKWARD, 0, "a", 0, 0, 0, 1},
        {0, GW_STREAM_COMPUTE, GW_COMPRESS, 0, "topk", 0, 0, 1, 2},
        {0, GW_STREAM_COMMUNICATION, GW_EXCHANGE, 1, "allgather", 0, 50, 4, 6},
        {0, GW_STREAM_COMPUTE, GW_BACKWARD, 1, "b", 0, 0, 2, 3},
    };
    static const double bytes[][2] = {{2, 100}, {4, 0}, {4, 50}, {6, 0}};
    static const double exposed_ms[][2] = {{3, 0}, {4, 1000}, {4, 1000}, {6, 3000}};
    static const double arrows[][2] = {{1.5, 2}, {2.5, 4}};
    struct gw_timeline timeline;
    assert_ok(gw_timeline_create(&timeline, 1, &error));
    for (size_t i = 0; i < 5; i++) {
        assert_ok(gw_timeline_add(&timeline, spans[i], &error));
    }
    cJSON *document = write_and_read(*state, &timeline);
    const cJSON *events = cJSON_GetObjectItem(document, "traceEvents")->child;
    const cJSON *of_bytes = events;
    const cJSON *of_exposed = events;
    const cJSON *of_arrows = events;
    for (size_t i = 0; i < 4; i++) {
        const cJSON *event = next_event(&of_bytes, "C", "bytes in flight");
        assert_true(near(number_in(event, "ts"), 1e6 * bytes[i][0], 1e-12));
        assert_true(number_in(cJSON_GetObjectItem(event, "args"), "bytes") == bytes[i][1]);
        event = next_event(&of_exposed, "C", "exposed communication");
        assert_true(near(number_in(event, "ts"), 1e6 * exposed_ms[i][0], 1e-12));
        assert_true(number_in(cJSON_GetObjectItem(event, "args"), "ms") == exposed_ms[i][1]);
    }
    for (size_t i = 0; i < 2; i++) {
        const cJSON *begin = next_event(&of_arrows, "s", NULL);
        const cJSON *end = next_event(&of_arrows, "f", NULL);
        assert_true(near(number_in(begin, "ts"), 1e6 * arrows[i][0], 1e-12));
        assert_true(near(number_in(end, "ts"), 1e6 * arrows[i][1], 1e-12));
        assert_true(number_in(begin, "id") == number_in(end, "id"));
        assert_true(number_in(begin, "tid") == GW_STREAM_COMPUTE &&
                    number_in(end, "tid") == GW_STREAM_COMMUNICATION);
    }
    events = cJSON_GetObjectItem(document, "traceEvents");
    assert_int_equal(count_events(events, "C"), 8);
    assert_int_equal(count_events(events, "s"), 2);
    cJSON_Delete(document);
    gw_timeline_free(&timeline);
}

/* Operations of random lengths, with pauses between some of them. */
static void add_random_stream(struct gw_timeline *timeline, enum gw_activity activity,
                              struct gw_random *random) {
    double at_s = gw_random_uniform(random);
    for (int i = 0; i < 30; i++) {
        double end_s = at_s + gw_random_uniform(random);
        add(timeline, 0, activity, at_s, end_s);
        at_s = end_s + (gw_random_uniform(random) < 0.5 ? 0 : gw_random_uniform(random));
    }
}

/* The last count of exposed communication is what a breakdown has. */
TEST_IN_FOLDER(counters_of_a_trace_match_the_breakdown) {
    struct gw_random *random = random_stream(7);
    for (int i = 0; i < gw_trials(100); i++) {
        struct gw_timeline timeline;
        struct gw_measure measure;
        const cJSON *event = NULL;
        double last_ms = 0;
        assert_ok(gw_timeline_create(&timeline, 1, &error));
        add_random_stream(&timeline, GW_BACKWARD, random);
        add_random_stream(&timeline, GW_EXCHANGE, random);
        assert_ok(gw_timeline_add_iteration(&timeline, 0, 100, &error));
        assert_ok(gw_timeline_measure(&timeline, &measure, &error));
        cJSON *document = write_and_read(*state, &timeline);
        cJSON_ArrayForEach(event, cJSON_GetObjectItem(document, "traceEvents")) {
            const cJSON *ms = cJSON_GetObjectItem(cJSON_GetObjectItem(event, "args"), "ms");
            last_ms = ms == NULL ? last_ms : fmax(last_ms, ms->valuedouble);
        }
        assert_true(near(last_ms, 1e3 * measure.breakdown.exposed_comm_s, 1e-9));
        cJSON_Delete(document);
        gw_timeline_free(&timeline);
    }
}

TEST(timelines_are_appended_and_cleared) {
    struct gw_timeline one;
    struct gw_timeline two;
    make_timeline(&one);
    make_timeline(&two);
    gw_timeline_clear(&one);
    assert_true(one.span_count == 0 && one.iteration_count == 0 && one.lane_count == 2);
    assert_ok(gw_timeline_append(&one, &two, &error));
    assert_same_timeline(&one, &two);
    for (int i = 0; i < 20; i++) {
        assert_ok(gw_timeline_append(&one, &two, &error));
    }
    assert_true(one.span_count == 21 * two.span_count && one.iteration_count == 21);
    gw_timeline_free(&one);
    gw_timeline_free(&two);
}

/* ---- results ------------------------------------------------------------------------------- */

static void assert_document(const struct gw_result *result, const char *expected) {
    cJSON *document = NULL;
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_result_write(result, &writer);
    assert_ok(gw_writer_finish(&writer, &document, &error));
    assert_same_json(document, expected);
}

TEST(results_are_means) {
    const struct gw_measure measures[] = {{10, {1, 2, 0.5, 4, 2.5}, 5},
                                          {14, {3, 2, 1.5, 6, 1.5}, 9}};
    struct gw_result result = {
        .model = "m", .algorithm = "a", .workers = 4, .groups = 2, .density = 0.5};
    result.bytes_per_worker = 80;
    gw_result_add(&result, &measures[0]);
    assert_document(&result,
                    "{\"schema\": \"gradweave/result@1\", \"model\": \"m\", \"algorithm\": \"a\", "
                    "\"workers\": 4, \"density\": 0.5, \"iterations\": 1, \"groups\": 2, "
                    "\"iteration_s\": 10, \"breakdown\": {\"forward_s\": 1, \"backward_s\": 2, "
                    "\"compress_s\": 0.5, \"exposed_comm_s\": 4, \"other_s\": 2.5}, \"comm_s\": 5, "
                    "\"bytes_per_worker\": 80}");
    gw_result_add(&result, &measures[1]);
    gw_result_note(&result, "n");
    gw_result_note(&result, "");
    gw_result_note(&result, "n");
    assert_document(
        &result, "{\"schema\": \"gradweave/result@1\", \"model\": \"m\", \"algorithm\": \"a\", "
                 "\"workers\": 4, \"density\": 0.5, \"iterations\": 2, \"groups\": 2, "
                 "\"iteration_s\": 12, \"iteration_sd_s\": 2.8284271247461903, \"breakdown\": {"
                 "\"forward_s\": 2, \"backward_s\": 2, \"compress_s\": 1, \"exposed_comm_s\": 5, "
                 "\"other_s\": 2}, \"comm_s\": 7, \"bytes_per_worker\": 80, \"notes\": [\"n\"]}");
    assert_true(near(sum_of_parts(&result.breakdown), result.iteration_s, 1e-15));
    for (char more[] = "o"; more[0] < 'o' + GW_RESULT_MAX_NOTES; more[0]++) {
        gw_result_note(&result, more);
    }
    assert_int_equal(result.note_count, GW_RESULT_MAX_NOTES);
    assert_string_equal(result.notes[3], "q");
    gw_result_uncertain(&result, "push", true, 2);
    gw_result_derive(&result, "push", "push: of 4");
    struct gw_result all = {0};
    gw_result_derive(&all, "push", "push: of 2");
    gw_result_uncertain(&all, "push", true, 1);
    gw_result_warn(&all, "w");
    gw_result_collect(&all, &result);
    gw_result_derive(&all, "push", "push: of 3");
    gw_result_derive(&all, "pull", "pull: of 3");
    assert_int_equal(all.note_count, GW_RESULT_MAX_NOTES);
    assert_string_equal(all.notes[0], "push: of 4");
    assert_string_equal(all.notes[1], "pull: of 3");
    assert_string_equal(all.notes[2], "w");
    assert_true(all.uncertainty_count == 1 && all.uncertainties[0].relative == 2);
}
