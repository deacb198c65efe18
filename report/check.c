#include "report/check.h"

#include "report/report.h"

static void write_findings(struct gw_json_writer *writer, const char *key,
                           const struct gw_findings *findings) {
    gw_writer_array(writer, key);
    for (size_t i = 0; i < findings->count; i++) {
        gw_writer_text(writer, NULL, findings->texts[i]);
    }
    gw_writer_end(writer);
}

static enum gw_status print_document(const struct gw_file_check *checks, size_t count,
                                     struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", "gradweave/check@1");
    gw_writer_array(&writer, "files");
    for (size_t i = 0; i < count; i++) {
        gw_writer_object(&writer, NULL);
        gw_writer_text(&writer, "file", checks[i].path);
        gw_writer_text(&writer, "schema", checks[i].schema);
        write_findings(&writer, "odd", &checks[i].odd);
        write_findings(&writer, "notes", &checks[i].notes);
        gw_writer_end(&writer);
    }
    gw_writer_end(&writer);
    return gw_print_written(&writer, error);
}

enum gw_status gw_print_checks(const struct gw_file_check *checks, size_t count, bool json,
                               struct gw_error *error) {
    if (json) {
        return print_document(checks, count, error);
    }
    size_t width = gw_terminal_width();
    for (size_t i = 0; i < count; i++) {
        const struct gw_findings *odd = &checks[i].odd;
        if (i > 0) {
            gw_print("\n");
        }
        gw_print("%s (%s)\n", checks[i].path, checks[i].schema);
        for (size_t f = 0; f < odd->count; f++) {
            gw_print_wrapped("  odd: ", odd->texts[f], width);
        }
        if (odd->count == 0) {
            gw_print("  nothing odd\n");
        }
        for (size_t f = 0; f < checks[i].notes.count; f++) {
            gw_print_wrapped("  note: ", checks[i].notes.texts[f], width);
        }
    }
    return GW_OK;
}
