// Losses: scalar results (shape []), means over rows. softmax_cross_entropy, info_nce, mse; and a count of hits.
//
// Sums over rows are taken in double over rows in order, so a loss has the same bits for any number of threads.
#pragma once

#include "autograd/op.h"
#include "autograd/tape.h"

namespace reprise {

extern const Op kSoftmaxCrossEntropy;
extern const Op kInfoNce;
extern const Op kMse;

/// mean_i (logsumexp(logits_i) - logits_i[labels_i]); logits [n, c], labels i64 [n]. Keeps the logits and one number
/// per row. Errors (user): shapes; a label outside [0, c), before anything is written.
Value softmax_cross_entropy(Tape& tape, Arg logits, Arg labels);

/// InfoNCE (van den Oord et al., 2018; as MoCo uses it): mean cross-entropy of [q.k, q.queue^T] / temperature against
/// position 0. query, key [n, d]; queue [rows, d]. Gradients for query and key, none for the queue. The probabilities
/// [n, rows + 1] exist once. Errors (user): shapes, temperature not above 0.
Value info_nce(Tape& tape, Arg query, Arg key, Arg queue, double temperature);

/// mean((prediction - target)^2). Errors (user): shapes or dtypes that differ, no elements.
Value mse(Tape& tape, Arg prediction, Arg target);

/// How many rows of logits [n, c] have their label among the k largest (an equal logit at a smaller index goes before).
/// Reads through the host doors. Errors (user): shapes, dtypes, a label out of range.
std::int64_t count_top_k(const Tensor& logits, const Tensor& labels, int k);

void register_loss_ops();

}  // namespace reprise
