// libssl for Swift: the library's own headers, and its macros that Swift does not import.
#ifndef SHEAF_CSSL_SHIM_H
#define SHEAF_CSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <string.h>

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

// The bytes that a BIO of memory holds, which belong to it. Returns how many.
static inline long sheaf_bio_contents(BIO *bio, const char **bytes) { return BIO_get_mem_data(bio, (char **)bytes); }

static inline EVP_PKEY *sheaf_new_key(void) { return EVP_EC_gen("P-256"); }

// Whether a key is one of the curve P-256.
static inline int sheaf_key_is_p256(EVP_PKEY *key) {
  char curve[32];
  return EVP_PKEY_is_a(key, "EC") == 1 && EVP_PKEY_get_group_name(key, curve, sizeof curve, NULL) == 1 &&
         strcmp(curve, "prime256v1") == 0;
}

// Adds an extension with a value in the notation of openssl's configuration files. Returns 1.
static inline int sheaf_certificate_extend(X509 *certificate, X509 *issuer, int kind, const char *value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
  X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
  if (extension == NULL) return 0;
  int added = X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
  return added;
}

// Copies the first URI among a certificate's alternative names. Returns its length; -1 if there is none that fits.
static inline int sheaf_certificate_uri(X509 *certificate, char *buffer, int capacity) {
  GENERAL_NAMES *names = (GENERAL_NAMES *)X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
  int length = -1;
  for (int i = 0; names != NULL && i < sk_GENERAL_NAME_num(names) && length < 0; i++) {
    const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
    if (name->type != GEN_URI) continue;
    int count = ASN1_STRING_length(name->d.uniformResourceIdentifier);
    if (count > capacity) break;
    memcpy(buffer, ASN1_STRING_get0_data(name->d.uniformResourceIdentifier), (size_t)count);
    length = count;
  }
  GENERAL_NAMES_free(names);
  return length;
}

// In place of libssl's own verification: of the certificates that the peer has sent, the one with a SHA-256 is trusted
// as an authority, and nothing else is. All that is otherwise verified is verified.
static inline int sheaf_tls_verify_pinned(X509_STORE_CTX *context, void *digest) {
  STACK_OF(X509) *sent = X509_STORE_CTX_get0_untrusted(context);
  for (int i = 0; i < sk_X509_num(sent); i++) {
    unsigned char found[EVP_MAX_MD_SIZE];
    unsigned int length = 0;
    if (X509_digest(sk_X509_value(sent, i), EVP_sha256(), found, &length) != 1 || length != 32) continue;
    if (CRYPTO_memcmp(found, digest, 32) != 0) continue;
    STACK_OF(X509) *trusted = sk_X509_new_null();
    if (trusted == NULL || sk_X509_push(trusted, sk_X509_value(sent, i)) == 0) {
      sk_X509_free(trusted);
      break;
    }
    X509_STORE_CTX_set0_trusted_stack(context, trusted);
    int result = X509_verify_cert(context);
    sk_X509_free(trusted);
    return result;
  }
  X509_STORE_CTX_set_error(context, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN);
  return 0;
}

static inline void sheaf_tls_pin(SSL_CTX *context, const unsigned char *digest) {
  SSL_CTX_set_cert_verify_callback(context, sheaf_tls_verify_pinned, (void *)digest);
}

// The number of the alert that the peer has sent; 0: the error is another one.
static inline int sheaf_error_alert(unsigned long code) {
  int reason = ERR_GET_REASON(code);
  return ERR_GET_LIB(code) == ERR_LIB_SSL && reason > SSL_AD_REASON_OFFSET && reason < SSL_AD_REASON_OFFSET + 256
             ? reason - SSL_AD_REASON_OFFSET
             : 0;
}

#endif
