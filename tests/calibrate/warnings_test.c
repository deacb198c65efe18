/* Warnings of a calibration, from given hosts, times and links. */
#include "calibrate/hosts/hosts.h"
#include "tests/test.h"

static struct gw_error error;

static cJSON *source_of(const char *text) {
    cJSON *source = cJSON_Parse(text);
    assert_non_null(source);
    return source;
}

/* How many warnings have all of the three words in them. */
static int count_with(const cJSON *source, const char *a, const char *b, const char *c) {
    int count = 0;
    const cJSON *warning = NULL;
    cJSON_ArrayForEach(warning, cJSON_GetObjectItem(source, "warnings")) {
        const char *text = cJSON_GetStringValue(warning);
        count += strstr(text, a) != NULL && strstr(text, b) != NULL && strstr(text, c) != NULL;
    }
    return count;
}

static int count_all(const cJSON *source) {
    return count_with(source, "", "", "");
}

/* ---- sets of processors -------------------------------------------------------------------- */

TEST(lists_of_processors_read_back) {
    static const char *const lists[] = {"0", "0-3", "0-3,8", "1,3,5-7,8191"};
    struct gw_cpus cpus;
    char text[GW_CPUS_TEXT_SIZE];
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        assert_true(gw_cpus_parse(lists[i], &cpus));
        gw_cpus_print(&cpus, text);
        assert_string_equal(text, lists[i]);
    }
    assert_true(gw_cpus_parse("2,0-1\n", &cpus));
    assert_int_equal(gw_cpus_count(&cpus), 3);
    static const char *const bad[] = {"", "a", "3-1", "0,", "8192", "1-99999999999", "-1", "0 1x,"};
    for (size_t i = 0; i + 1 < sizeof bad / sizeof *bad; i++) {
        assert_false(gw_cpus_parse(bad[i], &cpus));
        assert_int_equal(gw_cpus_count(&cpus), 0);
    }
    for (size_t i = 0; i < GW_MAX_CPUS; i++) {
        cpus.has[i] = i % 2 == 0;
    }
    gw_cpus_print(&cpus, text);
    assert_true(strlen(text) < sizeof text);
    assert_string_equal(text + strlen(text) - 4, ",...");
}

/* ---- nodes --------------------------------------------------------------------------------- */

TEST(warns_of_ranks_that_share_cores) {
    static const struct {
        const char *cores[4];
        const char *said; /* NULL: nothing */
    } cases[] = {{{"0", "1", "2", "3"}, NULL},
                 {{"0-3", "0-3", "0-3", "0-3"}, NULL},
                 {{"0-1", "0-1", "0-1", "0-1"}, "4 ranks share 2 cores (0-1)"},
                 {{"0", "1", "2", "2"}, "2 ranks share 1 core (2)"},
                 {{"0-3", "0-3", "2", "2"}, "2 ranks share 1 core (2)"},
                 {{"0-1", "0", "1", "2"}, "3 ranks share 2 cores (0-1)"},
                 {{"garbage", "", "0", "1"}, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[600];
        const char *const *cores = cases[i].cores;
        (void)snprintf(text, sizeof text,
                       "{\"nodes\":[{\"hosts\":[\"a\",\"b\"]}],\"ranks\":["
                       "{\"rank\":0,\"host\":\"b\",\"cores\":\"0\"},"
                       "{\"rank\":1,\"host\":\"a\",\"cores\":\"%s\"},{\"rank\":2,\"host\":\"a\","
                       "\"cores\":\"%s\"},{\"rank\":3,\"host\":\"a\",\"cores\":\"%s\"},"
                       "{\"rank\":4,\"host\":\"a\",\"cores\":\"%s\"}]}",
                       cores[0], cores[1], cores[2], cores[3]);
        cJSON *source = source_of(text);
        assert_ok(gw_warn_of_nodes(source, &error));
        assert_int_equal(count_all(source), cases[i].said != NULL);
        if (cases[i].said != NULL) {
            assert_int_equal(count_with(source, "a: ", cases[i].said, ""), 1);
        }
        cJSON_Delete(source);
    }
}

TEST(warns_of_governors_and_quotas) {
    cJSON *source = source_of(
        "{\"nodes\":[{\"hosts\":[\"a\",\"b\"],\"frequency\":{\"governor\":\"powersave\"}},"
        "{\"hosts\":[\"c\"],\"frequency\":{\"governor\":\"performance\"}},"
        "{\"hosts\":[\"d\"],\"cpu_quota\":1.5},{\"hosts\":[\"e\"],\"cpu_quota\":2}],\"ranks\":["
        "{\"rank\":0,\"host\":\"d\",\"cores\":\"0-7\"},"
        "{\"rank\":1,\"host\":\"d\",\"cores\":\"0-7\"},{\"rank\":2,\"host\":\"e\",\"cores\":\"0-"
        "7\"},"
        "{\"rank\":3,\"host\":\"e\",\"cores\":\"0-7\"}]}");
    assert_ok(gw_warn_of_nodes(source, &error));
    assert_ok(gw_warn_of_nodes(source, &error)); /* nothing is said twice */
    assert_int_equal(count_all(source), 2);
    assert_int_equal(count_with(source, "a, b: ", "powersave", "performance"), 1);
    assert_int_equal(count_with(source, "d: ", "2 ranks", "1.5 processors"), 1);
    cJSON_Delete(source);
}

TEST(many_hosts_are_counted) {
    cJSON *source = source_of("{\"nodes\":[{\"hosts\":[],\"frequency\":{\"governor\":\"x\"}}]}");
    cJSON *hosts =
        cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(source, "nodes"), 0), "hosts");
    for (int i = 0; i < 500; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "a-rather-long-name-of-a-host-%d", i);
        assert_true(cJSON_AddItemToArray(hosts, cJSON_CreateString(name)));
    }
    assert_ok(gw_warn_of_nodes(source, &error));
    assert_int_equal(count_with(source, "a-rather-long-name-of-a-host-2 and 497 more: ", "", ""),
                     1);
    cJSON_Delete(source);
}

/* ---- sizes --------------------------------------------------------------------------------- */

TEST(warns_of_collectives_that_end_early) {
    cJSON *source = source_of("{}");
    assert_ok(gw_warn_of_sizes("allreduce", 4 << 20, 16 << 20, source, &error));
    assert_int_equal(count_all(source), 0);
    assert_ok(gw_warn_of_sizes("allreduce", 1 << 17, 16 << 20, source, &error));
    assert_int_equal(count_with(source, "allreduce was measured up to 128", " of 16", "--time"), 1);
    cJSON_Delete(source);
}

/* ---- times and links ----------------------------------------------------------------------- */

static const struct gw_host_times usual = {.compute_s = 1e-3,
                                           .compute_low_s = 0.99e-3,
                                           .compute_high_s = 1.01e-3,
                                           .memory_s = 3e-3,
                                           .together_s = 1.05e-3,
                                           .clock_s = 3e-8,
                                           .clock_step_s = 1e-8};
static char names[][GW_HOST_SIZE] = {"a", "b", "c", "d", "e"};

static cJSON *warn_of(const struct gw_host_times *times, size_t count) {
    cJSON *source = source_of("{}");
    assert_ok(gw_warn_of_times(times, names, count, source, &error));
    return source;
}

TEST(does_not_warn_of_equal_hosts) {
    struct gw_host_times times[] = {usual, usual, usual, usual, usual};
    times[1].compute_s *= 1.09;
    times[2].memory_s *= 1.09;
    for (size_t count = 1; count <= 5; count++) {
        cJSON *source = warn_of(times, count);
        assert_int_equal(count_all(source), 0);
        cJSON_Delete(source);
    }
}

TEST(a_slow_host_is_named_with_its_factor) {
    for (size_t count = 2; count <= 5; count++) {
        for (size_t slow = 0; slow < count; slow++) {
            struct gw_host_times times[] = {usual, usual, usual, usual, usual};
            times[slow].compute_s *= 1.3;
            times[slow].memory_s *= 2;
            cJSON *source = warn_of(times, count);
            assert_int_equal(count_all(source), 2);
            assert_int_equal(count_with(source, names[slow], "computes 1.30 times slower", ""), 1);
            assert_int_equal(count_with(source, names[slow], "reads memory 2.00 times", ""), 1);
            cJSON_Delete(source);
        }
    }
}

TEST(warns_of_doubtful_clocks_and_rates) {
    struct gw_host_times times[] = {usual, usual, usual, usual, usual};
    times[0].clock_step_s = -1e-6;
    times[1].clock_step_s = 1e-3;
    times[2].clock_s = 1.2e-6;
    times[3].compute_high_s = 1.2e-3;
    times[4].together_s = 2e-3;
    cJSON *source = warn_of(times, 5);
    assert_int_equal(count_all(source), 5);
    assert_int_equal(count_with(source, "a ", "went back", ""), 1);
    assert_int_equal(count_with(source, "b ", "steps of 1.000 ms", ""), 1);
    assert_int_equal(count_with(source, "c ", "1.200 us to read its clock", ""), 1);
    assert_int_equal(count_with(source, "d ", "990.0 us to 1.200 ms", "turbo"), 1);
    assert_int_equal(count_with(source, "e ", "2.00 times slower while all ranks", ""), 1);
    cJSON_Delete(source);
}

TEST(the_host_that_lost_most_to_others_is_named) {
    double shares[] = {0, 0.019, 0.02, 0, -0.001};
    cJSON *source = source_of("{}");
    assert_ok(gw_warn_of_others(shares, names, 5, source, &error));
    assert_int_equal(count_all(source), 0);
    shares[1] = 0.021;
    shares[3] = 0.09;
    assert_ok(gw_warn_of_others(shares, names, 5, source, &error));
    assert_int_equal(count_all(source), 1);
    assert_int_equal(count_with(source, "took 9% of d's processors", "", ""), 1);
    cJSON_Delete(source);
}

TEST(a_slow_direction_is_named) {
    for (size_t count = 2; count <= 6; count += 2) {
        for (size_t slow = 0; slow < count; slow++) {
            struct gw_link_rate links[6];
            char said[32];
            for (size_t i = 0; i < count; i++) {
                const char *here = names[i / 2];
                const char *next = names[i / 2 + 1];
                links[i] = i % 2 == 0 ? (struct gw_link_rate){here, next, 117e6}
                                      : (struct gw_link_rate){next, here, 110e6};
            }
            links[slow].bytes_per_s = 45e6;
            cJSON *source = source_of("{}");
            assert_ok(gw_warn_of_links(links, count, source, &error));
            (void)snprintf(said, sizeof said, "%s -> %s carries 45 MB/s", links[slow].from,
                           links[slow].to);
            assert_int_equal(count_all(source), 1);
            assert_int_equal(count_with(source, said, "", ""), 1);
            cJSON_Delete(source);
        }
    }
    cJSON *source = source_of("{}");
    assert_ok(gw_warn_of_links(NULL, 0, source, &error));
    assert_int_equal(count_all(source), 0);
    cJSON_Delete(source);
}
