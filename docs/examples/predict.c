/* Ranks pipelines on a cluster: predict.c MODEL CLUSTER, each a name that ships or a file. */
#include <gradweave.h>
#include <stdio.h>

enum { MOST_GROUPS = 4096, SHOWN = 3 };

int main(int argc, char **argv) {
    const struct gradweave_question question = {.model = argc > 1 ? argv[1] : "resnet50",
                                                .cluster = argc > 2 ? argv[2] : "p102-1gbe-16"};
    static struct gradweave_group_times groups[MOST_GROUPS];
    struct gradweave_prediction fastest[SHOWN];
    struct gradweave_explanation why;
    struct gradweave_error error;
    size_t count = SHOWN;
    size_t group_count = MOST_GROUPS;

    if (gradweave_rank(&question, fastest, &count, &error) != GRADWEAVE_OK ||
        gradweave_explain(&question, "optimal", "topk", groups, &group_count, &why, &error) !=
            GRADWEAVE_OK) {
        return fprintf(stderr, "%s\n", error.message), 1;
    }
    for (size_t i = 0; i < SHOWN && i < count; i++) {
        printf("%s: %.1f ms, of which %.1f ms exposed communication\n", fastest[i].algorithm,
               1e3 * fastest[i].iteration_s, 1e3 * fastest[i].exposed_comm_s);
    }
    printf("topk, merged into %zu groups: %.1f ms of compute, then %.1f ms of exchanges\n",
           group_count, 1e3 * why.compute_s, 1e3 * why.exchange_s);
}
