#include "core/symbols.h"

#include <dlfcn.h>
#include <string.h>

const char *gw_find_symbols(void *library, const struct gw_symbol *symbols, size_t count,
                            void *calls) {
    const char *missing = NULL;
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        memcpy((char *)calls + symbols[i].place, &symbol, sizeof symbol); /* as POSIX asks for */
        missing = symbol == NULL && missing == NULL ? symbols[i].name : missing;
    }
    return missing;
}
