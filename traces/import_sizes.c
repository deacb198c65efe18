/*
 * A network of which only sizes are known: a list of its parameters, as a line of Python prints it.
 */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "traces/import_parts.h"
#include "traces/imports.h"

/* The forward pass, where nobody says: half of the backward pass, which has two products for each
 * of its own. */
static const double forward_share = 0.5;

/*
 * How far iterations are off, at the 95th percentile of any network that ships, where backward
 * times are shared out by square roots of sizes in place of what they are (script/sizes_alone.py).
 */
static const double shares_margin = 0.06;

/* Commas between digits: those of thousands, or those between dimensions. */
enum commas { NO_COMMAS, THOUSANDS, DIMENSIONS, EITHER };

struct parameter {
    char *name;      /* owned */
    double elements; /* the product of its numbers */
    double digits;   /* of all its digits in a row: other elements where commas are of thousands */
    enum commas commas;
    size_t line;
    bool is_left_out;
};

enum { MOST_NOTES = 8 };

struct reading {
    struct gw_import_text text;
    struct parameter *parameters;
    size_t count, capacity;
    char prefix[GW_IMPORT_MOST_PREFIX]; /* before the names; of the first one */
    char notes[MOST_NOTES][256];
    size_t note_count;
};

/* ---- lines ----------------------------------------------------------------------------------- */

static bool is_word(const char *word, size_t length, const char *text) {
    return length == strlen(text) && strncmp(word, text, length) == 0;
}

/* "1,024": each comma has three digits behind it, and one to three stand before the first. */
static enum commas find_commas(const char *shape, size_t length) {
    size_t first = strspn(shape, "0123456789");
    bool is_either = first >= 1 && first <= 3 && first < length;
    bool has_zero = false;
    for (size_t at = first; at < length && is_either; at += 4) {
        size_t digits = strspn(shape + at + 1, "0123456789");
        is_either = shape[at] == ',' && digits == 3 && at + 4 <= length;
        has_zero = has_zero || shape[at + 1] == '0';
    }
    return !is_either ? DIMENSIONS : has_zero ? THOUSANDS : EITHER;
}

/*
 * "64 3 7 7", "64,3,7,7", "[64, 3, 7, 7]", "torch.Size([64, 3, 7, 7])", "64x3x7x7", "9408",
 * "9_408",
 * "()", and behind it a type or whether it has gradients. False: it is none of them.
 */
static bool parse_shape(const char *shape, struct parameter *out) {
    static const char prefix[] = "torch.Size";
    static const char marks[] = " \t,x[](){}";
    bool has_numbers = false;
    shape += strncmp(shape, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;
    bool is_empty = *shape == '\0';
    size_t first = strcspn(shape, " \t");
    bool is_one_word = isdigit((unsigned char)shape[0]) && memchr(shape, ',', first) != NULL;
    out->elements = 1;
    out->digits = 0;
    out->commas = is_one_word ? find_commas(shape, first) : NO_COMMAS;
    while (*shape != '\0') {
        size_t length = strcspn(shape, " \t,)");
        if (isdigit((unsigned char)*shape)) {
            double dimension = 0;
            for (; isdigit((unsigned char)*shape) || *shape == '_'; shape++) {
                int digit = *shape - '0';
                dimension = *shape == '_' ? dimension : 10 * dimension + digit;
                out->digits = *shape == '_' ? out->digits : 10 * out->digits + digit;
            }
            out->elements *= dimension;
            has_numbers = true;
        } else if (strchr(marks, *shape) != NULL) {
            shape++;
        } else if (is_word(shape, length, "False") || is_word(shape, length, "torch.int64") ||
                   is_word(shape, length, "torch.int32") || is_word(shape, length, "torch.bool")) {
            out->is_left_out = true;
            shape += length;
        } else if (is_word(shape, length, "True") || strncmp(shape, "torch.float", 11) == 0 ||
                   is_word(shape, length, "torch.bfloat16")) {
            shape += length;
        } else {
            return false;
        }
    }
    if (out->commas == NO_COMMAS && has_numbers && out->digits >= 1000 &&
        out->digits == out->elements) {
        out->commas = DIMENSIONS; /* a number without commas that could have some */
    }
    return !is_empty && out->elements >= 1;
}

/* A name in quotes or not, with what it is behind in the same word; false: it is none. */
static bool cut_name(const char *word, const char **name, size_t *length) {
    static const char *const labels[] = {">:", "]:"};
    size_t count = *length;
    while (count > 0 && strchr(":,'\"", word[count - 1]) != NULL) {
        count--;
    }
    const char *begin = word;
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        const char *label = strstr(begin, labels[i]);
        begin = label != NULL && label < word + count ? label + strlen(labels[i]) : begin;
    }
    while (begin < word + count && strchr("([{'\"", *begin) != NULL) {
        begin++;
    }
    *name = begin;
    *length = (size_t)(word + count - begin);
    return *length > 0 && *length <= GW_JSON_MOST_TEXT;
}

/* The first word that a shape follows; what stands before it has a mark that no name has. */
static bool find_parameter(const char *line, const char **name, size_t *length,
                           struct parameter *out) {
    const char *word = line + strspn(line, " \t");
    while (*word != '\0') {
        size_t width = strcspn(word, " \t,");
        const char *shape = word + width + strspn(word + width, " \t,");
        *out = (struct parameter){0};
        *length = width;
        bool is_name = cut_name(word, name, length);
        size_t before = (size_t)(*name - line);
        bool is_labelled = strcspn(line, "[<|:>)") < before;
        bool is_first = *name == line + strspn(line, " \t([{'\"");
        if (is_name && (is_first || is_labelled) && parse_shape(shape, out)) {
            return true;
        }
        word = shape;
    }
    return false;
}

static enum gw_status add_parameter(struct reading *reading, const char *name, size_t length,
                                    const struct parameter *parameter, struct gw_error *error) {
    struct parameter *larger =
        gw_grow(reading->parameters, reading->count + 1, &reading->capacity, sizeof *larger);
    if (larger == NULL) {
        return gw_fail_memory(error, "importing sizes");
    }
    reading->parameters = larger;
    larger[reading->count] = *parameter;
    larger[reading->count].name = strndup(name, length);
    larger[reading->count].line = reading->text.number;
    return larger[reading->count++].name != NULL ? GW_OK : gw_fail_memory(error, "importing sizes");
}

static const char print_them[] = "for name, p in model.named_parameters(): print(name, *p.shape)";

/* Names what the whole file may be in place of a list; NULL: not known. */
static const char *find_format(const struct gw_import_text *text) {
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
    const char *format = find_format(&reading->text);
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

/* "conv1.weight 64 3 7 7", with a comma or a colon behind the name if need be. */
static enum gw_status read_line(struct reading *reading, struct gw_error *error) {
    struct parameter parameter = {0};
    const char *line = reading->text.line + strspn(reading->text.line, " \t");
    const char *name = NULL;
    size_t length = 0;
    if (line[0] == '\0' || line[0] == '#' || strspn(line, "[]{}(),") == strlen(line)) {
        return GW_OK;
    }
    if (!find_parameter(line, &name, &length, &parameter)) {
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
        char *note = reading->notes[reading->note_count++];
        (void)vsnprintf(note, sizeof reading->notes[0], format, arguments);
    }
    va_end(arguments);
}

/* Decides by all lines what commas are; where none says it, sizes are not known. */
static enum gw_status settle_commas(struct reading *reading, struct gw_error *error) {
    const struct parameter *found[EITHER + 1] = {NULL};
    for (size_t i = 0; i < reading->count; i++) {
        struct parameter *one = &reading->parameters[i];
        found[one->commas] = found[one->commas] == NULL ? one : found[one->commas];
    }
    bool is_mixed = found[THOUSANDS] != NULL && found[DIMENSIONS] != NULL;
    const struct parameter *odd = is_mixed ? found[THOUSANDS] : found[EITHER];
    if (is_mixed || (odd != NULL && found[THOUSANDS] == NULL && found[DIMENSIONS] == NULL)) {
        reading->text.number = odd->line;
        return gw_import_bad(&reading->text, error,
                             "expected shapes (64x3x7x7) or numbers without commas, got commas "
                             "that may be of thousands (%.40s: %.0f elements, or %.0f?)",
                             odd->name, odd->digits, odd->elements);
    }
    for (size_t i = 0; i < reading->count; i++) {
        struct parameter *one = &reading->parameters[i];
        bool has_thousands = one->commas == THOUSANDS || one->commas == EITHER;
        one->elements = has_thousands && found[THOUSANDS] != NULL ? one->digits : one->elements;
    }
    return GW_OK;
}

static bool ends_with(const char *name, const char *end) {
    size_t length = strlen(name);
    return length >= strlen(end) && strcmp(name + length - strlen(end), end) == 0;
}

/* Buffers of PyTorch's modules and of transformers', which a state_dict has beside parameters. */
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

static void leave_out_buffers(struct reading *reading) {
    const char *first = NULL;
    size_t count = 0;
    for (size_t i = 0; i < reading->count; i++) {
        struct parameter *one = &reading->parameters[i];
        one->is_left_out = one->is_left_out || is_buffer(one->name);
        first = one->is_left_out && first == NULL ? one->name : first;
        count += one->is_left_out;
    }
    if (count > 0) {
        add_note(reading, "%zu without gradients left out, such as %.80s", count, first);
    }
}

static int by_name(const void *a, const void *b) {
    const struct parameter *left = *(struct parameter *const *)a;
    const struct parameter *right = *(struct parameter *const *)b;
    int order = strcmp(left->name, right->name);
    return order != 0 ? order : (left->line > right->line) - (left->line < right->line);
}

/* Each rank may have printed the list: a name counts once, with one size. */
static enum gw_status leave_out_repeats(struct reading *reading, struct gw_error *error) {
    struct parameter **sorted = calloc(reading->count + 1, sizeof *sorted);
    enum gw_status status = GW_OK;
    size_t repeats = 0;
    if (sorted == NULL) {
        return gw_fail_memory(error, "importing sizes");
    }
    for (size_t i = 0; i < reading->count; i++) {
        sorted[i] = &reading->parameters[i];
    }
    qsort(sorted, reading->count, sizeof *sorted, by_name);
    for (size_t i = 1; i < reading->count && status == GW_OK; i++) {
        if (strcmp(sorted[i]->name, sorted[i - 1]->name) != 0) {
            continue;
        }
        if (sorted[i]->elements != sorted[i - 1]->elements) {
            reading->text.number = sorted[i]->line;
            status = gw_import_bad(&reading->text, error,
                                   "expected one size of %.80s, got %.0f elements after %.0f",
                                   sorted[i]->name, sorted[i]->elements, sorted[i - 1]->elements);
        }
        repeats += !sorted[i]->is_left_out;
        sorted[i]->is_left_out = true;
    }
    free(sorted);
    if (repeats > 0) {
        add_note(reading, "%zu names that come again, as of several ranks, count once", repeats);
    }
    return status;
}

/* A head whose weight is often that of the embedding: a list cannot say whether it is. */
static void note_tied(struct reading *reading) {
    static const char *const heads[] = {"lm_head.weight", "decoder.weight", "output.weight",
                                        "head.weight", "generator.weight"};
    static const char *const embeddings[] = {"wte.", "embed", "shared.", "tok_", "encoder.weight"};
    for (size_t i = 0; i < reading->count; i++) {
        const struct parameter *head = &reading->parameters[i];
        bool is_head = false;
        for (size_t k = 0; k < sizeof heads / sizeof *heads; k++) {
            is_head = is_head || ends_with(head->name, heads[k]);
        }
        for (size_t k = 0; k < reading->count && is_head; k++) {
            const struct parameter *other = &reading->parameters[k];
            bool is_embedding = false;
            for (size_t m = 0; m < sizeof embeddings / sizeof *embeddings; m++) {
                is_embedding = is_embedding || strstr(other->name, embeddings[m]) != NULL;
            }
            if (k != i && is_embedding && other->elements == head->elements) {
                add_note(reading,
                         "%.80s is as large as %.80s: where one is the other (tied), take one out",
                         head->name, other->name);
                break;
            }
        }
    }
}

/* A last line with the sum of all others is no parameter. */
static void leave_out_total(struct reading *reading) {
    double sum = 0;
    struct parameter *last = NULL;
    for (size_t i = 0; i < reading->count; i++) {
        struct parameter *one = &reading->parameters[i];
        sum += last != NULL ? last->elements : 0;
        last = one->is_left_out ? NULL : one;
    }
    if (last != NULL && last->elements == sum && strcasestr(last->name, "total") != NULL) {
        last->is_left_out = true;
    }
}

/* Takes out what is left out, and checks that there is something. */
static enum gw_status keep_others(struct reading *reading, struct gw_error *error) {
    static const double most_elements = 9007199254740992.0;
    double elements = 0;
    size_t kept = 0;
    for (size_t i = 0; i < reading->count; i++) {
        struct parameter *one = &reading->parameters[i];
        if (one->is_left_out) {
            free(one->name);
            continue;
        }
        if (!(one->elements <= most_elements - elements)) {
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

static void write_tensors(const struct reading *reading, double backward_s,
                          struct gw_json_writer *writer) {
    double roots = 0;
    for (size_t i = 0; i < reading->count; i++) {
        roots += sqrt(reading->parameters[i].elements);
    }
    gw_writer_array(writer, "tensors");
    for (size_t i = 0; i < reading->count; i++) {
        char name[GW_JSON_MOST_TEXT + 1];
        const struct parameter *parameter = &reading->parameters[i];
        gw_visible(parameter->name, name, sizeof name);
        gw_writer_object(writer, NULL);
        gw_writer_text(writer, "name", name);
        gw_writer_number(writer, "elements", parameter->elements);
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
    for (size_t i = 0; i < reading->note_count; i++) {
        char note[sizeof reading->notes[0]];
        gw_visible(reading->notes[i], note, sizeof note);
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
    leave_out_buffers(reading);
    GW_TRY(leave_out_repeats(reading, error));
    leave_out_total(reading);
    GW_TRY(keep_others(reading, error));
    note_tied(reading);
    return GW_OK;
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
