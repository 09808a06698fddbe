// Augmented images per second, batches made by the calling thread.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "data/loader.h"
#include "data/synthetic.h"
#include "memory/memory.h"
#include "tools/bench/bench.h"
#include "tools/bench/scratch_folder.h"

namespace reprise::bench {
namespace {

/// The images as a file in CIFAR-100's layout, for the peer.
void write_images(const ImageSet& images, const std::filesystem::path& path) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(images.records.data()), static_cast<std::streamsize>(images.records.size()));
  file.close();
  if (!file) fail(ErrorKind::io, "[bench] cannot write {}", path.string());
}

struct Pipeline {
  std::string name, peer, target;
  LoaderOptions options;
  Samples rate, peer_rate;
};

std::vector<Pipeline> pipelines(std::int64_t batch) {
  LoaderOptions common;
  common.batch = batch;
  common.prefetch = 0;
  Pipeline contrastive{"contrastive (resized crop, flip, jitter, gray)",
                       "batch_resizedcrop_jitter_gray_norm",
                       "2.5 times whole-batch tensor ops",
                       common,
                       {},
                       {}};
  contrastive.options.views = 2;
  contrastive.options.augment = AugmentOptions::contrastive();
  Pipeline supervised{"supervised (pad crop, flip)", "batch_pad_flip_norm", "", common, {}, {}};
  supervised.options.augment = AugmentOptions::supervised();
  return {contrastive, supervised};
}

}  // namespace

Report bench_loader(const BenchOptions& options) {
  if (options.peer.asked()) options.peer.require("loader.py");
  int rounds = options.rounds_or(10), batches = options.quick ? 1 : 8;
  std::int64_t batch = options.batch > 0 ? options.batch : options.quick ? 16 : 128;
  Report report(fmt::format("loader: augmented images per second and thread, batch {}", batch),
                header_of(options, rounds, nullptr));
  Dataset data = make_synthetic({.train = std::max<std::int64_t>(options.quick ? 100 : 5000, batch), .test = 100});
  ScratchFolder scratch;
  std::filesystem::path file = scratch / "images.bin";
  write_images(data.train, file);
  Memory memory;
  std::vector<Pipeline> all = pipelines(batch);
  std::vector<std::unique_ptr<Loader>> loaders;
  for (const Pipeline& p : all) {
    loaders.push_back(std::make_unique<Loader>(data.train, p.options, memory.allocator(), memory.observer()));
    loaders.back()->next();
  }
  for (int i = 0; i < rounds; ++i) {
    for (std::size_t p = 0; p < all.size(); ++p) {
      double seconds = timed([&] {
                         for (int b = 0; b < batches; ++b) loaders[p]->next();
                       }).wall;
      all[p].rate.add(static_cast<double>(batch * batches * all[p].options.views) / seconds);
    }
    if (!options.peer.asked()) continue;
    Json printed = options.peer.run("loader.py", {"--file", file.string(), "--batch", fmt::format("{}", batch),
                                                  "--threads", fmt::format("{}", options.threads), "--reps", "3"});
    for (Pipeline& p : all) p.peer_rate.add(number_at(printed, "loader.py", {"results", p.peer.c_str()}));
  }
  for (const Pipeline& p : all) {
    report.add({.what = p.name,
                .unit = "img/s",
                .ours = p.rate,
                .peer = p.peer_rate,
                .more_is_better = true,
                .target = p.target});
  }
  report.remark("Our figures are of one thread, as the loader has; each view counts as an image.");
  return report;
}

}  // namespace reprise::bench
