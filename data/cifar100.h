// Reads CIFAR-100 (binary version) into memory, from whatever form it lies in, and writes sets in the same form.
//
// Every record's labels are checked while reading, so that the rest of the program can trust them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "data/images.h"

namespace reprise {

/// `path` is the official cifar-100-binary.tar.gz (or another tar with train.bin and test.bin in it), the unpacked
/// folder, a folder that holds it, or a folder with train.bin and test.bin, each plain or with .xz or .gz. With
/// limit >= 0 only the first `limit` training images are kept (all, if there are fewer); the test images always all.
/// Label names are numbers where the files fine_label_names.txt and coarse_label_names.txt are missing.
/// Errors (user): a missing path, a wrong archive or folder; a file that is empty, cut short, too long or corrupt; a
/// label out of range. (io): the disk failed.
Dataset read_cifar100(const std::filesystem::path& path, std::int64_t limit = -1);

/// Writes train.bin, test.bin and the two files of label names into `folder`, which is made where missing.
/// Errors (io): the disk is full, read-only or failed.
void write_cifar100(const Dataset& dataset, const std::filesystem::path& folder);

/// Checks size and labels of records read from `where`. Errors (user): as read_cifar100. For readers and fuzzers.
void check_records(const ImageSet& set, const std::string& where);

}  // namespace reprise
