#include "library/finish.h"

#include <stdio.h>

enum gradweave_status gw_library_finish(enum gw_status status, const struct gw_error *from,
                                        struct gradweave_error *to) {
    if (status != GW_OK && to != NULL) {
        snprintf(to->message, sizeof to->message, "%s", from->message);
    }
    return (enum gradweave_status)status;
}
