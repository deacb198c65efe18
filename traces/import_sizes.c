/* Reads a list of a network's parameters, as a line of Python prints it, and makes a model of it.
 */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "traces/import_shapes.h"

/* The forward pass as a share of the backward pass, which has two products for each one of it. */
static const double forward_share = 0.5;

/*
 * The error of iterations where square roots of sizes share out the backward pass: the largest 95th
 * percentile of the networks that ship (script/sizes_alone.py).
 */
static const double shares_margin = 0.06;

enum { MOST_NOTES = 8 };

/* Lines that sum up a list: torchinfo, Keras and peft print them. */
static const char *const total_lines[] = {
    "total params:",         "total parameters:",     "trainable params:",
    "trainable parameters:", "number of parameters:", "all params:"};

struct reading {
    struct gw_import_text text;
    struct gw_import_parameter *parameters;
    size_t count, capacity;
    char prefix[GW_IMPORT_MAX_PREFIX]; /* before the first name, and before all others */
    size_t total_count;                /* of lines that sum up the list */
    char total[80];                    /* the first of these lines */
    char notes[MOST_NOTES][256];
    size_t note_count; /* also of notes that have no room */
};

/* ---- lines ----------------------------------------------------------------------------------- */

/* Tells "Total: 2,368" from a parameter: a word without dots, and one number. */
static bool is_total(const struct gw_import_parameter *one) {
    return strcasestr(one->name, "total") != NULL && strchr(one->name, '.') == NULL &&
           (one->numbers <= 1 || (one->commas & GW_IMPORT_THOUSANDS) != 0);
}

static enum gw_status add_parameter(struct reading *reading, const char *name, size_t length,
                                    const struct gw_import_parameter *parameter,
                                    struct gw_error *error) {
    GW_GROW(reading->parameters, reading->count + 1, reading->capacity, "importing sizes", error);
    struct gw_import_parameter *added = &reading->parameters[reading->count];
    *added = *parameter;
    added->name = strndup(name, length);
    added->line = reading->text.number;
    if (added->name == NULL) {
        return gw_fail_memory(error, "importing sizes");
    }
    if (is_total(added)) {
        added->is_total = true;
        added->is_left_out = true;
        added->elements = added->digits; /* commas are of thousands here, whatever others are */
        added->commas = GW_IMPORT_NO_COMMAS;
    }
    reading->count++;
    return GW_OK;
}

static const char print_them[] = "for name, p in model.named_parameters(): print(name, *p.shape)";

/* Names the kind of a file that has no list; NULL: not known. */
static const char *find_shape_format(const struct gw_import_text *text) {
    static const struct {
        const char *mark, *format;
    } formats[] = {
        {"Layer (type:depth-idx)", "a table of torchinfo, with one number for all of a layer's"},
        {"Layer (type)", "a table of torchsummary or Keras, with one number for all of a layer's"},
        {"(0): ", "a printed model, without sizes of its"},
        {"kernel_size=", "a printed model, without sizes of its"},
        {"in_features=", "a printed model, without sizes of its"},
        {"\"weight_map\"", "an index of files, without sizes of its"},
    };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (memmem(text->text, text->length, formats[i].mark, strlen(formats[i].mark)) != NULL) {
            return formats[i].format;
        }
    }
    return NULL;
}

static enum gw_status refuse_line(const struct reading *reading, const char *line,
                                  struct gw_error *error) {
    const char *format = find_shape_format(&reading->text);
    if (format != NULL) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected a line for each parameter, as '%s' prints them, got %s "
                       "parameters",
                       reading->text.path, print_them, format);
    }
    return gw_import_bad(&reading->text, error,
                         "expected a parameter's name and its shape, such as 'conv1.weight 64 3 7 "
                         "7', got '%.80s'",
                         line);
}

/* Counts a line such as "Total params: 2,368", and keeps the first one. */
static bool is_total_line(struct reading *reading, const char *line) {
    for (size_t i = 0; i < sizeof total_lines / sizeof *total_lines; i++) {
        if (strcasestr(line, total_lines[i]) != NULL) {
            if (reading->total_count++ == 0) {
                (void)snprintf(reading->total, sizeof reading->total, "%s", line);
            }
            return true;
        }
    }
    return false;
}

/* Reads "conv1.weight 64 3 7 7"; a comma or a colon may follow the name. */
static enum gw_status read_line(struct reading *reading, struct gw_error *error) {
    struct gw_import_parameter parameter = {0};
    const char *line = reading->text.line + strspn(reading->text.line, " \t");
    const char *name = NULL;
    size_t length = 0;
    if (line[0] == '\0' || line[0] == '#' || strspn(line, "[]{}(),") == strlen(line)) {
        return GW_OK;
    }
    if (is_total_line(reading, line)) {
        return GW_OK;
    }
    if (!gw_import_find_parameter(line, &name, &length, &parameter)) {
        return refuse_line(reading, line, error);
    }
    size_t before = (size_t)(name - line);
    while (before > 0 && strchr("([{'\"", line[before - 1]) != NULL) {
        before--;
    }
    if (reading->count == 0) {
        (void)snprintf(reading->prefix, sizeof reading->prefix, "%.*s", (int)before, line);
    }
    if (!gw_import_is_prefix(reading->prefix, line, before)) {
        return gw_import_bad(&reading->text, error,
                             "expected the same before each name ('%.40s'), got '%.80s'",
                             reading->prefix, line);
    }
    return add_parameter(reading, name, length, &parameter, error);
}

/* ---- all lines ------------------------------------------------------------------------------- */

static void add_note(struct reading *reading, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add_note(struct reading *reading, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (reading->note_count < MOST_NOTES) {
        (void)vsnprintf(reading->notes[reading->note_count], sizeof reading->notes[0], format,
                        arguments);
    }
    reading->note_count++;
    va_end(arguments);
}

/* Decides by all lines whether commas are of thousands; refuses a list that leaves it open. */
static enum gw_status settle_commas(struct reading *reading, struct gw_error *error) {
    const struct gw_import_parameter *found[GW_IMPORT_EITHER + 1] = {NULL};
    for (size_t i = 0; i < reading->count; i++) {
        struct gw_import_parameter *one = &reading->parameters[i];
        found[one->commas] = found[one->commas] == NULL ? one : found[one->commas];
    }
    bool is_mixed = found[GW_IMPORT_THOUSANDS] != NULL && found[GW_IMPORT_DIMENSIONS] != NULL;
    const struct gw_import_parameter *odd =
        is_mixed ? found[GW_IMPORT_THOUSANDS] : found[GW_IMPORT_EITHER];
    if (is_mixed || (odd != NULL && found[GW_IMPORT_THOUSANDS] == NULL &&
                     found[GW_IMPORT_DIMENSIONS] == NULL)) {
        reading->text.number = odd->line;
        return gw_import_bad(&reading->text, error,
                             "expected shapes (64x3x7x7) or numbers without commas, got commas "
                             "that may be of thousands (%.40s: %.0f elements, or %.0f?)",
                             odd->name, odd->digits, odd->elements);
    }
    for (size_t i = 0; i < reading->count; i++) {
        struct gw_import_parameter *one = &reading->parameters[i];
        bool has_thousands = one->commas == GW_IMPORT_THOUSANDS || one->commas == GW_IMPORT_EITHER;
        one->elements =
            has_thousands && found[GW_IMPORT_THOUSANDS] != NULL ? one->digits : one->elements;
    }
    return GW_OK;
}

/* Takes the last numbers for counts of elements where all lines have one behind a shape. */
static void settle_counts(struct reading *reading) {
    bool are_counted = true;
    bool have_count = false;
    for (size_t i = 0; i < reading->count; i++) {
        const struct gw_import_parameter *one = &reading->parameters[i];
        are_counted = are_counted && (one->is_counted || one->is_total);
        have_count = have_count || one->has_count;
    }
    for (size_t i = 0; i < reading->count && are_counted && have_count; i++) {
        struct gw_import_parameter *one = &reading->parameters[i];
        one->elements = one->is_total ? one->elements : one->last;
    }
}

static bool ends_with(const char *name, const char *end) {
    size_t length = strlen(name);
    return length >= strlen(end) && strcmp(name + length - strlen(end), end) == 0;
}

static int by_name(const void *a, const void *b) {
    const struct gw_import_parameter *left = *(struct gw_import_parameter *const *)a;
    const struct gw_import_parameter *right = *(struct gw_import_parameter *const *)b;
    int order = strcmp(left->name, right->name);
    return order != 0 ? order : (left->line > right->line) - (left->line < right->line);
}

static bool has_name(const struct reading *reading, struct gw_import_parameter *const *sorted,
                     const char *name) {
    size_t low = 0;
    for (size_t high = reading->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(sorted[middle]->name, name);
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return low < reading->count && strcmp(sorted[low]->name, name) == 0;
}

/* Tells whether a parameter is the causal mask of GPT-2 and its kind, "h.0.attn.bias 1 1 N N". */
static bool is_causal_mask(const struct reading *reading, struct gw_import_parameter *const *sorted,
                           const struct gw_import_parameter *one) {
    static const char *const ends[] = {"attn.bias", "attention.bias"};
    static const char bias[] = "bias";
    char beside[GW_JSON_MAX_TEXT + sizeof "masked_"];
    if (!ends_with(one->name, ends[0]) && !ends_with(one->name, ends[1])) {
        return false;
    }
    (void)snprintf(beside, sizeof beside, "%.*smasked_%s", (int)(strlen(one->name) - strlen(bias)),
                   one->name, bias);
    return one->is_mask || has_name(reading, sorted, beside);
}

/* Tells whether a name in a state_dict is that of a buffer in PyTorch's or transformers' modules.
 */
static bool is_buffer(const char *name) {
    static const char *const ends[] = {
        "running_mean", "running_var", "num_batches_tracked",    "position_ids",
        "inv_freq",     "masked_bias", "relative_position_index"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (ends_with(name, ends[i])) {
            return true;
        }
    }
    return false;
}

static void leave_out_buffers(struct reading *reading, struct gw_import_parameter *const *sorted) {
    const char *first = NULL;
    size_t count = 0;
    for (size_t i = 0; i < reading->count; i++) {
        struct gw_import_parameter *one = &reading->parameters[i];
        one->is_left_out =
            one->is_left_out || is_buffer(one->name) || is_causal_mask(reading, sorted, one);
        bool counts = one->is_left_out && !one->is_total;
        first = counts && first == NULL ? one->name : first;
        count += counts;
    }
    if (count > 0) {
        add_note(reading, "%zu without gradients left out, such as %.80s", count, first);
    }
}

/* Counts once a name that several ranks printed; refuses two sizes of one name. */
static enum gw_status leave_out_repeats(struct reading *reading,
                                        struct gw_import_parameter *const *sorted,
                                        struct gw_error *error) {
    size_t repeats = 0;
    for (size_t i = 1; i < reading->count; i++) {
        if (strcmp(sorted[i]->name, sorted[i - 1]->name) != 0 || sorted[i]->is_total) {
            continue;
        }
        if (sorted[i]->elements != sorted[i - 1]->elements) {
            reading->text.number = sorted[i]->line;
            return gw_import_bad(&reading->text, error,
                                 "expected one size of %.80s, got %.0f elements after %.0f",
                                 sorted[i]->name, sorted[i]->elements, sorted[i - 1]->elements);
        }
        repeats += !sorted[i]->is_left_out;
        sorted[i]->is_left_out = true;
    }
    if (repeats > 0) {
        add_note(reading, "%zu names that come again, as of several ranks, count once", repeats);
    }
    return GW_OK;
}

/* Leaves out buffers, and all but the first line of a name. */
static enum gw_status leave_out(struct reading *reading, struct gw_error *error) {
    struct gw_import_parameter **sorted = calloc(reading->count + 1, sizeof *sorted);
    if (sorted == NULL) {
        return gw_fail_memory(error, "importing sizes");
    }
    for (size_t i = 0; i < reading->count; i++) {
        sorted[i] = &reading->parameters[i];
    }
    qsort(sorted, reading->count, sizeof *sorted, by_name);
    leave_out_buffers(reading, sorted);
    enum gw_status status = leave_out_repeats(reading, sorted, error);
    free(sorted);
    return status;
}

static bool has_part(const char *name, const char *const *parts, size_t count, bool at_end) {
    bool has_one = false;
    for (size_t i = 0; i < count; i++) {
        has_one = has_one || (at_end ? ends_with(name, parts[i]) : strstr(name, parts[i]) != NULL);
    }
    return has_one;
}

static bool is_head(const char *name) {
    static const char *const heads[] = {"lm_head.weight", "decoder.weight", "output.weight",
                                        "head.weight", "generator.weight"};
    return has_part(name, heads, sizeof heads / sizeof *heads, true);
}

static int by_elements(const void *a, const void *b) {
    const struct gw_import_parameter *left = *(struct gw_import_parameter *const *)a;
    const struct gw_import_parameter *right = *(struct gw_import_parameter *const *)b;
    int order = (left->elements > right->elements) - (left->elements < right->elements);
    return order != 0 ? order : (left->line > right->line) - (left->line < right->line);
}

/* Notes heads as large as an embedding: their weights are often one, which no list can say. */
static enum gw_status note_tied(struct reading *reading, struct gw_error *error) {
    static const char *const parts[] = {"wte.", "embed", "shared.", "tok_", "encoder.weight"};
    struct gw_import_parameter **embeddings = calloc(reading->count + 1, sizeof *embeddings);
    size_t count = 0;
    if (embeddings == NULL) {
        return gw_fail_memory(error, "importing sizes");
    }
    for (size_t i = 0; i < reading->count; i++) {
        const char *name = reading->parameters[i].name;
        if (!is_head(name) && has_part(name, parts, sizeof parts / sizeof *parts, false)) {
            embeddings[count++] = &reading->parameters[i];
        }
    }
    qsort(embeddings, count, sizeof *embeddings, by_elements);
    for (size_t i = 0; i < reading->count; i++) {
        const struct gw_import_parameter *head = &reading->parameters[i];
        size_t low = 0;
        for (size_t high = is_head(head->name) ? count : 0; low < high;) {
            size_t middle = low + (high - low) / 2;
            bool is_below = embeddings[middle]->elements < head->elements;
            low = is_below ? middle + 1 : low;
            high = is_below ? high : middle;
        }
        if (is_head(head->name) && low < count && embeddings[low]->elements == head->elements) {
            add_note(reading,
                     "%.80s is as large as %.80s: where one is the other (tied), take one out",
                     head->name, embeddings[low]->name);
        }
    }
    free(embeddings);
    return GW_OK;
}

/* Notes lines with totals, and how many elements there are where one of them has another number. */
static void note_totals(struct reading *reading) {
    double sum = 0;
    bool is_sum = true;
    char others[64] = "";
    for (size_t i = 0; i < reading->count; i++) {
        sum += reading->parameters[i].is_left_out ? 0 : reading->parameters[i].elements;
    }
    for (size_t i = 0; i < reading->count; i++) {
        const struct gw_import_parameter *one = &reading->parameters[i];
        if (one->is_total && reading->total_count++ == 0) {
            (void)snprintf(reading->total, sizeof reading->total, "%.40s %.0f", one->name,
                           one->elements);
        }
        is_sum = is_sum && (!one->is_total || one->elements == sum);
    }
    if (!is_sum) {
        (void)snprintf(others, sizeof others, "; the parameters that are left have %.0f elements",
                       sum);
    }
    if (reading->total_count > 0) {
        add_note(reading, "%zu lines with totals left out, such as %.80s%s", reading->total_count,
                 reading->total, others);
    }
}

/* Takes out the parameters that are left out, and checks that others are there. */
static enum gw_status keep_others(struct reading *reading, struct gw_error *error) {
    double elements = 0;
    size_t kept = 0;
    for (size_t i = 0; i < reading->count; i++) {
        struct gw_import_parameter *one = &reading->parameters[i];
        if (one->is_left_out) {
            free(one->name);
            continue;
        }
        if (!(one->elements <= GW_IMPORT_MAX_EXACT - elements)) {
            double all = elements + one->elements;
            reading->text.number = one->line;
            for (; i < reading->count; i++) {
                reading->parameters[kept++] = reading->parameters[i];
            }
            reading->count = kept;
            return gw_import_bad(&reading->text, error,
                                 "expected at most 2^53 elements in all parameters, got %.4g", all);
        }
        elements += one->elements;
        reading->parameters[kept++] = *one;
    }
    reading->count = kept;
    return kept > 0 ? GW_OK
                    : gw_fail(error, GW_BAD_INPUT,
                              "%s: expected a line for each parameter, such as 'conv1.weight 64 3 "
                              "7 7', got none",
                              reading->text.path);
}

/* ---- the model ------------------------------------------------------------------------------- */

/* The dimensions of a parameter: all of its numbers, or all but a count behind them; 0: not known.
 */
static size_t count_dimensions(const struct gw_import_parameter *one) {
    double product = 1;
    size_t fitting = 0;
    for (size_t i = 0; i < one->numbers && i < GW_IMPORT_MOST_DIMENSIONS; i++) {
        product *= one->dimensions[i];
        fitting = product == one->elements && i + 2 >= one->numbers ? i + 1 : fitting;
    }
    return fitting;
}

static void write_shape(const struct gw_import_parameter *one, struct gw_json_writer *writer) {
    size_t count = count_dimensions(one);
    if (count == 0 && one->numbers > 0) {
        return;
    }
    gw_writer_array(writer, "shape");
    for (size_t i = 0; i < count; i++) {
        gw_writer_number(writer, NULL, one->dimensions[i]);
    }
    gw_writer_end(writer);
}

/* Writes shapes where some line has more than a number: else numbers may be counts of elements. */
static void write_tensors(const struct reading *reading, double backward_s,
                          struct gw_json_writer *writer) {
    double roots = 0;
    bool has_shapes = false;
    for (size_t i = 0; i < reading->count; i++) {
        roots += sqrt(reading->parameters[i].elements);
        has_shapes = has_shapes || count_dimensions(&reading->parameters[i]) > 1;
    }
    gw_writer_array(writer, "tensors");
    for (size_t i = 0; i < reading->count; i++) {
        char name[GW_JSON_MAX_TEXT + 1];
        const struct gw_import_parameter *parameter = &reading->parameters[i];
        gw_visible(parameter->name, name, sizeof name);
        gw_writer_object(writer, NULL);
        gw_writer_text(writer, "name", name);
        gw_writer_number(writer, "elements", parameter->elements);
        if (has_shapes) {
            write_shape(parameter, writer);
        }
        gw_writer_number(writer, "backward_s", backward_s * sqrt(parameter->elements) / roots);
        gw_writer_end(writer);
    }
    gw_writer_end(writer);
}

static enum gw_status write_model(const struct reading *reading,
                                  const struct gw_sizes_request *request, cJSON **out,
                                  struct gw_error *error) {
    struct gw_json_writer writer;
    bool is_told = request->forward_s > 0;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", "gradweave/model@1");
    gw_writer_text(&writer, "name", request->name);
    if (request->batch_size > 0) {
        gw_writer_number(&writer, "batch_size", request->batch_size);
    }
    gw_writer_number(&writer, "forward_s",
                     is_told ? request->forward_s : forward_share * request->backward_s);
    gw_writer_number(&writer, "uncertainty", shares_margin);
    gw_writer_object(&writer, "source");
    gw_writer_text(&writer, "kind", "given");
    gw_writer_text(&writer, "note",
                   is_told ? "Sizes and both passes as they were given; the backward pass shared "
                             "out among the tensors by square roots of their sizes."
                           : "Sizes and the backward pass as they were given, shared out among the "
                             "tensors by square roots of their sizes; the forward pass taken to be "
                             "half of it.");
    gw_writer_array(&writer, "notes");
    for (size_t i = 0; i < reading->note_count && i <= MOST_NOTES; i++) {
        char note[sizeof reading->notes[0]];
        if (i < MOST_NOTES) {
            gw_visible(reading->notes[i], note, sizeof note);
        } else {
            (void)snprintf(note, sizeof note, "and %zu more", reading->note_count - MOST_NOTES);
        }
        gw_writer_text(&writer, NULL, note);
    }
    gw_writer_end(&writer);
    gw_writer_end(&writer);
    write_tensors(reading, request->backward_s, &writer);
    return gw_writer_finish(&writer, out, error);
}

static enum gw_status read_all(struct reading *reading, struct gw_error *error) {
    while (gw_import_next_line(&reading->text)) {
        GW_TRY(read_line(reading, error));
    }
    GW_TRY(settle_commas(reading, error));
    settle_counts(reading);
    GW_TRY(leave_out(reading, error));
    note_totals(reading);
    GW_TRY(keep_others(reading, error));
    return note_tied(reading, error);
}

enum gw_status gw_import_sizes(const char *path, const struct gw_sizes_request *request,
                               cJSON **out, struct gw_error *error) {
    struct reading reading = {0};
    GW_TRY(gw_import_open(path, NULL, &reading.text, error));
    enum gw_status status = read_all(&reading, error);
    status = status == GW_OK ? write_model(&reading, request, out, error) : status;
    for (size_t i = 0; i < reading.count; i++) {
        free(reading.parameters[i].name);
    }
    free(reading.parameters);
    gw_import_close(&reading.text);
    return status;
}
