// libssl for Swift: the library's own headers, and its macros that Swift does not import.
#ifndef SHEAF_CSSL_SHIM_H
#define SHEAF_CSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// TLS 1.3 and nothing older. No session is resumed: a connection of a farm is long, and a ticket would be sent to a
// peer that may have closed the connection already. Buffers are freed while a connection is idle. Returns 1.
static inline int sheaf_tls_configure(SSL_CTX *context) {
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  return SSL_CTX_set_num_tickets(context, 0) == 1 && SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1;
}

// A copy of the reference is kept. Returns 1.
static inline int sheaf_tls_add_chain(SSL_CTX *context, X509 *certificate) {
  return (int)SSL_CTX_add1_chain_cert(context, certificate);
}

static inline int sheaf_tls_set_server_name(SSL *session, const char *name) {
  return (int)SSL_set_tlsext_host_name(session, name);
}

// A BIO of memory that asks to be called again when it is empty, and is never at its end.
static inline BIO *sheaf_bio_of_memory(void) {
  BIO *bio = BIO_new(BIO_s_mem());
  if (bio != NULL) BIO_set_mem_eof_return(bio, -1);
  return bio;
}

static inline int sheaf_error_reason(unsigned long code) { return ERR_GET_REASON(code); }

// A key file with a passphrase is not asked for it at the terminal.
static inline int sheaf_no_passphrase(char *buffer, int size, int writing, void *context) {
  (void)buffer, (void)size, (void)writing, (void)context;
  return -1;
}

#endif
