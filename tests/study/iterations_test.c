/* Iterations that trainings needed, against the tables of docs/results/convergence.md. */
#include <math.h>
#include <string.h>

#include "study/advice.h"
#include "tests/test.h"

static char *page;

static int read_page(void **state) {
    (void)state;
    struct gw_error error;
    size_t length = 0;
    assert_ok(gw_file_read(GW_TEST_DATA "/../docs/results/convergence.md", &page, &length, &error));
    return 0;
}
static int free_page(void **state) {
    (void)state;
    free(page);
    return 0;
}
FIXTURES(read_page, free_page)

/* "| 95.5 ±1 (120, 2×) |" in that table, row and column (from 1); NULL: no such row. */
static const char *find_cell(const char *table, const char *way, size_t column) {
    char row[64];
    const char *start = strstr(page, table);
    assert_non_null(start);
    const char *end = strstr(strstr(start, "| --- "), "\n\n");
    (void)snprintf(row, sizeof row, "\n| `%s` |", way);
    const char *cell = strstr(start, row);
    if (cell == NULL || cell > end) {
        return NULL;
    }
    for (cell += 2; column > 0; column--) {
        cell = strchr(cell, '|') + 1;
    }
    return cell;
}

/* Iterations of the runs that came there, 0: of none, and how many did not. */
static void read_cell(const char *cell, double *iterations, size_t *never) {
    size_t length = strcspn(cell, "|");
    const char *first = memchr(cell, '(', length);
    assert_non_null(first);
    char *rest = NULL;
    double number = strtod(first + 1, &rest);
    bool none = strncmp(rest, "×", 2) == 0;
    *iterations = none ? 0 : number;
    *never = none ? (size_t)number : 0;
    if (rest[0] == ',' && strncmp(rest + 3, "×", 2) == 0) {
        *never = (size_t)(rest[2] - '0');
    }
}

#define SHORT_DENSE "<!-- learnt right 0.01 distinct fnn3-4 lenet5-4"
#define LONG "<!-- learnt right 0.001 all fnn3-4-1000"

/* Takes the longer trainings where there are any. */
static void read_training(const char *table, const char *way, size_t column, bool may_be_longer,
                          double *factor, size_t *never) {
    const char *longer = may_be_longer && column <= 2 ? find_cell(LONG, way, column) : NULL;
    const char *dense =
        longer != NULL ? find_cell(LONG, "p-sgd", column) : find_cell(SHORT_DENSE, "dense", column);
    double iterations = 0;
    double of_dense = 0;
    size_t none = 0;
    read_cell(longer != NULL ? longer : find_cell(table, way, column), &iterations, never);
    read_cell(dense, &of_dense, &none);
    assert_true(of_dense > 0 && none == 0);
    *factor = iterations / of_dense;
}

static void check_factor(const char *name, const char *way, double density, const char *table) {
    struct gw_iterations_factor found;
    double low = INFINITY;
    double high = 0;
    size_t failed = 0;
    assert_true(gw_iterations_find(name, density, &found));
    for (size_t column = 1; column <= 5; column++) {
        double factor = 0;
        size_t never = 0;
        read_training(table, way, column, density < 0.01, &factor, &never);
        failed += never;
        low = factor > 0 ? fmin(low, factor) : low;
        high = fmax(high, factor);
    }
    if (found.failed != failed || found.runs != 11 ||
        (high > 0 && !(near(found.low, low, 1e-12) && near(found.high, high, 1e-12))) ||
        (high == 0 && !isnan(found.median))) {
        fail_msg("%s at %g: %zu of %zu never, %g to %g; the page has %zu, %g to %g", name, density,
                 found.failed, found.runs, found.low, found.high, failed, low, high);
    }
    assert_true(high == 0 || (found.low <= found.median && found.median <= found.high));
}

/* Every pipeline with a line in the page has these factors; no other pipeline has any. */
TEST(factors_are_those_of_the_page) {
    static const char *const tables[] = {SHORT_DENSE, "<!-- learnt right 0.001 compressed fnn3-4"};
    static const double densities[] = {0.01, 0.001};
    size_t checked = 0;
    for (const struct gw_algorithm *row = gw_algorithms; row->name != NULL; row++) {
        for (size_t i = 0; i < 2 && gw_algorithm_is_sparse(row); i++) {
            struct gw_iterations_factor found;
            if (find_cell(tables[i], row->name, 1) != NULL) {
                check_factor(row->name, row->name, densities[i], tables[i]);
                checked++;
            } else {
                assert_false(gw_iterations_find(row->name, densities[i], &found));
            }
        }
    }
    assert_true(checked == 34);
    check_factor("dense", "dense", 0.01, SHORT_DENSE);
    check_factor("fp16", "torch-fp16", 0.01, SHORT_DENSE);
}

/* exdyna at 0.01: 60 / 40, 140 / 120, 120 / 60, 140 / 120 and 200 / 80. */
TEST(the_median_is_that_of_networks) {
    struct gw_iterations_factor found;
    assert_true(gw_iterations_find("exdyna", 0.05, &found));
    assert_true(found.density == 0.01);
    assert_true(near(found.median, 1.5, 1e-12));
    assert_true(gw_iterations_find("exdyna", 0.002, &found) && found.density == 0.001);
    assert_false(gw_iterations_find("no-such", 0.01, &found));
}

/* A factor of three below the least density that was trained, trainings say nothing. */
TEST(trainings_do_not_cover_far_lower_densities) {
    struct gw_iterations_factor found;
    assert_true(gw_iterations_find("topk", 4e-4, &found) && !found.is_beyond && found.runs == 11);
    assert_false(gw_iterations_find("topk", 3e-4, &found));
    assert_true(found.is_beyond && found.runs == 0 && isnan(found.median));
    assert_true(gw_iterations_find("dense", 1e-12, &found) && found.median == 1);
}
