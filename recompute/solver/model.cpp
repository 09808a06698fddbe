#include "recompute/solver/model.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace reprise::solver {
namespace {

constexpr std::int32_t kNone = -1;

/// What is left of a use once everything decided is taken out: an open segment, an open class, or both.
struct OpenUse {
  std::int32_t segment = kNone, row = 0, read_class = kNone;
  std::uint64_t options = 0;
  std::uint8_t state = 0;
};

struct OpenObject {
  std::int64_t bytes = 0, time = 0;
  std::int32_t birth = 0, last = 0;  // last: the highest row of any use
  std::vector<OpenUse> uses;
};

class Compiler {
 public:
  Compiler(const Instance& instance, const Domain& domain, std::int64_t budget)
      : instance_(instance), domain_(domain), highest_(instance.base.size() + 1, 0), certain_(highest_) {
    model_.budget = budget;
    model_.base = instance.base;
    model_.base_time = instance.base_time_ns;
    model_.rest = first_choice(domain);
  }

  Model run() {
    take_objects();
    take_own_bytes();
    keep_rows();
    make_variables();
    for (const OpenObject& object : open_) place(object);
    for (SharedObject& object : model_.objects) {
      std::stable_sort(object.uses.begin(), object.uses.end(),
                       [](const ModelUse& a, const ModelUse& b) { return a.variable < b.variable; });
    }
    link_objects();
    return std::move(model_);
  }

 private:
  bool is_open(std::int32_t segment) const { return std::popcount(domain_.options[segment]) > 1; }

  void take_objects() {
    for (const Object& object : instance_.objects) {
      take(object.bytes, object.time_ns, object.birth, object.uses);
    }
    std::vector<Use> uses(1);
    for (const JointTime& joint : instance_.joint_times) {
      uses[0] = {joint.segment, joint.options, 0, joint.read_class, joint.state};
      take(0, joint.time_ns, 0, uses);
    }
  }

  void take(std::int64_t bytes, std::int64_t time, std::int32_t birth, const std::vector<Use>& uses) {
    OpenObject open{bytes, time, birth, kNone, {}};
    std::int32_t certain = -2;  // the last row of a use that is selected whatever is chosen
    for (const Use& use : uses) {
      OpenUse left{kNone, use.row, kNone, use.options & domain_.options[use.segment], 0};
      if (left.options == 0) continue;
      if (left.options != domain_.options[use.segment]) left.segment = use.segment;
      if (use.read_class >= 0) {
        std::uint8_t states = domain_.states[use.read_class];
        left.state = static_cast<std::uint8_t>(use.state);
        if (((states >> left.state) & 1U) == 0) continue;
        if (states == 3) left.read_class = use.read_class;
      }
      if (left.segment == kNone && left.read_class == kNone) {
        certain = std::max(certain, use.row);
      } else {
        open.uses.push_back(left);
      }
    }
    if (certain >= -1) take_certain(open, certain);
    for (const OpenUse& use : open.uses) open.last = std::max(open.last, use.row);
    if (open.uses.empty() || (open.time == 0 && (open.bytes == 0 || open.last < open.birth))) return;
    if (open.last >= open.birth) raise(open.birth, open.last, open.bytes);
    open_.push_back(std::move(open));
  }

  void take_certain(OpenObject& open, std::int32_t certain) {
    model_.base_time += open.time;
    open.time = 0;
    if (certain >= open.birth) {
      certain_[open.birth] += open.bytes;
      certain_[certain + 1] -= open.bytes;
    }
    open.birth = std::max(open.birth, certain + 1);
    std::erase_if(open.uses, [&](const OpenUse& use) { return use.row <= certain; });
  }

  void raise(std::int32_t first, std::int32_t last, std::int64_t bytes) {
    highest_[first] += bytes;
    highest_[last + 1] -= bytes;
  }

  void take_own_bytes() {
    for (std::size_t i = 0; i < instance_.segments.size(); ++i) {
      const Segment& segment = instance_.segments[i];
      if (!is_open(static_cast<std::int32_t>(i))) {
        const Option& option = segment.options[std::countr_zero(domain_.options[i])];
        for (const RowBytes& own : option.own) model_.base[own.row] += own.bytes;
        model_.base_time += option.time_ns;
        continue;
      }
      std::vector<RowBytes> most;
      for (std::size_t o = 0; o < segment.options.size(); ++o) {
        if (((domain_.options[i] >> o) & 1U) == 0) continue;
        for (const RowBytes& own : segment.options[o].own) add_most(most, own);
      }
      for (const RowBytes& own : most) raise(own.row, own.row, own.bytes);
    }
  }

  static void add_most(std::vector<RowBytes>& most, const RowBytes& own) {
    auto at = std::find_if(most.begin(), most.end(), [&](const RowBytes& m) { return m.row == own.row; });
    // Several entries of one option in one row add up; taking the sum over options too is an upper bound.
    if (at == most.end()) {
      most.push_back(own);
    } else {
      at->bytes += own.bytes;
    }
  }

  void keep_rows() {
    std::vector<std::int64_t> base;
    kept_upto_.resize(instance_.base.size());
    std::int64_t running = 0, certain = 0;
    for (std::size_t t = 0; t < instance_.base.size(); ++t) {
      running += highest_[t];
      certain += certain_[t];
      model_.base[t] += certain;
      if (model_.base[t] + running > model_.budget) {
        base.push_back(model_.base[t]);
        model_.row_of.push_back(static_cast<std::int32_t>(t));
      }
      kept_upto_[t] = static_cast<std::int32_t>(base.size()) - 1;
    }
    model_.base = std::move(base);
  }

  /// The first kept row at or after `row`.
  std::int32_t first_kept(std::int32_t row) const { return row == 0 ? 0 : kept_upto_[row - 1] + 1; }

  void make_variables() {
    std::vector<std::int32_t> first(domain_.states.size(), std::numeric_limits<std::int32_t>::max());
    for (const OpenObject& object : open_) {
      for (const OpenUse& use : object.uses) {
        if (use.read_class == kNone) continue;
        std::int32_t segment = use.segment == kNone ? std::numeric_limits<std::int32_t>::max() - 1 : use.segment;
        first[use.read_class] = std::min(first[use.read_class], segment);
      }
    }
    std::vector<std::int32_t> classes;
    for (std::size_t c = 0; c < first.size(); ++c) {
      if (first[c] != std::numeric_limits<std::int32_t>::max()) classes.push_back(static_cast<std::int32_t>(c));
    }
    std::stable_sort(classes.begin(), classes.end(), [&](auto a, auto b) { return first[a] < first[b]; });
    segment_variable_.assign(instance_.segments.size(), kNone);
    class_variable_.assign(first.size(), kNone);
    std::size_t next = 0;
    for (std::size_t i = 0; i < instance_.segments.size(); ++i) {
      auto segment = static_cast<std::int32_t>(i);
      for (; next < classes.size() && first[classes[next]] <= segment; ++next) add_class(classes[next]);
      if (is_open(segment)) add_segment(segment);
    }
    for (; next < classes.size(); ++next) add_class(classes[next]);
  }

  void add_class(std::int32_t index) {
    class_variable_[index] = static_cast<std::int32_t>(model_.variables.size());
    Variable variable{true, index, {}, {}};
    variable.options.resize(2);
    variable.options[1].source = 1;
    model_.variables.push_back(std::move(variable));
  }

  void add_segment(std::int32_t index) {
    segment_variable_[index] = static_cast<std::int32_t>(model_.variables.size());
    Variable variable{false, index, {}, {}};
    const Segment& segment = instance_.segments[index];
    for (std::size_t o = 0; o < segment.options.size(); ++o) {
      if (((domain_.options[index] >> o) & 1U) == 0) continue;
      ModelOption option{segment.options[o].time_ns, {}, static_cast<std::uint8_t>(o)};
      for (const RowBytes& own : segment.options[o].own) add_span(option, own.row, own.row, own.bytes);
      variable.options.push_back(std::move(option));
    }
    model_.variables.push_back(std::move(variable));
  }

  void add_span(ModelOption& option, std::int32_t first, std::int32_t last, std::int64_t bytes) const {
    if (last < first || bytes == 0) return;
    Span span{first_kept(first), kept_upto_[last], bytes};
    if (span.first <= span.last) option.spans.push_back(span);
  }

  /// A mask over the segment's options as a mask over the variable's.
  std::uint64_t narrowed(std::int32_t variable, std::uint64_t options) const {
    std::uint64_t mask = 0;
    const auto& list = model_.variables[variable].options;
    for (std::size_t o = 0; o < list.size(); ++o) mask |= ((options >> list[o].source) & 1U) << o;
    return mask;
  }

  ModelUse to_use(const OpenUse& use) const {
    ModelUse result;
    if (use.segment == kNone) {
      result.variable = class_variable_[use.read_class];
      result.options = std::uint64_t{1} << use.state;
      return result;
    }
    result.variable = segment_variable_[use.segment];
    result.options = narrowed(result.variable, use.options);
    if (use.read_class != kNone) result.class_variable = class_variable_[use.read_class];
    result.class_option = use.state;
    return result;
  }

  void place(const OpenObject& object) {
    std::vector<ModelUse> uses;
    bool alone = true;
    for (const OpenUse& use : object.uses) {
      uses.push_back(to_use(use));
      alone = alone && uses.back().class_variable == kNone && uses.back().variable == uses.front().variable;
    }
    if (alone) {
      fold(object, uses);
    } else {
      share(object, std::move(uses));
    }
  }

  void fold(const OpenObject& object, const std::vector<ModelUse>& uses) {
    auto& options = model_.variables[uses.front().variable].options;
    for (std::size_t o = 0; o < options.size(); ++o) {
      std::int32_t last = -2;
      for (std::size_t u = 0; u < uses.size(); ++u) {
        if ((uses[u].options >> o) & 1U) last = std::max(last, object.uses[u].row);
      }
      if (last < -1) continue;
      options[o].time += object.time;
      add_span(options[o], object.birth, last, object.bytes);
    }
  }

  void share(const OpenObject& object, std::vector<ModelUse> uses) {
    SharedObject shared{object.bytes, object.time, 0, {}, {}};
    std::int32_t rows = static_cast<std::int32_t>(model_.base.size());
    shared.birth = object.birth < static_cast<std::int32_t>(kept_upto_.size()) ? first_kept(object.birth) : rows;
    std::vector<std::int32_t> last;
    for (const OpenUse& use : object.uses) {
      last.push_back(object.bytes == 0 ? shared.birth - 1 : std::max(kept_upto_[use.row], shared.birth - 1));
    }
    shared.rows = last;
    std::sort(shared.rows.begin(), shared.rows.end());
    shared.rows.erase(std::unique(shared.rows.begin(), shared.rows.end()), shared.rows.end());
    if (shared.rows.back() < shared.birth && shared.time == 0) return;
    for (std::size_t u = 0; u < uses.size(); ++u) {
      auto at = std::lower_bound(shared.rows.begin(), shared.rows.end(), last[u]);
      uses[u].level = static_cast<std::int32_t>(at - shared.rows.begin()) + 1;
    }
    // A level that reaches no row and costs no time is the same as none.
    if (shared.rows.front() < shared.birth && shared.time == 0) {
      std::erase_if(uses, [](const ModelUse& use) { return use.level == 1; });
      for (ModelUse& use : uses) --use.level;
      shared.rows.erase(shared.rows.begin());
    }
    shared.uses = std::move(uses);
    model_.objects.push_back(std::move(shared));
  }

  void link_objects() {
    for (std::size_t j = 0; j < model_.objects.size(); ++j) {
      auto index = static_cast<std::int32_t>(j);
      auto link = [&](std::int32_t variable) {
        if (variable < 0) return;
        auto& objects = model_.variables[variable].objects;
        if (objects.empty() || objects.back() != index) objects.push_back(index);
      };
      for (const ModelUse& use : model_.objects[j].uses) {
        link(use.variable);
        link(use.class_variable);
      }
    }
  }

  const Instance& instance_;
  const Domain& domain_;
  Model model_;
  std::vector<OpenObject> open_;
  std::vector<std::int64_t> highest_;    // differences of the most that the open choices can add
  std::vector<std::int64_t> certain_;    // differences of what is alive whatever is chosen
  std::vector<std::int32_t> kept_upto_;  // per row of the instance: the last kept row at or before it, or -1
  std::vector<std::int32_t> segment_variable_, class_variable_;
};

}  // namespace

Model compile(const Instance& instance, const Domain& domain, std::int64_t budget) {
  return Compiler(instance, domain, budget).run();
}

Choice to_choice(const Model& model, const Assignment& assignment) {
  Choice choice = model.rest;
  for (std::size_t v = 0; v < model.variables.size(); ++v) {
    const Variable& variable = model.variables[v];
    std::uint8_t source = variable.options[assignment[v]].source;
    if (variable.is_class) {
      choice.states[variable.source] = static_cast<StateChoice>(source);
    } else {
      choice.options[variable.source] = source;
    }
  }
  return choice;
}

Assignment to_assignment(const Model& model, const Choice& choice) {
  Assignment assignment(model.variables.size(), 0);
  for (std::size_t v = 0; v < model.variables.size(); ++v) {
    const Variable& variable = model.variables[v];
    auto source =
        variable.is_class ? static_cast<std::uint8_t>(choice.states[variable.source]) : choice.options[variable.source];
    for (std::size_t o = 0; o < variable.options.size(); ++o) {
      if (variable.options[o].source == source) assignment[v] = static_cast<std::uint8_t>(o);
    }
  }
  return assignment;
}

std::int32_t level_of(const SharedObject& object, const Assignment& assignment) {
  std::int32_t level = 0;
  auto highest = static_cast<std::int32_t>(object.rows.size());
  for (const ModelUse& use : object.uses) {
    if (use.level <= level) continue;
    if (((use.options >> assignment[use.variable]) & 1U) == 0) continue;
    if (use.class_variable >= 0 && assignment[use.class_variable] != use.class_option) continue;
    level = use.level;
    if (level == highest) break;
  }
  return level;
}

Load load_of(const Model& model, const Assignment& assignment) {
  Load load{std::vector<std::int64_t>(model.base.size() + 1, 0), model.base_time};
  auto add = [&](std::int32_t first, std::int32_t last, std::int64_t bytes) {
    if (last < first) return;
    load.rows[first] += bytes;
    load.rows[last + 1] -= bytes;
  };
  for (std::size_t v = 0; v < model.variables.size(); ++v) {
    const ModelOption& option = model.variables[v].options[assignment[v]];
    load.time += option.time;
    for (const Span& span : option.spans) add(span.first, span.last, span.bytes);
  }
  for (const SharedObject& object : model.objects) {
    std::int32_t level = level_of(object, assignment);
    if (level == 0) continue;
    load.time += object.time;
    add(object.birth, object.rows[level - 1], object.bytes);
  }
  std::int64_t running = 0;
  for (std::size_t t = 0; t < model.base.size(); ++t) {
    running += load.rows[t];
    load.rows[t] = model.base[t] + running;
  }
  load.rows.pop_back();
  return load;
}

}  // namespace reprise::solver
