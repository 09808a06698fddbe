#include "models/train/checkpoint.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/byte_hash.h"
#include "core/error.h"
#include "data/atomic_file.h"
#include "data/folder.h"
#include "data/safetensors.h"
#include "data/text_file.h"
#include "recompute/json_place.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "reprise-state/1";
constexpr std::int64_t kLongestState = 16 << 20;
constexpr std::int64_t kLargestCount = std::int64_t{1} << 60;  // steps, epochs, threads, bytes
constexpr const char* kNewestState = "state.json";
constexpr const char* kNewestTensors = "checkpoint.safetensors";
constexpr const char* kOptimiserPrefix = "optimiser.";
constexpr const char* kOtherModel = "Another model.type, other sizes, or another model.encoder.norm?";

std::byte* target_of(const Tensor& tensor) { return tensor.host_write_bytes("checkpoint").data(); }

std::string tensor_file(std::int64_t step) { return fmt::format("checkpoint-{:08}.safetensors", step); }
std::string state_file(std::int64_t step) { return fmt::format("state-{:08}.json", step); }

/// The step in a name such as checkpoint-00000020.safetensors; -1 for other names.
std::int64_t step_of(const std::string& name, const std::string& head, const std::string& tail) {
  if (!name.starts_with(head) || !name.ends_with(tail) || name.size() <= head.size() + tail.size()) return -1;
  std::string digits = name.substr(head.size(), name.size() - head.size() - tail.size());
  bool number =
      digits.size() <= 18 && std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  return number ? std::stoll(digits) : -1;
}

/// A disk that has room for the tensors but not for the state leaves neither.
void write_state(const fs::path& folder, std::int64_t step, const Json& state) {
  try {
    write_file_atomically(folder / state_file(step), json_pretty(state));
  } catch (...) {
    std::error_code error;
    if (!fs::exists(folder / state_file(step), error)) fs::remove(folder / tensor_file(step), error);
    throw;
  }
}

/// What is read of a state without asking again. RunState::from_json() looks at the rest.
void check_state(const JsonPlace& root) {
  if (!root.has("format")) root.refuse("expected the state of a run ({}), got something else", kFormat);
  if (std::string format = root.at("format").text(); format != kFormat)
    root.refuse("expected the state of a run ({}), got '{}'", kFormat, shown_part(format));
  for (const char* key : {"file", "hash", "model"}) root.at(key).text();
  if (root.has("config")) root.at("config").text();
  root.at("step").integer(0, kLargestCount);
  for (const char* key : {"threads", "evaluated_step", "hashed_epoch", "metrics_lines", "predicted_peak_bytes"}) {
    if (root.has(key)) root.at(key).integer(0, kLargestCount);
  }
}

/// Removes checkpoints other than the `kept` newest up to `step`, and those of later steps, which an earlier life of
/// the run left.
void remove_old(const fs::path& folder, std::int64_t step, std::int64_t kept) {
  std::vector<std::int64_t> steps;
  std::error_code error;
  for (const fs::path& path : paths_in(folder, error)) {
    std::string name = path.filename().string();
    std::int64_t at = std::max(step_of(name, "checkpoint-", ".safetensors"), step_of(name, "state-", ".json"));
    if (at >= 0) steps.push_back(at);
  }
  std::sort(steps.begin(), steps.end(), std::greater<>());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  std::int64_t seen = 0;
  for (std::int64_t at : steps) {
    if (at <= step && ++seen <= kept) continue;
    fs::remove(folder / state_file(at), error);
    fs::remove(folder / tensor_file(at), error);
  }
}

/// How to go on where the checkpoint of `step` is damaged: from the newest one before it, if there is one.
std::string way_back(const fs::path& folder, std::int64_t step) {
  std::int64_t newest = -1;
  std::error_code error;
  for (const fs::path& path : paths_in(folder, error)) {
    std::int64_t at = step_of(path.filename().string(), "state-", ".json");
    if (at < step && at > newest && fs::exists(folder / tensor_file(at), error)) newest = at;
  }
  if (newest < 0) return "";
  return fmt::format("there is a checkpoint of step {} too; to go on from it: cp --remove-destination {} {}", newest,
                     (folder / state_file(newest)).string(), (folder / kNewestState).string());
}

}  // namespace

std::string hash_tensors(std::vector<NamedTensor> tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const NamedTensor& a, const NamedTensor& b) { return a.name < b.name; });
  ByteHash hash;
  for (const NamedTensor& t : tensors) {
    hash.add(fmt::format("{}:{}:{};", t.name, to_string(t.tensor.dtype()), to_string(t.tensor.shape())));
    hash.add_values(t.tensor.host_read_bytes());
  }
  return hash.text();
}

const NamedTensor* find_not_finite(const std::vector<NamedTensor>& tensors) {
  for (const NamedTensor& t : tensors) {
    if (t.tensor.dtype() != DType::f32) continue;
    auto values = t.tensor.host_read<float>();
    if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) return &t;
  }
  return nullptr;
}

void save_tensors(const fs::path& path, const std::string& model, std::int64_t step,
                  const std::vector<NamedTensor>& tensors, std::map<std::string, std::string> metadata) {
  std::vector<SafetensorsEntry> entries;
  for (const NamedTensor& t : tensors)
    entries.push_back({t.name, t.tensor.dtype(), t.tensor.shape(), t.tensor.host_read_bytes().data()});
  metadata.insert({{"format", "reprise-checkpoint/1"}, {"model.type", model}, {"step", std::to_string(step)}});
  write_safetensors(path, entries, metadata);
}

void save_checkpoint(const fs::path& folder, std::int64_t step, const std::string& model,
                     const std::vector<NamedTensor>& tensors, Json state, std::int64_t kept) {
  std::string hash = hash_tensors(tensors);
  save_tensors(folder / tensor_file(step), model, step, tensors, {{"hash", hash}});
  Json whole = {{"format", kFormat}, {"step", step}, {"model", model}, {"file", tensor_file(step)}, {"hash", hash}};
  if (state.is_object()) whole.update(state);
  write_state(folder, step, whole);
  name_file_atomically(folder / state_file(step), folder / kNewestState);
  name_file_atomically(folder / tensor_file(step), folder / kNewestTensors);
  remove_old(folder, step, kept);
}

void complete_checkpoint(const fs::path& folder, const Json& state, std::int64_t kept) {
  auto step = state["step"].get<std::int64_t>();
  std::error_code error;
  // A folder that somebody copied without the numbered files has nothing to be completed from.
  if (!fs::exists(folder / tensor_file(step), error)) return;
  if (!fs::equivalent(folder / tensor_file(step), folder / kNewestTensors, error)) {
    name_file_atomically(folder / tensor_file(step), folder / kNewestTensors);
  }
  remove_old(folder, step, kept);
}

std::optional<Json> read_state(const fs::path& folder) {
  fs::path path = folder / kNewestState;
  std::error_code error;
  // A link to nowhere is a state that cannot be read, and not a run without one: that would start anew.
  if (fs::symlink_status(path, error).type() == fs::file_type::not_found) return std::nullopt;
  Json state =
      parse_json(read_text_file(path, "checkpoint", kLongestState), "checkpoint", path.string(), "the state of a run");
  check_state({state, "checkpoint", path.string()});
  return state;
}

fs::path tensors_of(const fs::path& folder, const Json& state) {
  fs::path named = folder / fs::path(state["file"].get<std::string>()).filename();  // never outside the folder
  std::error_code error;
  return fs::exists(named, error) ? named : folder / kNewestTensors;
}

void load_checkpoint(const fs::path& folder, const Json& state, const std::string& model,
                     const std::vector<NamedTensor>& tensors) {
  fs::path path = tensors_of(folder, state);
  if (state["model"] != model) {
    fail(ErrorKind::user, "[checkpoint] expected a checkpoint of the model {}, got one of {} in {}", model,
         state["model"].get<std::string>(), path.string());
  }
  auto with_way_back = [&](Error error) {
    if (std::string way = way_back(folder, state["step"].get<std::int64_t>()); !way.empty()) error.add_context(way);
    return error;
  };
  std::optional<SafetensorsFile> opened;
  try {
    opened.emplace(path);
  } catch (const Error& error) {
    throw with_way_back(error);
  }
  const SafetensorsFile& file = *opened;
  for (const NamedTensor& t : tensors) file.read_into(t.name, t.tensor.dtype(), t.tensor.shape(), target_of(t.tensor));
  if (file.tensors().size() != tensors.size()) {
    fail(ErrorKind::user, "[checkpoint] expected {} tensors in {}, got {}. It belongs to another configuration",
         tensors.size(), path.string(), file.tensors().size());
  }
  if (std::string hash = hash_tensors(tensors); state["hash"] != hash) {
    throw with_way_back(
        {ErrorKind::user, fmt::format("[checkpoint] expected tensors with the hash {} in {}, got {}. The file was "
                                      "changed, or is of another step than state.json",
                                      state["hash"].get<std::string>(), path.string(), hash)});
  }
}

namespace {

void check_initial(const SafetensorsFile& file, const std::vector<NamedTensor>& tensors) {
  std::string where = file.path().string();
  std::vector<std::string> wanted;
  for (const NamedTensor& t : tensors) wanted.push_back(t.name);
  std::sort(wanted.begin(), wanted.end());
  for (const auto& [name, info] : file.tensors()) {
    if (name.starts_with(kOptimiserPrefix) || std::binary_search(wanted.begin(), wanted.end(), name)) continue;
    fail(ErrorKind::user, "[model.init] expected a checkpoint of this model, {} holds '{}', which it does not have. {}",
         where, name, kOtherModel);
  }
  for (const NamedTensor& t : tensors) {
    if (!file.has(t.name)) {
      fail(ErrorKind::user, "[model.init] expected a checkpoint of this model, {} lacks '{}'. {}", where, t.name,
           kOtherModel);
    }
    const SafetensorsInfo& info = file.info(t.name);
    std::vector<std::int64_t> shape(t.tensor.shape().begin(), t.tensor.shape().end());
    if (info.dtype == t.tensor.dtype() && info.shape == shape) continue;
    fail(ErrorKind::user, "[model.init] expected '{}' as {} {}, {} has {} [{}]", t.name,
         safetensors_name(t.tensor.dtype()), to_string(t.tensor.shape()), where, info.dtype_name,
         fmt::join(info.shape, ", "));
  }
}

}  // namespace

void load_initial(const fs::path& path, const std::vector<NamedTensor>& tensors) {
  std::error_code error;
  fs::path source = path;
  if (fs::is_directory(path, error)) {
    auto state = read_state(path);
    source = state ? tensors_of(path, *state) : path / kNewestTensors;
  }
  SafetensorsFile file(source);
  check_initial(file, tensors);
  for (const NamedTensor& t : tensors) file.read_into(t.name, t.tensor.dtype(), t.tensor.shape(), target_of(t.tensor));
}

}  // namespace reprise
