/* SPDX-License-Identifier: MIT */
/* The one table from libcurl's answers to the contract's. */
#include "internal.h"

static const struct {
	CURLcode curl;
	enum sp_code code;
} codes[] = {
    {CURLE_SSL_CONNECT_ERROR, SP_DENIED},	 {CURLE_PEER_FAILED_VERIFICATION, SP_DENIED},
    {CURLE_SSL_CERTPROBLEM, SP_DENIED},		 {CURLE_SSL_CIPHER, SP_DENIED},
    {CURLE_SSL_ISSUER_ERROR, SP_DENIED},	 {CURLE_SSL_CACERT_BADFILE, SP_DENIED},
    {CURLE_SSL_INVALIDCERTSTATUS, SP_DENIED},	 {CURLE_SSL_CRL_BADFILE, SP_DENIED},
    {CURLE_SSL_PINNEDPUBKEYNOTMATCH, SP_DENIED}, {CURLE_UNSUPPORTED_PROTOCOL, SP_PROTOCOL},
    {CURLE_WEIRD_SERVER_REPLY, SP_PROTOCOL},	 {CURLE_BAD_CONTENT_ENCODING, SP_PROTOCOL},
    {CURLE_OUT_OF_MEMORY, SP_INTERNAL},		 {CURLE_URL_MALFORMAT, SP_INVALID},
};

int http_failure(const struct http_stream *stream, struct sp_error *err)
{
	const char *text = stream->text[0] ? stream->text : curl_easy_strerror(stream->result);

	if (stream->body_error)
		return sp_error_set(err, (enum sp_code)stream->body_error,
				    "the body that was to be sent ended early");
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].curl == stream->result)
			return sp_error_set(err, codes[i].code, "%s", text);
	/* The request goes out only after its connection stood and before_sending() ran. */
	if (!stream->sends)
		return sp_error_set(err, SP_UNAVAILABLE, "no connection: %s", text);
	if (stream->answered)
		return sp_error_set(err, SP_UNKNOWN_OUTCOME, "the answer was cut off: %s", text);
	return sp_error_set(err, SP_UNKNOWN_OUTCOME, "the request went out and no answer came: %s",
			    text);
}
