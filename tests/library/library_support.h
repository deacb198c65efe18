/* Common parts of the tests of the library. */
#ifndef GW_TESTS_LIBRARY_SUPPORT_H
#define GW_TESTS_LIBRARY_SUPPORT_H

#include <gradweave.h>
#include <math.h>

#include "core/core.h"
#include "tests/test.h"

static struct gradweave_error error; /* of the last call */

#define assert_done(call) assert_int_equal(call, GRADWEAVE_OK)

/* The call is refused as bad input, and the message has this part. */
#define assert_refused(call, part)                                                                 \
    do {                                                                                           \
        assert_int_equal(call, GRADWEAVE_BAD_INPUT);                                               \
        if (strstr(error.message, part) == NULL) {                                                 \
            fail_msg("expected \"%s\" in \"%s\"", part, error.message);                            \
        }                                                                                          \
    } while (0)

#endif
