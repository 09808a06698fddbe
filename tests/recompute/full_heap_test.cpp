// Memory runs out in the middle of a step: each request that its forward and its backward make of the heap, and each
// block that they take for tensors, is refused once, in a run of its own. An op that could not be recorded has written
// and drawn nothing; a backward goes on when it is called again; what comes out has the bits of a step that had all it
// wanted, and no memory stays behind.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <utility>

#include "ops/arithmetic.h"
#include "ops/draws.h"
#include "ops/row_state.h"
#include "ops/rows.h"
#include "ops/state.h"
#include "ops/unary.h"
#include "tests/support/full_heap_new.h"
#include "tests/support/lab.h"

namespace reprise {
namespace {

using testing::Lab;

/// What becomes of the step's segments: one way for all, or a two-level run.
enum class Way : std::uint8_t { retain, whole, region, run };

class OneWay final : public SegmentPolicy {
 public:
  explicit OneWay(Way way) : way_(way) {}
  SegmentOption choose(const char*, std::uint32_t instance) override {
    SegmentOption option;
    if (way_ != Way::retain) option.values = ValueOption::replay;
    if (way_ == Way::region || way_ == Way::run) option.state = StateOption::region;
    if (way_ == Way::run) option.run = 1, option.run_ends = instance == 2;
    return option;
  }

 private:
  Way way_;
};

/// Three segments with state that is read and overwritten, in-place values and draws.
class HungryStep {
 public:
  explicit HungryStep(Way way) : policy_(way) {
    lab_.tape->set_policy(&policy_);
    fill();
    level_ = lab_.memory.meter().live();
  }

  void fill() {
    table_.assign_doubles(std::vector<double>{2, 3, 4, 5, 6, 7, 8, 9});
    scale_.assign_doubles(std::vector<double>{1.1, .9, 1.2, .8, 1.3, .7, 1.4, .6});
    stream_.position = 0;
    for (const LeafRef& leaf : {x_, v_, w_}) leaf->clear_grad();
    acts_ = 0;
  }

  void forward() {
    Tape& t = *lab_.tape;
    Value h = act(add(t, x_, 0.5));
    for (const char* name : {"first", "second", "third"}) {
      h = segment(t, name, [&] { return block(h); });
      act(h);
      mul_into(t, scale_, 1.25);
      act(h);
    }
    root_ = act(mul(t, h, 2.0));
  }
  void backward() { lab_.tape->backward(root_); }
  Memory& memory() { return lab_.memory; }

  /// After each op that writes or draws, if `note` is on: the states and the position of the stream.
  std::vector<std::vector<double>> noted_;
  bool note_ = false;
  std::size_t acts_ = 0;

  std::vector<double> states() const {
    std::vector<double> all = table_.to_doubles();
    for (double v : scale_.to_doubles()) all.push_back(v);
    all.push_back(static_cast<double>(stream_.position));
    return all;
  }
  std::vector<double> gradients() const {
    std::vector<double> all;
    for (const LeafRef& leaf : {x_, v_, w_}) {
      for (double v : Lab::gradient(leaf)) all.push_back(v);
    }
    return all;
  }
  /// That nothing is left of the step but the gradients.
  void expect_home() {
    root_.reset();
    lab_.tape->clear();
    const Meter& meter = lab_.memory.meter();
    EXPECT_EQ(meter.live() - meter.live(Category::gradients), level_);
    EXPECT_EQ(lab_.memory.preserver().live().reads, 0);
    EXPECT_EQ(lab_.memory.preserver().open_blocks(), 0);
  }

 private:
  Value act(Value value) {
    ++acts_;
    if (note_) noted_.push_back(states());
    return value;
  }

  Value block(const Value& in) {
    Tape& t = *lab_.tape;
    Value picked = act(gather_rows(t, table_, all_rows_));
    Value h = act(sin(t, act(mul(t, act(mul(t, in, picked)), scale_))));
    assign_rows(t, table_, some_rows_, 0.75);
    act(h);
    Value early = act(mul(t, h, w_));
    mul_into(t, h, 1.5);
    act(h);
    Value kept = act(dropout(t, stream_, act(tanh(t, h)), 0.25));
    return act(mul(t, act(mul(t, kept, v_)), early));
  }

  Lab lab_;
  OneWay policy_;
  LeafRef x_ = lab_.leaf({4, 2}, {.1, .2, .3, .4, .5, .6, .7, .8});
  LeafRef v_ = lab_.leaf({4, 2}, {.3, .4, .5, .6, .7, .8, .9, 1});
  LeafRef w_ = lab_.leaf({4, 2}, {1, .9, .8, .7, .6, .5, .4, .3});
  Tensor table_ = lab_.state({4, 2}, std::vector<double>(8, 0)), scale_ = lab_.state({4, 2}, std::vector<double>(8, 0));
  Tensor all_rows_ = lab_.indices({0, 1, 2, 3}), some_rows_ = lab_.indices({1, 2});
  Stream stream_{"r", 3, 0, 0};
  Value root_;
  std::int64_t level_ = 0;
};

class FullHeap : public ::testing::TestWithParam<Way> {
 protected:
  struct Undisturbed {
    std::vector<std::vector<double>> noted;
    std::vector<double> states, gradients;
  };
  static Undisturbed undisturbed() {
    HungryStep step(GetParam());
    step.noted_.push_back(step.states());
    step.note_ = true;
    step.forward();
    step.backward();
    return {step.noted_, step.states(), step.gradients()};
  }

  /// Does it with the n-th request of the heap refused (negative: none); whether memory ran out.
  template <class Do>
  static bool runs_out(std::int64_t& n, const Do& what) {
    full_heap::Refusing refusing(n);
    bool out = false;
    try {
      what();
    } catch (const std::bad_alloc&) {
      out = true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::memory) throw;
      out = true;
    }
    n = full_heap::left;
    return out;
  }

  /// Whether there was an n-th request of the heap; or an n-th block.
  static bool run(const Undisturbed& expected, std::int64_t n, bool of_heap) {
    HungryStep step(GetParam());
    if (!of_heap) step.memory().fail_allocation(std::exchange(n, -1));
    bool forward = runs_out(n, [&] { step.forward(); });
    if (forward) {
      EXPECT_EQ(step.states(), expected.noted[step.acts_]) << "after " << step.acts_ << " ops";
      step.expect_home();
      step.fill();
      step.forward();
    }
    bool backward = !forward && runs_out(n, [&] { step.backward(); });
    EXPECT_EQ(step.states(), expected.states);
    if (forward || backward) step.backward();
    EXPECT_EQ(step.states(), expected.states);
    EXPECT_EQ(step.gradients(), expected.gradients);
    step.memory().fail_allocation(-1);
    step.expect_home();
    return of_heap ? n < 0 : forward || backward;
  }

  /// How many requests there were.
  static std::int64_t refuse_each(bool of_heap) {
    Undisturbed expected = undisturbed();
    bool refused = true;
    std::int64_t n = 0;
    for (; refused && !HasFailure(); ++n) {
      // A thread of its own, which keeps no memory that goes round.
      std::thread([&] { refused = run(expected, n, of_heap); }).join();
    }
    if (HasFailure()) ADD_FAILURE() << "request " << n - 1;
    return n;
  }
};

std::string way_name(const ::testing::TestParamInfo<Way>& info) {
  const char* names[] = {"retain", "whole", "region", "run"};
  return names[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Ways, FullHeap, ::testing::Values(Way::retain, Way::whole, Way::region, Way::run), way_name);

TEST_P(FullHeap, EveryRequestOfAStepIsRefusedOnce) {
  if (!full_heap::kFullHeap) GTEST_SKIP() << "a sanitizer has the heap";
  EXPECT_GT(refuse_each(true), 100);
}

TEST_P(FullHeap, EveryBlockOfAStepIsRefusedOnce) { EXPECT_GT(refuse_each(false), 30); }

// Its values stay as those of one whose body threw, whatever becomes of the run that it was part of.
TEST_P(FullHeap, WhatASegmentMadeThatCouldNotBeClosedCanBeRead) {
  if (!full_heap::kFullHeap) GTEST_SKIP() << "a sanitizer has the heap";
  std::size_t left_open = 0;
  auto run = [&](std::int64_t n) {
    Lab lab;
    OneWay policy(GetParam());
    Tape& t = *lab.tape;
    t.set_policy(&policy);
    LeafRef x = lab.leaf({2}, {.5, .25});
    Tensor state = lab.state({2}, {2, 3});
    Value in = segment(t, "first", [&] { return mul(t, x, 3.0); }), h;
    bool out = runs_out(n, [&] { segment(t, "second", [&] { return h = sin(t, state); }); });
    bool whole = h.defined();
    left_open += out && whole;
    Value y = segment(t, "third", [&] {
      Value product = mul(t, in, whole ? std::exchange(h, Value()) : sin(t, state));
      in.reset();
      return product;
    });
    t.backward(y);
    EXPECT_EQ(Lab::gradient(x), (std::vector<double>{3 * std::sin(2.0), 3 * std::sin(3.0)}));
    return out;
  };
  bool refused = true;
  for (std::int64_t n = 0; refused && !HasFailure(); ++n) std::thread([&] { refused = run(n); }).join();
  if (GetParam() != Way::retain) EXPECT_GT(left_open, 0u);
}

}  // namespace
}  // namespace reprise
