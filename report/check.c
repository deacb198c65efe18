/* Prints what checks of files have found. */
#include "report/report.h"

static void write_findings(struct gw_json_writer *writer, const char *key,
                           const struct gw_findings *findings) {
    gw_writer_array(writer, key);
    for (size_t i = 0; i < findings->count; i++) {
        gw_writer_text(writer, NULL, findings->texts[i]);
    }
    gw_writer_end(writer);
}

static enum gw_status print_check_document(const struct gw_file_check *checks, size_t count,
                                           struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", "gradweave/check@1");
    gw_writer_array(&writer, "files");
    for (size_t i = 0; i < count; i++) {
        gw_writer_object(&writer, NULL);
        gw_writer_text(&writer, "file", checks[i].path);
        if (checks[i].schema != NULL) {
            gw_writer_text(&writer, "schema", checks[i].schema);
        }
        write_findings(&writer, "bad", &checks[i].bad);
        write_findings(&writer, "odd", &checks[i].odd);
        write_findings(&writer, "notes", &checks[i].notes);
        gw_writer_end(&writer);
    }
    gw_writer_end(&writer);
    return gw_print_written(&writer, error);
}

static void print_check(const struct gw_file_check *check, size_t width) {
    gw_print("%s", check->path);
    if (check->schema != NULL) {
        gw_print(" (%s)", check->schema);
    }
    gw_print("\n");
    for (size_t i = 0; i < check->bad.count; i++) {
        gw_print_wrapped("  bad: ", check->bad.texts[i], width);
    }
    for (size_t i = 0; i < check->odd.count; i++) {
        gw_print_wrapped("  odd: ", check->odd.texts[i], width);
    }
    if (check->bad.count == 0 && check->odd.count == 0) {
        gw_print("  nothing odd\n");
    }
    for (size_t i = 0; i < check->notes.count; i++) {
        gw_print_wrapped("  note: ", check->notes.texts[i], width);
    }
}

enum gw_status gw_print_checks(const struct gw_file_check *checks, size_t count, bool json,
                               struct gw_error *error) {
    if (json) {
        return print_check_document(checks, count, error);
    }
    size_t width = gw_terminal_width();
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            gw_print("\n");
        }
        print_check(&checks[i], width);
    }
    return GW_OK;
}
