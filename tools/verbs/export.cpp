// `reprise export`: the tensors of a checkpoint as a file of another program.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>

#include "core/error.h"
#include "core/text.h"
#include "data/atomic_file.h"
#include "data/npz.h"
#include "data/safetensors.h"
#include "models/train/checkpoint.h"
#include "tools/cli/verb.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExportHelp =
    R"(Writes the newest checkpoint of the run in the folder RUN (or a checkpoint file) for NumPy: numpy.load(FILE)["NAME"] is
the tensor NAME, in the shape and under the name that it has in the checkpoint. Kernels of convolutions are [out, in, height,
width], weights of linear layers [out, in], as in PyTorch. The checkpoint itself is a safetensors file, which the package
safetensors reads as it is.

Examples:
  reprise export runs/cifar100_dense_queue --npz
  reprise export runs/cifar100_dense_queue --npz --model-only --compress -o encoder.npz)";

struct ExportOptions {
  std::string source, output;
  bool npz = false, compress = false, model_only = false;
};

/// The file of tensors that stands for the run.
fs::path checkpoint_of(const fs::path& source) {
  std::error_code error;
  if (!fs::exists(source, error)) {
    fail(ErrorKind::user, "[export] expected the folder of a run or a checkpoint, {} does not exist", source.string());
  }
  if (!fs::is_directory(source, error)) return source;
  auto state = read_state(source);
  if (!state) {
    fail(ErrorKind::user, "[export] expected a run with a checkpoint, {} has none yet", source.string());
  }
  return tensors_of(source, *state);
}

std::vector<NpzEntry> entries_of(const SafetensorsFile& file, bool model_only, std::vector<std::byte>& buffer) {
  std::vector<NpzEntry> entries;
  for (const auto& [name, info] : file.tensors()) {
    if (model_only && name.starts_with("optimiser.")) continue;
    if (!info.dtype) {
      fail(ErrorKind::user, "[export] expected tensors of types that this program has, {} in {} is {}", name,
           file.path().string(), info.dtype_name);
    }
    Shape shape{std::span<const std::int64_t>(info.shape)};
    auto load = [&file, &buffer, name = name, dtype = *info.dtype, shape, bytes = info.end - info.begin] {
      buffer.resize(static_cast<std::size_t>(bytes));
      file.read_into(name, dtype, shape, buffer.data());
      return static_cast<const void*>(buffer.data());
    };
    entries.push_back({name, *info.dtype, shape, load});
  }
  return entries;
}

int run(const ExportOptions& options) {
  if (!options.npz) fail(ErrorKind::user, "[export] expected the format to write, one of --npz");
  fs::path source = checkpoint_of(options.source);
  std::error_code error;
  fs::path output = options.output;
  if (output.empty()) {
    output = fs::is_directory(options.source, error) ? fs::path(options.source) / "checkpoint.npz"
                                                     : fs::path(options.source).replace_extension(".npz");
  }
  if (fs::exists(output, error) && fs::equivalent(output, source, error)) {
    fail(ErrorKind::user, "[export] expected another file to write to, {} is the checkpoint", output.string());
  }
  check_output(output, "export");
  SafetensorsFile file(source);
  std::vector<std::byte> buffer;
  std::vector<NpzEntry> entries = entries_of(file, options.model_only, buffer);
  std::int64_t bytes = write_npz(output, entries, options.compress);
  if (is_standard_output(output)) return 0;
  std::printf("%s: %zu arrays, %s\n", output.c_str(), entries.size(), short_bytes(bytes).c_str());
  return 0;
}

}  // namespace

Verb export_verb() {
  return {"export", "write a checkpoint for NumPy", kExportHelp, [](Command& app) -> VerbAction {
            auto options = std::make_shared<ExportOptions>();
            app.add_option("run", options->source, "the folder of a run, or a checkpoint file")
                .option_text("RUN")
                .required();
            app.add_flag("--npz", options->npz, "a zip archive of NumPy arrays");
            app.add_flag("--compress", options->compress, "deflate the arrays");
            app.add_flag("--model-only", options->model_only, "leave the optimiser's state out");
            app.add_option("-o,--output", options->output,
                           "where it goes (RUN/checkpoint.npz); - is the standard output")
                .option_text("FILE");
            return [options] { return run(*options); };
          }};
}

}  // namespace reprise
