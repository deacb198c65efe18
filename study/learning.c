#include "study/learning.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kernels/gradients/emulation.h"

/* ---- files ----------------------------------------------------------------------------------- */

enum { MAX_FILES = 256 };

static enum gw_status read_file(const char *folder, const char *name, struct gw_learning *learning,
                                struct gw_error *error) {
    char *path = NULL;
    if (asprintf(&path, "%s/%s.json", folder, name) < 0) {
        return gw_fail_memory(error, "reading trainings");
    }
    enum gw_status status = gw_accuracy_read(path, &learning->each[learning->count], error);
    learning->count += status == GW_OK;
    free(path);
    return status;
}

static enum gw_status read_folder(const char *folder, struct gw_learning *learning,
                                  struct gw_error *error) {
    char **names = NULL;
    size_t count = 0;
    GW_TRY(gw_data_list_folder(folder, &names, &count, error));
    enum gw_status status =
        count > 0 && count <= MAX_FILES
            ? GW_OK
            : gw_fail(error, GW_BAD_INPUT,
                      "%s: expected 1 to %d files of trainings (*.json), got %zu", folder,
                      MAX_FILES, count);
    for (size_t i = 0; i < count; i++) {
        status = status == GW_OK ? read_file(folder, names[i], learning, error) : status;
        free(names[i]);
    }
    free(names);
    return status;
}

enum gw_status gw_learning_open(const char *path, struct gw_learning *out, struct gw_error *error) {
    struct stat found;
    char *shipped = NULL;
    *out = (struct gw_learning){.each = calloc(MAX_FILES, sizeof *out->each)};
    enum gw_status status = out->each == NULL ? gw_fail_memory(error, "reading trainings") : GW_OK;
    if (status == GW_OK && path == NULL) {
        status = gw_data_folder(GW_DATA_ACCURACY, &shipped, error);
        path = shipped;
    }
    bool exists = status == GW_OK && stat(path, &found) == 0;
    if (exists && S_ISDIR(found.st_mode)) {
        status = read_folder(path, out, error);
    } else if (status == GW_OK && (exists || shipped == NULL)) {
        status = gw_accuracy_read(path, &out->each[0], error);
        out->count = status == GW_OK;
    }
    free(shipped);
    if (status != GW_OK) {
        gw_learning_close(out);
    }
    return status;
}

void gw_learning_close(struct gw_learning *learning) {
    for (size_t i = 0; i < learning->count; i++) {
        gw_accuracy_free(&learning->each[i]);
    }
    free(learning->each);
    *learning = (struct gw_learning){0};
}

/* ---- factors --------------------------------------------------------------------------------- */

bool gw_trainings_are_by_hook(const struct gw_trainings *trainings) {
    static const char hooks[] = "torch-";
    return strncmp(trainings->algorithm, hooks, sizeof hooks - 1) == 0;
}

/* Whether the name is that of a pipeline that compresses nothing: all of these learn alike. */
static bool is_dense(const char *name) {
    const struct gw_algorithm *known = NULL;
    return gw_algorithm_find(name, &known, NULL) == GW_OK && !gw_algorithm_compresses(known);
}

static bool is_trained_by(const struct gw_trainings *trainings, const char *name) {
    return strcmp(trainings->algorithm, name) == 0 ||
           (is_dense(name) && is_dense(trainings->algorithm));
}

double gw_learning_next_density(const struct gw_learning *learning, double above) {
    double next = 1;
    for (size_t i = 0; i < learning->count; i++) {
        for (size_t k = 0; k < learning->each[i].count; k++) {
            double density = learning->each[i].trainings[k].density;
            next = density > above ? fmin(next, density) : next;
        }
    }
    return next;
}

/* Finds the nearest trained density, by ratio. */
static double nearest_density(const struct gw_learning *learning, double asked) {
    double nearest = gw_learning_next_density(learning, 0);
    double density = nearest;
    while ((density = gw_learning_next_density(learning, density)) < 1) {
        nearest = fabs(log(density / asked)) < fabs(log(nearest / asked)) ? density : nearest;
    }
    return nearest;
}

/* Finds trainings at a density, or that have none; NULL: there are no such. */
static const struct gw_trainings *find_trainings(const struct gw_accuracy *file, const char *name,
                                                 double density) {
    for (size_t i = 0; i < file->count; i++) {
        const struct gw_trainings *one = &file->trainings[i];
        if (is_trained_by(one, name) && (one->density == 1 || one->density == density)) {
            return one;
        }
    }
    return NULL;
}

/* Whether both are of one network and one optimizer. */
static bool is_same_setup(const struct gw_accuracy *a, const struct gw_accuracy *b) {
    bool both = a->optimizer != NULL && b->optimizer != NULL;
    return strcmp(a->model, b->model) == 0 &&
           (both ? strcmp(a->optimizer, b->optimizer) == 0 : a->optimizer == b->optimizer);
}

/* Whether another file has longer trainings of the same setup. */
static bool has_longer(const struct gw_learning *learning, const struct gw_accuracy *file,
                       const char *name, double density) {
    for (size_t i = 0; i < learning->count; i++) {
        const struct gw_accuracy *other = &learning->each[i];
        if (is_same_setup(other, file) && other->trained > file->trained &&
            find_trainings(other, name, density) != NULL) {
            return true;
        }
    }
    return false;
}

/* Adds the runs of another setup. */
static void add_runs(const struct gw_trainings *trainings, const struct gw_trainings *dense,
                     struct gw_iterations_factor *out) {
    out->setups++;
    out->runs += trainings->count;
    out->failed += trainings->count - trainings->reached;
    if (trainings->reached > 0) {
        out->low = fmin(out->low, trainings->first / dense->iterations);
        out->high = fmax(out->high, trainings->last / dense->iterations);
    }
}

static double median_of(double *values, size_t count) {
    gsl_sort(values, 1, count);
    return gsl_stats_median_from_sorted_data(values, 1, count);
}

/* Trainings serve for densities down to this factor of theirs: chosen, half a step between trained
 * densities. */
static const double least_share = 1.0 / 3;

/* `name` is the preset's, "dense" for all that compress nothing, or a hook's. */
static bool find_factor(const struct gw_learning *learning, const char *name, double density,
                        struct gw_iterations_factor *out) {
    const struct gw_accuracy *counted[MAX_FILES];
    double factors[MAX_FILES];
    double sent[MAX_FILES];
    size_t sent_count = 0;
    size_t count = 0;
    bool has_density = false;
    *out = (struct gw_iterations_factor){.low = NAN,
                                         .median = NAN,
                                         .high = NAN,
                                         .sent = 1,
                                         .density = nearest_density(learning, density)};
    bool is_far = density < least_share * out->density;
    for (size_t i = 0; i < learning->count; i++) {
        const struct gw_accuracy *file = &learning->each[i];
        const struct gw_trainings *found = find_trainings(file, name, out->density);
        const struct gw_trainings *dense = find_trainings(file, "dense", out->density);
        if (found == NULL || (is_far && found->density < 1)) {
            has_density = has_density || found != NULL;
            continue;
        }
        if (found->sent > 0) {
            sent[sent_count++] = found->sent;
        }
        if (dense != NULL && isfinite(dense->iterations) &&
            !has_longer(learning, file, name, out->density)) {
            bool is_new = true; /* no setup before is of the same network */
            for (size_t k = 0; k < count; k++) {
                is_new = is_new && strcmp(counted[k]->model, file->model) != 0;
            }
            out->networks += is_new;
            counted[count] = file;
            factors[count++] = found->iterations / dense->iterations;
            add_runs(found, dense, out);
        }
    }
    out->is_beyond = has_density;
    out->sent = sent_count > 0 ? median_of(sent, sent_count) : 1;
    out->median = count > 0 ? median_of(factors, count) : NAN;
    if (is_dense(name)) {
        out->low = out->median = out->high = 1; /* the reference, also of trainings that vary */
    }
    return !isnan(out->median);
}

bool gw_learns_as_dense(const struct gw_compressor *compressor) {
    return compressor->code.bits >= 16 && !compressor->code.residual;
}

bool gw_learning_find(const struct gw_learning *learning, const struct gw_algorithm *algorithm,
                      double density, struct gw_iterations_factor *out) {
    const struct gw_compressor *compressor = algorithm->compressor;
    /* trainings of one rank say nothing of another */
    const char *name = !gw_algorithm_compresses(algorithm) ? "dense"
                       : compressor->rank > 0              ? compressor->name
                                                           : algorithm->name;
    bool found = find_factor(learning, name, density, out);
    if (!found && gw_learns_as_dense(compressor) &&
        !find_factor(learning, "torch-fp16", density, out)) {
        out->low = out->median = out->high = 1;
    }
    return !isnan(out->median);
}

/* ---- expected times -------------------------------------------------------------------------- */

static double share_never(const struct gw_iterations_factor *factor) {
    return factor->runs > 0 ? (double)factor->failed / (double)factor->runs : 0;
}

double gw_learning_expected_s(const struct gw_iterations_factor *factor, double iteration_s,
                              double dense_s) {
    return factor->median * iteration_s + share_never(factor) * dense_s;
}

double gw_learning_break_even(const struct gw_iterations_factor *factor) {
    return factor->median / (1 - share_never(factor));
}

double gw_learning_sent_density(const struct gw_learning *learning,
                                const struct gw_algorithm *algorithm, double density) {
    struct gw_iterations_factor found;
    return gw_counts_depend_on_data(algorithm->compressor) &&
                   find_factor(learning, algorithm->name, density, &found) && found.sent != 1
               ? fmin(1, density * found.sent)
               : 0;
}
