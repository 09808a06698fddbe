#include "ops/operands.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "ops/cast.h"

namespace reprise {

namespace {

/// Whether C++ may convert the number to the type. What it leaves undefined goes through cast, whose rule is told.
bool converts(double number, DType dtype) {
  return is_floating(dtype) || dispatch_any(dtype, [&]<class T>() {
           if constexpr (std::is_same_v<T, bool> || !std::is_integral_v<T>) {
             return true;
           } else {
             return number > static_cast<double>(std::numeric_limits<T>::min()) - 1 &&
                    number < std::ldexp(1.0, std::numeric_limits<T>::digits);
           }
         });
}

bool is_whole(double number) { return std::nearbyint(number) == number && std::fabs(number) < 9.2e18; }

}  // namespace

Arg as_dtype(Tape& tape, Arg arg, DType dtype) {
  if (is_number(arg)) {
    double number = std::get<double>(arg.what());
    if (!converts(number, dtype)) return cast(tape, tape.constant(number, DType::f64), dtype);
    return tape.constant(number, dtype);
  }
  if (is_left_out(arg) || arg.dtype() == dtype) return arg;
  return cast(tape, std::move(arg), dtype);
}

bool is_fractional(const Arg& arg) {
  return is_number(arg) ? !is_whole(std::get<double>(arg.what())) : !is_left_out(arg) && is_floating(arg.dtype());
}

void match_dtypes(Tape& tape, Arg& a, Arg& b) {
  bool a_number = is_number(a), b_number = is_number(b);
  if (a_number && b_number) {
    DType dtype = tape.options().default_dtype;
    a = as_dtype(tape, a, dtype);
    b = as_dtype(tape, b, dtype);
    return;
  }
  if (a_number || b_number) {
    Arg& number = a_number ? a : b;
    Arg& other = a_number ? b : a;
    DType dtype = other.dtype();
    if (!is_floating(dtype)) {
      dtype = is_whole(std::get<double>(number.what())) ? DType::i64 : tape.options().default_dtype;
      other = as_dtype(tape, other, dtype);
    }
    number = as_dtype(tape, number, dtype);
    return;
  }
  DType da = a.dtype(), db = b.dtype();
  if (da == db) return;
  DType dtype = DType::i64;
  if (is_floating(da) || is_floating(db)) dtype = is_floating(da) ? da : db;
  if (is_floating(da) && is_floating(db)) return;  // the op refuses two float types: which one is meant is not clear
  a = as_dtype(tape, a, dtype);
  b = as_dtype(tape, b, dtype);
}

}  // namespace reprise
