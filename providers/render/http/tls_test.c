/* SPDX-License-Identifier: MIT */
/*
 * TLS on loopback with a private certificate authority, made anew each time. What is not verified
 * gets nothing: the server counts the bytes of requests that reach it.
 */
#include "testing.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "http.h"

#define DAY 86400L

/* A certificate and its key. */
struct identity {
	EVP_PKEY *key;
	X509 *cert;
};

static void add_extension(X509 *cert, int nid, const char *value)
{
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

	cr_assert(extension && X509_add_ext(cert, extension, -1), "extension %s", value);
	X509_EXTENSION_free(extension);
}

/* Signed by `issuer`, or by itself. `name` is a subjectAltName; NULL: an authority. */
static struct identity identity_new(const struct identity *issuer, const char *name, long from,
				    long to)
{
	struct identity id = { EVP_EC_gen("P-256"), X509_new() };
	X509_NAME *subject = X509_get_subject_name(id.cert);
	static long serial;

	X509_set_version(id.cert, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(id.cert), ++serial);
	X509_gmtime_adj(X509_getm_notBefore(id.cert), from);
	X509_gmtime_adj(X509_getm_notAfter(id.cert), to);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
				   (const unsigned char *)(name ? "server" : "authority"), -1, -1,
				   0);
	X509_set_issuer_name(id.cert, issuer ? X509_get_subject_name(issuer->cert) : subject);
	X509_set_pubkey(id.cert, id.key);
	add_extension(id.cert, NID_basic_constraints, name ? "CA:FALSE" : "critical,CA:TRUE");
	if (name)
		add_extension(id.cert, NID_subject_alt_name, name);
	cr_assert(X509_sign(id.cert, issuer ? issuer->key : id.key, EVP_sha256()), "signing");
	return id;
}

static void identity_done(struct identity *id)
{
	EVP_PKEY_free(id->key);
	X509_free(id->cert);
}

struct tls_server {
	pthread_t thread;
	SSL_CTX *context;
	int listener;
	int port;
	/* Bytes of requests that came through. */
	size_t bytes;
};

static void *tls_serve(void *arg)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	struct tls_server *server = arg;
	char piece[4096];
	int fd;

	while ((fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		SSL *ssl = SSL_new(server->context);
		int n;

		SSL_set_fd(ssl, fd);
		n = SSL_accept(ssl) == 1 ? SSL_read(ssl, piece, sizeof(piece)) : 0;
		if (n > 0) {
			server->bytes += (size_t)n;
			SSL_write(ssl, answer, sizeof(answer) - 1);
		}
		SSL_free(ssl);
		close(fd);
	}
	return NULL;
}

static void tls_start(struct tls_server *server, const struct identity *id)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);

	*server = (struct tls_server){ .context = SSL_CTX_new(TLS_server_method()) };
	cr_assert(SSL_CTX_use_certificate(server->context, id->cert) == 1 &&
		  SSL_CTX_use_PrivateKey(server->context, id->key) == 1);
	server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert(!bind(server->listener, (struct sockaddr *)&address, len) &&
		  !listen(server->listener, 8) &&
		  !getsockname(server->listener, (struct sockaddr *)&address, &len));
	server->port = ntohs(address.sin_port);
	pthread_create(&server->thread, NULL, tls_serve, server);
}

static void tls_stop(struct tls_server *server)
{
	shutdown(server->listener, SHUT_RDWR);
	pthread_join(server->thread, NULL);
	sp_close(server->listener);
	SSL_CTX_free(server->context);
}

/* The authorities of a file that is to be trusted. */
static void write_ca(const char *path, const struct identity *authority)
{
	FILE *file = fopen(path, "we");

	cr_assert(file && PEM_write_X509(file, authority->cert) == 1, "%s", path);
	fclose(file);
}

/* One request with a bearer; its code. */
static int ask_tls(const struct tls_server *server, const char *ca_file, struct sp_error *err)
{
	struct sp_http_options options = SP_HTTP_OPTIONS_INIT;
	struct sp_http_request request = SP_HTTP_REQUEST_INIT;
	struct sp_transport transport;
	struct sp_http_stream stream;
	char url[64];
	int rc;

	options.ca_file = ca_file;
	snprintf(url, sizeof(url), "https://127.0.0.1:%d/v1/sandboxes", server->port);
	request.method = "GET";
	request.url = url;
	request.bearer = "rnd_secret";
	cr_assert(!sp_http_transport_open(&options, &transport, err), "%s", err->message);
	rc = transport.ops->open(transport.self, &request, &stream, err);
	if (!rc)
		stream.ops->close(stream.self);
	transport.ops->close(transport.self);
	return rc;
}

TestSuite(tls, .timeout = 60);

/* A client that hangs up in a handshake breaks the server's pipe. */
static void ignore_pipes(void)
{
	signal(SIGPIPE, SIG_IGN);
}

Test(tls, only_what_is_verified_gets_anything, .init = ignore_pipes)
{
	static const struct {
		const char *what;
		/* Name in the certificate, its validity, and who signed it. */
		const char *name;
		long from, to;
		enum { OURS, ANOTHER, ITSELF } by;
		/* The authority is given to the client. */
		bool trusted;
		int rc;
	} rows[] = {
		{ "as it should be", "IP:127.0.0.1", -DAY, DAY, OURS, true, 0 },
		{ "an authority that the machine does not know", "IP:127.0.0.1", -DAY, DAY, OURS,
		  false, SP_DENIED },
		{ "another host's", "DNS:api.render.com", -DAY, DAY, OURS, true, SP_DENIED },
		{ "another address's", "IP:127.0.0.2", -DAY, DAY, OURS, true, SP_DENIED },
		{ "expired", "IP:127.0.0.1", -2 * DAY, -DAY, OURS, true, SP_DENIED },
		{ "not valid yet", "IP:127.0.0.1", DAY, 2 * DAY, OURS, true, SP_DENIED },
		{ "signed by another authority", "IP:127.0.0.1", -DAY, DAY, ANOTHER, true,
		  SP_DENIED },
		{ "signed by itself", "IP:127.0.0.1", -DAY, DAY, ITSELF, true, SP_DENIED },
	};
	struct identity ours = identity_new(NULL, NULL, -DAY, DAY);
	struct identity another = identity_new(NULL, NULL, -DAY, DAY);
	char *folder = NULL;
	char path[128];

	cr_assert(!sp_tmp_dir("tls-", &folder, NULL));
	snprintf(path, sizeof(path), "%s/ca.pem", folder);
	write_ca(path, &ours);
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct identity id = identity_new(rows[i].by == OURS	? &ours :
						  rows[i].by == ANOTHER ? &another :
									  NULL,
						  rows[i].name, rows[i].from, rows[i].to);
		struct sp_error err = SP_ERROR_INIT;
		struct tls_server server;

		tls_start(&server, &id);
		int rc = ask_tls(&server, rows[i].trusted ? path : NULL, &err);

		tls_stop(&server);
		identity_done(&id);
		cr_expect(rc == rows[i].rc, "%s: %s expected, got %s (%s)", rows[i].what,
			  sp_code_name(rows[i].rc), sp_code_name(rc), err.message);
		cr_expect(!rows[i].rc == (server.bytes > 0), "%s: %zu bytes of a request came",
			  rows[i].what, server.bytes);
		cr_expect(!strstr(err.message, "rnd_secret"), "%s: %s", rows[i].what, err.message);
	}
	identity_done(&ours);
	identity_done(&another);
	sp_remove_tree(folder);
	free(folder);
}
