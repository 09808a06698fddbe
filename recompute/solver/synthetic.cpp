#include "recompute/solver/synthetic.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "recompute/solver/random.h"

namespace reprise::solver {
namespace {

constexpr double kCopyBytesPerNs = 8;  // of one core that copies
constexpr std::int64_t kBlock = 64;    // the arena rounds every block to it

std::int64_t blocks(double bytes) { return (static_cast<std::int64_t>(bytes) / kBlock + 1) * kBlock; }

/// One step: the forwards in rows 0..N-1, the backwards in rows N..2N-1, last segment first.
class StepMaker {
 public:
  explicit StepMaker(const SyntheticOptions& options)
      : options_(options), random_(options.seed), count_(options.segments) {}

  Instance run() {
    instance_.name =
        fmt::format("{} segments, sharing {}, seed {}", count_, to_string(options_.sharing), options_.seed);
    instance_.base.assign(2 * static_cast<std::size_t>(count_), blocks(random_.spread(3e7, 3e8)));
    for (int i = 0; i < count_; ++i) add_segment(i);
    if (options_.sharing != Sharing::none) {
      for (int i = 0; i + 1 < count_; ++i) add_boundary(i);
    }
    auto classes = static_cast<int>(std::lround(options_.classes * count_));
    for (int c = 0; c < classes; ++c) add_class(c);
    return std::move(instance_);
  }

 private:
  std::int32_t backward(int segment) const { return 2 * count_ - 1 - segment; }

  std::uint64_t replays() const { return ((std::uint64_t{1} << (2 + options_.finer_options)) - 1) & ~std::uint64_t{1}; }

  void add_segment(int i) {
    double kept = random_.spread(2e6, 6e7), inner = kept * random_.spread(1, 1.5);
    // From a few operations per byte (normalisation) to many (convolution).
    double forward = kept / kCopyBytesPerNs * random_.spread(1.5, 30);
    kept_.push_back(kept);
    instance_.base_time_ns += static_cast<std::int64_t>(3 * forward);
    Segment segment{fmt::format("segment {}", i), {}};
    std::int64_t work = blocks(kept * random_.spread(0.05, 0.4));
    instance_.base[i] += work;
    instance_.base[backward(i)] += work;
    segment.options.push_back({"retain", true, 0, {{backward(i), blocks(kept * 0.3)}}});
    segment.options.push_back(
        {"replay", false, static_cast<std::int64_t>(forward), {{backward(i), blocks(inner * 1.3)}}});
    add_kept(i, 1, kept, "values");
    for (int f = 0; f < options_.finer_options; ++f) {
      double share = (f + 1.0) / (options_.finer_options + 1) * random_.spread(0.6, 1.2);
      double saved = std::min(0.95, share * random_.spread(0.7, 1.6));
      segment.options.push_back({fmt::format("replay, {} kept", f + 1),
                                 false,
                                 static_cast<std::int64_t>(forward * (1 - saved)),
                                 {{backward(i), blocks(inner * (1.3 - 0.7 * share))}}});
      add_kept(i, std::uint64_t{1} << (2 + f), kept * share, fmt::format("values of option {}", f + 2));
    }
    instance_.segments.push_back(std::move(segment));
  }

  void add_kept(int i, std::uint64_t options, double bytes, const std::string& what) {
    Object object{fmt::format("{} of segment {}", what, i), blocks(bytes), 0, i, {}};
    object.uses.push_back({i, options, backward(i), -1, StateChoice::whole});
    instance_.objects.push_back(std::move(object));
  }

  /// The output of a segment: what its followers replay from; some makers save it too.
  void add_boundary(int i) {
    Object object{fmt::format("boundary {}", i), blocks(kept_[i] * random_.spread(0.1, 0.35)), 0, i, {}};
    object.uses.push_back({i + 1, replays(), backward(i + 1), -1, StateChoice::whole});
    double more = options_.sharing == Sharing::local ? 0.3 : 0.5;
    for (int reader = i + 2; reader < count_ && object.uses.size() < 4 && random_.chance(more);) {
      object.uses.push_back({reader, replays(), backward(reader), -1, StateChoice::whole});
      reader += options_.sharing == Sharing::local ? 1 : static_cast<int>(random_.between(1, std::max(1, count_ / 3)));
    }
    if (random_.chance(0.3)) object.uses.push_back({i, 1, backward(i), -1, StateChoice::whole});
    instance_.objects.push_back(std::move(object));
  }

  /// A state that is read by segments and overwritten later in the forward: a snapshot, or one to three records.
  void add_class(int c) {
    auto index = static_cast<std::int32_t>(instance_.classes.size());
    instance_.classes.push_back({fmt::format("state {}", c)});
    std::vector<int> readers = readers_of_state();
    double bytes = random_.spread(5e5, 3e7);
    std::int32_t written = std::min(count_ - 1, readers.back() + 1);
    Object snapshot{
        fmt::format("snapshot {}", c), blocks(bytes), static_cast<std::int64_t>(bytes / kCopyBytesPerNs), written, {}};
    std::int64_t records = random_.between(1, 3);
    for (std::int64_t r = 0; r < records; ++r) {
      double part = bytes * random_.spread(0.03, 0.7);
      Object record{fmt::format("record {} of state {}", r, c),
                    blocks(part),
                    2000 + static_cast<std::int64_t>(part / kCopyBytesPerNs * 1.5),
                    written,
                    {}};
      for (int reader : readers) {
        if (record.uses.empty() || random_.chance(0.7)) {
          record.uses.push_back({reader, replays(), backward(reader), index, StateChoice::region});
        }
      }
      instance_.objects.push_back(std::move(record));
    }
    for (int reader : readers) {
      snapshot.uses.push_back({reader, replays(), backward(reader), index, StateChoice::whole});
      instance_.joint_times.push_back({reader, replays(), index, StateChoice::region,
                                       1000 + static_cast<std::int64_t>(bytes * 0.4 / kCopyBytesPerNs)});
    }
    instance_.objects.push_back(std::move(snapshot));
  }

  std::vector<int> readers_of_state() {
    std::vector<int> readers{static_cast<int>(random_.below(count_))};
    std::int64_t more = options_.sharing == Sharing::none ? 0 : random_.between(0, 3);
    for (std::int64_t k = 0; k < more; ++k) {
      auto next = options_.sharing == Sharing::local
                      ? std::min<std::int64_t>(count_ - 1, readers.front() + random_.between(1, 4))
                      : random_.below(count_);
      readers.push_back(static_cast<int>(next));
    }
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    return readers;
  }

  SyntheticOptions options_;
  Random random_;
  int count_;
  Instance instance_;
  std::vector<double> kept_;
};

}  // namespace

const char* to_string(Sharing sharing) {
  return sharing == Sharing::none ? "none" : sharing == Sharing::local ? "local" : "scattered";
}

Instance synthetic_step(const SyntheticOptions& options) { return StepMaker(options).run(); }

}  // namespace reprise::solver
