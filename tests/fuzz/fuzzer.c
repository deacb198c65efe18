/* A fuzzer of one reader (GW_FUZZ_READER), for clang's libFuzzer. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
const char *__asan_default_options(void);

/* Memory that there is not is a failure of the run, which readers must report. */
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}

static const struct fuzz_reader *chosen(void) {
    static const struct fuzz_reader *reader;
    reader = reader == NULL ? fuzz_find(GW_FUZZ_READER) : reader;
    if (reader == NULL) {
        (void)fputs("expected a reader of fuzz_readers, got " GW_FUZZ_READER "\n", stderr);
        abort();
    }
    return reader;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    (void)fuzz_judge_bytes(chosen(), (const char *)data, size);
    return 0;
}

/* Ours as often as libFuzzer's, which knows what the program compares with. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed) {
    return seed % 2 == 0 || size == 0 ? LLVMFuzzerMutate(data, size, room)
                                      : fuzz_damage(chosen(), seed, (char *)data, size, room);
}
