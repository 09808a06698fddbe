// The keys every run has, whatever its model. One line declares a key; nothing else needs to know it.

#include "models/config/schema.h"
#include "recompute/planning/planner.h"

namespace reprise {
namespace {

std::vector<Key> run_keys() {
  return {
      choice_key("model.type", "dense_queue", {}, "which model is trained; it decides which other model keys exist"),
      text_key("model.init", "",
               "checkpoint (file or run folder) to take parameters and states from before the first step"),
      text_key("run.dir", "",
               "folder the run leaves its files in; empty: runs/NAME, NAME being that of the configuration, with a "
               "number when it is taken"),
      duration_key("run.lock_wait", 0, at_least(0), "how long to wait for another process that holds the run folder"),
      integer_key("seed", 0, at_least(0), "", "the number from which every draw of the run follows"),
      integer_key("threads", 0, between(0, 1024), "threads",
                  "threads of the pool; 0: one for each core this process may use"),
      boolean_key("tensorboard", true, "also write the metrics as event files, which TensorBoard shows"),
      boolean_key(
          "trace", false,
          "write trace.json, which ui.perfetto.dev opens: every op, segment, replay and copy of the first steps, "
          "and the live bytes"),
      integer_key("trace_steps", 5, between(1, 1000), "steps", "how many steps are traced"),
  };
}

std::vector<Key> data_keys() {
  return {
      text_key("data.path", "",
               "CIFAR-100: the archive as downloaded, its folder, or a folder with train.bin and test.bin; empty: "
               "synthetic images"),
      integer_key("data.limit", 0, at_least(0), "images", "train on the first so many images only; 0: all"),
      integer_key("data.synthetic.train", 10000, between(100, 1000000), "images",
                  "training images made when data.path is empty"),
      integer_key("data.synthetic.test", 2000, between(100, 1000000), "images",
                  "test images made when data.path is empty"),
      integer_key("data.synthetic.seed", 1, at_least(0), "", "the number the synthetic images follow from"),
      integer_key("data.prefetch", 2, between(1, 64), "batches", "batches prepared ahead of the step"),
  };
}

std::vector<Key> train_keys() {
  return {
      integer_key("train.epochs", 20, between(0, 1000000000), "epochs", "passes over the training images"),
      integer_key("train.max_steps", 0, at_least(0), "steps", "stop after so many optimiser steps; 0: no limit"),
      integer_key("train.batch", 128, at_least(1), "images", "images of one forward and backward"),
      integer_key("train.accumulate", 1, between(1, 1000000000), "batches",
                  "batches whose gradients add up to one optimiser step"),
      choice_key("train.optimiser", "sgd", {"sgd", "adamw", "lars"}, "the optimiser"),
      real_key("train.lr", 0.1, at_least(0), "", "learning rate after the warm-up"),
      choice_key("train.schedule", "cosine", {"constant", "step", "cosine"},
                 "how the learning rate falls after the warm-up"),
      integer_key("train.warmup_steps", 100, at_least(0), "steps",
                  "steps over which the learning rate rises linearly to train.lr"),
      numbers_key("train.step_epochs", {}, at_least(0), "epochs",
                  "epochs after which the step schedule lowers the learning rate"),
      real_key("train.step_factor", 0.1, above_to(0, 1), "", "factor of the step schedule"),
      real_key("train.momentum", 0.9, from_below(0, 1), "", "momentum of sgd and lars"),
      boolean_key("train.nesterov", false, "Nesterov's form of the momentum of sgd"),
      real_key("train.beta1", 0.9, from_below(0, 1), "", "decay of the first moment of adamw"),
      real_key("train.beta2", 0.999, from_below(0, 1), "", "decay of the second moment of adamw"),
      real_key("train.epsilon", 1e-8, above(0), "", "added to the root of the second moment of adamw"),
      real_key("train.trust", 1e-3, above(0), "",
               "lars: length of the step of a matrix or kernel before train.lr, as a share of its own length"),
      real_key("train.weight_decay", 5e-4, at_least(0), "",
               "weight decay: added to the gradient by sgd and lars, applied to the parameter by adamw"),
      boolean_key("train.decay_norm_and_bias", false,
                  "whether the weight decay also holds for normalisation parameters and biases"),
      real_key("train.clip_norm", 0, at_least(0), "",
               "scale gradients down to this norm over all parameters; 0: never"),
      integer_key("train.checkpoint_every", 200, at_least(0), "steps",
                  "steps between checkpoints; 0: only at the end of the training"),
      integer_key("train.checkpoints_kept", 2, at_least(1), "checkpoints",
                  "how many of the last checkpoints stay in the run folder"),
      text_key(
          "train.keep_best", "",
          "metric of metrics.jsonl whose best weights stay in best.safetensors: loss or peak_bytes (less is better), "
          "accuracy (more is better; of the training batches), knn (more is better; of the test images, which then "
          "choose the weights); empty: none"),
      integer_key("train.early_stop", 0, at_least(0), "evaluations",
                  "stop after so many values of the metric train.keep_best in a row that are no better; 0: never"),
      boolean_key("train.epoch_hashes", false,
                  "after each epoch a line of metrics.jsonl with hashes of parameters, of all states, and of what is "
                  "predicted for the first eval.hash_images test images"),
      integer_key("train.log_every", 10, at_least(1), "steps", "steps between lines of metrics.jsonl"),
  };
}

std::vector<Key> eval_keys() {
  return {
      integer_key("eval.batch", 500, between(1, 2147483647), "images", "images of one forward in an evaluation"),
      integer_key("eval.hash_images", 256, at_least(0), "images",
                  "test images whose predictions train.epoch_hashes covers"),
      integer_key("eval.knn_every", 0, at_least(0), "steps",
                  "steps between measurements of the k-nearest-neighbour accuracy of the test images during training; "
                  "0: never"),
      integer_key("eval.knn_neighbours", 200, at_least(1), "images",
                  "training images that vote on the label of a test image"),
      real_key("eval.knn_temperature", 0.1, above(0), "", "a neighbour's vote weighs e^(cosine / temperature)"),
      integer_key("eval.knn_images", 0, at_least(0), "images", "training images to look for neighbours in; 0: all"),
  };
}

/// What a step keeps, and how much it may hold: memory.budget, recompute.*, and the checks that both are right.
std::vector<Key> recompute_keys() {
  return {
      bytes_key("memory.budget", std::nullopt, "live bytes that the run may never exceed"),
      choice_key(
          "recompute.method", "retain", all_methods(),
          "what may be chosen: retain keeps all values; whole and region replay segments, and preserve overwritten "
          "state whole or by region. joint (all three) and those joined by + are planned for each segment and "
          "state, so that the step is fastest within memory.budget. unchecked preserves nothing: its gradients "
          "cannot be trusted"),
      words_key("recompute.segments", {"blocks"}, {"blocks", "stages", "none"},
                "how the forward is cut into segments: at each block, each stage, nowhere, or at the named ones"),
      map_key(
          "recompute.options", {"retain", "whole", "region"},
          "options by pattern of segment names, such as {\"layer2.*\": retain, head: whole}; not beside a planned method"),
      choice_key(
          "recompute.granularity", "node", {"segment", "node"},
          "node: a planned method may keep single results of a replayed segment; segment: all of its values or none"),
      integer_key(
          "recompute.longest_run", 8, between(1, 8), "segments",
          "how many neighbours a planned method may replay as one: once, keeping what passes between them, then each "
          "again. Needed for budgets that nothing else fits; 1: none"),
      text_key(
          "recompute.plan", "",
          "file of a plan written by `reprise plan -o`, to run under instead of making one; refused for another step or build"),
      text_key(
          "recompute.profile", "",
          "file of times written by `reprise plan --profile-out`, to plan with instead of measuring; the same times give "
          "the same plan"),
      integer_key("recompute.profile_steps", 5, at_least(1), "steps",
                  "real steps that times are measured on before planning, inside memory.budget; more of short ones"),
      choice_key("guard", "off", {"off", "on"}, "check that every op does only what its contract declares (slow)"),
      integer_key("check.guard_batch", 4, at_least(1), "images", "batch of the guarded step of a check"),
  };
}

}  // namespace

std::vector<Key> common_keys() {
  return join_keys({run_keys(), data_keys(), train_keys(), eval_keys(), recompute_keys()});
}

}  // namespace reprise
