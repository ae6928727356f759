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
