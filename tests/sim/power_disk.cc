#include "sim/power_disk.h"

#include <algorithm>

#include "base/check.h"

namespace drover::sim {
namespace {

void put(std::string& image, std::size_t offset, std::string_view data) {
  if (image.size() < offset + data.size()) image.resize(offset + data.size(), '\0');
  image.replace(offset, data.size(), data);
}

struct Range {
  std::size_t begin;
  std::size_t end;

  [[nodiscard]] bool empty() const { return begin >= end; }
};

Range overlap(Range a, Range b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

}  // namespace

DiskFile::DiskFile(const DiskFile& other)
    : name_(other.name_), bytes_(other.bytes_), durable_(other.durable_), unsynced_(other.unsynced_) {}

void DiskFile::write(std::size_t offset, std::string_view data) {
  put(bytes_, offset, data);
  unsynced_.push_back({offset, std::string(data)});
}

void DiskFile::truncate(std::size_t size) {
  bytes_.resize(size, '\0');
  unsynced_.push_back({size, std::nullopt});
}

void DiskFile::sync() {
  for (const Change& change : unsynced_) {
    if (change.data) {
      put(durable_, change.offset, *change.data);
    } else {
      durable_.resize(change.offset, '\0');
    }
  }
  CHECK(durable_.size() == bytes_.size());
  unsynced_.clear();
}

void DiskFile::lose_unsynced(Rng& rng) {
  if (!unsynced_.empty()) durable_ = image_after_cut(rng);
  bytes_ = durable_;
  unsynced_.clear();
  shared_locks = 0;
  reserved = pending = exclusive = false;
  shm.reset();
}

std::size_t DiskFile::size_after_cut(Rng& rng) const {
  std::vector<std::size_t> sizes{durable_.size()};
  for (const Change& change : unsynced_) {
    const std::size_t end = change.data ? std::max(sizes.back(), change.offset + change.data->size()) : change.offset;
    if (end != sizes.back()) sizes.push_back(end);
  }
  // The end states are the likely ones: a cut inside a long append is drawn less often than before or after it.
  const std::uint64_t draw = rng.below(4);
  if (draw == 0) return sizes.front();
  if (draw <= 2) return sizes.back();
  return sizes[rng.below(sizes.size())];
}

std::string DiskFile::image_after_cut(Rng& rng) const {
  // For every sector, the changes that touched it, in order.
  std::map<std::size_t, std::vector<const Change*>> by_sector;
  std::size_t longest = durable_.size();
  for (const Change& change : unsynced_) {
    const std::size_t end = change.data ? change.offset + change.data->size() : longest;
    longest = std::max(longest, end);
    for (std::size_t sector = change.offset / kSectorBytes; sector * kSectorBytes < end; ++sector)
      by_sector[sector].push_back(&change);
  }
  std::string image = durable_;
  image.resize(longest, '\0');
  // Some cuts lose all, some nothing, most a random part: each kind has its own bugs to show.
  const std::uint64_t kind = rng.below(4);
  for (const auto& [sector, changes] : by_sector) {
    const std::size_t kept = kind == 0 ? 0 : kind == 1 ? changes.size() : rng.below(changes.size() + 1);
    const Range whole{sector * kSectorBytes, std::min((sector + 1) * kSectorBytes, longest)};
    for (std::size_t i = 0; i < kept; ++i) {
      const Change& change = *changes[i];
      const Range part = overlap(whole, {change.offset, change.data ? change.offset + change.data->size() : longest});
      if (part.empty()) continue;
      if (change.data) {
        image.replace(part.begin, part.end - part.begin, *change.data, part.begin - change.offset,
                      part.end - part.begin);
      } else {
        image.replace(part.begin, part.end - part.begin, part.end - part.begin, '\0');
      }
    }
  }
  image.resize(size_after_cut(rng), '\0');
  return image;
}

void PowerDisk::cut_power(Rng& rng) {
  Directory after;
  Directory either = names_;
  either.insert(durable_names_.begin(), durable_names_.end());
  for (const auto& [name, _] : either) {
    const std::shared_ptr<DiskFile> now = find(name);
    const auto found = durable_names_.find(name);
    const std::shared_ptr<DiskFile> before = found == durable_names_.end() ? nullptr : found->second;
    const std::shared_ptr<DiskFile> kept = now == before || rng.below(2) == 0 ? before : now;
    if (kept == nullptr) continue;
    // A fresh object: handles that are still open point at the old one and can do no harm.
    after[name] = std::make_shared<DiskFile>(*kept);
    after[name]->lose_unsynced(rng);
  }
  names_ = after;
  durable_names_ = std::move(after);
  ++power_cycles_;
}

std::unique_ptr<PowerDisk> PowerDisk::copy_after_cut(Rng& rng) const {
  auto copy = std::make_unique<PowerDisk>();
  copy->names_ = names_;
  copy->durable_names_ = durable_names_;
  copy->cut_power(rng);
  return copy;
}

std::size_t PowerDisk::used_bytes() const {
  std::size_t total = 0;
  for (const auto& [_, file] : names_) total += file->bytes().size();
  return total;
}

std::shared_ptr<DiskFile> PowerDisk::find(const std::string& name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : found->second;
}

std::shared_ptr<DiskFile> PowerDisk::create(const std::string& name) {
  auto file = std::make_shared<DiskFile>(name);
  names_[name] = file;
  return file;
}

bool PowerDisk::fits(const DiskFile& file, std::size_t end) const {
  if (!capacity_bytes_ || end <= file.bytes().size()) return true;
  return used_bytes() + (end - file.bytes().size()) <= *capacity_bytes_;
}

void PowerDisk::remove(const std::string& name, DeleteSync sync) {
  names_.erase(name);
  if (sync == DeleteSync::kNow) durable_names_.erase(name);
}

void PowerDisk::sync(DiskFile& file) {
  if (sync_ == Sync::kLies) return;
  file.sync();
  // The first sync of a new file syncs its directory too, and with it every creation and deletion before it: SQLite
  // asks for that with a new journal or WAL, and journaling file systems do it for any file.
  const auto named = names_.find(file.name());
  const auto durable = durable_names_.find(file.name());
  const bool is_new = durable == durable_names_.end() || durable->second.get() != &file;
  if (is_new && named != names_.end() && named->second.get() == &file) durable_names_ = names_;
}

}  // namespace drover::sim
