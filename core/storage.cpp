#include "core/storage.h"

#include <new>

#include "core/error.h"

namespace reprise {

namespace {

std::uint64_t next_serial() {
  static thread_local std::uint64_t serial = 0;
  return ++serial;
}

// Note: records of storages that died are used again, so that a warmed-up step makes none on the heap. Each thread has
// a list of its own; it ends with its thread, and storages that die after that go to the heap. Sanitizers see every
// record come from the heap and go back there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
void* take_record() { return ::operator new(sizeof(Storage)); }
void give_record(void* record) noexcept { ::operator delete(record); }
#else
struct SpareRecord {
  SpareRecord* next;
};
thread_local SpareRecord* spare_records = nullptr;
thread_local bool thread_ends = false;

struct SpareRecords {
  ~SpareRecords() {
    thread_ends = true;
    while (SpareRecord* record = spare_records) {
      spare_records = record->next;
      ::operator delete(record);
    }
  }
  void use() {}
};
thread_local SpareRecords spare_records_owner;

void* take_record() {
  if (SpareRecord* record = spare_records) {
    spare_records = record->next;
    return record;
  }
  return ::operator new(sizeof(Storage));
}

void give_record(void* record) noexcept {
  if (thread_ends) return ::operator delete(record);
  if (!spare_records) spare_records_owner.use();  // its destructor is due from now on
  spare_records = new (record) SpareRecord{spare_records};
}
#endif

}  // namespace

Ref<Storage> Storage::create(Allocator& allocator, WriteObserver* observer, std::int64_t bytes, Category category) {
  void* record = take_record();  // first: without room for it no bytes are taken
  Allocation allocation;
  try {
    allocation = allocator.allocate(bytes, category);
  } catch (...) {
    give_record(record);
    throw;
  }
  auto* storage = new (record) Storage;
  storage->allocation_ = allocation;
  storage->bytes_ = bytes;
  storage->allocator_ = &allocator;
  storage->observer_ = observer;
  storage->category_ = category;
  storage->serial_ = next_serial();
  return Ref<Storage>(storage);
}

void Storage::destroy(Storage* storage) noexcept {
  if (storage->observer_ && storage->ledger) storage->observer_->storage_dies(*storage);
  storage->allocator_->release(storage->allocation_, storage->category_);
  storage->~Storage();
  give_record(storage);
}

void Storage::announce(const Region& region, const Writer& writer) {
  if (constant_) fail(ErrorKind::internal, "[{}] expected a writable storage, got a constant", writer.name);
  if (obligations > 0) observer_->before_write(*this, region, writer);
  ++clock_;
  last_writer_ = writer;
}

void Storage::fail_unreadable(const char* reader) const {
  fail(ErrorKind::user, "[{}] expected bytes that may be read, got those of {}: {}", reader,
       name_.empty() ? to_string(category_) : name_, unreadable_);
}

const std::byte* Storage::host_read() {
  require_readable("host_read");
  if (obligations > 0) observer_->before_host_access(*this);
  return allocation_.data;
}

std::byte* Storage::host_write(const Region& region, const char* who) {
  if (obligations > 0) observer_->before_host_access(*this);
  announce(region, Writer{who, 0});
  return allocation_.data;
}

const char* to_string(Category category) {
  static constexpr const char* kNames[kCategoryCount] = {"parameters", "gradients", "optimiser", "state", "activations",
                                                         "cotangents", "preserved", "workspace", "data"};
  return kNames[static_cast<int>(category)];
}

const char* to_string(DeviceKind kind) { return kind == DeviceKind::cpu ? "cpu" : "cuda"; }

}  // namespace reprise
