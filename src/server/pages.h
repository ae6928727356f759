// Which requests are for a page of the dashboard, and what browsers accept.
#pragma once

#include <string_view>

#include "net/http.h"
#include "net/url.h"

namespace drover::server {

// The first part of a path that is not a page: the API and what else programs ask for.
[[nodiscard]] bool is_reserved(std::string_view first_part);
[[nodiscard]] bool is_page(const Target& target);
// Whether a list of an Accept header names it and does not refuse it (q=0). Wildcards do not count.
[[nodiscard]] bool accepts(std::string_view list, std::string_view what);
// A GET for a page by somebody who follows a link or types an address: it may come from another site, because it gets
// the shell and nothing else.
[[nodiscard]] bool is_visit(const HttpRequest& request);

}  // namespace drover::server
