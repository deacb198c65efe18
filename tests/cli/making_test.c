/*
 * `model` and `cluster` as a user starts them, and wishes for what is made that every verb refuses.
 */
#include "tests/cli/program_inputs.h"

#include "tests/test.h"

TEST_IN_FOLDER(what_is_made_passes_check) {
    check_says(*state, "gradweave model make vit-b-16 --backward 45ms --out m.json", "vit-b-16",
               "backward 45.00 ms", NULL);
    check_says(*state,
               "gradweave cluster make --nodes 4 --gpus-per-node 8 --network hdr --intra nvlink3 "
               "--gpu a100 --out c.json",
               "32 workers, 8 a node, assumed", "allreduce", "topk", NULL);
    check_says(*state, "gradweave check m.json c.json --strict", "m.json", "nothing odd", NULL);
    check_says(*state, "gradweave model show m.json", "86,567,656 elements", NULL);
    check_says(*state, "gradweave cluster show box-4x1gbit", "measured", "allgather", NULL);
}

TEST_IN_FOLDER(benchmarks_become_a_cluster) {
    write_text(*state, "osu.txt",
               "# OSU MPI Allreduce Latency Test v7.3\n# Size       Avg Latency(us)\n"
               "1024 50.0\n1048576 9000.0\n");
    check_says(*state, "gradweave cluster import osu osu.txt --workers 4 --out c.json", "imported",
               "allreduce", "Nothing imported says how many workers a node has: one", NULL);
    struct answer answer = ask(*state, "gradweave cluster import osu osu.txt --workers 4 "
                                       "--gpus-per-node 2 --out d.json");
    assert_non_null(strstr(answer.out, "4 workers, 2 a node"));
    assert_null(strstr(answer.out, "Nothing imported"));
    answer = ask(*state, "gradweave compare resnet50 --cluster osu.txt");
    assert_int_equal(answer.status, 2);
    assert_non_null(
        strstr(answer.err, "osu.txt: expected a cluster, which gradweave cluster import"));
    cJSON *cluster = parse_document(read_text(*state, "c.json"), "gradweave/cluster@1");
    const cJSON *entry = cJSON_GetArrayItem(item_at(cluster, "collectives.allreduce"), 0);
    assert_true(number_at(entry, "workers") == 4);
    assert_true(number_at(cluster, "workers") == 4);
}

TEST_IN_FOLDER(what_a_log_leaves_open_is_said) {
    static const char *const asks[] = {
        "gradweave simulate resnet50 --cluster c.json --algo topk",
        "gradweave compare resnet50 --cluster c.json",
        "gradweave advise resnet50 --gpu h100 --cluster c.json",
    };
    write_text(*state, "osu.txt",
               "# OSU MPI Allreduce Latency Test v7.3\n# Size       Avg Latency(us)\n"
               "64 30.0\n128 31.0\n256 33.0\n");
    check_says(*state, "gradweave cluster import osu osu.txt --workers 4 --gpu h100 --out c.json",
               "allreduce among 4: nothing above 256 B was measured",
               "Not measured: allgather assumed from allreduce.", NULL);
    struct answer check = ask(*state, "gradweave check c.json");
    assert_int_equal(check.status, 1);
    assert_non_null(
        strstr(check.out, "collectives.allreduce[0]: nothing above 256 B was measured"));
    assert_non_null(strstr(check.out, "allreduce imported among 4"));
    assert_non_null(strstr(check.out, "allgather assumed from allreduce among 4"));
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        struct answer answer = ask(*state, "%s", asks[i]);
        bool is_dense = strstr(answer.out, "allreduce: nothing above 256 B was measured") != NULL;
        assert_true(is_dense == (i > 0));
        assert_non_null(strstr(answer.out, "note: allgather: assumed from allreduce"));
    }
    check_says(*state, asks[2], "imported (allgather assumed from allreduce)", NULL);
    cJSON *advice = ask_for(*state, "gradweave/advice@1",
                            "gradweave advise resnet50 --gpu h100 --cluster c.json --json");
    assert_string_equal(text_at(advice, "rests_on.assumed_collectives"),
                        "allgather assumed from allreduce");
}

TEST_IN_FOLDER(a_single_node_has_no_network) {
    struct answer answer =
        ask(*state, "gradweave advise resnet50 --gpu a100 --nodes 1 --gpus-per-node 8");
    assert_non_null(strstr(answer.out, "Within a node: NVLink 3"));
    assert_null(strstr(answer.out, "Network: "));
}

TEST_IN_FOLDER(workers_that_no_text_lists_are_refused) {
    static const char rows[] =
        "#       size         count      type   redop    root     time   algbw   "
        "busbw  #wrong\n"
        "  1024  256  float  sum  -1  20.50  0.05  0.07  0\n"
        "  4096  1024  float  sum  -1  31.25  0.13  0.20  0\n";
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "# Using devices\n#  Rank  0 Group  0 Pid 1 on left device 0\n"
                   "#  Rank  1 Group  0 Pid 2 on left device 1\n%s",
                   rows);
    write_text(*state, "all_reduce.txt", text);
    struct answer answer =
        ask(*state, "gradweave cluster import nccl-tests all_reduce.txt --workers "
                    "4 --out c.json");
    assert_int_equal(answer.status, 2);
    assert_non_null(
        strstr(answer.err, "--workers: expected 2, as the text lists its ranks, got 4"));
    check_says(*state,
               "gradweave cluster import nccl-tests all_reduce.txt --workers 2 --out c.json",
               "2 workers, 2 a node", NULL);
}

/* A cluster that was made is shown on a screen, as what it is. */
TEST_IN_FOLDER(a_made_cluster_is_shown_on_a_screen) {
    struct answer answer = ask(*state, "gradweave cluster make --nodes 4 --gpus-per-node 8 --gpu "
                                       "V100 --network EDR --out c.json");
    size_t lines = 0;
    for (const char *at = strchr(answer.out, '\n'); at != NULL; at = strchr(at + 1, '\n')) {
        lines++;
    }
    assert_int_equal(answer.status, 0);
    assert_in_range(lines, 10, 40);
    assert_non_null(strstr(answer.out, "curves among 2, 4, 8, 16, 33, 64"));
    answer = ask(*state, "gradweave check c.json");
    assert_non_null(strstr(answer.out, "allreduce assumed among 2, 4, 8, 16, 32, 33, 64"));
    assert_null(strstr(answer.out, "reduce measured"));
}

TEST_IN_FOLDER(bad_wishes_are_refused) {
    static const struct {
        const char *command, *says;
    } table[] = {
        {"advise", "expected a NETWORK"},
        {"advise gpt2 --gpu a100", "expected --nodes N --network LINK"},
        {"advise gpt2 --gpu a101 --nodes 8 --network 10gbit", "a100"},
        {"advise gpt2 --gpu a100 --nodes 8 --network 10furlongs", "10furlongs"},
        {"advise gpt2 --gpu a100 --nodes 8 --network nvlink3", "nvlink3"},
        {"advise gpt9 --gpu a100 --nodes 8 --network 10gbit", "gpt9"},
        {"advise gpt2 --nodes 8 --network 10gbit", "--gpu"},
        {"advise gpt2 --gpu a100 --nodes 8", "--network: expected the link"},
        {"advise gpt2 --gpu a100 --nodes 1 --cards 2", "--cards"},
        {"advise resnet50 --cluster p102-1gbe-16 --batch 3", "--batch: expected --gpu"},
        {"advise resnet50-h200 --cluster p102-1gbe-16 --gpu a100 --batch 3",
         "--batch: expected a network"},
        {"advise gpt2 --gpu p102-100 --gpus-per-node 8 --nodes 8 --network 10gbit", "--intra"},
        {"advise gpt2 --gpu b100 --nodes 2 --network 10gbit",
         "l40s, h100, h100-pcie, h200, b200; got \"b100\"\n"},
        {"advise gpt2 --gpu a100 --nodes 2 --network 25GB", "such as 2.5gbit; got \"25GB\": rates are in bits, such as 25gbit\n"},
        {"advise gpt2 --gpu v100 --precision tf32 --nodes 8 --network 10gbit", "tf32"},
        {"report gpt2 --gpu a100 --nodes 8 --network 10gbit --out page.pdf",
         "--out: expected a name of HTML, such as page.html, got \"page.pdf\""},
        {"model make gpt2 --out m.json", "--gpu GPU"},
        {"model make gpt2 --backward 45 --out m.json", "45ms"},
        {"model make gpt2 --gpu a100", "--out"},
        {"model import nowhere.txt --backward 45ms --out m.json", "nowhere.txt"},
        {"model import nowhere.txt --out m.json", "--backward TIME"},
        {"model import nowhere.txt --backward 45ms --gpu a100 --out m.json", "no GPU"},
        {"model show", "expected a MODEL"},
        {"model bake", "bake"},
        {"cluster make --nodes 8 --out c.json", "--network"},
        {"cluster make --nodes 0 --network 10gbit --out c.json", "--nodes"},
        {"cluster import osu nowhere.txt --workers 4 --out c.json", "nowhere.txt"},
        {"cluster import mpi-tests a.txt --out c.json", "nccl-inspector or ib_write_bw"},
        {"cluster import nccl-tests a.txt --nodes 4 --out c.json", "--nodes: expected it with"},
        {"cluster import ib_write_bw a.txt --workers 4 --out c.json", "--workers: expected it"},
        {"cluster import ib_write_bw a.txt --out c.json", "--nodes N"},
        {"cluster import ib_write_bw a.txt --nodes 4 --network hdr --out c.json", "--network"},
        {"cluster make --nodes 1 --gpus-per-node 2 --intra pcie4 --cards 2 --out c.json",
         "--cards: expected --network"},
        {"cluster show box-4x1gbit --network 10gbit", "show:"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct answer answer = ask(*state, "gradweave %s", table[i].command);
        if (answer.status != 2 || strstr(answer.err, table[i].says) == NULL) {
            print_message("gradweave %s: %d %s\n", table[i].command, answer.status, answer.err);
        }
        assert_int_equal(answer.status, 2);
        assert_string_equal(answer.out, "");
        assert_non_null(strstr(answer.err, table[i].says));
    }
    assert_string_equal(list_files(*state), "");
}
