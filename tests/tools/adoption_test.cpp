// `reprise export`, `doctor` and `completion` as a person meets them; what they write is read back by the
// programs that it is meant for, where those are installed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>

#include "data/synthetic.h"
#include "models/layers/encoder.h"
#include "tests/tools/tiny_runs.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

namespace fs = std::filesystem;

bool has(const std::string& command) { return run_shell(command + " >/dev/null 2>&1").code == 0; }

class Adoption : public TinyRuns {};

TEST_F(Adoption, NumPyOpensAnExportedCheckpoint) {
  ASSERT_EQ(train("run").code, 0);
  Outcome stored = reprise("export " + path("run") + " --npz");
  EXPECT_EQ(stored.code, 0) << stored.text;
  EXPECT_PRED2(contains, stored.text, "checkpoint.npz: ");
  Outcome deflated = reprise("export " + path("run") + " --npz --compress --model-only -o " + path("small.npz"));
  EXPECT_EQ(deflated.code, 0) << deflated.text;
  EXPECT_LT(fs::file_size(folder_ / "small.npz"), fs::file_size(folder_ / "run" / "checkpoint.npz"));
  Outcome again = reprise("export " + path("run") + "/checkpoint.safetensors --npz -o " + path("again.npz"));
  EXPECT_EQ(again.code, 0) << again.text;
  EXPECT_EQ(run_shell("cmp " + path("again.npz") + " " + path("run/checkpoint.npz")).code, 0)
      << "the same bytes each time";
  if (std::string reason = python_lacks("numpy"); !reason.empty()) GTEST_SKIP() << reason;
  Outcome read = script(R"(
import json, struct, sys, zipfile
import numpy as np
d = sys.argv[1]
data = open(d + '/run/checkpoint.safetensors', 'rb').read()
n, = struct.unpack('<Q', data[:8])
header = json.loads(data[8:8 + n]); header.pop('__metadata__')
whole, small = np.load(d + '/run/checkpoint.npz'), np.load(d + '/small.npz')
assert sorted(whole.files) == sorted(header), (whole.files, sorted(header))
assert sorted(small.files) == sorted(k for k in header if not k.startswith('optimiser.'))
for name, t in header.items():
    lo, hi = t['data_offsets']
    a = whole[name]
    assert a.shape == tuple(t['shape']) and a.dtype == {'F32': np.float32, 'I64': np.int64}[t['dtype']], name
    assert a.tobytes() == data[8 + n + lo:8 + n + hi], name
    if name in small.files: assert (small[name] == a).all(), name
assert whole['backbone.layer2.0.conv1.weight'].shape == (8, 4, 3, 3)
assert zipfile.ZipFile(d + '/small.npz').testzip() is None
)");
  EXPECT_EQ(read.code, 0) << read.text;
}

/// A real one, by the names that a person looks for; tests/data opens a made-up file with every dtype.
TEST_F(Adoption, TheSafetensorsPackageOpensACheckpointOfARun) {
  if (std::string reason = python_lacks("safetensors.numpy"); !reason.empty()) GTEST_SKIP() << reason;
  ASSERT_EQ(train("run").code, 0);
  Outcome read = script(R"(
import json, struct, sys
import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file
path = sys.argv[1] + '/run/checkpoint.safetensors'
t = load_file(path)
data = open(path, 'rb').read()
n, = struct.unpack('<Q', data[:8])
header = json.loads(data[8:8 + n]); header.pop('__metadata__')
assert sorted(t) == sorted(header), (sorted(t), sorted(header))
shapes = {'backbone.stem.weight': (4, 3, 3, 3), 'backbone.layer1.0.conv1.weight': (4, 4, 3, 3),
          'backbone.layer2.0.conv1.weight': (8, 4, 3, 3), 'backbone.layer2.0.short.0.weight': (8, 4, 1, 1),
          'backbone.layer2.0.bn2.running_var': (8,), 'proj.0.weight': (8, 8), 'proj.2.weight': (4, 8),
          'proj.2.bias': (4,), 'queue': (32, 4), 'queue_pointer': (1,)}
for name, shape in shapes.items(): assert t[name].shape == shape, (name, t[name].shape)
parameters = [k for k in t if k.endswith(('.weight', '.bias')) and k.startswith(('backbone.', 'proj.'))]
assert len(parameters) == 22, parameters
for name in parameters:  # each with its average in the key encoder and its momentum
    for other in ('key.' + name, 'optimiser.momentum.' + name): assert t[other].shape == t[name].shape, other
for name, a in t.items():
    assert a.dtype == (np.int64 if name == 'queue_pointer' else np.float32), (name, a.dtype)
    lo, hi = header[name]['data_offsets']
    assert a.tobytes() == data[8 + n + lo:8 + n + hi], name
    assert np.isfinite(a).all(), name
assert np.abs(t['backbone.stem.weight']).max() > 0 and t['backbone.stem_bn.running_var'].min() > 0
with safe_open(path, 'np') as f:
    state = json.load(open(sys.argv[1] + '/run/state.json'))
    assert f.metadata() == {'format': 'reprise-checkpoint/1', 'model.type': 'dense_queue', 'step': '8',
                            'hash': state['hash']}, f.metadata()
)");
  EXPECT_EQ(read.code, 0) << read.text;
}

TEST_F(Adoption, ExportNamesMistakes) {
  ASSERT_EQ(train("run", "train.max_steps=1").code, 0);
  fs::create_directories(folder_ / "empty");
  struct Mistake {
    std::string arguments, says;
    int code = 2;
  };
  for (const Mistake& mistake :
       std::vector<Mistake>{{path("run"), "--npz"},
                            {path("nothing") + " --npz", "does not exist"},
                            {path("empty") + " --npz", "has none yet"},
                            {path("tiny.yaml") + " --npz -o " + path("x"), "tiny.yaml"},
                            {path("run/checkpoint.safetensors") + " --npz -o " + path("run/checkpoint.safetensors"),
                             "is the checkpoint"},
                            {path("run") + " --npz -o " + path("nowhere/x.npz"), "nowhere"}}) {
    Outcome outcome = reprise("export " + mistake.arguments);
    EXPECT_EQ(outcome.code, mistake.code) << mistake.arguments << "\n" << outcome.text;
    EXPECT_PRED2(contains, outcome.text, mistake.says);
  }
  EXPECT_FALSE(fs::exists(folder_ / "x"));
}

TEST_F(Adoption, WeightsFromPythonBecomeInitialValues) {
  if (std::string reason = python_lacks("json"); !reason.empty()) GTEST_SKIP() << reason;
  ASSERT_EQ(train("like", "train.max_steps=1").code, 0);
  // An encoder as PyTorch names it: every value is told by its name and place.
  Outcome made = script(R"(
import json, struct, sys
sys.path.insert(0, sys.argv[2])
import from_torch as f
d = sys.argv[1]
names = {'backbone.stem.': 'module.conv1.', 'backbone.stem_bn.': 'module.bn1.', 'backbone.layer': 'module.layer'}
weights = {}
for name, (dtype, shape, data) in f.read_safetensors(d + '/like/checkpoint.safetensors').items():
    for ours, theirs in names.items():
        if name.startswith(ours):
            weights[name.replace(ours, theirs).replace('.short.', '.downsample.')] = (
                dtype, shape, struct.pack(f'<{len(data) // 4}f', *[0.5 + i / 1024 for i in range(len(data) // 4)]))
f.write_safetensors(d + '/weights.safetensors', weights)
try:
    import torch
except ImportError:
    sys.exit()
state = {k: torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(shape) for k, (_, shape, data) in weights.items()}
torch.save(state, d + '/weights.pt')
torch.save({'epoch': 3, 'model_state_dict': state, 'lr': 0.1}, d + '/trainer.pt')
)",
                        shell_word(REPRISE_SOURCE_DIR "/tools"));
  ASSERT_EQ(made.code, 0) << made.text;
  std::string convert = python() + " -B " + shell_word(REPRISE_SOURCE_DIR "/tools/from_torch.py") + " ";
  Outcome converted = run_shell(convert + path("weights.safetensors") + " " + path("like/checkpoint.safetensors") +
                                " " + path("init.safetensors") + " 2>&1");
  ASSERT_EQ(converted.code, 0) << converted.text;
  for (const char* name : {"weights.pt", "trainer.pt"}) {
    if (!fs::exists(folder_ / "weights.pt")) continue;  // without PyTorch
    Outcome saved = run_shell(convert + path(name) + " " + path("like/checkpoint.safetensors") + " " +
                              path("pt.safetensors") + " 2>&1");
    EXPECT_EQ(saved.code, 0) << saved.text;
    EXPECT_EQ(run_shell("cmp " + path("pt.safetensors") + " " + path("init.safetensors")).code, 0);
  }
  Outcome trained = train("run", "train.max_steps=1 train.lr=0 model.init=" + path("init.safetensors"));
  ASSERT_EQ(trained.code, 0) << trained.text;
  Outcome kept = script(R"(
import struct, sys
sys.path.insert(0, sys.argv[2])
import from_torch as f
run, init = (f.read_safetensors(sys.argv[1] + p) for p in ('/run/checkpoint.safetensors', '/init.safetensors'))
for name in ('backbone.stem.weight', 'key.backbone.stem.weight', 'backbone.layer2.0.short.0.weight'):
    assert init[name][2][:8] == struct.pack('<2f', 0.5, 0.5 + 1 / 1024), name
    # A learning rate of 0 leaves them where they were; the average moves them by a rounding at most.
    a, b = (struct.unpack(f'<{len(t[name][2]) // 4}f', t[name][2]) for t in (run, init))
    assert all(abs(x - y) < 1e-6 for x, y in zip(a, b)), name
)",
                        shell_word(REPRISE_SOURCE_DIR "/tools"));
  EXPECT_EQ(kept.code, 0) << kept.text;
  EXPECT_EQ(train("wide", "model.encoder.widths=[8,8] train.max_steps=1").code, 0);
  Outcome wrong = run_shell(convert + path("weights.safetensors") + " " + path("wide/checkpoint.safetensors") + " " +
                            path("z") + " 2>&1");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_PRED2(contains, wrong.text, "error: expected backbone.");
}

/// The layer that a probe of `small` starts from, weights before biases: PyTorch's probe starts from it too.
FileBytes probe_start(std::uint64_t seed) {
  Memory memory;
  ParameterSet set;
  LinearLayer layer(set, "probe", 64, kFineLabels);
  set.allocate(memory, seed);
  FileBytes bytes;
  for (const Parameter* parameter : set.parameters()) {
    std::span<const float> values = parameter->leaf->data.host_read<float>();
    const auto* begin = reinterpret_cast<const std::uint8_t*>(values.data());
    bytes.insert(bytes.end(), begin, begin + values.size_bytes());
  }
  return bytes;
}

TEST_F(Adoption, AnEncoderThatPyTorchTrainedIsAsGoodHere) {
  if (std::string reason = python_lacks("torch, numpy"); !reason.empty()) GTEST_SKIP() << reason;
  Dataset images = make_synthetic({.seed = 1, .train = 600, .test = 400});
  write_bytes(folder_ / "train.bin", images.train.records);
  write_bytes(folder_ / "test.bin", images.test.records);
  write_bytes(folder_ / "probe.start", probe_start(3));
  const std::string folder = shell_word(folder_.path().string()), tree = REPRISE_SOURCE_DIR;
  Outcome peer = run_shell(python() + " " + shell_word(tree + "/tests/models/parity/train_classifier.py") + " " +
                           folder + " " + path("weights.pt") + " " + path("probe.start") + " 2>&1");
  ASSERT_EQ(peer.code, 0) << peer.text;
  double top1 = 0, top5 = 0, probe1 = 0, probe5 = 0;
  ASSERT_TRUE(std::istringstream(peer.text) >> top1 >> top5 >> probe1 >> probe5) << peer.text;
  // What the program finds in the converted weights under a model, without training it.
  auto evaluated = [&](const std::string& model, const std::string& keys) {
    std::string train = "train --quiet model.encoder.preset=small train.epochs=0 threads=1 seed=3 data.path=" + folder +
                        " model.type=" + model + keys + " run.dir=" + path(model);
    EXPECT_EQ(reprise(train + "-like").code, 0);
    Outcome converted =
        run_shell(python() + " " + shell_word(tree + "/tools/from_torch.py") + " " + path("weights.pt") + " " +
                  path(model + "-like") + "/checkpoint.safetensors " + path("init.safetensors") + " 2>&1");
    EXPECT_EQ(converted.code, 0) << converted.text;
    Outcome ours = reprise(train + " model.init=" + path("init.safetensors"));
    EXPECT_EQ(ours.code, 0) << ours.text;
    return nlohmann::json::parse(std::ifstream(folder_ / model / "summary.json"));
  };
  // One image of 400 may stand so close between two labels that a rounding decides.
  auto test = evaluated("classifier", "")["test"];
  EXPECT_GT(top1, 4) << "it has learned something";
  EXPECT_NEAR(test["top1"].get<double>(), top1, 0.26);
  EXPECT_NEAR(test["top5"].get<double>(), top5, 0.26);
  // The probe starts from the same layer and takes all images in one batch, as PyTorch's does: nothing but roundings
  // differs, but these go through 100 steps. Three images.
  auto probe =
      evaluated("dense_queue", " probe.epochs=100 probe.lr=0.05 probe.batch=600 probe.baseline=false")["probe"];
  EXPECT_EQ(probe["labels"], 600);
  EXPECT_GT(probe1, 4) << "there is something to find";
  EXPECT_NEAR(probe["top1"].get<double>(), probe1, 0.76);
  EXPECT_NEAR(probe["top5"].get<double>(), probe5, 0.76);
}

TEST_F(Adoption, ATableEndsTheTraining) {
  Outcome outcome = reprise("train " + path("tiny.yaml") + " run.dir=" + path("run"));
  EXPECT_EQ(outcome.code, 0);
  for (const char* part : {"steps                  8\n", "loss of the last step  ", "images per second      ",
                           "peak memory            ", "recomputation          retain\n", "summary.json"}) {
    EXPECT_PRED2(contains, outcome.text, std::string(part));
  }
}

TEST_F(Adoption, DoctorSaysWhatAReportNeeds) {
  Outcome text = reprise("doctor");
  EXPECT_EQ(text.code, 0) << text.text;
  for (const char* part : {"compiler", "flags", "oneDNN", "instruction sets", "available", "huge pages",
                           "small: 32x32x3", "toolkit", "notes"}) {
    EXPECT_PRED2(contains, text.text, std::string(part));
  }
  Outcome json = reprise("doctor --json", "2>/dev/null");
  ASSERT_EQ(json.code, 0);
  auto all = nlohmann::json::parse(json.text);
  EXPECT_EQ(all["program"]["version"], "0.1.0");
  EXPECT_TRUE(all["notes"].is_array());
  for (const char* library : {"oneDNN", "Eigen", "fmt", "yaml-cpp", "OpenSSL"}) {
    EXPECT_NE(all["program"][library].get<std::string>(), "") << library;
  }
  EXPECT_PRED2(contains, all["processor"]["threads of a run"].get<std::string>(), "unless threads=N");
}

TEST_F(Adoption, ShellsTakeTheirCompletionScripts) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    Outcome script = reprise(std::string("completion ") + shell);
    EXPECT_EQ(script.code, 0);
    for (const char* part : {"train", "completion", "resume", "recompute.method="})
      EXPECT_PRED2(contains, script.text, std::string(part));
    std::ofstream(folder_ / shell) << script.text;
    if (has(std::string("command -v ") + shell)) {
      EXPECT_EQ(run_shell(std::string(shell) + " -n " + path(shell) + " 2>&1").text, "") << shell;
    }
  }
  // What bash would offer after "reprise WORDS... PREFIX".
  auto offered = [&](const std::string& words, const std::string& prefix, int count) {
    return run_shell("cd " + shell_word(folder_.path().string()) + " && bash -c 'source ./bash; COMP_WORDS=(reprise " +
                     words + " " + prefix + "); COMP_CWORD=" + std::to_string(count) +
                     "; compopt() { :; }; _reprise reprise \"" + prefix + "\"; echo \"${COMPREPLY[@]}\"' 2>&1")
        .text;
  };
  EXPECT_EQ(offered("", "tr", 1), "train\n");
  EXPECT_EQ(offered("train", "--re", 2), "--resume\n");
  EXPECT_EQ(offered("train", "train.lr", 2), "train.lr=\n");
  EXPECT_EQ(offered("train", "ti", 2), "tiny.yaml\n");
  EXPECT_EQ(offered("export", "train.l", 2), "\n");
  // What stands behind a key or an option: its choices, files where it names one, nothing where it is a number.
  EXPECT_EQ(offered("train", "recompute.granularity=", 2),
            "recompute.granularity=segment recompute.granularity=node\n");
  EXPECT_EQ(offered("train", "tensorboard=f", 2), "tensorboard=false\n");
  EXPECT_EQ(offered("train", "data.path=ti", 2), "data.path=tiny.yaml\n");
  EXPECT_EQ(offered("train", "threads=", 2), "\n");
  EXPECT_EQ(offered("bench --preset", "", 3), "small resnet18\n");
  EXPECT_EQ(offered("bench", "lo", 2), "loader\n");
  EXPECT_EQ(offered("completion", "z", 2), "zsh\n");
  // A study has keys of its own.
  EXPECT_EQ(offered("study", "processes.bu", 2), "processes.budgets=\n");
  EXPECT_EQ(offered("study", "train.l", 2), "\n");
  EXPECT_EQ(reprise("completion tcsh").code, 2);
}

}  // namespace
}  // namespace reprise
