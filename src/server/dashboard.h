// The dashboard's files, which are in the binary: the shell for every page, and the assets that it names.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "net/http.h"
#include "net/url.h"

namespace drover::server {

struct DashboardFile {
  std::string_view name;  // "index.html", "assets/app.0123abcd.js"
  std::string_view bytes;
  std::string_view gzip;  // the same, compressed
};

// What the build made of web/; nothing if it was built without (DROVER_DASHBOARD).
[[nodiscard]] std::span<const DashboardFile> embedded_dashboard();

class Dashboard {
 public:
  // `base`: the path of the public URL, "/drover"; empty at the root of a host. The files outlive it.
  Dashboard(std::span<const DashboardFile> files, std::string_view base);

  // The answer to a GET for a page or an asset; none if the request is for neither.
  [[nodiscard]] std::optional<HttpResponse> answer(const HttpRequest& request, const Target& target) const;

 private:
  [[nodiscard]] HttpResponse shell() const;
  [[nodiscard]] static HttpResponse asset(const DashboardFile& file, const HttpRequest& request);

  std::map<std::string_view, DashboardFile> assets_;  // by name without the folder
  std::string shell_;                                 // empty: there is none
};

}  // namespace drover::server
