// A disk that a test may fill or make read-only.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

namespace drover::e2e {

// A file system of its own of that size.
class SmallDisk {
 public:
  SmallDisk(std::string folder, int mebibytes) : folder_(std::move(folder)) {
    std::filesystem::create_directory(folder_);
    const std::string size = fmt::format("size={}m,mode=0700", mebibytes);
    mounted_ = ::mount("tmpfs", folder_.c_str(), "tmpfs", 0, size.c_str()) == 0;
    error_ = mounted_ ? 0 : errno;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] std::string why_not() const { return std::strerror(error_); }

  void fill() const {
    const int fd = ::open((folder_ + "/filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const std::string block(65'536, 'x');
    std::size_t size = block.size();
    while (size > 0) {
      if (::write(fd, block.data(), size) < 0) size /= 2;
    }
    ::close(fd);
  }
  // Nothing more can be written to it.
  [[nodiscard]] bool make_read_only() const {
    return ::mount(nullptr, folder_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }
  void empty() const { std::filesystem::remove(folder_ + "/filler"); }

 private:
  std::string folder_;
  bool mounted_ = false;
  int error_ = 0;
};

}  // namespace drover::e2e
