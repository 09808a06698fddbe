// One whole training step (forward, loss, every gradient, updated parameters, queue, statistics) against PyTorch. The
// golden tensors come from parity/make_golden.py, in double precision; this runs in f32.
#include <cmath>
#include <cstring>

#include "data/safetensors.h"
#include "models/registry.h"
#include "models/train/method.h"
#include "models/train/optimiser.h"
#include "ops/registry.h"
#include "tests/models/tiny_run.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

// The same numbers as in make_golden.py.
const char* const kModel = R"(threads: 1
model:
  type: dense_queue
  encoder: {widths: [4, 8], blocks: 1}
  projection: {hidden: 6, out: 4}
  queue: {size: 10}
  losses: 2
  temperature: 0.2
  ema_momentum: 0.9
train: {batch: 4, lr: 0.1, momentum: 0.9, weight_decay: 0.005}
recompute: {segments: blocks}
)";

// Largest difference allowed, as a part of the golden tensor's largest number, by what the name begins with. f32 keeps
// 24 bits (6e-8); a gradient passes about twenty ops each way, the rest differ from it by one more.
double tolerance(const std::string& name) {
  if (name.starts_with("grad.") || name.starts_with("momentum.")) return 2e-5;
  if (name == "loss") return 1e-6;
  return 4e-6;
}

class Golden {
 public:
  Golden() : file_(std::string(REPRISE_SOURCE_DIR) + "/tests/models/parity/dense_queue_step.safetensors") {}
  void read(const std::string& name, const Tensor& tensor) const {
    file_.read_into(name, tensor.dtype(), tensor.shape(), tensor.host_write_bytes().data());
  }
  std::vector<float> numbers(const std::string& name) const {
    const SafetensorsInfo& info = file_.info(name);
    Shape shape(std::span<const std::int64_t>(info.shape));
    std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
    file_.read_into(name, DType::f32, shape, values.data());
    return values;
  }
  void compare(const std::string& name, const Tensor& tensor) const {
    if (tensor.dtype() == DType::i64) {
      std::int64_t expected = -1;
      file_.read_into(name, DType::i64, tensor.shape(), &expected);
      EXPECT_EQ(tensor.host_read<std::int64_t>()[0], expected) << name;
      return;
    }
    std::vector<float> expected = numbers(name);
    std::vector<double> got = tensor.to_doubles();
    ASSERT_EQ(got.size(), expected.size()) << name;
    double largest = 0, worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      largest = std::max(largest, std::abs(double{expected[i]}));
      worst = std::max(worst, std::abs(got[i] - expected[i]));
    }
    EXPECT_GT(largest, 0) << name << " says nothing";
    EXPECT_LE(worst, tolerance(name) * largest) << name;
  }

 private:
  SafetensorsFile file_;
};

void one_step_like_pytorch(const std::string& method) {
  register_builtin_ops();
  Golden golden;
  Config config = parse_config(kModel, "parity.yaml", {"recompute.method=" + method});
  Memory memory;
  std::unique_ptr<TrainableModel> model = make_model(config);
  model->allocate(memory);
  for (const NamedTensor& t : model->tensors()) golden.read("before." + t.name, t.tensor);
  Optimiser optimiser(config, *model, memory);
  Batch batch;
  for (int v = 0; v < 2; ++v) {
    batch.views[v] = make_tensor(memory.allocator(), memory.observer(), DType::f32, {4, 8, 8, 3}, Category::data);
    golden.read("view" + std::to_string(v), batch.views[v]);
  }
  batch.size = 4;
  SegmentMarks marks(config, model->segment_names());
  RecomputeSetup recompute(config, marks);
  Tape tape(memory);
  recompute.install(tape, memory);
  Forward forward = model->forward(tape, batch, marks);
  golden.compare("loss", forward.loss.tensor());
  tape.backward(forward.loss);
  forward = {};
  tape.clear();
  for (const Parameter* p : model->parameters().parameters()) golden.compare("grad." + p->name, p->leaf->grad);
  optimiser.step(1, config.get_real("train.lr"), 1);
  for (const NamedTensor& t : model->tensors()) golden.compare("after." + t.name, t.tensor);
  std::vector<NamedTensor> state;
  optimiser.list(state);
  for (const NamedTensor& t : state) golden.compare(t.name.substr(std::strlen("optimiser.")), t.tensor);
}

TEST(Parity, OneStepIsThatOfPyTorch) { one_step_like_pytorch("retain"); }
TEST(Parity, OneStepWithEveryBlockReplayedIsThatOfPyTorch) { one_step_like_pytorch("region"); }

}  // namespace
}  // namespace reprise
