// Fuzz targets: for each reader of files that anybody may hand over, one function that feeds it arbitrary bytes.
//
// "It did not crash" is not enough. A reader either refuses with a mistake of the user (exit code 2) that names the
// place, or returns something that, written and read again, is the same. Whatever else happens is a Finding. Called by
// fuzz_test.cpp (always) and libfuzzer.cpp (a build with clang).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace reprise::fuzz {

using Input = std::span<const std::uint8_t>;

struct Target {
  const char* name;  // also the folder of its corpus
  void (*run)(Input input);
  std::vector<std::string> words;  // what files of this kind are made of, for mutations
};

/// All targets, one for each kind of file.
const std::vector<Target>& targets();
const Target* find_target(const std::string& name);

/// A promise of a reader that did not hold.
class Finding : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// The name that readers are given for their source; refusals must hold it.
constexpr const char* kSource = "fuzz.input";

/// Whether `read` accepts. A refusal must be a mistake of the user and name `source`; everything else is a Finding.
bool accepts(const std::function<void()>& read, const std::string& source = kSource);

/// Throws a Finding unless `holds`.
void expect(bool holds, const std::string& promise);

std::string text_of(Input input);

/// The input as a regular file, in memory; the same path for every input of this process.
std::filesystem::path as_file(Input input);

/// A folder of this process for targets that need one, removed at its end.
const std::filesystem::path& scratch_folder();

void run_safetensors(Input input);
void run_cifar(Input input);
void run_config(Input input);
void run_override(Input input);
void run_plan(Input input);
void run_profile(Input input);
void run_contract(Input input);
void run_conformance(Input input);
void run_state(Input input);
void run_metrics(Input input);

}  // namespace reprise::fuzz
