/* Common parts of the tests of files and of JSON. */
#ifndef GW_TESTS_CORE_SUPPORT_H
#define GW_TESTS_CORE_SUPPORT_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support.h"

static struct gw_error error;

static void assert_holds(const char *path, const char *expected, size_t expected_length) {
    char *text = NULL;
    size_t length = 0;
    assert_ok(gw_file_read(path, &text, &length, NULL));
    assert_int_equal(length, expected_length);
    assert_memory_equal(text, expected, length + 1);
    free(text);
}

static void assert_message(enum gw_status status, enum gw_status expected, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void assert_message(enum gw_status status, enum gw_status expected, const char *format,
                           ...) {
    char message[sizeof error.message];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    assert_int_equal(status, expected);
    assert_int_equal(error.status, expected);
    assert_string_equal(error.message, message);
}

#endif
