// Checkpoints of a run: tensors in checkpoint-STEP.safetensors, everything else in state-STEP.json.
//
// Note: how the pair stays consistent. A checkpoint is written in this order, each file under a temporary name, synced
// and renamed: tensors, state, then `state.json` and `checkpoint.safetensors` as the names of the newest. `state.json`
// is what counts: it names its file of tensors by step and by a hash of their bytes, and that file exists before it
// does. So after a kill at any moment `state.json` speaks of a complete checkpoint; `checkpoint.safetensors` may be one
// behind until the next start. The last train.checkpoints_kept pairs stay.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/layers/parameters.h"
#include "models/run/json_text.h"

namespace reprise {

/// XXH3 over names, shapes and bytes in the order of names; sixteen hexadecimal digits.
std::string hash_tensors(std::vector<NamedTensor> tensors);

/// The first tensor (in the given order) that holds a number that is not finite; null when there is none.
const NamedTensor* find_not_finite(const std::vector<NamedTensor>& tensors);

/// Writes a checkpoint of `step` into the run folder. `state` is completed by format, step, model, file and hash.
/// Errors (io): the disk is full, read-only or failed; the checkpoints before it are untouched.
void save_checkpoint(const std::filesystem::path& folder, std::int64_t step, const std::string& model,
                     const std::vector<NamedTensor>& tensors, Json state, std::int64_t kept);

/// Does what save_checkpoint() had left to do when the process was killed or the disk failed behind `state.json`: moves
/// the name of the newest tensors, removes old checkpoints. For a run that is resumed. Errors (io).
void complete_checkpoint(const std::filesystem::path& folder, const Json& state, std::int64_t kept);

/// Writes tensors alone, as `model.init` takes them, with `metadata`; the old file is replaced in one step. Errors
/// (io).
void save_tensors(const std::filesystem::path& path, const std::string& model, std::int64_t step,
                  const std::vector<NamedTensor>& tensors, std::map<std::string, std::string> metadata = {});

/// The state of the newest checkpoint of a run folder; nothing when there is none yet.
/// Errors (user): a file that is not one.
std::optional<Json> read_state(const std::filesystem::path& folder);

/// The file of tensors that `state` speaks of; that of the newest name where somebody copied the folder without the
/// numbered ones.
std::filesystem::path tensors_of(const std::filesystem::path& folder, const Json& state);

/// Fills `tensors` with the checkpoint that `state` speaks of. Errors (user): the file is missing, of another model,
/// cut short, or its bytes are not those that the state names; where it is damaged and an older checkpoint is there,
/// the error says how to go on from that one. The tensors may be partly filled then.
void load_checkpoint(const std::filesystem::path& folder, const Json& state, const std::string& model,
                     const std::vector<NamedTensor>& tensors);

/// Fills parameters and buffers from a checkpoint file or from the newest one of a run folder, for `model.init`.
/// Names, dtypes and shapes must be exactly those wanted; optimiser state in the file is left aside.
/// Errors (user): something missing, too much, or of another dtype or shape; nothing has been filled then.
void load_initial(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors);

}  // namespace reprise
