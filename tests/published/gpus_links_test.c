/* Published figures of GPUs and links are sound, and are found by what a user may write. */
#include "published/published.h"
#include "tests/test.h"

#define NETWORKS                                                                                   \
    "network: expected one of 1gbit, 10gbit, 25gbit, 40gbit, 50gbit, 100gbit, 200gbit, 400gbit, "  \
    "25gbit-roce, 100gbit-roce, 200gbit-roce, 400gbit-roce, fdr, edr, hdr, ndr, 100gbit-efa, "     \
    "400gbit-efa, or another rate, such as 2.5gbit; got "
#define LINKS_WITHIN                                                                               \
    "link within a node: expected one of pcie3, pcie4, pcie5, nvlink1, nvlink2, nvlink3, "         \
    "nvlink4, nvlink5; got "

static struct gw_error error;

/* 1.1: NVLink's switches add up, and Winograd convolutions multiply less often than is counted. */
static void assert_share(const struct gw_range *range) {
    assert_true(range->low > 0);
    assert_true(range->low <= range->typical);
    assert_true(range->typical <= range->high);
    assert_true(range->high <= 1.1);
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

TEST(gpus_have_sound_figures) {
    for (const struct gw_published_gpu *gpu = gw_published_gpus; gpu->name != NULL; gpu++) {
        const struct gw_published_gpu *found = NULL;
        assert_ok(gw_published_gpu_find(gpu->name, &found, &error));
        assert_ptr_equal(found, gpu);
        assert_true(gpu->flops[GW_FP32] > 0);
        assert_true(gpu->bytes_per_s > 0);
        assert_share(&gpu->memory_efficiency);
        for (int i = 0; i < GW_PRECISIONS; i++) {
            if (gpu->flops[i] > 0) {
                assert_share(&gpu->compute_efficiency[i]);
            }
        }
        if (gpu->within != NULL) {
            struct gw_arena arena = {0};
            struct gw_link link;
            assert_ok(gw_link_find(gpu->within, true, &arena, &link, &error));
            assert_non_null(strstr(gpu->source, "link: "));
            gw_arena_free(&arena);
        }
    }
}

/* Names as nvidia-smi prints them, and as people write them. */
TEST(gpus_are_found_by_what_others_call_them) {
    static const char *const table[][2] = {{"NVIDIA A100-SXM4-40GB", "a100-40gb"},
                                           {"NVIDIA A100-SXM4-80GB", "a100"},
                                           {"A100 SXM", "a100"},
                                           {"A100-80GB", "a100"},
                                           {"A100 40GB", "a100-40gb"},
                                           {"Tesla V100-SXM2-16GB", "v100"},
                                           {"Tesla V100-SXM2-32GB", "v100-32gb"},
                                           {"V100", "v100"},
                                           {"NVIDIA H100 80GB HBM3", "h100"},
                                           {"H100 SXM5", "h100"},
                                           {"NVIDIA H100 PCIe", "h100-pcie"},
                                           {"NVIDIA GeForce RTX 3090", "rtx3090"},
                                           {"Tesla T4", "t4"},
                                           {"Tesla P100-SXM2-16GB", "p100"},
                                           {"NVIDIA H200", "h200"},
                                           {"nvidia_l40s", "l40s"}};
    static const char *const others[] = {"A100 PCIe", "NVIDIA", "NVIDIAA100", "V100-PCIE-16GB",
                                         "H100 NVL"};
    const struct gw_published_gpu *gpu = NULL;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_ok(gw_published_gpu_find(table[i][0], &gpu, &error));
        assert_string_equal(gpu->name, table[i][1]);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(gw_published_gpu_find(others[i], &gpu, &error), GW_BAD_INPUT);
    }
}

TEST(an_unknown_gpu_is_refused_with_the_known_ones) {
    const struct gw_published_gpu *gpu = NULL;
    assert_int_equal(gw_published_gpu_find("a101", &gpu, &error), GW_BAD_INPUT);
    assert_null(gpu);
    assert_string_equal(
        error.message,
        "GPU: expected one of p100, p102-100, v100, v100-32gb, t4, rtx3090, a10, "
        "a100-40gb, a100, rtx4090, l4, l40s, h100, h100-pcie, h200, b200; got \"a101\"");
}

/* ---- links ----------------------------------------------------------------------------------- */

TEST(links_have_sound_figures) {
    for (const struct gw_link *link = gw_links; link->name != NULL; link++) {
        assert_true(link->bytes_per_s > 0);
        assert_share(&link->efficiency);
        assert_true(link->step_s.low > 0);
        assert_true(link->step_s.low <= link->step_s.typical);
        assert_true(link->step_s.typical <= link->step_s.high);
        assert_true(link->step_s.high < 1e-3);
    }
}

TEST(links_are_found_where_they_belong) {
    struct gw_arena arena = {0};
    for (const struct gw_link *link = gw_links; link->name != NULL; link++) {
        struct gw_link found;
        assert_ok(gw_link_find(link->name, link->within, &arena, &found, &error));
        assert_string_equal(found.name, link->name);
        assert_int_equal(gw_link_find(link->name, !link->within, &arena, &found, &error),
                         GW_BAD_INPUT);
    }
    gw_arena_free(&arena);
}

TEST(a_listed_rate_and_those_beyond_all_are_ethernet_as_listed) {
    const struct {
        const char *text, *name, *title, *like;
        double bytes_per_s;
    } table[] = {
        {"25gbit", "25gbit", "25 Gb/s Ethernet, TCP", "25gbit", 3.125e9},
        {"25000mbit", "25gbit", "25 Gb/s Ethernet, TCP", "25gbit", 3.125e9},
        {"800mbit", "800mbit", "800 Mb/s Ethernet, TCP", "1gbit", 0.1e9},
        {"0.001mbit", "0.001mbit", "0.001 Mb/s Ethernet, TCP", "1gbit", 125},
        {"800gbit", "800gbit", "800 Gb/s Ethernet, TCP", "400gbit", 100e9},
        {"10000gbit", "10000gbit", "10000 Gb/s Ethernet, TCP", "400gbit", 1.25e12},
        {"10Gbps", "10gbit", "10 Gb/s Ethernet, TCP", "10gbit", 1.25e9},
        {"10Gb/s", "10gbit", "10 Gb/s Ethernet, TCP", "10gbit", 1.25e9},
        {"1GbE", "1gbit", "1 Gb/s Ethernet, TCP", "1gbit", 0.125e9},
        {"25G", "25gbit", "25 Gb/s Ethernet, TCP", "25gbit", 3.125e9},
        {"625Mbit", "625mbit", "625 Mb/s Ethernet, TCP", "1gbit", 78.125e6},
        {"12.5GB/s", "100gbit", "100 Gb/s Ethernet, TCP", "100gbit", 12.5e9},
        {"100Gb/s-RoCE", "100gbit-roce", "100 Gb/s Ethernet, RoCE", "100gbit-roce", 12.5e9},
        {"10G-roce", "10gbit-roce", "10 Gb/s Ethernet, RoCE", "25gbit-roce", 1.25e9},
        {"400G-EFA", "400gbit-efa", "AWS EFA, 400 Gb/s", "400gbit-efa", 50e9},
        {"100G RoCE", "100gbit-roce", "100 Gb/s Ethernet, RoCE", "100gbit-roce", 12.5e9},
        {"200G IB", "hdr", "InfiniBand HDR", "hdr", 25e9},
        {"400Gb/s-IB", "ndr", "InfiniBand NDR", "ndr", 50e9},
        {"NDR200", "hdr", "InfiniBand HDR", "hdr", 25e9},
        {"HDR100", "edr", "InfiniBand EDR", "edr", 12.5e9},
        {"NDR400", "ndr", "InfiniBand NDR", "ndr", 50e9},
        {"EDR", "edr", "InfiniBand EDR", "edr", 12.5e9}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct gw_arena arena = {0};
        struct gw_link link, like;
        assert_ok(gw_link_find(table[i].text, false, &arena, &link, &error));
        assert_ok(gw_link_find(table[i].like, false, &arena, &like, &error));
        assert_string_equal(link.name, table[i].name);
        assert_string_equal(link.title, table[i].title);
        assert_true(near(link.bytes_per_s, table[i].bytes_per_s, 1e-12));
        assert_memory_equal(&link.efficiency, &like.efficiency, sizeof like.efficiency);
        assert_memory_equal(&link.step_s, &like.step_s, sizeof like.step_s);
        assert_false(link.within);
        assert_non_null(strstr(link.source, like.source));
        gw_arena_free(&arena);
    }
}

static struct gw_range reach_of(const struct gw_link *link) {
    return (struct gw_range){.low = link->bytes_per_s * link->efficiency.low,
                             .typical = link->bytes_per_s * link->efficiency.typical,
                             .high = link->bytes_per_s * link->efficiency.high};
}

/* Asserts that collectives never take longer on the faster link, as usual and at worst and best. */
static void assert_no_slower(const struct gw_link *slower, const struct gw_link *faster) {
    static const double rounding = 1e-9;
    struct gw_range before = reach_of(slower);
    struct gw_range after = reach_of(faster);
    assert_true(after.low >= before.low * (1 - rounding));
    assert_true(after.typical >= before.typical * (1 - rounding));
    assert_true(after.high >= before.high * (1 - rounding));
    assert_true(faster->step_s.low <= slower->step_s.low);
    assert_true(faster->step_s.typical <= slower->step_s.typical);
    assert_true(faster->step_s.high <= slower->step_s.high);
}

TEST(faster_ethernet_is_not_slower) {
    static const char *const protocols[] = {"", "-roce"};
    for (size_t p = 0; p < 2; p++) {
        struct gw_arena arena = {0};
        struct gw_link before = {0};
        for (int rate = 1; rate <= 1000; rate++) {
            struct gw_link link;
            const char *name = gw_arena_format(&arena, "%dgbit%s", rate, protocols[p]);
            assert_ok(gw_link_find(name, false, &arena, &link, &error));
            assert_share(&link.efficiency);
            if (rate > 1) {
                assert_no_slower(&before, &link);
            }
            before = link;
        }
        gw_arena_free(&arena);
    }
}

TEST(a_rate_between_listed_ones_lies_between_them) {
    struct gw_arena arena = {0};
    struct gw_link link;
    assert_ok(gw_link_find("70G", false, &arena, &link, &error));
    assert_true(near(reach_of(&link).typical, 3.125e9 + 0.4 * (5e9 - 3.125e9), 1e-12));
    assert_true(near(reach_of(&link).low, 0.25 * 6.25e9, 1e-12)); /* what 50 Gb/s carry at worst */
    assert_true(near(link.efficiency.high, 0.82, 1e-12));
    assert_non_null(strstr(link.source, "between 50 Gb/s Ethernet, TCP (assumed, between 25 and"));
    assert_non_null(strstr(link.source, "and 100 Gb/s Ethernet, TCP (NCCL reaches 4 to 6 GB/s"));
    assert_ok(gw_link_find("2.5gbit", false, &arena, &link, &error));
    assert_true(near(link.step_s.typical, 50e-6 - 20e-6 / 6, 1e-12));
    assert_true(near(link.step_s.low, 10e-6, 1e-12));
    assert_true(near(link.step_s.high, 120e-6, 1e-12));
    gw_arena_free(&arena);
}

TEST(a_link_is_put_beside_others_of_its_rate) {
    struct gw_arena arena = {0};
    struct gw_link link;
    assert_ok(gw_link_find("100gbit", false, &arena, &link, &error));
    assert_string_equal(gw_link_reach(&link, &arena),
                        "100 Gb/s Ethernet, TCP: 12.5 GB/s, of which collectives reach 5 (10 by "
                        "100gbit-roce, 11.5 by edr, 6.88 by 100gbit-efa)");
    assert_ok(gw_link_find("2.5gbit", false, &arena, &link, &error));
    assert_string_equal(gw_link_reach(&link, &arena),
                        "2.5 Gb/s Ethernet, TCP: 0.312 GB/s, of which collectives reach 0.255");
    gw_arena_free(&arena);
}

TEST(malformed_links_are_refused) {
    const char *names[] = {"",           "-1gbit",       "+1gbit",  "1e3gbit",   "nangbit",
                           "infgbit",    "0x10gbit",     " 25gbit", ".5gbit",    "5.gbit",
                           "1.2.3gbit",  "1,5gbit",      "gbit",    "25",        "2-5gbit",
                           "25GB",       "0gbit",        "0.0mbit", "10001gbit", "1e308gbit",
                           "0.0001mbit", "25gbit-iwarp", "qdr",     "25G IB"};
    struct gw_arena arena = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct gw_link link;
        for (int within = 0; within < 2; within++) {
            assert_int_equal(gw_link_find(names[i], within == 1, &arena, &link, &error),
                             GW_BAD_INPUT);
            assert_true(strlen(error.message) > 0);
        }
    }
    gw_arena_free(&arena);
}

TEST(a_rate_that_has_no_number_is_refused) {
    char digits[512];
    memset(digits, '9', sizeof digits);
    memcpy(digits + sizeof digits - sizeof "gbit", "gbit", sizeof "gbit");
    struct gw_arena arena = {0};
    struct gw_link link;
    assert_int_equal(gw_link_find(digits, false, &arena, &link, &error), GW_BAD_INPUT);
    gw_arena_free(&arena);
}

TEST(unknown_links_are_refused_with_the_known_ones) {
    const struct {
        const char *name;
        bool within;
        const char *message;
    } table[] = {
        {"hrd", false, NETWORKS "\"hrd\""},
        {"nvlink4", false, NETWORKS "\"nvlink4\", a link within a node"},
        {"hdr", true, LINKS_WITHIN "\"hdr\", a network"},
        {"2.5gbit", true, LINKS_WITHIN "\"2.5gbit\", a network"},
        {"10GB", false, NETWORKS "\"10GB\": rates are in bits, such as 10gbit"},
        {"0gbit", false, "network: expected a rate from 0.001mbit to 10000gbit; got \"0gbit\""},
    };
    struct gw_arena arena = {0};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct gw_link link;
        assert_int_equal(gw_link_find(table[i].name, table[i].within, &arena, &link, &error),
                         GW_BAD_INPUT);
        assert_string_equal(error.message, table[i].message);
    }
    gw_arena_free(&arena);
}
