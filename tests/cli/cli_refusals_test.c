/*
 * What the program refuses: wrong usage and bad input end with status 2, a failed run with 3, each
 * with one message that helps, an empty stdout and every file as it was. PATH is empty throughout:
 * nothing is started before the inputs have been found good.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "tests/cli/program_inputs.h"
#include "tests/cli/refusals.h"
#include "tests/support.h"

#define TINY "tiny.json --cluster small.json"
#define SWEPT "--model tiny.json --cluster small.json"

/* ---- wrong usage --------------------------------------------------------------------------- */

static const struct refusal wrong_usage[] = {
    {"", "expected a verb (gradweave --help lists them), got nothing"},
    {"foretell", "expected a verb (gradweave --help lists them), got \"foretell\""},
    {"--jsno", "got \"--jsno\""},

    {"plan", "expected a MODEL"},
    {"plan --cluster small.json", "expected a MODEL"},
    {"plan tiny.json", "expected --cluster CLUSTER"},
    {"plan tiny.json tiny.json --cluster small.json", "expected one MODEL, got also \"tiny.json\""},
    {"plan " TINY " --polcy omgs", "unrecognized option '--polcy"},
    {"plan " TINY " --policy", "option '--policy' requires an argument"},
    {"plan " TINY " --policy omg --out kept.json", "omgs"},
    {"plan " TINY " --policy omg", "got \"omg\""},
    {"plan " TINY " --policy threshold", "expected threshold:N"},
    {"plan " TINY " --policy threshold:0", "got \"threshold:0\""},
    {"plan " TINY " --policy threshold:many", "got \"threshold:many\""},
    {"plan " TINY " --policy bucket:-1", "got \"bucket:-1\""},
    {"plan " TINY " --compressor zip --out kept.json", "small.json: compressors.zip: expected"},
    {"plan " TINY " --density 0", "--density: expected a number above 0 and at most 1, got \"0\""},
    {"plan " TINY " --density 2", "--density: expected a number above 0 and at most 1, got \"2\""},
    {"plan " TINY " --density -0.1", "got \"-0.1\""},
    {"plan " TINY " --density nan", "got \"nan\""},
    {"plan " TINY " --density abc", "got \"abc\""},
    {"plan " TINY " --density 0.1x", "got \"0.1x\""},
    {"plan " TINY " --workers 0", "--workers: expected a positive integer, got \"0\""},
    {"plan " TINY " --workers -4", "--workers: expected a positive integer, got \"-4\""},
    {"plan " TINY " --workers 4.5", "got \"4.5\""},
    {"plan " TINY " --workers 99999999999999999999", "got \"99999999999999999999\""},
    {"plan " TINY " --sweep", "option '--sweep' requires an argument"},
    {"plan " TINY " --sweep density", "--sweep: expected density=, workers= or bandwidth="},
    {"plan " TINY " --sweep =0.1", "got \"=0.1\""},
    {"plan " TINY " --sweep dens=0.1", "got \"dens=0.1\""},
    {"plan " TINY " --sweep latency=1x,2x", "got \"latency=1x,2x\""},
    {"plan " TINY " --sweep density= --out new.csv",
     "--sweep density: expected numbers above 0 and at most 1, such as 1e-4:1e-1:log20, got \"\""},
    {"plan " TINY " --sweep density=0.1,2 --out kept.json", "got \"2\""},
    {"plan " TINY " --sweep density=1e-4:1e-1:log", "expected FROM:TO:logN or FROM:TO:linN"},
    {"plan " TINY " --sweep density=1e-1:1e-4:log20", "expected a range that ascends"},
    {"plan " TINY " --sweep workers=2,2.5", "--sweep workers: expected positive integers"},
    {"plan " TINY " --sweep workers=2:32:lin10001", "with N from 2 to 10000"},
    {"plan " TINY " --sweep bandwidth=0.5,1", "--sweep bandwidth: expected numbers above 0x"},
    {"plan " TINY " --sweep density=0.1 --density 0.1",
     "--sweep density: expected no --density beside it"},
    {"plan " TINY " --sweep workers=8 --workers 8",
     "--sweep workers: expected no --workers beside it"},
    {"plan " TINY " --sweep density=0.1 --explain --out new.csv",
     "--sweep: expected no --explain beside it"},
    {"plan " TINY " --sweep density=0.1 --policy omg --out kept.json", "got \"omg\""},
    {"plan " TINY " --sweep density=0.1 --compressor zip", "small.json: compressors.zip: expected"},
    {"plan " TINY " --sweep density=0.1 --out new.txt", "new.txt: expected the name of a sweep's"},
    {"plan " TINY " --sweep density=0.1 --out csv", "csv: expected the name of a sweep's table"},

    {"simulate", "expected a MODEL"},
    {"simulate tiny.json --algo omgs", "expected --cluster CLUSTER"},
    {"simulate " TINY, "expected --algo ALGORITHM"},
    {"simulate " TINY " --algo sgd", "got \"sgd\""},
    {"simulate " TINY " --algo omgs,topk", "got \"omgs,topk\""},
    {"simulate " TINY " --algo omgs --density 0", "--density"},
    {"simulate " TINY " --algo omgs --workers 0", "--workers"},
    {"simulate " TINY " --algo omgs --iterations 0", "--iterations: expected a positive integer"},
    {"simulate " TINY " --algo omgs --seed x", "--seed: expected a positive integer, got \"x\""},
    {"simulate " TINY " --algo omgs --noise nan", "--noise: expected a number >= 0, got \"nan\""},
    {"simulate " TINY " --algo omgs --noise -1", "--noise: expected a number >= 0, got \"-1\""},
    {"simulate " TINY " --algo omgs --noise gauss:1",
     "--noise: expected none, SIGMA, normal:SIGMA, lognormal:SIGMA or sample:FILE, got"},
    {"simulate " TINY " --algo omgs --network-noise normal:x",
     "--network-noise: expected a number >= 0, got \"x\""},
    {"simulate " TINY " --algo omgs --network-noise sample:", "cannot be read"},
    {"simulate " TINY " --algo omgs --bandwidth 1=2", "expected NODE:FACTOR such as 3:0.5"},
    {"simulate " TINY " --algo omgs --bandwidth 1:0", "expected a number above 0, got \"0\""},
    {"simulate " TINY " --algo omgs --bandwidth 4:0.5", "expected a node from 0 to 3, got 4"},
    {"simulate " TINY " --algo omgs --bandwidth 0:1e-307 --background 0.99",
     "leave some bandwidth"},
    {"simulate " TINY " --algo omgs --background 1", "--background: expected a share of at least"},
    {"simulate " TINY " --algo omgs --background -0.1", "--background: expected a number >= 0"},
    {"simulate " TINY " --algo omgs --threads 0", "--threads: expected a positive integer"},
    {"simulate " TINY " --algo omgs --straggler 1", "expected WORKER:FACTOR such as 3:1.5"},
    {"simulate " TINY " --algo omgs --straggler 1:0", "expected a number above 0, got \"0\""},
    {"simulate " TINY " --algo omgs --straggler 4:2", "expected a worker from 0 to 3, got 4"},
    {"simulate " TINY " --algo omgs --sed 1", "unrecognized option '--sed"},

    {"compare", "expected a MODEL"},
    {"compare tiny.json", "expected --cluster CLUSTER"},
    {"compare " TINY " --algo omgs,", "got \"\""},
    {"compare " TINY " --algo omgs,sgd", "got \"sgd\""},
    {"compare " TINY " --density 0", "--density"},
    {"compare " TINY " --workers many", "--workers"},
    {"compare " TINY " --polcy omgs", "unrecognized option '--polcy"},
    {"compare " TINY " --workers 0", "--workers: expected positive integers, such as 2:256"},
    {"compare " TINY " --workers 4:", "--workers: expected FROM:TO"},
    {"compare " TINY " --workers 4:2", "--workers: expected a range that ascends"},
    {"compare " TINY " --workers 2:8:0", "got \"2:8:0\""},
    {"compare " TINY " --workers 1:100000:1", "--workers: expected at most 10000 values"},
    {"compare " TINY " --workers 2,4,x", "got \"x\""},
    {"compare " TINY " --bandwidth 10", "--bandwidth: expected ascending rates such as 1gbit"},
    {"compare " TINY " --bandwidth 1gbit:", "got \"1gbit:\""},
    {"compare " TINY " --bandwidth 1gbit:2x", "got \"1gbit:2x\""},
    {"compare " TINY " --bandwidth 1gbit,2furlong", "got \"1gbit,2furlong\""},
    {"compare " TINY " --bandwidth 0gbit", "got \"0gbit\""},
    {"compare " TINY " --bandwidth -1x:1x", "got \"-1x:1x\""},
    {"compare " TINY " --bandwidth 10gbit:1gbit", "got \"10gbit:1gbit\""},
    {"compare " TINY " --bandwidth 1gbit:9gbit:log1", "got \"1gbit:9gbit:log1\""},
    {"compare " TINY " --bandwidth ,", "got \",\""},
    {"compare " TINY " --bandwidth 1x,2x --workers 2,4",
     "--workers, --bandwidth: expected several values of one of them, got 2 and 2"},
    {"compare " TINY " --out new.png", "--out: expected several values of --workers or"},
    {"compare " TINY " --workers 4 --data new.csv", "--data: expected several values of"},
    {"compare " TINY " --workers 2,4 --out new.txt", "new.txt: expected the name of a picture"},

    {"sweep", "expected --model MODEL or a JOB.json"},
    {"sweep --model tiny.json", "expected --cluster CLUSTER or a JOB.json"},
    {"sweep --model tiny.json --cluster absent", "absent: expected a file, or a cluster that"},
    {"sweep --model tiny.json, --cluster small.json", "expected a file, or a model that ships"},
    {"sweep --model tiny.json,tiny.json --cluster small.json",
     "--model: expected each once, got \"tiny.json\" twice"},
    {"sweep absent.json", "absent.json: cannot be read"},
    {"sweep tiny.json small.json", "expected one JOB.json, got also \"small.json\""},
    {"sweep tiny.json", "tiny.json: schema: expected \"gradweave/sweep-job@1\""},
    {"sweep " SWEPT " --algo omgs,sgd --out kept.csv", "got \"sgd\""},
    {"sweep " SWEPT " --workers 0", "--workers: expected positive integers, such as 2:32:log5"},
    {"sweep " SWEPT " --workers 2:64", "--workers: expected FROM:TO:logN or FROM:TO:linN"},
    {"sweep " SWEPT " --density 0.1,2 --out kept.csv", "--density: expected numbers above 0"},
    {"sweep " SWEPT " --bandwidth 2", "--bandwidth: expected numbers above 0x"},
    {"sweep " SWEPT " --straggler 0", "--straggler: expected numbers above 0"},
    {"sweep " SWEPT " --noise -1", "--noise: expected numbers >= 0 and at most 10"},
    {"sweep " SWEPT " --noise 0:1:log3", "expected a logarithmic range to begin above 0"},
    {"sweep " SWEPT " --iterations 0", "--iterations: expected a positive integer"},
    {"sweep " SWEPT " --seed x", "--seed: expected a positive integer, got \"x\""},
    {"sweep " SWEPT " --threads 1025", "--threads: expected at most 1024, got \"1025\""},
    {"sweep " SWEPT " --resume", "--resume: expected --out FILE with it"},
    {"sweep " SWEPT " --out kept.json", "kept.json: expected the name of a table (.csv) or of"},
    {"sweep " SWEPT " --out new.csv --out new.csv", "expected each file once, got new.csv twice"},
    {"sweep " SWEPT " --out new.csv --out new.png", "new.png: expected the name of a table"},

    {"list everything", "got \"everything\""},
    {"list algorithms policies", "got \"policies\""},
    {"list --all", "unrecognized option '--all"},

    {"plot", "expected KIND"},
    {"plot breakdown", "expected KIND, then MODEL, FILE or CLUSTER, and --out PICTURE"},
    {"plot calibration --out p.png", "plot calibration: expected CLUSTER, got nothing"},
    {"plot calibration absent.json --out p.png", "absent.json: "},
    {"plot breakdown " TINY, "and --out PICTURE"},
    {"plot breakdown tiny.json --out new.png", "plot breakdown: expected --cluster CLUSTER"},
    {"plot breakdown tiny.json small.json --out new.png", "got also \"small.json\""},
    {"plot roofline " TINY " --out new.png",
     "expected breakdown, validation, calibration, bounds, density or padding, got \"roofline\""},
    {"plot breakdown " TINY " --out new.gif", "new.gif: expected the name of a picture that ends"},
    {"plot breakdown " TINY " --out png", "png: expected the name of a picture that ends"},
    {"plot breakdown " TINY " --algo sgd --out new.png --data new.csv", "got \"sgd\""},
    {"plot breakdown " TINY " --density 0 --out new.png", "--density"},
    {"plot breakdown --cluster small.json --out new.png", "plot breakdown: expected MODEL, got"},
    {"plot bounds tiny.json --out new.png",
     "plot bounds: expected no more words, got \"tiny.json\""},
    {"plot bounds --elements 1 --out new.png", "--elements: expected 2 to 2^32 - 1, got 1"},
    {"plot bounds --shape square --out new.png", "--shape: expected normal, laplace"},
    {"bench", "expected what to measure: compressors"},
    {"bench disks", "expected compressors, got \"disks\""},
    {"bench compressors disks", "expected compressors, got \"disks\""},
    {"bench compressors --elements 0", "--elements"},
    {"bench compressors --elements 4294967296", "--elements: expected less than 2^32"},
    {"bench compressors --density 1.5", "--density"},
    {"bench compressors --shape square", "got \"square\""},
    {"bench compressors --compressor topk,magic", "got \"magic\""},
    {"bench compressors --compressor topk,topk", "each once, got \"topk\""},
    {"bench compressors --repeats 10001", "--repeats: expected at most 10000, got 10001"},
    {"bench compressors --threads x", "--threads"},
    {"calibrate --out new.json --compressor magic", "got \"magic\""},

    {"validate --nodes 2", "expected a MODEL"},
    {"validate tiny.json --nodes 2", "expected --cluster CLUSTER"},
    {"validate " TINY, "expected --nodes N, or to be started inside an MPI job"},
    {"validate " TINY " --nodes 0", "--nodes: expected a positive integer, got \"0\""},
    {"validate " TINY " --nodes 100000", "--nodes: expected at most 65536, got \"100000\""},
    {"validate " TINY " --hostfile hosts", "expected --nodes N"},
    {"validate " TINY " --nodes 2 --workers 4", "--workers: expected 2, the size of the MPI job"},
    {"validate " TINY " --nodes 2 --workers 3", "or one less, which leaves a rank for a server"},
    {"validate " TINY " --nodes 2 --algo topk,ps", "ps: expected a rank for its server"},
    {"validate " TINY " --nodes 2 --workers 2 --algo layer-drop", "got a job of 2"},
    {"validate " TINY " --nodes 2 --algo sgd", "got \"sgd\""},
    {"validate " TINY " --nodes 2 --tolerance close", "--tolerance: expected a number >= 0"},
    {"validate " TINY " --nodes 2 --tolerance -0.1", "got \"-0.1\""},
    {"validate " TINY " --nodes 2 --iterations 0", "--iterations: expected a positive integer"},
    {"validate " TINY " --nodes 2 --warm-up few", "--warm-up"},
    {"validate " TINY " --nodes 2 --algo omgs,topk --trace new.json",
     "expected a single algorithm"},
    {"validate " TINY " --nodes 2 --trace new.json", "--trace: expected a single algorithm"},
    {"validate " TINY " --nodes 2 --settle few", "--settle: expected a positive integer"},
    {"validate " TINY " --nodes 2 --counts-out new.json",
     "--counts-out: expected a single algorithm with it, got "},
    {"validate " TINY " --nodes 2 --algo topk --counts-out new.json",
     "depends on gradients how much it selects, got topk"},
    {"validate " TINY " --nodes 2 --algo sidco,dgc --counts kept.json",
     "--counts FILE: expected a single algorithm with it, got 2"},
    {"validate " TINY " --nodes 2 --algo sidco --counts absent.json", "absent.json: cannot"},
    {"validate " TINY " --nodes 2 --algo topk --policy greedy", "got \"greedy\""},
    {"validate " TINY " --nodes 2 --algo topk --compressor magic", "got \"magic\""},
    {"validate " TINY " --nodes 2 --algo topk --exchange allreduce", "allreduce"},

    {"calibrate --nodes 2", "expected --out CLUSTER.json"},
    {"calibrate --out new.json", "expected --nodes N, or to be started inside an MPI job"},
    {"calibrate tiny.json --nodes 2 --out new.json", "expected options only, got \"tiny.json\""},
    {"calibrate --nodes two --out new.json", "--nodes: expected a positive integer, got \"two\""},
    {"calibrate --nodes 2 --out kept.json --density 0", "--density"},
    {"calibrate --nodes 2 --out kept.json --precision 2", "--precision: expected a number above 0"},
    {"calibrate --nodes 2 --out kept.json --max-time 0", "--max-time: expected a number above 0"},
    {"calibrate --nodes 2 --out kept.json --max-bytes 1", "--max-bytes: expected 4096 to"},
    {"calibrate --nodes 2 --out kept.json --max-elements 1", "--max-elements: expected 4096 to"},
};

/* ---- bad input ----------------------------------------------------------------------------- */

#define PLAN_OF(groups)                                                                            \
    "{'schema': 'gradweave/plan@1', 'model': 'tiny', 'policy': 'omgs', 'compressor': 'topk', "     \
    "'density': 0.001, 'workers': 4, 'groups': " groups ", 'iteration_s': 1, 'lower_bound_s': 1}"

static const struct {
    const char *name, *text;
} bad_files[] = {
    {"kept.json", "what was there before"},
    {"empty.json", ""},
    {"half.json", "{'schema': 'gradweave/model@1', 'name': "},
    {"negative.json",
     "{'schema': 'gradweave/model@1', 'name': 'm', 'forward_s': 1, 'tensors': [{'name': 'a', "
     "'elements': 1, 'backward_s': 1}, {'name': 'b', 'elements': 1, 'backward_s': -0.5}]}"},
    {"unmeasured.json",
     "{'schema': 'gradweave/cluster@1', 'name': 'unmeasured', 'workers': 4, 'collectives': "
     "{'allreduce': [{'workers': 4, 'alpha_s': 0, 'beta_s_per_byte': 1e-9}]}, 'compressors': {}}"},
    {"barren.json", "{'schema': 'gradweave/cluster@1', 'name': 'barren', 'workers': 4, "
                    "'collectives': {}, 'compressors': {}}"},
    {"huge.json",
     "{'schema': 'gradweave/model@1', 'name': 'huge', 'forward_s': 1.7e308, 'tensors': [{'name': "
     "'a', 'elements': 1, 'backward_s': 1.7e308}]}"},
    {"hollow.json", "{'schema': 'gradweave/validation@1', 'workers': 2, 'results': []}"},
    {"gap.json", PLAN_OF("[[3, 2], [0]]")},
    {"short.json", PLAN_OF("[[2, 1], [0]]")},
    {"dense.json", "{'schema': 'gradweave/plan@1', 'model': 'tiny', 'policy': 'single', "
                   "'compressor': 'none', 'density': 1, 'workers': 4, 'groups': [[3, 2, 1, 0]], "
                   "'iteration_s': 1, 'lower_bound_s': 1}"},
    {"split.json", PLAN_OF("[[3, 2], [1, 0]]")},
    {"letters.txt", "1.5\nfast\n"},
    {"one-sided.json",
     "{'schema': 'gradweave/cluster@1', 'name': 'c', 'workers': 2, 'collectives': {"
     "'allgather': [{'workers': 2, 'alpha_s': 0, 'beta_s_per_byte': 0}]},"
     "'compressors': {'topk': {'fixed_s': 0}}, 'overlap': {'workers': 2, 'factors': "
     "{'allreduce': {'timed': [{'bytes': 1, 'compute': {'factor': 1}, "
     "'communication': {'factor': 1}}]}}}}"},
    {"half-floats.json",
     "{'schema': 'gradweave/model@1', 'name': 'm', 'bytes_per_element': 2, 'forward_s': 1, "
     "'tensors': [{'name': 'a', 'elements': 1, 'backward_s': 1}]}"},
};

static const struct refusal bad_input[] = {
    {"plan resnet5 --cluster small.json", "resnet5: expected a file, or a model that ships"},
    {"plan tiny.json --cluster p102", "p102: expected a file, or a cluster that ships"},
    {"plan absent.json --cluster small.json --out kept.json", "absent.json: cannot be read"},
    {"plan tiny.json --cluster absent.json --out new.json", "absent.json: cannot be read"},
    {"plan folder.json --cluster small.json", "folder.json: cannot be read: Is a directory"},
    {"plan empty.json --cluster small.json", "empty.json: "},
    {"plan half.json --cluster small.json --out kept.json", "half.json: "},
    {"plan small.json --cluster small.json",
     "small.json: schema: expected \"gradweave/model@1\", got \"gradweave/cluster@1\""},
    {"plan tiny.json --cluster tiny.json --out new.json",
     "tiny.json: schema: expected \"gradweave/cluster@1\", got \"gradweave/model@1\""},
    {"plan negative.json --cluster small.json --out kept.json",
     "negative.json: tensors[1].backward_s: expected a finite number >= 0, got -0.5"},
    {"plan negative.json --cluster small.json --out new.png --explain",
     "negative.json: tensors[1].backward_s: expected a finite number >= 0, got -0.5"},
    {"plan tiny.json --cluster unmeasured.json --out kept.json",
     "unmeasured.json: collectives.allgather: expected a measured curve"},
    {"plan tiny.json --cluster barren.json --sweep density=0.1 --out kept.json",
     "barren.json: expected measured curves of collectives.allgather and compressors.topk, or of "
     "collectives.allreduce, got neither (gradweave calibrate --only allgather,topk --add measures "
     "the former, --only allreduce --add the latter)"},
    {"plan tiny.json --cluster barren.json --sweep workers=2 --compressor none",
     "barren.json: collectives.allreduce: expected a measured curve"},
    {"plan huge.json --cluster small.json --sweep workers=2,4 --out new.csv",
     "workers 2: huge on small: expected times that add up to a finite iteration"},

    {"simulate negative.json --cluster small.json --algo omgs", "negative.json: tensors[1]"},
    {"simulate tiny.json --cluster unmeasured.json --algo topk --trace kept.json",
     "unmeasured.json: collectives.allgather: expected a measured curve"},
    {"simulate " TINY " --algo omgs --noise sample:absent.txt --trace new.json",
     "absent.txt: cannot be read"},
    {"simulate " TINY " --algo omgs --noise sample:letters.txt --trace kept.json",
     "letters.txt:2: expected a number >= 0, got \"fast\""},
    {"simulate " TINY " --algo omgs --plan absent.json", "absent.json: cannot be read"},
    {"simulate " TINY " --algo omgs --plan tiny.json", "tiny.json: schema: expected"},
    {"simulate " TINY " --algo omgs --plan gap.json --trace kept.json",
     "gap.json: groups[1]: expected groups that descend without gaps"},
    {"simulate " TINY " --algo omgs --plan short.json",
     "short.json: groups[0]: expected to begin with tensor 3, the last of model tiny, got 2"},
    {"simulate " TINY " --algo omgs --plan dense.json",
     "dense.json: algorithm omgs: expected a plan for compressor topk, got one for none"},
    {"simulate " TINY " --algo topk --plan split.json --trace new.json",
     "split.json: algorithm topk: expected a plan with one group"},
    {"simulate " TINY " --algo omgs --interference --trace new.json",
     "small.json: overlap: expected measured factors for interference, got nothing "
     "(gradweave calibrate --only overlap --add measures them)"},
    {"simulate tiny.json --cluster one-sided.json --algo omgs --interference",
     "one-sided.json: overlap.factors.allgather.topk: expected measured factors, got nothing "
     "(gradweave calibrate --only overlap --add measures them)"},
    {"simulate " TINY " --algo omgs --interference --network messages",
     "interference: expected exchanges by curves, got messages"},

    {"compare " TINY " --interference", "small.json: overlap: expected measured factors"},
    {"compare absent.json --cluster small.json", "absent.json: cannot be read"},
    {"compare tiny.json --cluster barren.json",
     "expected a pipeline that can be predicted, got none of "},
    {"compare tiny.json --cluster barren.json",
     "; dense: barren.json: collectives.allreduce: expected a measured curve"},
    {"compare tiny.json --cluster unmeasured.json --algo topk",
     "unmeasured.json: collectives.allgather: expected a measured curve"},

    {"compare tiny.json --cluster barren.json --bandwidth 1gbit:9gbit",
     "--bandwidth: barren.json: network: expected measured LogGP parameters, or a sendrecv"},
    {"compare tiny.json --cluster one-sided.json --bandwidth 1gbit:9gbit",
     "--bandwidth: expected a cluster whose bytes take time for bandwidths in bits, got one-sided"},
    {"compare tiny.json --cluster barren.json --workers 2,4 --data new.csv",
     "expected a pipeline that can be predicted, got none of "},

    {"plot breakdown absent.json --cluster small.json --out new.png", "absent.json: cannot be"},
    {"plot breakdown tiny.json --cluster unmeasured.json --algo omgs --out new.png --data new.csv",
     "unmeasured.json: collectives.allgather"},
    {"plot validation hollow.json --out new.png", "hollow.json: results: expected at least one"},
    {"plot validation tiny.json --out new.png",
     "tiny.json: schema: expected \"gradweave/validation@1\""},

    {"validate absent.json --cluster small.json --nodes 2", "absent.json: cannot be read"},
    {"validate tiny.json --cluster tiny.json --nodes 2", "tiny.json: schema: expected"},
    {"validate tiny.json --cluster unmeasured.json --nodes 2 --algo topk",
     "unmeasured.json: collectives.allgather: expected a measured curve"},
    {"validate " TINY " --nodes 2 --interference",
     "small.json: overlap: expected measured factors"},
    {"validate half-floats.json --cluster small.json --nodes 2",
     "half-floats.json: execution: expected gradients of 4 bytes an element, got 2"},
};

static const struct refusal broken_data[] = {
    {"list", "data/models/broken.json: tensors: expected"},
    {"list --json", "data/models/broken.json: tensors: expected"},
    {"list models", "data/models/broken.json: tensors: expected"},
    {"list models --json", "data/models/broken.json: tensors: expected"},
};

/* ---- a run that fails ---------------------------------------------------------------------- */

static const struct refusal failed_run[] = {
    {"plan " TINY " --out absent/new.json", "absent/new.json: cannot be written: No such file"},
    {"plan " TINY " --out folder.json", "folder.json: cannot be written: Is a directory"},
    {"plan " TINY " --json --policy omgs --out absent/new.json", "absent/new.json: cannot be"},
    {"plan " TINY " --explain --out absent/new.svg", "absent/new.svg: cannot be written"},
    {"plan " TINY " --explain --out new.png", "expected it in PATH"},
    {"plan " TINY " --sweep density=0.1 --out absent/new.csv", "absent/new.csv: cannot be written"},
    {"plan " TINY " --sweep density=0.1 --out folder.json", "folder.json: cannot be written"},
    {"plan " TINY " --sweep density=0.1,0.2 --out new.png", "expected it in PATH"},
    {"compare " TINY " --workers 2,4 --out absent/new.png", "absent/new.png: cannot be written"},
    {"compare " TINY " --workers 2,4 --data absent/new.csv", "absent/new.csv: cannot be written"},
    {"compare " TINY " --workers 2,4 --out new.png --data new.csv", "expected it in PATH"},
    {"simulate " TINY " --algo omgs --trace absent/new.json", "absent/new.json: cannot be written"},
    {"plot breakdown " TINY " --out absent/new.png --data new.csv",
     "absent/new.png: cannot be written"},
    {"plot breakdown " TINY " --out new.png --data absent/new.csv",
     "absent/new.csv: cannot be written"},
    {"plot breakdown " TINY " --out new.png --data new.csv", "expected it in PATH"},
    {"validate " TINY " --nodes 2 --algo omgs --trace absent/new.json", "absent/new.json: cannot"},
    {"validate " TINY " --nodes 2 --out absent/new.json", "absent/new.json: cannot be written"},
    {"validate " TINY " --nodes 2 --algo sidco --counts-out absent/new.json",
     "absent/new.json: cannot"},
    {"calibrate --nodes 2 --out absent/new.json", "absent/new.json: cannot be written"},
    {"calibrate --nodes 2 --out folder.json", "folder.json: cannot be written: Is a directory"},
};

/* ---- the tests ----------------------------------------------------------------------------- */

static void refuses_wrong_usage(void **state) {
    check_refusals(*state, wrong_usage, sizeof wrong_usage / sizeof *wrong_usage, 2);
}

static void refuses_bad_input(void **state) {
    check_refusals(*state, bad_input, sizeof bad_input / sizeof *bad_input, 2);
}

/* A list is whole or is not printed, also if the file that is broken comes late. */
static void refuses_broken_data(void **state) {
    const char *folder = *state;
    size_t wrong = 0;
    assert_int_equal(mkdir(path_in(folder, "data"), 0777), 0);
    assert_int_equal(mkdir(path_in(folder, "data/models"), 0777), 0);
    write_text(folder, "data/models/able.json", tiny_model);
    write_text(folder, "data/models/broken.json",
               "{'schema': 'gradweave/model@1', 'name': 'm', 'forward_s': 1}");
    for (size_t i = 0; i < sizeof broken_data / sizeof *broken_data; i++) {
        wrong +=
            !is_refused(folder, "/usr/bin/env GRADWEAVE_DATA=data gradweave", &broken_data[i], 2);
    }
    (void)unlink(path_in(folder, "data/models/able.json"));
    (void)unlink(path_in(folder, "data/models/broken.json"));
    (void)rmdir(path_in(folder, "data/models"));
    (void)rmdir(path_in(folder, "data"));
    assert_int_equal(wrong, 0);
}

static void reports_a_failed_run(void **state) {
    check_refusals(*state, failed_run, sizeof failed_run / sizeof *failed_run, 3);
}

static void reports_a_full_disk(void **state) {
    static const char *const commands[] = {
        "gradweave --version",
        "gradweave --help",
        "gradweave list",
        "gradweave list --json",
        "gradweave plan " TINY,
        "gradweave plan " TINY " --json",
        "gradweave plan " TINY " --sweep workers=2,4",
        "gradweave plan " TINY " --sweep workers=2,4 --json",
        "gradweave simulate " TINY " --algo omgs",
        "gradweave compare " TINY " --json",
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        struct answer answer = ask_into(*state, commands[i], "/dev/full");
        if (answer.status != 3 ||
            strcmp(answer.err, "gradweave: stdout: cannot be written\n") != 0) {
            print_error("%s: status %d, stderr: %s\n", commands[i], answer.status, answer.err);
            fail();
        }
        forget(&answer);
    }
}

static int make_bad_inputs(void **state) {
    if (make_inputs(state) != 0 || setenv("PATH", "", 1) != 0) {
        return -1;
    }
    for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++) {
        write_text(*state, bad_files[i].name, bad_files[i].text);
    }
    return mkdir(path_in(*state, "folder.json"), 0777);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_wrong_usage), cmocka_unit_test(refuses_bad_input),
        cmocka_unit_test(refuses_broken_data), cmocka_unit_test(reports_a_failed_run),
        cmocka_unit_test(reports_a_full_disk),
    };
    return cmocka_run_group_tests(tests, make_bad_inputs, remove_folder);
}
