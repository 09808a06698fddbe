#include "tests/fuzz/target.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "core/error.h"

namespace reprise::fuzz {
namespace {

namespace fs = std::filesystem;

struct Scratch {
  fs::path path;
  Scratch() {
    std::string name = (fs::temp_directory_path() / "reprise-fuzz-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path = name;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

}  // namespace

const std::vector<Target>& targets() {
  static const std::vector<std::string> json = {
      "{",       "}",          "[", "]", ":", ",", "\"", "null", "true", "-1", "1e999", "0.5", "18446744073709551615",
      "\\u0000", "\"format\":"};
  auto with = [](std::vector<std::string> words) {
    words.insert(words.end(), json.begin(), json.end());
    return words;
  };
  static const std::vector<Target> all = {
      {"safetensors", run_safetensors,
       with({"\"F32\"", "\"BF16\"", "\"F8_E4M3\"", "\"shape\":", "\"dtype\":", "\"data_offsets\":", "__metadata__"})},
      {"cifar",
       run_cifar,
       {"train.bin", "test.bin", "fine_label_names.txt", "ustar", "GNU.sparse.size=", "\x1f\x8b\x08",
        "\xfd"
        "7zXZ",
        "././@LongLink", "../", "/etc/"}},
      {"config", run_config, {"train: ", "- ",     "? ",  ": ",   "{",   "}",    "[",         "]",    "&a",
                              "*a",      "!!str ", "|\n", ">\n",  "---", "...",  "%YAML 1.2", "'",    "\"",
                              "\\x41",   "#",      "\t",  "null", "1e9", "0x10", ".inf",      "7 GiB"}},
      {"override",
       run_override,
       {"train.batch=", "model.encoder.widths=[", "recompute.options={", "~", "+", "++", "\\", "'", "\"", "${", "null",
        "1e999", "5m", "KiB", ",", "]", "}"}},
      {"plan", run_plan, with({"\"reprise-plan/2\"", "\"segments\":", "\"kept\":", "\"classes\":", "\"nodes\":"})},
      {"profile", run_profile, with({"\"reprise-profile/2\"", "\"forward_ns\":", "\"copy\":", "\"spread\":"})},
      {"contract", run_contract,
       with({"\"reprise-contract/1\"", "\"contracts\":", "\"reads\":", "\"region\":", "\"nodes\":"})},
      {"conformance", run_conformance,
       with({"\"reprise-conformance/1\"",
             "\"do\":", "\"region\":", "\"rows\":", "\"main\":", "\"shape\":", "\"data\":"})},
      {"state", run_state, with({"\"reprise-state/1\"", "\"streams\":", "\"position\":", "\"best\":", "\"loader\":"})},
      {"metrics", run_metrics, with({"\"step\":", "\n"})},
  };
  return all;
}

const Target* find_target(const std::string& name) {
  for (const Target& target : targets()) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

bool accepts(const std::function<void()>& read, const std::string& source) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    std::string text = error.what();
    expect(exit_code(error.kind()) == 2, "refused as " + std::string(to_string(error.kind())) + ": " + text);
    expect(text.find(source) != std::string::npos, "a refusal that does not name " + source + ": " + text);
    return false;
  } catch (const Finding&) {
    throw;
  } catch (const std::exception& error) {
    throw Finding(std::string("an exception that is no Error: ") + error.what());
  }
}

void expect(bool holds, const std::string& promise) {
  if (!holds) throw Finding(promise.substr(0, 2000));
}

std::string text_of(Input input) { return {input.begin(), input.end()}; }

fs::path as_file(Input input) {
  static const int descriptor = ::memfd_create("fuzz.input", MFD_CLOEXEC);
  bool fine = descriptor >= 0 && ::ftruncate(descriptor, 0) == 0 &&
              ::pwrite(descriptor, input.data(), input.size(), 0) == static_cast<ssize_t>(input.size());
  if (!fine) throw std::runtime_error("no file in memory");
  return "/proc/self/fd/" + std::to_string(descriptor);
}

const fs::path& scratch_folder() {
  static const Scratch scratch;
  return scratch.path;
}

}  // namespace reprise::fuzz
