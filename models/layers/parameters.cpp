#include "models/layers/parameters.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "core/error.h"
#include "models/layers/draws.h"

namespace reprise {

Stream named_stream(const std::string& name, std::uint64_t seed) {
  return {name, seed, XXH64(name.data(), name.size(), 0), 0};
}

void ParameterSet::require_new(const std::string& name) const {
  bool taken =
      std::any_of(parameters_.begin(), parameters_.end(), [&](const Parameter& p) { return p.name == name; }) ||
      std::any_of(buffers_.begin(), buffers_.end(), [&](const Buffer& b) { return b.name == name; });
  if (taken) fail(ErrorKind::user, "[parameters] expected names that differ, got '{}' twice", name);
}

Parameter& ParameterSet::add(std::string name, const Shape& shape, Init init, std::int64_t fan) {
  require_new(name);
  Parameter& parameter = parameters_.emplace_back(Parameter{std::move(name), shape, init, fan, {}});
  order_.push_back(&parameter);
  return parameter;
}

Buffer& ParameterSet::add_buffer(std::string name, DType dtype, const Shape& shape, double fill) {
  require_new(name);
  return buffers_.emplace_back(Buffer{std::move(name), dtype, shape, fill, {}});
}

namespace {

std::int64_t slab_bytes(const std::vector<Parameter*>& parameters) {
  std::int64_t bytes = 0;
  for (const Parameter* p : parameters) bytes += round_up_64(element_count(p->shape) * size_of(DType::f32));
  return bytes;
}

Tensor carve(Slab& slab, Memory& memory, DType dtype, const Shape& shape, Category category, const std::string& name) {
  Tensor tensor = make_tensor(slab, memory.observer(), dtype, shape, category, !memory.is_dry());
  tensor.storage().set_name(name);
  return tensor;
}

}  // namespace

void ParameterSet::allocate(Memory& memory, std::uint64_t seed) {
  std::stable_partition(order_.begin(), order_.end(), [](const Parameter* p) { return p->is_matrix(); });
  Category category = trained_ ? Category::parameters : Category::state;
  Allocator& from = memory.allocator();
  if (!order_.empty()) {
    Slab& values = *slabs_.emplace_back(std::make_unique<Slab>(from, slab_bytes(order_), category, "parameters"));
    Slab* gradients = nullptr;
    if (trained_) {
      slabs_.push_back(std::make_unique<Slab>(from, slab_bytes(order_), Category::gradients, "gradients"));
      gradients = slabs_.back().get();
    }
    for (Parameter* p : order_) {
      Tensor value = carve(values, memory, DType::f32, p->shape, category, p->name);
      Tensor gradient;
      if (gradients) gradient = carve(*gradients, memory, DType::f32, p->shape, Category::gradients, p->name + ".grad");
      p->leaf = Leaf::create(p->name, std::move(value), std::move(gradient), trained_);
      if (!memory.is_dry()) initialise(*p, seed);
    }
  }
  std::int64_t bytes = 0;
  for (const Buffer& b : buffers_) bytes += round_up_64(reprise::element_count(b.shape) * size_of(b.dtype));
  if (buffers_.empty()) return;
  Slab& states = *slabs_.emplace_back(std::make_unique<Slab>(from, bytes, Category::state, "state"));
  for (Buffer& b : buffers_) {
    b.tensor = carve(states, memory, b.dtype, b.shape, Category::state, b.name);
    if (memory.is_dry() || b.fill == 0) continue;
    std::vector<double> values(static_cast<std::size_t>(reprise::element_count(b.shape)), b.fill);
    b.tensor.assign_doubles(values, "initialise");
  }
}

std::vector<std::vector<Tensor>> ParameterSet::allocate_like(Memory& memory, int count) {
  std::vector<std::vector<Tensor>> all(static_cast<std::size_t>(count));
  for (std::vector<Tensor>& one : all) {
    Slab& slab = *slabs_.emplace_back(
        std::make_unique<Slab>(memory.allocator(), slab_bytes(order_), Category::optimiser, "optimiser state"));
    for (const Parameter* p : order_) {
      one.push_back(carve(slab, memory, DType::f32, p->shape, Category::optimiser, "optimiser state of " + p->name));
    }
  }
  return all;
}

namespace {

void copy_bytes(const Tensor& from, const Tensor& to) {
  std::span<const std::byte> source = from.host_read_bytes();
  std::span<std::byte> target = to.host_write_bytes("copy");
  REPRISE_INVARIANT(source.size() == target.size());
  std::copy(source.begin(), source.end(), target.begin());
}

}  // namespace

void ParameterSet::convert(Memory& memory, DType dtype) {
  auto converted = [&](const Tensor& from) {
    Tensor to = make_tensor(memory.allocator(), memory.observer(), dtype, from.shape(), from.storage().category());
    to.assign_doubles(from.to_doubles(), "convert");
    to.storage().set_name(from.storage().name());
    return to;
  };
  for (Parameter* p : order_) {
    p->leaf->data = converted(p->leaf->data);
    if (trained_) p->leaf->grad = converted(p->leaf->grad);
    p->leaf->clear_grad();
  }
  for (Buffer& b : buffers_) {
    if (is_floating(b.dtype)) b.tensor = converted(b.tensor);
  }
}

void ParameterSet::copy_from(const ParameterSet& other) {
  REPRISE_INVARIANT(order_.size() == other.order_.size() && buffers_.size() == other.buffers_.size());
  for (std::size_t i = 0; i < order_.size(); ++i) copy_bytes(other.order_[i]->leaf->data, order_[i]->leaf->data);
  for (std::size_t i = 0; i < buffers_.size(); ++i) copy_bytes(other.buffers_[i].tensor, buffers_[i].tensor);
}

void ParameterSet::list(const std::string& prefix, std::vector<NamedTensor>& out) const {
  for (const Parameter* p : order_) out.push_back({prefix + p->name, p->leaf->data});
  for (const Buffer& b : buffers_) out.push_back({prefix + b.name, b.tensor});
}

std::int64_t ParameterSet::element_count() const {
  std::int64_t count = 0;
  for (const Parameter* p : order_) count += reprise::element_count(p->shape);
  return count;
}

void initialise(const Parameter& parameter, std::uint64_t seed) {
  std::span<float> values = parameter.leaf->data.host_write<float>("initialise");
  Stream stream = named_stream("init." + parameter.name, seed);
  auto word = [&](std::size_t i) { return philox_word(stream.seed, stream.id, i); };
  double fan = static_cast<double>(parameter.fan);
  switch (parameter.init) {
    case Init::zeros: std::fill(values.begin(), values.end(), 0.0f); return;
    case Init::ones: std::fill(values.begin(), values.end(), 1.0f); return;
    case Init::normal:
    case Init::kaiming_normal: {
      double deviation = std::sqrt((parameter.init == Init::normal ? 1.0 : 2.0) / fan);
      fill_normal(parameter.leaf->data, stream, static_cast<float>(deviation));
      return;
    }
    case Init::uniform: {
      float bound = static_cast<float>(1.0 / std::sqrt(fan));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = bound * (2.0f * uniform_from_word(word(i)) - 1.0f);
      return;
    }
  }
}

}  // namespace reprise
