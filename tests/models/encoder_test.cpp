// The encoder's parts, names and initial values, and the slabs they lie in.
#include "models/layers/encoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "ops/registry.h"

namespace reprise {
namespace {

struct Made {
  explicit Made(const EncoderSizes& sizes, bool projection = true) : encoder(set, sizes, projection) {
    set.allocate(memory, 5);
  }
  Memory memory;
  ParameterSet set{true};
  Encoder encoder;
};

std::map<std::string, Shape> shapes_of(const Made& made) {
  std::vector<NamedTensor> all;
  made.set.list("", all);
  std::map<std::string, Shape> shapes;
  for (const NamedTensor& t : all) shapes[t.name] = t.tensor.shape();
  return shapes;
}

TEST(Encoder, HasTheNamesAndShapesThatPeopleKnow) {
  auto shapes = shapes_of(Made({{4, 8}, 1, 6, 5, 10}));
  EXPECT_EQ(shapes.at("backbone.stem.weight"), (Shape{4, 3, 3, 3}));
  EXPECT_EQ(shapes.at("backbone.stem_bn.running_var"), (Shape{4}));
  EXPECT_EQ(shapes.at("backbone.layer1.0.conv1.weight"), (Shape{4, 4, 3, 3}));
  EXPECT_FALSE(shapes.contains("backbone.layer1.0.short.0.weight"));
  EXPECT_EQ(shapes.at("backbone.layer2.0.short.0.weight"), (Shape{8, 4, 1, 1}));
  EXPECT_EQ(shapes.at("backbone.layer2.0.bn1.running_mean"), (Shape{8}));
  EXPECT_EQ(shapes.at("proj.0.weight"), (Shape{6, 8}));
  EXPECT_EQ(shapes.at("proj.2.bias"), (Shape{5}));
}

TEST(Encoder, GroupNormalisationHasTheSameNamesAndNoStatistics) {
  EncoderSizes sizes{{4, 8}, 1, 6, 5, 10};
  Made batch(sizes);
  sizes.norm = NormKind::group;
  sizes.groups = 2;
  Made group(sizes);
  EXPECT_TRUE(group.set.buffers().empty());
  ASSERT_EQ(group.set.parameters().size(), batch.set.parameters().size());
  for (std::size_t i = 0; i < group.set.parameters().size(); ++i) {
    const Parameter &one = *group.set.parameters()[i], &other = *batch.set.parameters()[i];
    EXPECT_EQ(one.name, other.name);
    EXPECT_EQ(one.leaf->data.to_doubles(), other.leaf->data.to_doubles()) << one.name;
  }
}

// Counted by PyTorch on the encoders of the same sizes.
TEST(Encoder, PresetsHaveTheParametersOfTheirPeers) {
  EXPECT_EQ(Made(preset_sizes("small")).set.element_count(), 191184);
  Memory memory({.dry = true});
  ParameterSet set{true};
  Encoder encoder(set, preset_sizes("resnet18"), true);
  set.allocate(memory, 1);
  EXPECT_EQ(set.element_count(), 11497152);
  EXPECT_EQ(encoder.dim(), 512);
}

TEST(Encoder, InitialValuesFollowFromSeedAndNameAlone) {
  Made a({{8, 16}, 1, 6, 5, 10}), b({{8, 16}, 2, 6, 5, 10}, false);
  auto value = [](const Made& made, const std::string& name) {
    for (const Parameter* p : made.set.parameters()) {
      if (p->name == name) return p->leaf->data.to_doubles();
    }
    return std::vector<double>{};
  };
  auto weight = value(a, "backbone.layer2.0.conv1.weight");
  EXPECT_EQ(weight, value(b, "backbone.layer2.0.conv1.weight")) << "other layers change nothing";
  double mean = 0, square = 0;
  for (double w : weight) mean += w, square += w * w;
  auto n = static_cast<double>(weight.size());
  EXPECT_NEAR(mean / n, 0, 0.02);
  EXPECT_NEAR(std::sqrt(square / n), std::sqrt(2.0 / (16 * 9)), 0.01) << "kaiming, fan out";
  for (double w : value(a, "proj.0.weight")) EXPECT_LE(std::abs(w), 1 / std::sqrt(16.0));
  EXPECT_EQ(value(a, "backbone.stem_bn.weight"), std::vector<double>(8, 1.0));
  EXPECT_EQ(value(a, "backbone.stem_bn.bias"), std::vector<double>(8, 0.0));
}

TEST(Encoder, NeighboursTouchInMemory) {
  Made made({{16, 32}, 1, 16, 16, 32});
  const auto& order = made.set.parameters();
  for (std::size_t i = 1; i < order.size(); ++i) {
    for (bool gradient : {false, true}) {
      const Tensor& before = gradient ? order[i - 1]->leaf->grad : order[i - 1]->leaf->data;
      const Tensor& after = gradient ? order[i]->leaf->grad : order[i]->leaf->data;
      EXPECT_EQ(before.storage().raw() + before.bytes(), after.storage().raw()) << order[i]->name;
      EXPECT_NE(&before.storage(), &after.storage()) << "each is a storage of its own";
    }
  }
  bool matrices_over = false;
  for (const Parameter* p : order) {
    if (!p->is_matrix()) matrices_over = true;
    EXPECT_NE(p->is_matrix(), matrices_over) << "those that decay come first";
  }
  EXPECT_EQ(made.memory.meter().live(Category::parameters), made.memory.meter().live(Category::gradients));
  EXPECT_GE(made.memory.meter().live(Category::parameters), made.set.element_count() * 4);
}

/// Three small images.
Tensor images_for(Made& made) {
  Tensor images =
      make_tensor(made.memory.allocator(), made.memory.observer(), DType::f32, {3, 8, 8, 3}, Category::data);
  std::vector<double> values(static_cast<std::size_t>(images.size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i));
  images.assign_doubles(values);
  return images;
}

TEST(Encoder, ChosenLayersDoWhatTheyAreNamedFor) {
  register_builtin_ops();
  for (NormKind norm : {NormKind::batch, NormKind::group}) {
    for (ActivationKind activation : {ActivationKind::relu, ActivationKind::silu}) {
      EncoderSizes sizes{{4, 8}, 1, 6, 5, 10};
      sizes.norm = norm;
      sizes.groups = 2;
      sizes.activation = activation;
      Made made(sizes);
      Tensor images = images_for(made);
      Tape tape(made.memory, {.record = false});
      auto maps = [&](Mode mode) {
        return made.encoder.maps(tape, images, mode, SegmentMarks{}).tensor().to_doubles();
      };
      std::vector<double> evaluated = maps(Mode::evaluate), trained = maps(Mode::train);
      EXPECT_EQ(evaluated == trained, norm == NormKind::group) << "images are normalised each by itself";
      double least = *std::min_element(trained.begin(), trained.end());
      if (activation == ActivationKind::relu) {
        EXPECT_EQ(least, 0.0);
      } else {
        EXPECT_NEAR(least, -0.2, 0.0785) << "x * sigmoid(x) has its least value, -0.2785, at -1.278";
      }
    }
  }
}

TEST(Encoder, EvaluationMovesNothingAndTrainingMovesStatistics) {
  register_builtin_ops();
  Made made({{4, 8}, 1, 6, 5, 10});
  Tensor images = images_for(made);
  auto statistics = [&] {
    std::vector<std::vector<double>> all;
    for (const Buffer& b : made.set.buffers()) all.push_back(b.tensor.to_doubles());
    return all;
  };
  auto before = statistics();
  Tape tape(made.memory, {.record = false});
  EXPECT_EQ(made.encoder.features(tape, images, Mode::evaluate).shape(), (Shape{3, 8}));
  EXPECT_EQ(statistics(), before);
  Value keys = made.encoder.project(tape, made.encoder.features(tape, images, Mode::train));
  auto after = statistics();
  for (std::size_t i = 0; i < after.size(); ++i) EXPECT_NE(after[i], before[i]) << made.set.buffers()[i].name;
  auto numbers = keys.tensor().to_doubles();
  double norm = 0;
  for (int i = 0; i < 5; ++i) norm += numbers[i] * numbers[i];
  EXPECT_NEAR(norm, 1, 1e-5);
}

}  // namespace
}  // namespace reprise
