#include <string.h>

#include "published/building.h"

/* ---- the table ------------------------------------------------------------------------------- */

#define RESNET "He et al., CVPR 2016"
#define GPT2 "Radford et al., 2019"

const struct gw_architecture gw_architectures[] = {
    {"resnet18", "ResNet-18, images of 224 x 224", RESNET, 64, 11689512, gw_build_residual,
     &gw_resnet18},
    {"resnet34", "ResNet-34, images of 224 x 224", RESNET, 64, 21797672, gw_build_residual,
     &gw_resnet34},
    {"resnet50", "ResNet-50, images of 224 x 224", RESNET, 64, 25557032, gw_build_residual,
     &gw_resnet50},
    {"resnet101", "ResNet-101, images of 224 x 224", RESNET, 64, 44549160, gw_build_residual,
     &gw_resnet101},
    {"resnet152", "ResNet-152, images of 224 x 224", RESNET, 32, 60192808, gw_build_residual,
     &gw_resnet152},
    {"vgg16", "VGG-16, images of 224 x 224", "Simonyan and Zisserman, ICLR 2015", 64, 138357544,
     gw_build_stacked, &gw_vgg16},
    {"inception-v3", "Inception-v3 with its auxiliary head, images of 299 x 299",
     "Szegedy et al., CVPR 2016", 64, 27161264, gw_build_inception, NULL},
    {"mobilenet-v2", "MobileNetV2, images of 224 x 224", "Sandler et al., CVPR 2018", 96, 3504872,
     gw_build_inverted, NULL},
    {"vit-b-16", "ViT-B/16, images of 224 x 224", "Dosovitskiy et al., ICLR 2021", 64, 86567656,
     gw_build_vision, &gw_vit_b_16},
    {"bert-base", "BERT-base, masked language model, 512 tokens", "Devlin et al., NAACL 2019", 8,
     109514298, gw_build_bert, &gw_bert_base},
    {"bert-large", "BERT-large, masked language model, 512 tokens", "Devlin et al., NAACL 2019", 8,
     335174458, gw_build_bert, &gw_bert_large},
    {"gpt2", "GPT-2, 1024 tokens", GPT2, 8, 124439808, gw_build_gpt2, &gw_gpt2},
    {"gpt2-medium", "GPT-2 medium, 1024 tokens", GPT2, 8, 354823168, gw_build_gpt2,
     &gw_gpt2_medium},
    {"gpt2-large", "GPT-2 large, 1024 tokens", GPT2, 4, 774030080, gw_build_gpt2, &gw_gpt2_large},
    {"gpt2-xl", "GPT-2 XL, 1024 tokens", GPT2, 2, 1557611200, gw_build_gpt2, &gw_gpt2_xl},
    {"llama-1b", "TinyLlama 1.1B, 2048 tokens", "Zhang et al., 2024", 4, 1100048384, gw_build_llama,
     &gw_llama_1b},
    {"llama-7b", "Llama 7B, 2048 tokens", "Touvron et al., 2023", 1, 6738415616, gw_build_llama,
     &gw_llama_7b},
    {"lstm", "LSTM of two layers for the Penn Treebank, 35 time steps", "Zaremba et al., 2014", 100,
     66034000, gw_build_recurrent, &gw_lstm_ptb},
    {.name = NULL},
};

enum gw_status gw_architecture_find(const char *name, const struct gw_architecture **out,
                                    struct gw_error *error) {
    char names[384] = "";
    for (const struct gw_architecture *row = gw_architectures; row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0) {
            *out = row;
            return GW_OK;
        }
        gw_list_name(names, sizeof names, row->name);
    }
    return gw_fail(error, GW_BAD_INPUT, "architecture \"%.64s\": expected one of %s", name, names);
}
