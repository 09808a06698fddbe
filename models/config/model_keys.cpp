// The model types of this project: their own keys, and where they want other defaults for the common ones.
#include "models/config/model_keys.h"

#include "models/config/memory_keys.h"

namespace reprise {
namespace {

using Keys = std::vector<Key>;

Keys encoder_keys() {
  return {
      choice_key("model.encoder.preset", "small", {"small", "resnet18"},
                 "sizes of the encoder: small (16, 32, 64 channels) or resnet18 (64 to 512)"),
      numbers_key("model.encoder.widths", {}, between(1, 65536), "channels",
                  "channels of each stage; empty: those of the preset"),
      integer_key("model.encoder.blocks", 0, between(0, 64), "blocks",
                  "residual blocks of each stage; 0: as the preset"),
      outside_prints(choice_key("model.encoder.norm", "batch", {"batch", "group"},
                                "what follows each convolution: batch normalisation, or group normalisation, which "
                                "looks at each image by itself and keeps no running statistics")),
      outside_prints(integer_key("model.encoder.groups", EncoderSizes().groups, between(1, 65536), "groups",
                                 "groups of neighbouring channels that norm: group makes of every layer's channels, "
                                 "which they must divide")),
      outside_prints(choice_key("model.encoder.activation", "relu", {"relu", "silu"},
                                "what follows a normalisation in the encoder: max(x, 0), or x times its sigmoid; the "
                                "projection head keeps relu")),
      real_key("model.dropout", 0, from_below(0, 1), "", "share of the encoder's features set to zero in training"),
  };
}

Keys augment_keys(const std::string& crop, bool colour) {
  return {
      choice_key(
          "augment.crop", crop, {"resized", "pad", "none"},
          "a random part of the image scaled to its size, a shifted crop of the padded image, or the image itself"),
      real_key("augment.scale_min", 0.2, above_to(0, 1), "of the area", "smallest part that a resized crop takes"),
      real_key("augment.scale_max", 1, above_to(0, 1), "of the area", "largest part that a resized crop takes"),
      integer_key("augment.pad", 4, between(0, 16), "pixels", "padding of the pad crop"),
      real_key("augment.flip", 0.5, between(0, 1), "probability", "mirror left and right"),
      real_key("augment.jitter_probability", colour ? 0.8 : 0.0, between(0, 1), "probability",
               "change brightness, contrast, saturation and hue"),
      real_key("augment.jitter", 0.4, between(0, 1), "",
               "largest relative change of brightness, contrast and saturation"),
      real_key("augment.hue", 0.1, between(0, 0.5), "turns", "largest turn of the hue"),
      real_key("augment.gray", colour ? 0.2 : 0.0, between(0, 1), "probability", "take the colour away"),
  };
}

Keys queue_keys() {
  return {
      integer_key("model.projection.hidden", 0, between(0, 65536), "features",
                  "hidden width of the projection head; 0: as the preset"),
      integer_key("model.projection.out", 0, between(0, 65536), "features", "width of a key; 0: as the preset"),
      integer_key("model.queue.size", 0, between(0, 2147483647), "keys",
                  "keys in the queue; 0: as the preset (small 4,096, resnet18 65,536)"),
      choice_key(
          "model.queue.layout", "ring", {"ring", "shift"},
          "ring: new keys overwrite the oldest at a pointer; shift: all keys move and the new ones come in front"),
      integer_key("model.losses", 1, between(1, 2), "losses",
                  "losses of one step; 2: each view is the query once, the second time against a queue that holds the "
                  "keys of the first"),
      real_key("model.temperature", 0.1, above(0), "", "divides the logits of the contrastive loss"),
      real_key("model.ema_momentum", 0.99, between(0, 1), "", "share of the key encoder that stays at each update"),
  };
}

Keys probe_keys() {
  return {
      integer_key("probe.epochs", 30, between(0, 1000000000), "epochs",
                  "epochs of the linear probe on frozen features; 0: no probe"),
      integer_key("probe.batch", 512, at_least(1), "images", "batch of the probe"),
      real_key("probe.lr", 0.01, above(0), "", "learning rate of the probe (Adam, cosine)"),
      real_key("probe.weight_decay", 0, at_least(0), "", "weight decay of the probe"),
      integer_key("probe.labels", 0, at_least(0), "images",
                  "labelled images the probe learns from; 0: all training images"),
      boolean_key("probe.baseline", true, "also probe the encoder as initialised, to show what training added"),
  };
}

/// Every layer that is normalised has the channels of one of the stages.
void choose_layers(EncoderSizes& sizes, const Config& config) {
  sizes.norm = config.get_string("model.encoder.norm") == "group" ? NormKind::group : NormKind::batch;
  sizes.activation =
      config.get_string("model.encoder.activation") == "silu" ? ActivationKind::silu : ActivationKind::relu;
  sizes.groups = config.get_int("model.encoder.groups");
  if (sizes.norm != NormKind::group) return;
  for (std::size_t stage = 0; stage < sizes.widths.size(); ++stage) {
    if (sizes.widths[stage] % sizes.groups == 0) continue;
    throw config.error_at(
        "model.encoder.groups",
        "expected a number of groups that divides the channels of every stage, got {} groups and {} channels in stage "
        "{} (model.encoder.widths, or those of the preset)",
        sizes.groups, sizes.widths[stage], stage + 1);
  }
}

template <class T>
void override_size(T& size, const Config& config, const std::string& key) {
  if (config.has(key) && config.get_int(key) > 0) size = config.get_int(key);
}

}  // namespace

std::vector<ModelType> project_model_types() {
  std::vector<ModelType> types = {
      {.name = "dense_queue",
       .summary = "contrastive encoder with an averaged key encoder and a dense queue of keys, then a linear probe",
       .keys = join_keys({encoder_keys(), queue_keys(), augment_keys("resized", true), probe_keys()}),
       .defaults = {},
       .measures = {{"knn", Better::more}}},
      {.name = "classifier",
       .summary = "the same encoder with a linear layer, trained on labels",
       .keys = join_keys({encoder_keys(), augment_keys("pad", false)}),
       .defaults = {{"train.epochs", std::int64_t{5}},
                    {"train.warmup_steps", std::int64_t{200}},
                    {"train.nesterov", true}},
       .measures = {{"knn", Better::more}}},
  };
  for (ModelType& type : memory_model_types()) types.push_back(std::move(type));
  return types;
}

EncoderSizes preset_sizes(const std::string& preset) {
  if (preset == "small") return {{16, 32, 64}, 2, 128, 64, 4096};
  if (preset == "resnet18") return {{64, 128, 256, 512}, 2, 512, 128, 65536};
  fail(ErrorKind::user, "[encoder] expected the preset small or resnet18, got {}", quoted_for_message(preset));
}

EncoderSizes encoder_sizes(const Config& config) {
  EncoderSizes sizes = preset_sizes(config.get_string("model.encoder.preset"));
  const Numbers& widths = config.get_numbers("model.encoder.widths");
  if (widths.size() > 5)
    throw config.error_at("model.encoder.widths", "expected at most 5 stages, since images have 32 pixels");
  if (!widths.empty()) sizes.widths.clear();
  for (double width : widths) {
    if (width != static_cast<double>(static_cast<std::int64_t>(width))) {
      throw config.error_at("model.encoder.widths", "expected whole numbers of channels");
    }
    sizes.widths.push_back(static_cast<std::int64_t>(width));
  }
  override_size(sizes.blocks, config, "model.encoder.blocks");
  override_size(sizes.projection_hidden, config, "model.projection.hidden");
  override_size(sizes.projection_out, config, "model.projection.out");
  override_size(sizes.queue_rows, config, "model.queue.size");
  choose_layers(sizes, config);
  return sizes;
}

AugmentOptions augment_options(const Config& config) {
  auto real = [&](const std::string& key) { return static_cast<float>(config.get_real(key)); };
  if (config.get_real("augment.scale_min") > config.get_real("augment.scale_max")) {
    throw config.error_at("augment.scale_min", "expected at most augment.scale_max");
  }
  const std::string& crop = config.get_string("augment.crop");
  AugmentOptions options;
  options.crop = crop == "resized" ? Crop::resized : crop == "pad" ? Crop::pad : Crop::none;
  options.scale_lo = real("augment.scale_min");
  options.scale_hi = real("augment.scale_max");
  options.pad = static_cast<int>(config.get_int("augment.pad"));
  options.flip_probability = real("augment.flip");
  options.jitter_probability = real("augment.jitter_probability");
  options.brightness = options.contrast = options.saturation = real("augment.jitter");
  options.hue = real("augment.hue");
  options.grayscale_probability = real("augment.gray");
  options.validate();
  return options;
}

}  // namespace reprise
