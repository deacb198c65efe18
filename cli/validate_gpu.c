/* GPUs that validate runs on: which, how data travels between them, what computing is made of. */
#include <string.h>

#include "cli/validate.h"
#include "kernels/gpu.h"

static const char *const transports[] = {[GW_GPU_NCCL] = "nccl", [GW_GPU_MPI] = "mpi"};
static const char *const computes[] = {[GW_COMPUTE_WAIT] = "wait", [GW_COMPUTE_GEMM] = "gemm"};

/* ---- what can be told without running anything --------------------------------------------- */

static enum gw_status check_compute(enum gw_compute compute, bool here, struct gw_error *error) {
    if (compute == GW_COMPUTE_WAIT || (!here && gw_cublas_version() != NULL)) {
        return GW_OK;
    }
    enum gw_status status = gw_cublas_need(error);
    if (status != GW_OK) {
        gw_error_prefix(error, "--compute gemm");
    }
    return status;
}

enum gw_status gw_validate_check_gpu(const struct gw_validate_gpu *options, bool here,
                                     struct gw_error *error) {
    if (!options->device.cuda) {
        return GW_OK;
    }
    if (gw_cuda_version() == NULL) {
        return gw_fail(error, GW_BAD_INPUT, "--device cuda: expected a build with CUDA");
    }
    if (options->transport == GW_TRANSPORT_NCCL && gw_nccl_version() == NULL) {
        return gw_fail(error, GW_BAD_INPUT, "--transport nccl: expected a build with NCCL");
    }
    GW_TRY(check_compute(options->compute, here, error));
    struct gw_gpu gpu;
    return !here || gw_cuda_devices(&gpu, 1) > 0
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "--device cuda: expected a GPU on this machine");
}

enum gw_status gw_validate_check_compressor(const struct gw_validate_gpu *options,
                                            const struct gw_algorithm *algorithm,
                                            struct gw_error *error) {
    return !options->device.cuda || !gw_algorithm_is_sparse(algorithm) ||
                   gw_gpu_kernel_of(algorithm->compressor) != NULL
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "--device cuda: %s: expected a compressor that there is for GPUs, got %s",
                         algorithm->name, algorithm->compressor->name);
}

/* ---- on every rank ------------------------------------------------------------------------- */

static enum gw_status choose_transport(struct gw_validation_run *run,
                                       struct gw_communicator *communicator,
                                       struct gw_error *error) {
    enum gw_transport_choice asked = run->options->gpu.transport;
    enum gw_gpu_transport *chosen = &run->executor.transport;
    size_t *sharing = &run->gpu.ranks_on_one;
    GW_TRY(gw_gpu_transport_choose(communicator, run->executor.device, chosen, sharing, error));
    if (asked == GW_TRANSPORT_NCCL && *sharing > 1) {
        return gw_fail(error, GW_BAD_INPUT,
                       "--transport nccl: expected a GPU for each rank, got %zu ranks on one "
                       "(--transport mpi lets them share)",
                       *sharing);
    }
    if (asked != GW_TRANSPORT_ANY) {
        *chosen = asked == GW_TRANSPORT_NCCL ? GW_GPU_NCCL : GW_GPU_MPI;
    }
    return GW_OK;
}

enum gw_status gw_validation_open_gpu(struct gw_validation_run *run,
                                      struct gw_communicator *communicator,
                                      struct gw_error *error) {
    const struct gw_validate_gpu *options = &run->options->gpu;
    size_t local_rank = 0;
    run->executor =
        (struct gw_executor_options){.seed = run->options->seed, .compute = options->compute};
    if (!options->device.cuda) {
        return GW_OK;
    }
    enum gw_status status = gw_validate_check_gpu(options, true, error);
    GW_TRY(gw_agree(communicator, status, error));
    GW_TRY(gw_find_local_rank(communicator, &local_rank, error));
    status = gw_device_choice_open(&options->device, local_rank, &run->executor.device,
                                   &run->gpu.described, error);
    GW_TRY(gw_agree(communicator, status, error));
    GW_TRY(choose_transport(run, communicator, error));
    run->device = (struct gw_validation_device){
        .gpu = run->gpu.described.name,
        .transport = transports[run->executor.transport],
        .compute = computes[options->compute],
        .cublas = options->compute == GW_COMPUTE_GEMM ? gw_cublas_version() : NULL,
        .ranks_on_one = run->gpu.ranks_on_one};
    run->answer.device = &run->device;
    return GW_OK;
}
