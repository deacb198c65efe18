/* Lists and ranges of numbers: what they mean, and that no text does harm. */
#include "core/core.h"
#include "tests/test.h"

static const struct gw_values_rule share = {
    .maximum = 1, .suffix = "", .example = "1e-4:1e-1:log20"};
static const struct gw_values_rule number = {
    .maximum = 0x1p53, .whole = true, .suffix = "", .example = "2:32:log5"};
static const struct gw_values_rule factor = {
    .maximum = 1e6, .suffix = "x", .example = "0.1x:10x:log20"};
static const struct gw_values_rule noise = {
    .maximum = 10, .zero = true, .suffix = "", .example = "0,0.05,0.1"};

static const struct gw_values_unit rates[] = {{"bit", 1}, {"kbit", 1e3}, {"mbit", 1e6}, {NULL, 0}};
static const struct gw_values_rule rate = {
    .maximum = 1e9, .suffix = "", .units = rates, .example = "", .plain = "1kbit:1mbit"};
static const struct gw_values_rule plain = {
    .maximum = 0x1p53, .whole = true, .suffix = "", .example = "2:256:log8", .plain = "2:256"};

/* ---- what they mean ------------------------------------------------------------------------ */

static size_t parse(const char *text, const struct gw_values_rule *rule, double **values) {
    struct gw_error error = {0};
    size_t count = 0;
    if (gw_values_parse(text, rule, values, &count, &error) != GW_OK) {
        print_error("%s: %s\n", text, error.message);
        fail();
    }
    return count;
}

/* Checks against `count` values, to `relative`. */
static void check(const char *text, const struct gw_values_rule *rule, const double *expected,
                  size_t count, double relative) {
    double *values = NULL;
    assert_int_equal(parse(text, rule, &values), count);
    for (size_t i = 0; i < count; i++) {
        assert_true(near(values[i], expected[i], relative));
    }
    free(values);
}

TEST(lists_are_sorted_and_free_of_doubles) {
    const double shares[] = {0.001, 0.01, 1};
    const double numbers[] = {2, 4, 16, 0x1p53};
    const double prefixed[] = {4, 1536, 2000, 0x1p43};
    const double factors[] = {0.5, 1, 2.5, 1e6};
    check("0.01,1,.001,1e-2", &share, shares, 3, 0);
    check("16,2,4,9007199254740992,2,4.0", &number, numbers, 4, 0);
    check("8Ti,2k,1.5Ki,4e0", &number, prefixed, 4, 0);
    check("1x,2.5x,0.5x,1e6x", &factor, factors, 4, 0);
    check("0.01", &share, &shares[1], 1, 0);
}

TEST(ranges_follow_their_closed_forms) {
    double *values = NULL;
    assert_int_equal(parse("1e-4:1e-1:log20", &share, &values), 20);
    for (size_t i = 0; i < 20; i++) {
        assert_true(near(values[i], 1e-4 * pow(1000, (double)i / 19), 1e-14));
    }
    assert_true(values[0] == 1e-4 && values[19] == 1e-1);
    free(values);
    assert_int_equal(parse("0.13x:7.7x:lin20", &factor, &values), 20);
    for (size_t i = 0; i < 20; i++) {
        assert_true(near(values[i], 0.13 + (7.7 - 0.13) * (double)i / 19, 1e-14));
    }
    assert_true(values[0] == 0.13 && values[19] == 7.7);
    free(values);
    assert_int_equal(parse("1e-300:1:log10000", &share, &values), GW_MAX_VALUES);
    assert_true(values[0] == 1e-300 && values[GW_MAX_VALUES - 1] == 1);
    free(values);
}

TEST(zero_is_a_value_where_the_rule_says_so) {
    const double listed[] = {0, 0.05, 10};
    const double steps[] = {0, 0.5, 1};
    check("0.05,0,10", &noise, listed, 3, 0);
    check("0:1:lin3", &noise, steps, 3, 0);
}

/* Ranges hold the values that a person would expect, to the last bit. */
TEST(decades_are_exact) {
    const double shares[] = {1e-4, 1e-3, 1e-2, 1e-1};
    const double factors[] = {0.1, 1, 10};
    check("1e-4:1e-1:log4", &share, shares, 4, 0);
    check("0.1x:10x:log3", &factor, factors, 3, 0);
}

TEST(integers_are_rounded_each_once) {
    const double doubling[] = {2, 4, 8, 16, 32};
    const double few[] = {1, 2, 3};
    double *values = NULL;
    check("2:32:log5", &number, doubling, 5, 0);
    check("1:3:lin9999", &number, few, 3, 0);
    assert_int_equal(parse("2:32:lin31", &number, &values), 31);
    for (size_t i = 0; i < 31; i++) {
        assert_true(values[i] == 2 + (double)i);
    }
    free(values);
}

/* One grammar for all that a user writes: b are bits, B are bytes; i is for powers of 1024. */
TEST(rates_and_sizes_have_the_usual_spellings) {
    static const struct {
        const char *text;
        double bit_per_s; /* 0: no rate's unit */
    } rate_units[] = {{"gbit", 1e9}, {"Gbit/s", 1e9}, {"GBIT", 1e9},   {"gbps", 1e9},
                      {"Gb/s", 1e9}, {"GB/s", 8e9},   {"GBps", 8e9},   {"MiB/s", 8.0 * 1048576},
                      {"bit", 1},    {"kbit", 1e3},   {"Mbit/s", 1e6}, {"tbit", 1e12},
                      {"mb/s", 1e6}, {"B/s", 8},      {"", 0},         {"x", 0},
                      {"G", 1e9},    {"Gb", 1e9},     {"GbE", 1e9},    {"gbe", 1e9},
                      {"GB", 0},     {"xbit", 0},     {"b", 0},        {"be", 0},
                      {"Gi", 0},     {"GBE", 0},      {"gbit/h", 0},   {"gbbit", 0},
                      {"/s", 0},     {"GBit/ss", 0}};
    static const struct {
        const char *text;
        double bytes; /* 0: no size */
    } sizes[] = {{"4096", 4096},
                 {"25MiB", 25 << 20},
                 {"25MB", 25e6},
                 {"64kB", 64e3},
                 {"64KiB", 65536},
                 {"1.5GiB", 1.5 * (1 << 30)},
                 {"1B", 1},
                 {"25mib", 25 << 20},
                 {"", 0},
                 {"0", 0},
                 {"-1", 0},
                 {"25M", 25e6},
                 {"1.5", 0},
                 {"0.1kB", 100},
                 {"1e6", 1e6},
                 {"MiB", 0},
                 {"4096 ", 0},
                 {"99999999TB", 0},
                 {"1.1.1MB", 0},
                 {"5XB", 0},
                 {"64Ki", 65536},
                 {"5BB", 0},
                 {"9007199254740993", 0}};
    for (size_t i = 0; i < sizeof rate_units / sizeof *rate_units; i++) {
        double size = 0;
        bool known = gw_rate_unit(rate_units[i].text, strlen(rate_units[i].text), &size);
        if (known != (rate_units[i].bit_per_s > 0) || (known && size != rate_units[i].bit_per_s)) {
            fail_msg("\"%s\": %g", rate_units[i].text, known ? size : 0);
        }
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        double bytes = 0;
        bool known = gw_parse_size(sizes[i].text, &bytes);
        if (known != (sizes[i].bytes > 0) || (known && bytes != sizes[i].bytes)) {
            fail_msg("\"%s\": %g", sizes[i].text, known ? bytes : 0);
        }
    }
}

TEST(numbers_are_decimal) {
    static const char *const good[] = {"1", "-2.5", "+1e-3", ".5"};
    static const char *const bad[] = {"", " 1", "1 ", "0x1p3", "nan", "inf", "1e999", "1e", "-"};
    double value = 0;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(gw_parse_number(good[i], &value));
        assert_true(value == strtod(good[i], NULL));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(gw_parse_number(bad[i], &value));
    }
}

TEST(units_are_as_large_as_they_are) {
    const double listed[] = {1, 500, 2500, 1e6};
    const double two[] = {2e3, 2.1e3};
    check("1Mbit,2.5kbit,500bit,0.001Kbit", &rate, listed, 4, 1e-15);
    check("2kbit:2.1kbit", &rate, two, 2, 0);
}

/* Five values to a decade, or doubles and steps of whole numbers, with both ends. */
TEST(ranges_may_be_plain_where_the_rule_says_so) {
    const double doubles[] = {3, 6, 12, 20};
    const double steps[] = {2, 5, 8, 9};
    double *values = NULL;
    check("3:20", &plain, doubles, 4, 0);
    check("2:9:3", &plain, steps, 4, 0);
    check("2:9:log2", &plain, (const double[]){2, 9}, 2, 0);
    assert_int_equal(parse("1kbit:100kbit", &rate, &values), 11);
    for (size_t i = 0; i < 11; i++) {
        assert_true(near(values[i], 1e3 * pow(10, (double)i / 5), 1e-14));
    }
    free(values);
}

/* ---- what is refused ----------------------------------------------------------------------- */

TEST(messages_say_what_would_be_right) {
    static const struct {
        const char *text;
        const struct gw_values_rule *rule;
        const char *message;
    } table[] = {
        {"", &share, "expected numbers above 0 and at most 1, such as 1e-4:1e-1:log20, got \"\""},
        {"0.1,,0.2", &share, "got \"\""},
        {"0.1,", &share, "got \"\""},
        {"0", &share, "got \"0\""},
        {"-0.1", &share, "got \"-0.1\""},
        {"1.5", &share, "got \"1.5\""},
        {"nan", &share, "got \"nan\""},
        {"inf", &share, "got \"inf\""},
        {"0x1p-3", &share, "got \"0x1p-3\""},
        {" 0.1", &share, "got \" 0.1\""},
        {"0.1x", &share, "got \"0.1x\""},
        {"1e-400", &share, "got \"1e-400\""},
        {"2.5", &number, "expected positive integers, such as 2:32:log5, got \"2.5\""},
        {"9007199254740994", &number, "got \"9007199254740994\""},
        {"9007199254740993", &number, "got \"9007199254740993\""},
        {"1.2345k", &number, "got \"1.2345k\""},
        {"2kB", &number, "got \"2kB\""},
        {"2:64", &number, "expected FROM:TO:logN or FROM:TO:linN with N from 2 to 10000"},
        {"4:2", &plain, "expected a range that ascends, such as 2:256, got \"4:2\""},
        {"2:8:0", &plain, "expected FROM:TO:logN"},
        {"4:", &plain, "expected FROM:TO:logN"},
        {"1:100000:1", &plain, "expected at most 10000 values, got more"},
        {"1kbit,2", &rate, "got \"2\""},
        {"1kbit,2furlong", &rate, "got \"2furlong\""},
        {"1kbit:1mbit:5", &rate, "expected FROM:TO:logN"},
        {"2", &factor, "expected numbers above 0x and at most 1e+06x, such as 0.1x:10x:log20"},
        {"x", &factor, "got \"x\""},
        {"0.1x:10:log3", &factor, "got \"10\""},
        {"0.1:0.2", &share, "expected FROM:TO:logN or FROM:TO:linN with N from 2 to 10000"},
        {"0.1:0.2:20", &share, "got \"0.1:0.2:20\""},
        {"0.1:0.2:log1", &share, "expected FROM:TO:logN"},
        {"0.1:0.2:log10001", &share, "expected FROM:TO:logN"},
        {"0.1:0.2:log99999999999999999999", &share, "expected FROM:TO:logN"},
        {"0.1:0.2:log-3", &share, "expected FROM:TO:logN"},
        {"0.1:0.2:cos20", &share, "expected FROM:TO:logN"},
        {"0.1:0.2:0.3:log4", &share, "expected FROM:TO:logN"},
        {"0.1:0.2,0.3", &share, "expected FROM:TO:logN"},
        {"0:0.2:lin4", &share, "got \"0\""},
        {"-0", &noise, "expected numbers >= 0 and at most 10, such as 0,0.05,0.1, got \"-0\""},
        {"0:1:log3", &noise, "expected a logarithmic range to begin above 0, got \"0:1:log3\""},
        {"0.2:0.1:lin4", &share, "expected a range that ascends, such as 1e-4:1e-1:log20"},
        {"0.2:0.2:log4", &share, "expected a range that ascends"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct gw_error error = {0};
        double *values = NULL;
        size_t count = 0;
        enum gw_status status =
            gw_values_parse(table[i].text, table[i].rule, &values, &count, &error);
        if (status != GW_BAD_INPUT || strstr(error.message, table[i].message) == NULL) {
            print_error("\"%s\": expected \"%s\", got status %d, \"%s\"\n", table[i].text,
                        table[i].message, (int)status, error.message);
            fail();
        }
        assert_null(values);
    }
}

TEST(lists_have_a_limit) {
    static char text[2 * GW_MAX_VALUES + 2];
    for (size_t i = 0; i < GW_MAX_VALUES; i++) {
        text[2 * i] = (char)('1' + i % 9);
        text[2 * i + 1] = ',';
    }
    struct gw_error error = {0};
    double *values = NULL;
    size_t count = 0;
    text[2 * GW_MAX_VALUES] = '5';
    assert_int_equal(gw_values_parse(text, &number, &values, &count, &error), GW_BAD_INPUT);
    assert_string_equal(error.message, "expected at most 10000 values, got 10001");
    text[2 * GW_MAX_VALUES - 1] = '\0';
    assert_ok(gw_values_parse(text, &number, &values, &count, &error));
    assert_int_equal(count, 9);
    free(values);
}

/* ---- any text ------------------------------------------------------------------------------ */

enum { LONGEST = 200 };

static void draw_text(struct gw_random *random, char text[LONGEST + 1]) {
    static const char likely[] = "0123456789012.eE+-,:xloginf ";
    size_t length = (size_t)gw_random_below(random, gw_random_below(random, 8) == 0 ? LONGEST : 20);
    for (size_t i = 0; i < length; i++) {
        uint64_t any = gw_random_below(random, 32);
        text[i] = any == 0 ? (char)(1 + gw_random_below(random, 255))
                           : likely[gw_random_below(random, sizeof likely - 1)];
    }
    text[length] = '\0';
}

/* Changes, drops or doubles a few characters of a text that is right. */
static void mutate_text(struct gw_random *random, char text[LONGEST + 1]) {
    static const char *const right[] = {
        "1e-4:1e-1:log20", "0.1:0.9:lin20",  "0.001,0.01,0.1", "2:32:lin31",
        "2,4,8,16,32",     "0.1x:10x:log20", "0.5x,1x,2x",     "1:9007199254740992:log10000"};
    static const char likely[] = "0123456789.e-,:xl";
    (void)snprintf(text, LONGEST + 1, "%s",
                   right[gw_random_below(random, sizeof right / sizeof *right)]);
    for (uint64_t changes = gw_random_below(random, 4); changes > 0; changes--) {
        size_t length = strlen(text);
        size_t place = (size_t)gw_random_below(random, length + 1);
        uint64_t kind = gw_random_below(random, 3);
        if (kind == 0 && place < length) {
            text[place] = likely[gw_random_below(random, sizeof likely - 1)];
        } else if (kind == 1 && place < length) {
            memmove(text + place, text + place + 1, length - place);
        } else {
            memmove(text + place + 1, text + place, length - place + 1);
            text[place] = likely[gw_random_below(random, sizeof likely - 1)];
        }
    }
}

/* Good values, or a message: nothing between, whatever the text. */
static bool parses_or_refuses(const char *text, const struct gw_values_rule *rule) {
    struct gw_error error = {0};
    double *values = NULL;
    size_t count = 0;
    enum gw_status status = gw_values_parse(text, rule, &values, &count, &error);
    if (status != GW_OK) {
        return status == GW_BAD_INPUT && strncmp(error.message, "expected ", 9) == 0 &&
               values == NULL;
    }
    bool good = count >= 1 && count <= GW_MAX_VALUES;
    for (size_t i = 0; good && i < count; i++) {
        good = (values[i] > 0 || (rule->zero && i == 0 && !signbit(values[i]))) &&
               values[i] <= rule->maximum && (i == 0 || values[i] > values[i - 1]) &&
               (!rule->whole || floor(values[i]) == values[i]);
    }
    free(values);
    return good;
}

TEST(mutated_text_is_answered_or_refused) {
    const struct gw_values_rule *const rules[] = {&share, &number, &factor, &noise, &rate, &plain};
    struct gw_random *random = random_stream(0);
    for (size_t i = 0, trials = (size_t)gw_trials(60000); i < trials; i++) {
        char text[LONGEST + 1];
        if (i % 2 == 0) {
            draw_text(random, text);
        } else {
            mutate_text(random, text);
        }
        if (!parses_or_refuses(text, rules[i / 2 % 4])) {
            print_error("case %zu: \"%s\"\n", i, text);
            fail();
        }
    }
}
