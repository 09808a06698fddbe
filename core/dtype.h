// Element types of tensors, the bf16 number, and dispatch from a run-time dtype to a C++ type.
//
// Compute types are f32 and f64; bf16 is a storage type with casts; i32, i64, u8 and bool carry indices and data.
#pragma once

#include <bit>
#include <cstdint>

#include "core/device_seam.h"
#include "core/error.h"

namespace reprise {

enum class DType : std::uint8_t { f32, f64, bf16, i32, i64, u8, boolean };

constexpr int kDTypeCount = 7;

constexpr std::int64_t size_of(DType dtype) {
  constexpr std::int64_t kBytes[kDTypeCount] = {4, 8, 2, 4, 8, 1, 1};
  return kBytes[static_cast<int>(dtype)];
}

constexpr bool is_floating(DType dtype) { return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::bf16; }

const char* to_string(DType dtype);

/// A bfloat16 number: the upper half of an f32, rounded to nearest, ties to even; NaN stays NaN.
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  REPRISE_HOST_DEVICE explicit BFloat16(float value) {
    std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    if ((word & 0x7fffffffu) > 0x7f800000u) {
      bits = static_cast<std::uint16_t>((word >> 16) | 0x40u);
    } else {
      bits = static_cast<std::uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
    }
  }
  REPRISE_HOST_DEVICE explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

/// DTypeOf<T>::value is the dtype whose elements are T.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};

/// Calls f.template operator()<T>() with T = float or double. Errors (internal) on any other dtype: the shape rule of
/// an op has refused those with the op's name before a kernel runs.
template <class F>
decltype(auto) dispatch_float(DType dtype, F&& f) {
  if (dtype == DType::f32) return f.template operator()<float>();
  if (dtype == DType::f64) return f.template operator()<double>();
  fail(ErrorKind::internal, "[dispatch] expected f32 or f64, got {}", to_string(dtype));
}

/// The same over all element types.
template <class F>
decltype(auto) dispatch_any(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32: return f.template operator()<float>();
    case DType::f64: return f.template operator()<double>();
    case DType::bf16: return f.template operator()<BFloat16>();
    case DType::i32: return f.template operator()<std::int32_t>();
    case DType::i64: return f.template operator()<std::int64_t>();
    case DType::u8: return f.template operator()<std::uint8_t>();
    case DType::boolean: return f.template operator()<bool>();
  }
  fail(ErrorKind::internal, "[dispatch] expected a known dtype, got {}", static_cast<int>(dtype));
}

}  // namespace reprise
