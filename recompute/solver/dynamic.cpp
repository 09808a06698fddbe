#include "recompute/solver/dynamic.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "recompute/solver/stage.h"

namespace reprise::solver {
namespace {

/// Partial plans after one variable, each property in its own array. A key holds levels of objects and states of
/// classes as entries: bytes, but for objects of more levels than those can tell apart.
template <class Entry>
struct Layer {
  std::size_t key_size = 0, groups = 0, count = 0;
  std::vector<Entry> keys;
  std::vector<std::int64_t> loads;
  std::vector<std::uint64_t> hashes;  // of the keys
  std::vector<std::int64_t> times;
  std::vector<double> excess;  // of the bound above the start's
  std::vector<std::int32_t> parents;
  std::vector<std::uint8_t> options;

  const Entry* key(std::size_t i) const { return keys.data() + i * key_size; }
  const std::int64_t* load(std::size_t i) const { return loads.data() + i * groups; }
};

template <class Entry>
std::uint64_t hash_of(const std::vector<Entry>& key) {
  std::uint64_t hash = 0x9E3779B97F4A7C15ULL;
  for (Entry entry : key) hash = (hash ^ entry) * 0x100000001B3ULL;
  return hash ^ (hash >> 29);
}

struct Step {
  std::vector<std::int32_t> parents;
  std::vector<std::uint8_t> options;
};

template <class Entry>
class Programme {
 public:
  Programme(const Dual& dual, Objective objective, const std::vector<std::int32_t>& rows, const DynamicLimits& limits,
            std::int64_t& work)
      : dual_(dual), objective_(objective), limits_(limits), stages_(dual, rows), work_(work), first_work_(work) {
    layer_.count = 1;
    layer_.groups = rows.empty() ? 0 : 1;
    layer_.loads.assign(layer_.groups, 0);
    layer_.times = {0};
    layer_.excess = {0};
    allowance_ = limits.cutoff - stages_.start_bound();
  }

  DynamicResult run() {
    DynamicResult result;
    if (allowance_ <= 0) return result;
    for (std::size_t v = 0; v < stages_.count(); ++v) {
      expand(stages_.next());
      reduce();
      if (next_.count == 0) break;
      advance();
      if (limits_.work > 0 && work_ - first_work_ > limits_.work) {
        drop_all();
        break;
      }
    }
    result.dropped = least_dropped_ >= 1e299 ? 1e300 : stages_.start_bound() + least_dropped_;
    if (steps_.size() == stages_.count() && layer_.count > 0 && !stopped_) finish(result);
    return result;
  }

 private:
  void drop(double excess) { least_dropped_ = std::min(least_dropped_, excess); }

  void drop_all() {
    for (std::size_t i = 0; i < layer_.count; ++i) drop(layer_.excess[i]);
    stopped_ = true;
  }

  void expand(const Stage& stage) {
    next_ = {};
    next_.key_size = stage.key_size;
    next_.groups = stage.new_groups;
    raw_.resize(stage.new_group.size());
    key_.resize(stage.key_size);
    std::size_t options = stage.spans.size();
    for (std::size_t i = 0; i < layer_.count; ++i) {
      for (std::size_t o = 0; o < options; ++o) {
        if (layer_.excess[i] + stage.excess[o] < allowance_ || !stage.touched.empty()) extend(stage, i, o);
      }
    }
    // A candidate costs more where partial plans are wide.
    std::size_t each = 1 + stage.touched.size() + (stage.key_size + 4 * raw_.size()) / 32;
    work_ += static_cast<std::int64_t>(layer_.count * options * each + stage.key_size + raw_.size());
  }

  void extend(const Stage& stage, std::size_t i, std::size_t o) {
    const Entry* old_key = layer_.key(i);
    const std::int64_t* old_load = layer_.load(i);
    for (std::size_t g = 0; g < raw_.size(); ++g) raw_[g] = old_load[stage.old_group[g]];
    for (const GroupSpan& span : stage.spans[o]) {
      for (std::int32_t g = span.first; g < span.end; ++g) raw_[g] += span.bytes;
    }
    double excess = layer_.excess[i] + stage.excess[o];
    std::int64_t time = layer_.times[i];
    if (objective_ == Objective::time) time += dual_.model().variables[stage.variable].options[o].time;
    before_.resize(stage.touched.size());
    after_.resize(stage.touched.size());
    for (std::size_t n = 0; n < stage.touched.size(); ++n) lift(stage.touched[n], n, old_key, o, time);
    for (const TouchedFactor& factor : stage.factors) excess += rise(factor, old_key, o);
    if (excess >= allowance_) return;
    for (std::size_t g = 0; g < raw_.size(); ++g) {
      if (raw_[g] > stage.room[g]) return;
    }
    for (auto [from, to] : stage.moved) key_[to] = old_key[from];
    if (stage.class_place >= 0) key_[stage.class_place] = static_cast<Entry>(o);
    append(stage, i, o, excess, time);
  }

  /// One shared object under one option: its level, its rows and its time.
  void lift(const Touched& touched, std::size_t n, const Entry* old_key, std::size_t o, std::int64_t& time) {
    std::int32_t before = touched.old_place < 0 ? 0 : static_cast<std::int32_t>(old_key[touched.old_place]);
    std::int32_t after = before;
    for (const StageUse& use : touched.uses) {
      if (((use.options >> o) & 1U) == 0) continue;
      if (use.class_place >= 0 && old_key[use.class_place] != use.class_option) continue;
      after = std::max(after, use.level);
    }
    before_[n] = before;
    after_[n] = after;
    if (before == 0 && after > 0 && objective_ == Objective::time) time += touched.time;
    if (after > before) {
      for (std::int32_t g = touched.group_end[before]; g < touched.group_end[after]; ++g) raw_[g] += touched.bytes;
    }
    // What is above all that later variables may ask for makes no difference to them.
    if (touched.new_place >= 0) {
      key_[touched.new_place] = static_cast<Entry>(std::min(after, touched.highest_ahead));
    }
  }

  /// By how much a factor's potential rises with this option: what has become certain of its cost.
  double rise(const TouchedFactor& factor, const Entry* old_key, std::size_t o) const {
    std::int64_t before = 0, after = 0;
    int classes_before = 0, classes_after = 0, place = 1;
    for (const MemberPlace& member : factor.members) {
      if (member.touched >= 0) {
        before += member.stride * before_[member.touched];
        after += member.stride * after_[member.touched];
      } else if (member.old_place >= 0) {
        before += member.stride * old_key[member.old_place];
        after += member.stride * old_key[member.old_place];
      }
    }
    for (std::int32_t at : factor.class_places) {
      int known = at >= 0 ? static_cast<int>(old_key[at]) : kOpenState;
      classes_before += place * known;
      classes_after += place * (at == -2 ? static_cast<int>(o) : known);
      place *= 3;
    }
    return factor.potential->at(factor.decided_after, after, classes_after) -
           factor.potential->at(factor.decided_before, before, classes_before);
  }

  void append(const Stage& stage, std::size_t i, std::size_t o, double excess, std::int64_t time) {
    next_.keys.insert(next_.keys.end(), key_.begin(), key_.end());
    next_.hashes.push_back(hash_of(key_));
    std::size_t at = next_.loads.size();
    next_.loads.resize(at + stage.new_groups);
    for (std::size_t g = 0; g < raw_.size(); ++g) {
      std::int32_t to = stage.new_group[g];
      if (to >= 0) next_.loads[at + to] = std::max(raw_[g], stage.harmless[to]);
    }
    next_.times.push_back(time);
    next_.excess.push_back(excess);
    next_.parents.push_back(static_cast<std::int32_t>(i));
    next_.options.push_back(static_cast<std::uint8_t>(o));
    ++next_.count;
  }

  /// Keeps what no other partial plan beats, and of these the ones with the least bound.
  void reduce() {
    order_.resize(next_.count);
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(), [&](std::int32_t a, std::int32_t b) {
      if (next_.hashes[a] != next_.hashes[b]) return next_.hashes[a] < next_.hashes[b];
      int c = compare_keys(a, b);
      if (c != 0) return c < 0;
      if (next_.times[a] != next_.times[b]) return next_.times[a] < next_.times[b];
      c = compare_loads(a, b);
      return c != 0 ? c < 0 : a < b;
    });
    kept_.clear();
    std::size_t run = 0;  // where the plans with this key begin in kept_
    for (std::size_t n = 0; n < order_.size(); ++n) {
      std::int32_t i = order_[n];
      if (n > 0 && compare_keys(i, order_[n - 1]) != 0) run = kept_.size();
      if (!beaten(i, run)) kept_.push_back(i);
    }
    work_ += static_cast<std::int64_t>(next_.count);
    if (kept_.size() > limits_.states) thin_out();
  }

  int compare_keys(std::int32_t a, std::int32_t b) const {
    return next_.key_size == 0 ? 0 : std::memcmp(next_.key(a), next_.key(b), next_.key_size * sizeof(Entry));
  }

  int compare_loads(std::int32_t a, std::int32_t b) const {
    const std::int64_t *x = next_.load(a), *y = next_.load(b);
    for (std::size_t g = 0; g < next_.groups; ++g) {
      if (x[g] != y[g]) return x[g] < y[g] ? -1 : 1;
    }
    return 0;
  }

  /// Those before it in the order take no more time; with one number per plan the last kept has the least of it.
  bool beaten(std::int32_t i, std::size_t run) {
    if (next_.groups == 0) return kept_.size() > run;
    const std::int64_t* load = next_.load(i);
    if (next_.groups == 1) return kept_.size() > run && next_.load(kept_.back())[0] <= load[0];
    std::size_t looked = 0;
    for (std::size_t n = kept_.size(); n-- > run && looked < 400; ++looked) {
      const std::int64_t* other = next_.load(kept_[n]);
      bool below = true;
      for (std::size_t g = 0; g < next_.groups && below; ++g) below = other[g] <= load[g];
      if (below) return true;
    }
    work_ += static_cast<std::int64_t>(looked / 8);
    return false;
  }

  void thin_out() {
    std::vector<std::int32_t> by_bound = kept_;
    std::stable_sort(by_bound.begin(), by_bound.end(),
                     [&](std::int32_t a, std::int32_t b) { return next_.excess[a] < next_.excess[b]; });
    drop(next_.excess[by_bound[limits_.states]]);
    by_bound.resize(limits_.states);
    std::sort(by_bound.begin(), by_bound.end());
    kept_ = std::move(by_bound);
  }

  void advance() {
    Layer<Entry> layer;
    layer.key_size = next_.key_size;
    layer.groups = next_.groups;
    layer.count = kept_.size();
    Step step;
    for (std::int32_t i : kept_) {
      layer.keys.insert(layer.keys.end(), next_.key(i), next_.key(i) + next_.key_size);
      layer.loads.insert(layer.loads.end(), next_.load(i), next_.load(i) + next_.groups);
      layer.times.push_back(next_.times[i]);
      layer.excess.push_back(next_.excess[i]);
      step.parents.push_back(next_.parents[i]);
      step.options.push_back(next_.options[i]);
    }
    layer_ = std::move(layer);
    steps_.push_back(std::move(step));
  }

  void finish(DynamicResult& result) const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < layer_.count; ++i) {
      if (layer_.times[i] < layer_.times[best]) best = i;
    }
    result.found = true;
    result.time = layer_.times[best] + (objective_ == Objective::time ? dual_.model().base_time : 0);
    result.plan.assign(stages_.count(), 0);
    auto at = static_cast<std::int32_t>(best);
    for (std::size_t v = stages_.count(); v-- > 0;) {
      result.plan[v] = steps_[v].options[at];
      at = steps_[v].parents[at];
    }
  }

  const Dual& dual_;
  Objective objective_;
  DynamicLimits limits_;
  Stages stages_;
  std::int64_t& work_;
  std::int64_t first_work_;
  double allowance_ = 0, least_dropped_ = 1e300;
  bool stopped_ = false;
  Layer<Entry> layer_, next_;
  std::vector<Step> steps_;
  std::vector<std::int64_t> raw_;
  std::vector<Entry> key_;
  std::vector<std::int32_t> before_, after_;  // levels of the touched objects
  std::vector<std::int32_t> order_, kept_;
};

}  // namespace

DynamicResult run_dynamic(const Dual& dual, Objective objective, const std::vector<std::int32_t>& rows,
                          const DynamicLimits& limits, std::int64_t& work) {
  auto in_a_byte = [](const SharedObject& object) { return object.rows.size() <= UINT8_MAX; };
  const std::vector<SharedObject>& objects = dual.model().objects;
  if (std::all_of(objects.begin(), objects.end(), in_a_byte))
    return Programme<std::uint8_t>(dual, objective, rows, limits, work).run();
  return Programme<std::uint32_t>(dual, objective, rows, limits, work).run();
}

std::size_t width_of(const Model& model, const std::vector<std::int32_t>& rows) {
  Dual dual(model, Objective::time);
  Stages stages(dual, rows);
  std::size_t widest = 0;
  for (std::size_t v = 0; v < stages.count(); ++v) widest = std::max(widest, stages.next().new_groups);
  return widest;
}

}  // namespace reprise::solver
