/*
 * A network of which only sizes are known: a list of its parameters, as a line of Python prints it.
 */
#include <ctype.h>
#include <math.h>
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

struct parameter {
    char *name; /* owned */
    double elements;
};

struct reading {
    struct gw_import_text text;
    struct parameter *parameters;
    size_t count, capacity;
    double elements; /* of all */
};

/* ---- lines ----------------------------------------------------------------------------------- */

/* "64 3 7 7", "64,3,7,7", "[64, 3, 7, 7]", "torch.Size([64, 3, 7, 7])", "64x3x7x7", "9408", "()":
 * the product; 0: it is none of them. */
static double product_of(const char *shape) {
    static const char prefix[] = "torch.Size";
    double product = 1;
    shape += strncmp(shape, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;
    bool is_empty = *shape == '\0';
    while (*shape != '\0') {
        if (isdigit((unsigned char)*shape)) {
            double dimension = 0;
            for (; isdigit((unsigned char)*shape); shape++) {
                dimension = 10 * dimension + (*shape - '0');
            }
            product *= dimension;
        } else if (strchr(" \t,x[]()", *shape) != NULL) {
            shape++;
        } else {
            return 0;
        }
    }
    return is_empty ? 0 : product;
}

static enum gw_status add_parameter(struct reading *reading, const char *name, size_t length,
                                    double elements, struct gw_error *error) {
    struct parameter *larger =
        gw_grow(reading->parameters, reading->count + 1, &reading->capacity, sizeof *larger);
    if (larger == NULL) {
        return gw_fail_memory(error, "importing sizes");
    }
    reading->parameters = larger;
    larger[reading->count] =
        (struct parameter){.name = strndup(name, length), .elements = elements};
    reading->elements += elements;
    return larger[reading->count++].name != NULL ? GW_OK : gw_fail_memory(error, "importing sizes");
}

/* "conv1.weight 64 3 7 7", with a comma or a colon behind the name if need be. */
static enum gw_status read_line(struct reading *reading, struct gw_error *error) {
    static const double most_elements = 9007199254740992.0;
    const char *line = reading->text.line + strspn(reading->text.line, " \t");
    size_t length = strcspn(line, " \t,");
    const char *shape = line + length + strspn(line + length, " \t,");
    if (line[0] == '\0' || line[0] == '#') {
        return GW_OK;
    }
    length -= length > 0 && line[length - 1] == ':' ? 1 : 0;
    double elements = product_of(shape);
    if (length == 0 || length > GW_JSON_MOST_TEXT || !(elements >= 1)) {
        return gw_import_bad(
            &reading->text, error,
            "expected a parameter's name and its shape, such as 'conv1.weight 64 3 "
            "7 7', got '%.80s'",
            line);
    }
    if (!(elements <= most_elements - reading->elements)) {
        return gw_import_bad(&reading->text, error,
                             "expected at most 2^53 elements in all parameters, got %.4g",
                             elements + reading->elements);
    }
    return add_parameter(reading, line, length, elements, error);
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
    gw_writer_end(&writer);
    write_tensors(reading, request->backward_s, &writer);
    return gw_writer_finish(&writer, out, error);
}

static enum gw_status read_all(struct reading *reading, struct gw_error *error) {
    while (gw_import_next_line(&reading->text)) {
        GW_TRY(read_line(reading, error));
    }
    return reading->count > 0 ? GW_OK
                              : gw_fail(error, GW_BAD_INPUT,
                                        "%s: expected a line for each parameter, such as "
                                        "'conv1.weight 64 3 7 7', got none",
                                        reading->text.path);
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
