#include "recompute/solver/lp_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "recompute/solver/domain.h"

namespace reprise::solver {
namespace {

/// Sums of terms "+ 3 x0_1", each variable once, broken into lines that every reader accepts.
class Terms {
 public:
  void add(std::int64_t factor, const std::string& variable) {
    if (factor == 0) return;
    auto [at, added] = place_.emplace(variable, terms_.size());
    if (added) {
      terms_.emplace_back(variable, factor);
    } else {
      terms_[at->second].second += factor;
    }
  }
  bool empty() const { return terms_.empty(); }

  std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      const auto& [variable, factor] = terms_[i];
      fmt::format_to(std::back_inserter(text), " {} {} {}", factor < 0 ? '-' : '+', std::abs(factor), variable);
      if (i % 8 == 7) text += "\n  ";
    }
    return text;
  }

 private:
  std::vector<std::pair<std::string, std::int64_t>> terms_;
  std::map<std::string, std::size_t> place_;
};

class Writer {
 public:
  Writer(const Instance& instance, std::int64_t budget, const Allowed& allowed)
      : instance_(instance), budget_(budget), domain_(domain_of(instance, allowed)), rows_(instance.base.size()) {
    find_unit();
  }

  std::string run() {
    cost_.add(instance_.base_time_ns, "one");
    for (std::size_t i = 0; i < instance_.segments.size(); ++i) write_segment(i);
    for (std::size_t j = 0; j < instance_.objects.size(); ++j) write_object(j);
    for (std::size_t k = 0; k < instance_.joint_times.size(); ++k) write_joint(k);
    for (std::size_t t = 0; t < rows_.size(); ++t) write_row(t);
    for (std::int32_t c : classes_) write_class(c);
    std::string text = "Minimize\n obj:" + cost_.text() + "\nSubject To\n" + constraints_ +
                       " fixed: one = 1\nBounds\n" + bounds_ + "Binaries\n" + binaries_;
    for (std::int32_t c : classes_) text += fmt::format(" y{}\n", c);
    return text + "End\n";
  }

 private:
  void find_unit() {
    for (const Object& object : instance_.objects) unit_ = std::gcd(unit_, object.bytes);
    for (const Segment& segment : instance_.segments) {
      for (const Option& option : segment.options) {
        for (const RowBytes& own : option.own) unit_ = std::gcd(unit_, own.bytes);
      }
    }
    unit_ = std::max<std::int64_t>(unit_, 1);
  }

  static std::string option_name(std::size_t segment, std::size_t option) {
    return fmt::format("x{}_{}", segment, option);
  }

  void write_segment(std::size_t i) {
    Terms one;
    for (std::size_t o = 0; o < instance_.segments[i].options.size(); ++o) {
      if (((domain_.options[i] >> o) & 1U) == 0) continue;
      const Option& option = instance_.segments[i].options[o];
      std::string name = option_name(i, o);
      one.add(1, name);
      cost_.add(option.time_ns, name);
      binaries_ += " " + name + "\n";
      for (const RowBytes& own : option.own) rows_[own.row].add(own.bytes / unit_, name);
    }
    constraints_ += fmt::format(" choose{}:{} = 1\n", i, one.text());
  }

  /// `alive` is at least 1 where the use is selected. Returns false if it never can be.
  bool write_use(const std::string& alive, std::int32_t segment, std::uint64_t options, std::int32_t read_class,
                 StateChoice state) {
    options &= domain_.options[segment];
    if (options == 0) return false;
    if (read_class >= 0 && ((domain_.states[read_class] >> static_cast<int>(state)) & 1U) == 0) return false;
    Terms terms;
    terms.add(1, alive);
    for (std::size_t o = 0; o < instance_.segments[segment].options.size(); ++o) {
      if ((options >> o) & 1U) terms.add(-1, option_name(segment, o));
    }
    int least = 0;
    if (read_class >= 0) {
      classes_.insert(read_class);
      // alive >= x + y - 1, with 1 - y in place of y for whole
      terms.add(state == StateChoice::region ? -1 : 1, fmt::format("y{}", read_class));
      least = state == StateChoice::region ? -1 : 0;
    }
    constraints_ += fmt::format(" use{}:{} >= {}\n", uses_++, terms.text(), least);
    return true;
  }

  void write_object(std::size_t j) {
    const Object& object = instance_.objects[j];
    std::map<std::int32_t, std::vector<const Use*>> levels;  // by the last row
    for (const Use& use : object.uses) levels[use.row].push_back(&use);
    std::int32_t from = object.birth;
    bool first = true;
    std::vector<std::string> names;
    for (const auto& [row, uses] : levels) {
      names.push_back(fmt::format("a{}_{}", j, names.size()));
      // A use in this row keeps the object alive in all rows before it.
      for (const Use* use : uses) {
        for (const std::string& name : names) write_use(name, use->segment, use->options, use->read_class, use->state);
      }
      bounds_ += fmt::format(" 0 <= {} <= 1\n", names.back());
      for (std::int32_t t = from; t <= row; ++t) rows_[t].add(object.bytes / unit_, names.back());
      from = std::max(from, row + 1);
      if (first) cost_.add(object.time_ns, names.back());
      first = false;
    }
  }

  void write_joint(std::size_t k) {
    const JointTime& joint = instance_.joint_times[k];
    std::string name = fmt::format("j{}", k);
    if (!write_use(name, joint.segment, joint.options, joint.read_class, joint.state)) return;
    bounds_ += fmt::format(" 0 <= {} <= 1\n", name);
    cost_.add(joint.time_ns, name);
  }

  /// Where the method leaves a class one state, y is that one: a use of the other was never written, and costs nothing.
  void write_class(std::int32_t c) {
    auto may = [&](StateChoice state) { return ((domain_.states[c] >> static_cast<int>(state)) & 1U) != 0; };
    if (may(StateChoice::whole) && may(StateChoice::region)) return;
    constraints_ += fmt::format(" state{}: y{} = {}\n", c, c, may(StateChoice::region) ? 1 : 0);
  }

  void write_row(std::size_t t) {
    std::int64_t room = budget_ - instance_.base[t];
    std::int64_t units = room >= 0 ? room / unit_ : -((-room + unit_ - 1) / unit_);
    // A row that nothing can change is written with what is always 1.
    if (rows_[t].empty() && units >= 0) return;
    if (rows_[t].empty()) rows_[t].add(1, "one");
    constraints_ += fmt::format(" row{}:{} <= {}\n", t, rows_[t].text(), units);
  }

  const Instance& instance_;
  std::int64_t budget_, unit_ = 0;
  Domain domain_;
  std::vector<Terms> rows_;
  Terms cost_;
  std::string constraints_, bounds_, binaries_;
  std::set<std::int32_t> classes_;  // that some use asks for
  int uses_ = 0;
};

/// The number behind the last `label`, written as Cbc writes it whatever the locale of this process.
double number_after(const std::string& text, const std::string& label, double otherwise) {
  std::size_t at = text.rfind(label);
  if (at == std::string::npos) return otherwise;
  at = text.find_first_not_of(" \t+", at + label.size());
  double number = otherwise;
  if (at != std::string::npos) std::from_chars(text.data() + at, text.data() + text.size(), number);
  return number;
}

}  // namespace

std::string to_lp(const Instance& instance, std::int64_t budget, const Allowed& allowed) {
  return Writer(instance, budget, allowed).run();
}

CbcAnswer read_cbc(const std::string& output) {
  CbcAnswer answer;
  auto says = [&](const char* words) { return output.find(words) != std::string::npos; };
  // Nothing here is unbounded: times are not negative.
  answer.infeasible =
      says("Problem proven infeasible") || says("roblem is infeasible") || says("says infeasible or unbounded");
  answer.optimal = says("Result - Optimal solution found") || says("Optimal - objective value");
  if (answer.infeasible) return answer;
  answer.has_plan = says("Objective value:") && !says("No feasible solution found");
  if (answer.has_plan) answer.objective = number_after(output, "Objective value:", 0);
  answer.bound = number_after(output, "Lower bound:", answer.bound);
  if (answer.optimal) answer.bound = answer.objective;
  return answer;
}

}  // namespace reprise::solver
