#include "core/dtype.h"

namespace reprise {

const char* to_string(DType dtype) {
  static constexpr const char* kNames[kDTypeCount] = {"f32", "f64", "bf16", "i32", "i64", "u8", "bool"};
  return kNames[static_cast<int>(dtype)];
}

}  // namespace reprise
