// Value: the program's handle to a value on a tape. Arg: anything that an op takes as operand.
//
// All copies of a handle name the same object: after an in-place write every one of them stands for the new value.
// When the last handle of a value dies and nothing owes it, its memory is free.
#pragma once

#include <cstdint>
#include <utility>
#include <variant>

#include "autograd/leaf.h"
#include "core/tensor.h"

namespace reprise {

class Tape;
using ValueId = std::uint32_t;
constexpr ValueId kNoValue = 0xffffffffu;

/// What all copies of a handle share. Owned by its copies; the tape is told when the last one goes.
class Handle : public RefCounted {
 public:
  Tape* tape = nullptr;  // null once the tape has been cleared
  ValueId value = kNoValue;
  Handle* next = nullptr;  // live handles of one tape, and free ones of its pool
  Handle* prev = nullptr;

 private:
  friend class Ref<Handle>;
  static void destroy(Handle* handle) noexcept;
};

class Value {
 public:
  Value() = default;
  explicit Value(Ref<Handle> handle) : handle_(std::move(handle)) {}

  bool defined() const { return static_cast<bool>(handle_); }
  /// Errors (user): an empty handle, or one whose tape was cleared.
  ValueId id() const;
  Tape& tape() const;
  const Shape& shape() const;
  DType dtype() const;
  bool requires_grad() const;
  /// The present bytes as a tensor; shares the storage. Reads by host code go through its doors.
  Tensor tensor() const;
  /// The single element of a one-element value. Errors (user) on more.
  double item() const;

  const Ref<Handle>& handle() const { return handle_; }
  void reset() { handle_.reset(); }

 private:
  Ref<Handle> handle_;
};

/// The bytes of a leaf that is an operand. Errors (user): a null leaf, or one without data.
const Tensor& leaf_data(const LeafRef& leaf);

/// One operand: a value, a leaf (gradient flows to it), a state tensor (no gradient), or a number (a constant of the
/// float type of the other operands). A state or leaf is handed to the op live: no copy is made for the reader.
class Arg {
 public:
  Arg() = default;                                 // a left-out optional operand
  Arg(const Value& value) : what_(value) {}        // NOLINT: operands convert silently by design
  Arg(Value&& value) : what_(std::move(value)) {}  // NOLINT
  Arg(const LeafRef& leaf) : what_(leaf) {}        // NOLINT
  Arg(const Tensor& state) : what_(state) {}       // NOLINT
  Arg(double number) : what_(number) {}            // NOLINT

  using What = std::variant<std::monostate, Value, LeafRef, Tensor, double>;
  const What& what() const { return what_; }
  What& what() { return what_; }
  /// Shape of what is handed over; [] for a number. Errors (user) for a left-out operand; both for a null leaf.
  Shape shape() const;
  DType dtype() const;  // f32 for a number

 private:
  What what_;
};

}  // namespace reprise
