// libcurl, whose options and answers have variable types: each type that is used has a function here.
#pragma once
#include <curl/curl.h>

static inline CURLcode sheaf_curl_set_text(CURL *handle, CURLoption option, const char *value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode sheaf_curl_set_number(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode sheaf_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode sheaf_curl_set_headers(CURL *handle, struct curl_slist *headers) {
  return curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
}

// Called with the address that is to be connected to. Returns a socket, or CURL_SOCKET_BAD.
typedef curl_socket_t (*sheaf_curl_open)(void *context, curlsocktype purpose, struct curl_sockaddr *address);

static inline CURLcode sheaf_curl_set_open(CURL *handle, sheaf_curl_open open, void *context) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, context);
  return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, open);
}

static inline curl_socket_t sheaf_curl_open_socket(struct curl_sockaddr *address) {
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static const curl_socket_t sheaf_curl_no_socket = CURL_SOCKET_BAD;

// Called with bytes of the reply. Returns how many were taken: fewer end the transfer.
typedef size_t (*sheaf_curl_write)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode sheaf_curl_set_write(CURL *handle, sheaf_curl_write write, void *context) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_WRITEDATA, context);
  return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, write);
}

// Called at least once a second. Ends the transfer if it does not return 0.
typedef int (*sheaf_curl_progress)(void *context, curl_off_t, curl_off_t, curl_off_t, curl_off_t);

static inline CURLcode sheaf_curl_set_progress(CURL *handle, sheaf_curl_progress progress, void *context) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_XFERINFODATA, context);
  if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, progress);
  return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
}

static inline CURLcode sheaf_curl_status(CURL *handle, long *status) {
  return curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, status);
}

// In seconds. 0: the reply has none.
static inline CURLcode sheaf_curl_retry_after(CURL *handle, curl_off_t *seconds) {
  return curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, seconds);
}
