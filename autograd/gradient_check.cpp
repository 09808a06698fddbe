#include "autograd/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "core/philox.h"

namespace reprise {

namespace {

class GradientCheck {
 public:
  GradientCheck(Memory& memory, const std::function<Value(Tape&)>& f, std::vector<LeafRef> leaves,
                const GradientCheckOptions& options)
      : memory_(memory), f_(f), leaves_(std::move(leaves)), options_(options) {
    for (const LeafRef& leaf : leaves_) {
      if (leaf_data(leaf).dtype() != DType::f64) {
        fail(ErrorKind::user, "[check_gradient] expected leaf '{}' in f64, got {}", leaf->name,
             to_string(leaf->data.dtype()));
      }
      points_.push_back(leaf->data.to_doubles());
    }
    for (const Tensor& state : options_.states) states_.push_back(copy_of(state));
    for (const Stream* stream : options_.streams) positions_.push_back(stream->position);
  }
  ~GradientCheck() {
    try {
      if (!back_) put_back();
    } catch (...) {  // another error is on its way already
    }
  }
  GradientCheck(const GradientCheck&) = delete;
  GradientCheck& operator=(const GradientCheck&) = delete;

  GradientCheckResult run() {
    find_gradients();
    for (std::size_t l = 0; l < leaves_.size(); ++l) {
      if (leaves_[l]->data.size() <= options_.most_elements)
        check_elements(l);
      else
        check_directions(l);
    }
    put_back();
    back_ = true;
    return result_;
  }

 private:
  static std::vector<std::byte> copy_of(const Tensor& tensor) {
    const std::byte* from = tensor.storage().host_read();
    return {from, from + tensor.storage().bytes()};
  }

  void put_back() {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      Storage& storage = options_.states[i].storage();
      std::memcpy(storage.host_write(Region::span(0, storage.bytes()), "gradient check"), states_[i].data(),
                  states_[i].size());
    }
    for (std::size_t i = 0; i < positions_.size(); ++i) options_.streams[i]->position = positions_[i];
    for (std::size_t l = 0; l < points_.size(); ++l) leaves_[l]->data.assign_doubles(points_[l], "gradient check");
  }

  void begin() {
    put_back();
    if (options_.set_up) options_.set_up();
  }

  static double sum_of(const Value& value) {
    double sum = 0;
    for (double element : value.tensor().to_doubles()) sum += element;
    if (!std::isfinite(sum)) fail(ErrorKind::user, "[check_gradient] expected a finite result, got {}", sum);
    return sum;
  }

  void find_gradients() {
    begin();
    for (const LeafRef& leaf : leaves_) leaf->clear_grad();
    Tape tape(memory_, options_.tape);
    if (options_.prepare) options_.prepare(tape);
    Value value = f_(tape);
    sum_of(value);
    if (value.requires_grad()) tape.backward(value);
    for (const LeafRef& leaf : leaves_) {
      bool empty = leaf->grad_empty || !leaf->grad.defined();
      gradients_.push_back(empty ? std::vector<double>(static_cast<std::size_t>(leaf->data.size()), 0.0)
                                 : leaf->grad.to_doubles());
      leaf->clear_grad();
    }
  }

  /// f at the point moved by `amount` times `direction`.
  double evaluate(std::size_t l, const std::vector<double>& direction, double amount) {
    begin();
    std::vector<double> moved = points_[l];
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += amount * direction[i];
    leaves_[l]->data.assign_doubles(moved, "gradient check");
    TapeOptions quiet = options_.tape;
    quiet.record = false;
    quiet.guard = false;
    Tape tape(memory_, quiet);
    return sum_of(f_(tape));
  }

  double difference_quotient(std::size_t l, const std::vector<double>& direction, double step) {
    return (evaluate(l, direction, step) - evaluate(l, direction, -step)) / (2 * step);
  }

  void check_elements(std::size_t l) {
    std::vector<double> direction(points_[l].size(), 0.0);
    for (std::size_t i = 0; i < direction.size(); ++i) {
      direction[i] = 1;
      double step = options_.step * std::max(1.0, std::abs(points_[l][i]));
      compare(l, static_cast<std::int64_t>(i), gradients_[l][i], difference_quotient(l, direction, step));
      direction[i] = 0;
    }
  }

  /// Directions of independent signs: every element counts alike.
  void check_directions(std::size_t l) {
    std::vector<double> direction(points_[l].size());
    for (int d = 0; d < options_.directions; ++d) {
      double along = 0;
      for (std::size_t i = 0; i < direction.size(); ++i) {
        direction[i] =
            philox_word(options_.seed, l, static_cast<std::uint64_t>(d) * direction.size() + i) & 1 ? 1.0 : -1.0;
        along += direction[i] * gradients_[l][i];
      }
      compare(l, -1, along, difference_quotient(l, direction, options_.step));
    }
  }

  void compare(std::size_t l, std::int64_t element, double backward, double differences) {
    ++result_.compared;
    double tolerance = options_.absolute + options_.relative * std::max(std::abs(backward), std::abs(differences));
    double excess = std::abs(backward - differences) / tolerance;
    if (!(excess <= 1)) result_.ok = false;
    if (excess <= result_.excess && !result_.leaf.empty()) return;
    result_.excess = std::isnan(excess) ? HUGE_VAL : excess;
    result_.leaf = leaves_[l]->name;
    result_.element = element;
    result_.backward = backward;
    result_.differences = differences;
  }

  Memory& memory_;
  const std::function<Value(Tape&)>& f_;
  std::vector<LeafRef> leaves_;
  const GradientCheckOptions& options_;
  std::vector<std::vector<double>> points_, gradients_;
  std::vector<std::vector<std::byte>> states_;
  std::vector<std::uint64_t> positions_;
  GradientCheckResult result_;
  bool back_ = false;  // data, states and streams are as before the check
};

}  // namespace

std::string GradientCheckResult::describe() const {
  std::string where = element < 0 ? leaf + " along a direction" : fmt::format("{}[{}]", leaf, element);
  return fmt::format("{}: backward {:.9g}, central differences {:.9g}, {:.3g} of the tolerance; worst of {}", where,
                     backward, differences, excess, compared);
}

GradientCheckResult check_gradient(Memory& memory, const std::function<Value(Tape&)>& f, std::vector<LeafRef> leaves,
                                   const GradientCheckOptions& options) {
  return GradientCheck(memory, f, std::move(leaves), options).run();
}

}  // namespace reprise
