/*
 * Links: rates of networks and within nodes, and the shares of them that collectives reach.
 *
 * Efficiencies are bus bandwidths of large allreduces (nccl-tests, doc/PERFORMANCE.md) over the
 * link's rate. For two nodes only those of rings are used: NCCL's trees exceed a link's rate
 * (github.com/NVIDIA/nccl/issues/209). Steps of RDMA, NVLink and PCIe are the latencies in NCCL's
 * own cost model (src/graph/tuning.cc): 2.7 to 14 us for a network, 0.6 to 4 us for NVLink, 1 to
 * 5.7 us for PCIe, with shares of its 6.6 to 8.4 us before each collective; 256 GPUs of 32 nodes
 * with HDR took 63 us for a few bytes (nccl/issues/652), 8 GPUs on PCIe 42 us (nccl/issues/1530).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "published/published.h"

/* Sources of several rows. */
#define TCP_STEP                                                                                   \
    "; steps: NCCL broadcasts 8 bytes over TCP in 38 to 46 us (nccl-tests/issues/82), a ping "     \
    "goes "                                                                                        \
    "there in 30 to 40 us (tensorflow/benchmarks/issues/29)"
#define NCCL_RDMA_STEP "; steps: NCCL's src/graph/tuning.cc"
#define NCCL_STEP "; steps and bounds: NCCL's src/graph/tuning.cc and topo.h"

/* ---- the table ------------------------------------------------------------------------------- */

/*
 * A network's rate is that of one link. Ethernet's rows ascend by rate within each protocol, for
 * interpolation.
 */
const struct gw_link gw_links[] = {
    {.name = "1gbit",
     .title = "1 Gb/s Ethernet, TCP",
     .bytes_per_s = 0.125e9,
     .efficiency = {0.7, 0.85, 0.94},
     .step_s = {20e-6, 50e-6, 120e-6},
     .source = "1448 bytes of 1538 on the wire are TCP's payload; 0.8: the OMGS paper (Shi et al., "
               "2020), 102 MB among 16 nodes in 1.92 s; steps: round trips of 110 and 220 us "
               "(serverfault.com/questions/791539)"},
    {.name = "10gbit",
     .title = "10 Gb/s Ethernet, TCP",
     .bytes_per_s = 1.25e9,
     .efficiency = {0.55, 0.8, 0.94},
     .step_s = {10e-6, 30e-6, 80e-6},
     .source = "9.3 Gb/s by iperf (tensorflow/benchmarks/issues/29); between 1 and 25 "
               "Gb/s" TCP_STEP},
    {.name = "25gbit",
     .title = "25 Gb/s Ethernet, TCP",
     .bytes_per_s = 3.125e9,
     .efficiency = {0.4, 0.65, 0.92},
     .step_s = {10e-6, 30e-6, 80e-6},
     .source = "NCCL reaches 1.7 GB/s in Azure (nccl-tests/issues/83) and 60% of 32 Gb/s in Google "
               "Cloud (nccl/issues/209); Horovod's VGG-16 on 16 GPUs needs 0.53 or more" TCP_STEP},
    {.name = "40gbit",
     .title = "40 Gb/s Ethernet, TCP",
     .bytes_per_s = 5e9,
     .efficiency = {0.3, 0.55, 0.88},
     .step_s = {10e-6, 30e-6, 80e-6},
     .source = "Horovod's README of 2017: VGG-16 on 64 GPUs at plain 40 Gb/s needs 0.4 or more; "
               "between 25 and 100 Gb/s" TCP_STEP},
    {.name = "50gbit",
     .title = "50 Gb/s Ethernet, TCP",
     .bytes_per_s = 6.25e9,
     .efficiency = {0.25, 0.5, 0.82},
     .step_s = {10e-6, 30e-6, 80e-6},
     .source = "assumed, between 25 and 100 Gb/s" TCP_STEP},
    {.name = "100gbit",
     .title = "100 Gb/s Ethernet, TCP",
     .bytes_per_s = 12.5e9,
     .efficiency = {0.17, 0.4, 0.7},
     .step_s = {10e-6, 30e-6, 80e-6},
     .source = "NCCL reaches 4 to 6 GB/s among four nodes (nccl/issues/450), 4.7 GB/s between two "
               "(nccl/issues/398), 17 Gb/s between two (nccl/issues/235); iperf 92 Gb/s "
               "(nccl/issues/209)" TCP_STEP},
    {.name = "200gbit",
     .title = "200 Gb/s Ethernet, TCP",
     .bytes_per_s = 25e9,
     .efficiency = {0.1, 0.3, 0.6},
     .step_s = {10e-6, 30e-6, 80e-6},
     .source = "assumed from 100 Gb/s, as sockets and cores bound it" TCP_STEP},
    {.name = "400gbit",
     .title = "400 Gb/s Ethernet, TCP",
     .bytes_per_s = 50e9,
     .efficiency = {0.05, 0.2, 0.5},
     .step_s = {10e-6, 30e-6, 80e-6},
     .source = "assumed from 100 Gb/s, as sockets and cores bound it" TCP_STEP},
    {.name = "25gbit-roce",
     .title = "25 Gb/s Ethernet, RoCE",
     .bytes_per_s = 3.125e9,
     .efficiency = {0.6, 0.85, 0.97},
     .step_s = {2e-6, 5e-6, 15e-6},
     .source = "Horovod's README of 2017: VGG-16 on 16 GPUs needs 0.8 or more; assumed from 100 "
               "Gb/s" NCCL_RDMA_STEP},
    {.name = "100gbit-roce",
     .title = "100 Gb/s Ethernet, RoCE",
     .bytes_per_s = 12.5e9,
     .efficiency = {0.5, 0.8, 0.97},
     .step_s = {2e-6, 5e-6, 15e-6},
     .source = "600 of 800 Gb/s between two nodes (nccl/issues/495); 12 GB/s is what NVIDIA takes "
               "for the most (nccl-tests/issues/119)" NCCL_RDMA_STEP},
    {.name = "200gbit-roce",
     .title = "200 Gb/s Ethernet, RoCE",
     .bytes_per_s = 25e9,
     .efficiency = {0.39, 0.8, 0.96},
     .step_s = {2e-6, 5e-6, 15e-6},
     .source = "9.84 GB/s where ib_write_bw has 180 Gb/s (nccl/issues/700); 24 GB/s is what NVIDIA "
               "takes for the most (nccl-tests/issues/119)" NCCL_RDMA_STEP},
    {.name = "400gbit-roce",
     .title = "400 Gb/s Ethernet, RoCE",
     .bytes_per_s = 50e9,
     .efficiency = {0.54, 0.8, 0.96},
     .step_s = {2e-6, 5e-6, 15e-6},
     .source = "320 of 400 GB/s among four nodes (nccl/issues/1221), 217 of 400 GB/s between two "
               "(nccl/issues/2409)" NCCL_RDMA_STEP},
    {.name = "fdr",
     .title = "InfiniBand FDR",
     .bytes_per_s = 6.818e9,
     .efficiency = {0.65, 0.9, 0.97},
     .step_s = {2e-6, 5e-6, 15e-6},
     .source = "54.54 Gb/s of data (64b/66b; infiniband.jp); efficiency: assumed from "
               "EDR" NCCL_RDMA_STEP},
    {.name = "edr",
     .aliases = {"hdr100", "100gbit-ib"},
     .title = "InfiniBand EDR",
     .bytes_per_s = 12.5e9,
     .efficiency = {0.65, 0.92, 0.98},
     .step_s = {2e-6, 5e-6, 15e-6},
     .source = "12.2 GB/s among four nodes, as good as it gets (nccl-tests/issues/29); 47 of 50 "
               "GB/s of four in a DGX-1 (nccl/issues/307)" NCCL_RDMA_STEP},
    {.name = "hdr",
     .aliases = {"hdr200", "ndr200", "200gbit-ib"},
     .title = "InfiniBand HDR",
     .bytes_per_s = 25e9,
     .efficiency = {0.61, 0.92, 0.97},
     .step_s = {2e-6, 5e-6, 15e-6},
     .source = "24 GB/s at most (nccl-tests/issues/119), 192 of 200 GB/s of eight in a DGX A100 "
               "(nccl/issues/812), 15.3 GB/s where it is attached to the CPU "
               "(nccl/issues/412)" NCCL_RDMA_STEP},
    {.name = "ndr",
     .aliases = {"ndr400", "400gbit-ib"},
     .title = "InfiniBand NDR",
     .bytes_per_s = 50e9,
     .efficiency = {0.65, 0.92, 0.97},
     .step_s = {2e-6, 5e-6, 15e-6},
     .source = "46 to 48 GB/s are to be expected (nccl-tests/issues/290)" NCCL_RDMA_STEP},
    {.name = "100gbit-efa",
     .title = "AWS EFA, 100 Gb/s",
     .bytes_per_s = 12.5e9,
     .efficiency = {0.4, 0.55, 0.8},
     .step_s = {10e-6, 20e-6, 40e-6},
     .source = "80 Gb/s between two nodes, 50 to 60 among 8 to 32 (nccl/issues/235), 60 by a ring "
               "(nccl-tests/issues/22); steps: those of 400 Gb/s"},
    {.name = "400gbit-efa",
     .title = "AWS EFA, 400 Gb/s",
     .bytes_per_s = 50e9,
     .efficiency = {0.5, 0.62, 0.85},
     .step_s = {10e-6, 20e-6, 40e-6},
     .source = "32 GB/s among three nodes and 30 among four, with 164 us for a few bytes "
               "(nccl/issues/527)"},
    {.name = "pcie3",
     .title = "PCIe 3.0 x16, through host bridges",
     .bytes_per_s = 15.754e9,
     .efficiency = {0.3, 0.6, 0.78},
     .step_s = {2e-6, 5e-6, 20e-6},
     .within = true,
     .source = "8 GT/s in 16 lanes, 128b/130b; NCCL reckons with 12 GB/s; 4.9 GB/s of four GPUs "
               "(nccl/issues/445)" NCCL_STEP},
    {.name = "pcie4",
     .title = "PCIe 4.0 x16, through host bridges",
     .bytes_per_s = 31.508e9,
     .efficiency = {0.3, 0.6, 0.78},
     .step_s = {2e-6, 5e-6, 20e-6},
     .within = true,
     .source = "16 GT/s in 16 lanes, 128b/130b; NCCL reckons with 24 GB/s; 20 GB/s of three GPUs "
               "(nccl-tests/issues/178), 18 to 21 between two GPUs (nccl/issues/841)" NCCL_STEP},
    {.name = "pcie5",
     .title = "PCIe 5.0 x16, through host bridges",
     .bytes_per_s = 63.015e9,
     .efficiency = {0.25, 0.45, 0.7},
     .step_s = {2e-6, 5e-6, 20e-6},
     .within = true,
     .source = "32 GT/s in 16 lanes, 128b/130b; 28 GB/s of eight GPUs, 35 of four "
               "(nccl/issues/1639)" NCCL_STEP},
    {.name = "nvlink1",
     .title = "NVLink 1 (P100)",
     .bytes_per_s = 80e9,
     .efficiency = {0.5, 0.8, 0.9},
     .step_s = {1e-6, 2.5e-6, 8e-6},
     .within = true,
     .source = "NVIDIA Tesla P100 whitepaper, 160 GB/s both ways by four links; NCCL reckons with "
               "18 of each link's 20 GB/s; efficiency: assumed from NVLink 2" NCCL_STEP},
    {.name = "nvlink2",
     .title = "NVLink 2 (V100)",
     .bytes_per_s = 150e9,
     .efficiency = {0.5, 0.8, 0.9},
     .step_s = {1e-6, 2.5e-6, 8e-6},
     .within = true,
     .source = "NVIDIA V100 data sheet, 300 GB/s both ways; NCCL reckons with 20 of each link's 25 "
               "GB/s" NCCL_STEP},
    {.name = "nvlink3",
     .title = "NVLink 3 (A100)",
     .bytes_per_s = 300e9,
     .efficiency = {0.65, 0.76, 0.8},
     .step_s = {1e-6, 2.5e-6, 8e-6},
     .within = true,
     .source = "NVIDIA A100 data sheet, 600 GB/s both ways; 231 and 233 GB/s of eight GPUs "
               "(nccl/issues/527, nccl-tests/issues/175), 200 (nccl-tests/issues/149)" NCCL_STEP},
    {.name = "nvlink4",
     .title = "NVLink 4 (H100, H200)",
     .bytes_per_s = 450e9,
     .efficiency = {0.65, 0.82, 1.07},
     .step_s = {1e-6, 2.5e-6, 8e-6},
     .within = true,
     .source = "NVIDIA H100 data sheet, 900 GB/s both ways; 370 GB/s by a ring, 480 with the "
               "switch adding up (nccl-tests/issues/212), 475 (nccl-tests/issues/272)" NCCL_STEP},
    {.name = "nvlink5",
     .title = "NVLink 5 (B200)",
     .bytes_per_s = 900e9,
     .efficiency = {0.6, 0.82, 0.93},
     .step_s = {1e-6, 2.5e-6, 8e-6},
     .within = true,
     .source = "NVIDIA Blackwell data sheet, 1.8 TB/s both ways; 830 GB/s of eight B200 "
               "(nccl/issues/1807); NCCL reckons with 40 of each link's 50 GB/s" NCCL_STEP},
    {.name = NULL},
};

/* ---- rates ----------------------------------------------------------------------------------- */

/* Range of accepted rates; others are taken for typing errors. */
static const double least_bytes_per_s = 125, most_bytes_per_s = 1.25e12;

static const char tcp[] = "", roce[] = "-roce"; /* after a rate */

/* A rate and its protocol. */
struct rate {
    double bytes_per_s;
    const char *protocol; /* part of the name */
};

/* Parses "2.5gbit", "800Mb/s-RoCE", "200G IB", "25G": a decimal number, a unit, a protocol. */
static bool parse_rate(const char *name, struct rate *out) {
    static const char digits[] = "0123456789";
    static const double bits = 8;
    const char *unit = name + strspn(name, digits);
    if (unit == name) {
        return false;
    }
    if (*unit == '.') {
        size_t places = strspn(unit + 1, digits);
        unit += places == 0 ? 0 : 1 + places;
    }
    size_t length = strcspn(unit, "- ");
    double unit_bit_per_s = 0;
    out->bytes_per_s = strtod(name, NULL);
    out->protocol = unit + length;
    if (!gw_rate_unit(unit, length, &unit_bit_per_s)) {
        return false;
    }
    out->bytes_per_s *= unit_bit_per_s / bits;
    return true;
}

/* Formats a rate as in the table: "2.5gbit", "800mbit-roce". */
static const char *name_rate(const struct rate *rate, struct gw_arena *arena) {
    bool slow = rate->bytes_per_s < 0.125e9;
    return gw_arena_format(arena, "%.6g%s%s", rate->bytes_per_s / (slow ? 0.125e6 : 0.125e9),
                           slow ? "mbit" : "gbit", rate->protocol);
}

/* Interpolates between the slower and the faster link's value. */
static double blend(double slower, double faster, double share) {
    return slower + share * (faster - slower);
}

/*
 * Interpolates between two links of one protocol: collectives' bandwidth and a step's time are
 * linear in the rate, so that no faster network carries less. The range spans both links: at least
 * the slower one's low bandwidth; at most its high share, and the faster one's high bandwidth.
 */
static void interpolate_links(const struct gw_link *slower, const struct gw_link *faster,
                              double bytes_per_s, struct gw_link *out) {
    double share =
        (bytes_per_s - slower->bytes_per_s) / (faster->bytes_per_s - slower->bytes_per_s);
    out->efficiency = (struct gw_range){
        .low = slower->efficiency.low * slower->bytes_per_s / bytes_per_s,
        .typical = blend(slower->efficiency.typical * slower->bytes_per_s,
                         faster->efficiency.typical * faster->bytes_per_s, share) /
                   bytes_per_s,
        .high = fmin(slower->efficiency.high,
                     faster->efficiency.high * faster->bytes_per_s / bytes_per_s)};
    out->step_s =
        (struct gw_range){.low = faster->step_s.low,
                          .typical = blend(slower->step_s.typical, faster->step_s.typical, share),
                          .high = slower->step_s.high};
}

/* Makes an Ethernet link of a rate that is not in the table, from the neighbouring rates there. */
static enum gw_status make_ethernet(const char *name, const struct rate *rate,
                                    struct gw_arena *arena, struct gw_link *out,
                                    struct gw_error *error) {
    double bytes_per_s = rate->bytes_per_s;
    if (!(bytes_per_s >= least_bytes_per_s && bytes_per_s <= most_bytes_per_s)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "network: expected a rate from 0.001mbit to 10000gbit; got \"%s\"", name);
    }
    const struct gw_link *slower = NULL;
    const struct gw_link *faster = NULL;
    struct rate own = {0};
    for (const struct gw_link *row = gw_links; row->name != NULL && faster == NULL; row++) {
        if (parse_rate(row->name, &own) && strcmp(own.protocol, rate->protocol) == 0) {
            *(own.bytes_per_s < bytes_per_s ? &slower : &faster) = row;
        }
    }
    const struct gw_link *like = gw_needed(slower == NULL ? faster : slower);
    *out = *like;
    out->source = gw_arena_format(arena, "as %s: %s", like->title, like->source);
    if (slower != NULL && faster != NULL) {
        interpolate_links(slower, faster, bytes_per_s, out);
        out->source = gw_arena_format(arena, "between %s (%s) and %s (%s)", slower->title,
                                      slower->source, faster->title, faster->source);
    }
    out->name = name_rate(rate, arena);
    out->title = gw_arena_format(
        arena, "%.6g %s Ethernet, %s", bytes_per_s / (bytes_per_s < 0.125e9 ? 0.125e6 : 0.125e9),
        bytes_per_s < 0.125e9 ? "Mb/s" : "Gb/s", rate->protocol == tcp ? "TCP" : "RoCE");
    out->bytes_per_s = bytes_per_s;
    return gw_arena_check(arena, "making a link", error);
}

/* ---- finding a link -------------------------------------------------------------------------- */

/* Fails with the list of links that exist in that place; a number says how rates are written. */
static enum gw_status refuse_link(const char *name, bool within, bool elsewhere,
                                  struct gw_error *error) {
    char names[256] = "";
    for (const struct gw_link *row = gw_links; row->name != NULL; row++) {
        if (row->within == within) {
            gw_list_name(names, sizeof names, row->name);
        }
    }
    const char *is = elsewhere ? within ? ", a network" : ", a link within a node" : "";
    size_t digits = within || elsewhere ? 0 : strspn(name, "0123456789");
    char rate[64] = "";
    if (digits > 0 && digits < 6) {
        (void)snprintf(rate, sizeof rate, ": rates are in bits, such as %.*sgbit", (int)digits,
                       name);
    }
    return gw_fail(error, GW_BAD_INPUT, "%s: expected one of %s%s; got \"%s\"%s%s",
                   within ? "link within a node" : "network", names,
                   within ? "" : ", or another rate, such as 2.5gbit", name, is, rate);
}

enum gw_status gw_link_find(const char *name, bool within, struct gw_arena *arena,
                            struct gw_link *out, struct gw_error *error) {
    struct rate rate = {0};
    bool is_rate = parse_rate(name, &rate);
    const char *plain = is_rate ? name_rate(&rate, arena) : name;
    GW_TRY(gw_arena_check(arena, "finding a link", error));
    for (const struct gw_link *row = gw_links; row->name != NULL; row++) {
        if (gw_name_is_one_of(plain, row->name, row->aliases)) {
            *out = *row;
            return row->within == within ? GW_OK : refuse_link(name, within, true, error);
        }
    }
    const char *protocol = !is_rate                              ? NULL
                           : rate.protocol[0] == '\0'            ? tcp
                           : gw_names_agree(rate.protocol, roce) ? roce
                                                                 : NULL;
    rate.protocol = protocol == NULL ? "" : protocol;
    return protocol != NULL && !within ? make_ethernet(name, &rate, arena, out, error)
                                       : refuse_link(name, within, protocol != NULL, error);
}

const char *gw_link_reach(const struct gw_link *link, struct gw_arena *arena) {
    char others[256] = "";
    for (const struct gw_link *row = gw_links; row->name != NULL; row++) {
        if (row->within == link->within && strcmp(row->name, link->name) != 0 &&
            fabs(row->bytes_per_s / link->bytes_per_s - 1) < 0.01) {
            char other[64];
            (void)snprintf(other, sizeof other, "%.3g by %s",
                           row->efficiency.typical * row->bytes_per_s / 1e9, row->name);
            gw_list_name(others, sizeof others, other);
        }
    }
    return gw_arena_format(arena, "%s: %.3g GB/s, of which collectives reach %.3g%s%s%s",
                           link->title, link->bytes_per_s / 1e9,
                           link->efficiency.typical * link->bytes_per_s / 1e9,
                           others[0] == '\0' ? "" : " (", others, others[0] == '\0' ? "" : ")");
}

enum gw_status gw_link_measured(double bytes_per_s, struct gw_arena *arena, struct gw_link *out,
                                struct gw_error *error) {
    if (!(bytes_per_s >= least_bytes_per_s && bytes_per_s <= most_bytes_per_s)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "network: expected a rate from 0.001 Mb/s to 10000 Gb/s, got %.4g Mb/s",
                       bytes_per_s / 0.125e6);
    }
    *out = (struct gw_link){
        .name = gw_arena_format(arena, "%.4ggbit-measured", bytes_per_s / 0.125e9),
        .title = gw_arena_format(arena, "RDMA, %.4g GB/s measured by perftest", bytes_per_s / 1e9),
        .bytes_per_s = bytes_per_s,
        .efficiency = {0.44, 0.92, 1},
        .step_s = {2e-6, 5e-6, 15e-6},
        .source = "perftest; efficiency: NCCL has 9.84 GB/s where ib_write_bw has 180 Gb/s "
                  "(nccl/issues/700), otherwise that of InfiniBand" NCCL_RDMA_STEP,
    };
    return gw_arena_check(arena, "making a link", error);
}
