#include "net/http.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json.h"

namespace drover::test {
namespace {

std::string post(const std::string& body) {
  return "POST /v1/task/log HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

TEST(HttpRequestReader, ReadsARequestHoweverItIsCut) {
  const std::string wire = post("{\"text\":\"hello\"}");
  for (const std::size_t step : {wire.size(), std::size_t{1}, std::size_t{7}}) {
    HttpRequestReader reader;
    for (std::size_t at = 0; at < wire.size(); at += step) {
      const auto early = reader.next();
      ASSERT_TRUE(early && !*early);
      reader.feed(std::string_view(wire).substr(at, step));
    }
    const auto request = reader.next();
    ASSERT_TRUE(request && *request);
    EXPECT_EQ((*request)->method, "POST");
    EXPECT_EQ((*request)->target, "/v1/task/log");
    EXPECT_EQ((*request)->body, "{\"text\":\"hello\"}");
    EXPECT_TRUE((*request)->keep_alive);
    EXPECT_FALSE(reader.is_within_request());
  }
}

constexpr std::string_view kChunkedHead = "Host: x\r\nTransfer-Encoding: chunked\r\n\r\n";
constexpr std::pair<std::string_view, std::string_view> kChunkedBodies[] = {
    {"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "abcde"},
    {"1\r\na\r\n0;last\r\nTrailer: x\r\n\r\n", "a"},
    {"0\r\n\r\n", ""},
    {"0000\r\nT: x\r\n\r\n", ""},
};

TEST(HttpRequestReader, ReadsChunkedBodiesHoweverTheyAreCut) {
  for (const auto& [chunks, body] : kChunkedBodies) {
    const std::string wire = fmt::format("POST / HTTP/1.1\r\n{}{}", kChunkedHead, chunks);
    for (std::size_t step = 1; step <= wire.size(); ++step) {
      HttpRequestReader reader;
      for (std::size_t at = 0; at < wire.size(); at += step) reader.feed(std::string_view(wire).substr(at, step));
      const auto request = reader.next();
      ASSERT_TRUE(request && *request) << chunks << " in steps of " << step;
      EXPECT_EQ((*request)->body, body);
      EXPECT_FALSE(reader.is_within_request());
    }
  }
}

TEST(HttpRequestReader, ReadsPipelinedRequestsInOrder) {
  HttpRequestReader reader;
  reader.feed(post("1") + post("2") + "GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(reader.next().value()->body, "1");
  EXPECT_EQ(reader.next().value()->body, "2");
  const auto last = reader.next();
  ASSERT_TRUE(last && *last);
  EXPECT_EQ((*last)->method, "GET");
  EXPECT_FALSE((*last)->keep_alive);
  EXPECT_FALSE(reader.next().value().has_value());
}

TEST(HttpRequestReader, RefusesNonsenseAndTooMuch) {
  struct Row {
    std::string wire;
    int status;
  };
  const std::vector<Row> rows{
      {"hello\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nBad Header\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n", 431},
      {"POST / HTTP/1.1\r\nContent-Length: 17000000\r\n\r\n", 413},
      {"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", 413},
  };
  for (const Row& row : rows) {
    HttpRequestReader reader;
    reader.feed(row.wire);
    const auto request = reader.next();
    ASSERT_FALSE(request) << row.wire.substr(0, 80);
    EXPECT_EQ(request.error().status, row.status) << row.wire.substr(0, 80) << request.error().message;
  }
}

// What another program on the way might take for the end of a request, or for its beginning.
TEST(HttpRequestReader, RefusesWhatCouldBeReadInTwoWays) {
  constexpr std::string_view kSmuggled = "GET /v1/tasks HTTP/1.1\r\nHost: x\r\n\r\n";
  struct Row {
    std::string_view fields;
    int status;
  };
  constexpr Row kRows[] = {
      {"Transfer-Encoding: xchunked\r\n", 400},
      {"Transfer-Encoding: gzip\r\n", 400},
      {"Transfer-Encoding: identity\r\n", 400},
      {"Transfer-Encoding: \"chunked\"\r\n", 400},
      {"Transfer-Encoding: chunked, identity\r\n", 400},
      {"Transfer-Encoding: chunked, chunked\r\n", 400},
      {"Transfer-Encoding: gzip, chunked\r\n", 400},
      {"Transfer-Encoding: chunked;q=1\r\n", 400},
      {"Transfer-Encoding:\r\n", 400},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", 400},
      {"Transfer-Encoding : chunked\r\n", 400},
      {" Transfer-Encoding: chunked\r\n", 400},
      {"X: a\r\n Transfer-Encoding: chunked\r\n", 400},
      {"X: a\r\n\tfolded\r\n", 400},
      {"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", 400},
      {"Content-Length: 3\r\nContent-Length: 3\r\n", 400},
      {"Content-Length: 3, 3\r\n", 400},
      {"Content-Length: +3\r\n", 400},
      {"Content-Length: -3\r\n", 400},
      {"Content-Length: 0x3\r\n", 400},
      {"Content-Length: 3 3\r\n", 400},
      {"Content-Length:\r\n", 400},
      {"Content-Length: 99999999999999999999999\r\n", 413},
      {"Content-Length\r\n", 400},
      {"Content-Length: 3\n", 400},
      {"X: a\rb\r\n", 400},
      {"X: a\x01\r\n", 400},
      {": empty\r\n", 400},
      {"X(y): z\r\n", 400},
      {"Host: y\r\nHost: y\r\n", 400},
      {"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n", 400},
      {"Content-Encoding: gzip\r\n", 415},
      {"Content-Encoding: identity\r\n", 415},
  };
  for (const Row& row : kRows) {
    for (const std::size_t step : {std::size_t{4096}, std::size_t{1}}) {
      const std::string wire = fmt::format("POST / HTTP/1.1\r\n{}\r\n{}", row.fields, kSmuggled);
      HttpRequestReader reader;
      for (std::size_t at = 0; at < wire.size(); at += step) reader.feed(std::string_view(wire).substr(at, step));
      for (int i = 0; i < 2; ++i) {
        const auto request = reader.next();
        ASSERT_FALSE(request) << row.fields;
        EXPECT_EQ(request.error().status, row.status) << row.fields << request.error().message;
      }
    }
  }
  for (const std::string_view line :
       {"GET  / HTTP/1.1", "GET / HTTP/1.1 ", " GET / HTTP/1.1", "GET /a b HTTP/1.1", "GET /\tb HTTP/1.1",
        "GET / HTTP/2.0", "GET / http/1.1", "GET /", "G(T / HTTP/1.1", "", "GET / HTTP/1.1\r"}) {
    HttpRequestReader reader;
    reader.feed(fmt::format("{}\r\nHost: x\r\n\r\n", line));
    EXPECT_FALSE(reader.next()) << line;
  }
  HttpRequestReader nul;
  nul.feed(std::string("GET / HTTP/1.1\r\nX: a") + '\0');
  EXPECT_FALSE(nul.next()) << "at once";
  HttpRequestReader old;
  old.feed("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  EXPECT_FALSE(old.next());
}

TEST(HttpRequestReader, TakesFieldsAsTheyMayBeWritten) {
  HttpRequestReader reader;
  reader.feed("POST /a?b=c HTTP/1.1\r\nhOsT:x\r\nTransfer-Encoding: \tChunked \r\nEmpty:\r\n\r\n0\r\n\r\n");
  const auto request = reader.next();
  ASSERT_TRUE(request && *request);
  EXPECT_EQ((*request)->header("host"), "x");
  EXPECT_EQ((*request)->header("empty"), "");
  reader.feed("GET / HTTP/1.1\r\nConnection: x, Close\r\n\r\n");
  EXPECT_FALSE(reader.next().value()->keep_alive);
  reader.feed("GET / HTTP/1.0\r\n\r\n");
  const auto old = reader.next().value();
  EXPECT_FALSE(old->keep_alive);
  EXPECT_FALSE(old->takes_chunks);
  reader.feed("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_TRUE(reader.next().value()->keep_alive);
}

// However it is sent, no more is held than a header and the body's limit.
TEST(HttpRequestReader, HoldsNoMoreThanItsLimits) {
  constexpr std::size_t kBodyMax = 1'000;
  constexpr std::size_t kPiece = 4'096;
  const std::string endless(kPiece, 'a');
  for (const std::string_view begin :
       {"", "GET /", "GET / HTTP/1.1\r\nX: ", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nT: "}) {
    HttpRequestReader reader(kBodyMax);
    reader.feed(begin);
    for (int i = 0; i < 1'000; ++i) {
      reader.feed(endless);
      ASSERT_LE(reader.held(), kHttpHeaderBytesMax + kBodyMax + kPiece) << begin;
    }
    EXPECT_FALSE(reader.next()) << begin;
  }
  std::string many = "GET / HTTP/1.1\r\n";
  for (std::size_t i = 0; i <= kHttpFieldsMax; ++i) many += "a:b\r\n";
  HttpRequestReader reader;
  reader.feed(many + "\r\n");
  const auto refused = reader.next();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 431);
}

TEST(HttpResponseReader, HoldsNoMoreThanItsLimits) {
  HttpResponseReader reader;
  ASSERT_TRUE(reader.feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;"));
  int pieces = 0;
  while (pieces < 1'000 && reader.feed(std::string(4'096, 'a'))) ++pieces;
  EXPECT_LT(pieces, 20);
}

TEST(Problem, OfABodyThatIsTooLargeSaysSo) {
  HttpRequestReader reader;
  reader.feed("POST / HTTP/1.1\r\nContent-Length: 40000000\r\n\r\n");
  const auto refused = reader.next();
  ASSERT_FALSE(refused);
  const HttpResponse response = problem(refused.error());
  EXPECT_EQ(response.status, 413);
  EXPECT_EQ(error_of_problem(response).code, ErrorCode::kPayloadTooLarge);
}

TEST(HttpRequestReader, KnowsWhenAClientWaitsForPermission) {
  HttpRequestReader reader;
  reader.feed("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_TRUE(reader.wants_continue());
  EXPECT_FALSE(reader.wants_continue()) << "once";
  reader.feed("ok");
  EXPECT_EQ(reader.next().value()->body, "ok");
  reader.feed(post("x"));
  EXPECT_FALSE(reader.wants_continue());
}

TEST(HttpResponse, SurvivesTheWire) {
  for (const HttpResponse& response : {HttpResponse{.status = 201, .body = "{\"a\":1}\n"},
                                       HttpResponse{.status = 204, .content_type = {}, .body = {}}}) {
    HttpResponseReader reader;
    ASSERT_TRUE(reader.feed(format_response(response)));
    ASSERT_TRUE(reader.is_whole());
    const HttpResponse read = reader.take();
    EXPECT_EQ(read.status, response.status);
    EXPECT_EQ(read.content_type, response.content_type);
    EXPECT_EQ(read.body, response.body);
  }
}

TEST(HttpResponse, ComesInChunksHoweverTheyAreCut) {
  for (const auto& [chunks, body] : kChunkedBodies) {
    const std::string wire = fmt::format("HTTP/1.1 200 OK\r\n{}{}", kChunkedHead, chunks);
    for (std::size_t step = 1; step <= wire.size(); ++step) {
      HttpResponseReader reader;
      for (std::size_t at = 0; at < wire.size(); at += step) {
        EXPECT_FALSE(reader.is_whole());
        ASSERT_TRUE(reader.feed(std::string_view(wire).substr(at, step)));
      }
      ASSERT_TRUE(reader.is_whole()) << chunks << " in steps of " << step;
      EXPECT_EQ(reader.take().body, body);
    }
  }
}

TEST(HttpResponse, ACutResponseIsAnError) {
  HttpResponseReader reader;
  ASSERT_TRUE(reader.feed("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"));
  EXPECT_FALSE(reader.is_whole());
  EXPECT_FALSE(reader.end_of_stream());
  EXPECT_FALSE(HttpResponseReader().end_of_stream()) << "nothing has come at all";
}

TEST(Problem, CarriesTheStableCodeThereAndBack) {
  const Error error{ErrorCode::kQueueFull, "too many", "op"};
  const HttpResponse response = problem(error);
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(response.content_type, "application/problem+json");
  const auto body = json::parse(response.body);
  ASSERT_TRUE(body);
  EXPECT_EQ(*body->find("code")->as_string(), "queue_full");
  EXPECT_EQ(body->find("status")->as_int(), 429);
  const Error back = error_of_problem(response);
  EXPECT_EQ(back.code, ErrorCode::kQueueFull);
  EXPECT_EQ(back.message, "too many");
  EXPECT_EQ(error_of_problem({.status = 502, .body = "<html>"}).code, ErrorCode::kInternal);
}

}  // namespace
}  // namespace drover::test
