// Changes inputs for fuzzing, as a function of (seed, number): the same numbers give the same inputs on every machine.
// Called by fuzz_test.cpp, which does without a fuzzing engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reprise::fuzz {

using Bytes = std::vector<std::uint8_t>;

class Mutator {
 public:
  /// `corpus` is not empty; `words` are put in whole.
  Mutator(std::vector<Bytes> corpus, std::vector<std::string> words, std::uint64_t seed);

  /// The next input: one of the corpus with a few changes.
  Bytes next();

 private:
  std::uint64_t below(std::uint64_t limit);
  void change(Bytes& bytes);
  void change_number(Bytes& bytes);
  void insert(Bytes& bytes, const Bytes& what);
  void move_piece(Bytes& bytes);
  void cross(Bytes& bytes);

  std::vector<Bytes> corpus_;
  std::vector<std::string> words_;
  std::uint64_t seed_, drawn_ = 0;
};

}  // namespace reprise::fuzz
