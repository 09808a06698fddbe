// ParameterSet: the named parameters and buffers of a model, each in a storage of its own, placed in slabs.
//
// Layers declare what they need, then allocate() makes all of it at once, so that neighbours touch in memory: first the
// parameters that weight decay holds for, then the others. Initial values follow from (seed, name) by Philox and depend
// neither on the order of declaration nor on other layers.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "autograd/leaf.h"
#include "core/stream.h"
#include "memory/memory.h"
#include "models/layers/slab.h"

namespace reprise {

/// The stream that a name stands for: its id is a hash of the name.
Stream named_stream(const std::string& name, std::uint64_t seed);

enum class Init : std::uint8_t {
  zeros,
  ones,
  normal,          // normal with variance 1 / fan
  kaiming_normal,  // normal with variance 2 / fan (He et al., 2015)
  uniform,         // uniform within 1 / sqrt(fan), PyTorch's default for linear layers
};

struct Parameter {
  std::string name;
  Shape shape;
  Init init = Init::zeros;
  std::int64_t fan = 1;
  LeafRef leaf;  // after allocate()
  /// Matrices and kernels decay; normalisation parameters and biases, which have one axis, do not.
  bool is_matrix() const { return shape.size() > 1; }
};

struct Buffer {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  double fill = 0;
  Tensor tensor;  // after allocate()
};

/// A tensor of the model under the name that checkpoints use.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

class ParameterSet {
 public:
  /// `trained` parameters have gradients (in a slab too); others are state that somebody else moves.
  explicit ParameterSet(bool trained = true) : trained_(trained) {}
  ParameterSet(const ParameterSet&) = delete;
  ParameterSet& operator=(const ParameterSet&) = delete;

  /// The results stay valid. `fan` is what Init speaks of. Errors (user): a name twice.
  Parameter& add(std::string name, const Shape& shape, Init init, std::int64_t fan = 1);
  Buffer& add_buffer(std::string name, DType dtype, const Shape& shape, double fill = 0);

  /// Makes everything and sets the initial values. Errors (memory).
  void allocate(Memory& memory, std::uint64_t seed);
  /// Slabs for `count` optimiser tensors of each parameter (category optimiser), zero; in the order of parameters().
  std::vector<std::vector<Tensor>> allocate_like(Memory& memory, int count);
  /// Makes all parameters and floating buffers anew as `dtype`, with the same values; for checks in f64. Errors
  /// (memory).
  void convert(Memory& memory, DType dtype);
  /// Copies the values of parameters and buffers of another set with the same declarations.
  void copy_from(const ParameterSet& other);

  /// In the order of their bytes once allocated, before that in the order declared.
  const std::vector<Parameter*>& parameters() const { return order_; }
  const std::deque<Buffer>& buffers() const { return buffers_; }
  /// Parameters and buffers, their names behind `prefix`.
  void list(const std::string& prefix, std::vector<NamedTensor>& out) const;
  std::int64_t element_count() const;

 private:
  void require_new(const std::string& name) const;

  bool trained_;
  std::vector<std::unique_ptr<Slab>> slabs_;  // outlive the tensors below
  std::deque<Parameter> parameters_;
  std::vector<Parameter*> order_;
  std::deque<Buffer> buffers_;
};

/// Sets the initial value of a parameter from its named stream.
void initialise(const Parameter& parameter, std::uint64_t seed);

}  // namespace reprise
