/* blob: content by hash; see blob.h. */
#include "core/record/blob.h"

#include <string.h>

#include "core/record/query.h"

int blob_put(struct db *db, const void *bytes, size_t n, struct hash *ret_hash, struct err *e)
{
	struct hash hash = hash_bytes(bytes, n);
	int rc = query_do(db, "blob_put", QUERY(QUERY_TEXT(hash.hex), QUERY_BYTES(bytes ? bytes : "", n)), NULL, e);
	if (rc >= 0)
		*ret_hash = hash;
	return rc;
}

int blob_put_text(struct db *db, const char *text, struct hash *ret_hash, struct err *e)
{
	return blob_put(db, text, strlen(text), ret_hash, e);
}

int blob_get(struct db *db, const char *hash, struct buf *out, struct err *e)
{
	struct query q;
	size_t before = out->len;
	query_start(&q, db, "blob_get", QUERY(QUERY_TEXT(hash)));
	int rc = query_next(&q, e);
	if (rc > 0)
		query_get_bytes(&q, out);
	query_fini(&q);
	if (rc < 0)
		return rc;
	if (rc == 0)
		return err_set(e, ERR_NOT_FOUND, "there is no content with the hash %s in the database", hash);
	struct hash real = hash_bytes(out->data ? out->data + before : "", out->len - before);
	if (strcmp(real.hex, hash) != 0)
		return err_set(e, ERR_IO, "the content stored as %s is damaged (it hashes to %s): restore a backup of the database",
			       hash, real.hex);
	return 0;
}

int blob_get_text(struct db *db, const char *hash, char **ret_text, struct err *e)
{
	struct buf text = BUF_INIT;
	int rc = blob_get(db, hash, &text, e);
	if (rc == 0)
		*ret_text = buf_steal(&text);
	buf_fini(&text);
	return rc;
}

int blob_has(struct db *db, const char *hash, struct err *e)
{
	return query_do(db, "blob_has", QUERY(QUERY_TEXT(hash)), NULL, e);
}
