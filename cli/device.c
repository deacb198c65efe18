#include "cli/device.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/gpu.h"

enum { MOST_GPUS = 64 };

void gw_read_device(char *argument, void *target, struct argp_state *state) {
    struct gw_device_choice choice = {0};
    static const char cuda[] = "cuda";
    const char *number = argument + strlen(cuda);
    bool is_whole = strcmp(argument, "cpu") == 0;
    if (strncmp(argument, cuda, strlen(cuda)) == 0) {
        choice.cuda = true;
        choice.chosen = *number == ':';
        size_t digits = choice.chosen ? strspn(number + 1, "0123456789") : 0;
        is_whole = choice.chosen ? digits > 0 && digits < 4 && number[1 + digits] == '\0'
                                 : *number == '\0';
    }
    if (!is_whole) {
        gw_refuse(state, "--device: expected cpu, cuda or cuda:N, got \"%s\"", argument);
    }
    choice.ordinal = choice.chosen ? strtoul(number + 1, NULL, 10) : 0;
    *(struct gw_device_choice *)target = choice;
}

enum gw_status gw_device_choice_open(const struct gw_device_choice *choice, size_t local_rank,
                                     struct gw_device **out, struct gw_gpu *described,
                                     struct gw_error *error) {
    struct gw_gpu gpus[MOST_GPUS];
    size_t count = gw_cuda_devices(gpus, MOST_GPUS);
    size_t ordinal = choice->chosen || count == 0 ? choice->ordinal : local_rank % count;
    GW_TRY(gw_device_open(out, ordinal, error));
    if (described != NULL) {
        *described = ordinal < count ? gpus[ordinal] : (struct gw_gpu){0};
    }
    return GW_OK;
}

enum gw_status gw_keep_compressors_for_gpus(const struct gw_compressor **list, bool named,
                                            struct gw_error *error) {
    size_t kept = 0;
    for (size_t i = 0; list[i] != NULL; i++) {
        if (gw_gpu_kernel_of(list[i]) != NULL) {
            list[kept++] = list[i];
        } else if (named) {
            return gw_fail(error, GW_BAD_INPUT, "%s: expected a compressor that there is for GPUs",
                           list[i]->name);
        }
    }
    list[kept] = NULL;
    return GW_OK;
}
