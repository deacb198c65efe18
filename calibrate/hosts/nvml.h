/*
 * What NVIDIA's management library says of GPUs; private to this room. It comes with the driver and
 * is loaded when it is first asked. Where it is not there, or a GPU does not tell, nothing is put.
 */
#ifndef GW_CALIBRATE_NVML_H
#define GW_CALIBRATE_NVML_H

#include "core/core.h"

/*
 * Of the GPU at this place ("0000:3B:00.0"), what stays as it is: "clocks" (those set for
 * applications and the highest, Hz), "power_limit_w", "pcie" (the highest generation and width),
 * "nvlinks" (that are up), "persistence", "mig".
 */
enum gw_status gw_nvml_put_gpu(const char *pci, cJSON *gpu, struct gw_error *error);

/*
 * Of the host: "gpu_driver" and "cuda_driver" (the newest CUDA that it runs), and of each two of
 * the GPUs, which have "pci", as "gpu_paths" what lies between them, in the words of `nvidia-smi
 * topo`: PIX (one PCIe switch), PXB (several), PHB (a host bridge), NODE (a NUMA node), SYS.
 */
enum gw_status gw_nvml_put_node(const cJSON *gpus, cJSON *node, struct gw_error *error);

/* Of the GPU as it is at this moment: "gpu_sm_hz", "gpu_memory_hz", "gpu_pcie_generation". */
enum gw_status gw_nvml_put_now(const char *pci, cJSON *rank, struct gw_error *error);

#endif
