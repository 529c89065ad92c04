import { type Db, exec, many, maybeOne, one, sql } from '../../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../../platform/db/select.ts';
import type { FileFormat } from '../reading/convert.ts';
import type { Encoding } from '../reading/encoding.ts';

const UPLOAD = columns({
  accountId: as<number>('account_id'),
  id: as<number>('id'),
  fileName: as<string>('file_name'),
  sizeBytes: as<number>('size_bytes'),
  format: as<FileFormat>('format'),
  /** Encoding as detected in the whole file; null for XLSX. */
  encoding: as<Encoding | null>('encoding'),
  /** Share of the file that the check or import in progress has read, from 0 to 1; null: none is in progress. */
  progress: as<number | null>('progress'),
  /** True if it was imported; its content has then been deleted. */
  taken: as<boolean>('taken'),
  createdAt: as<Date>('created_at'),
});

/** A file that was received and not imported yet. */
export type UploadRow = Readonly<RowOf<typeof UPLOAD>>;

type Of = { readonly accountId: number };
type OfUpload = Of & { readonly uploadId: number };

export type NewUpload = Pick<UploadRow, 'accountId' | 'fileName' | 'sizeBytes' | 'format' | 'encoding'>;

export const insertUpload = (db: Db, row: NewUpload): Promise<UploadRow> =>
  one(
    db,
    sql`INSERT INTO contact_upload (account_id, file_name, size_bytes, format, encoding)
        VALUES (${row.accountId}, ${row.fileName}, ${row.sizeBytes}, ${row.format}, ${row.encoding})
        RETURNING ${UPLOAD}`,
  );

/** Finds a file, also one that was imported. */
export const findUpload = (db: Db, { accountId, uploadId }: OfUpload): Promise<UploadRow | undefined> =>
  maybeOne(db, sql`SELECT ${UPLOAD} FROM contact_upload WHERE account_id = ${accountId} AND id = ${uploadId}`);

/** Records the share of a file that has been read; null: nothing reads it any more. */
export const updateProgress = (
  db: Db,
  { accountId, uploadId, progress }: OfUpload & { progress: number | null },
): Promise<number> =>
  exec(db, sql`UPDATE contact_upload SET progress = ${progress} WHERE account_id = ${accountId} AND id = ${uploadId}`);

/** Marks a file as imported; returns 0 if it is already. */
export const moveToTaken = (db: Db, { accountId, uploadId }: OfUpload): Promise<number> =>
  exec(
    db,
    sql`UPDATE contact_upload SET taken = true WHERE account_id = ${accountId} AND id = ${uploadId} AND NOT taken`,
  );

export const deleteParts = (db: Db, { accountId, uploadId }: OfUpload): Promise<number> =>
  exec(db, sql`DELETE FROM contact_upload_part WHERE account_id = ${accountId} AND upload_id = ${uploadId}`);

/** Deletes a file with its content. */
export const deleteUpload = (db: Db, { accountId, uploadId }: OfUpload): Promise<number> =>
  exec(db, sql`DELETE FROM contact_upload WHERE account_id = ${accountId} AND id = ${uploadId}`);

/** Deletes the oldest files of an account, except `kept`. */
export const deleteSurplusUploads = (db: Db, { accountId, kept }: Of & { kept: number }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM contact_upload
        WHERE account_id = ${accountId}
          AND id IN (SELECT id FROM contact_upload WHERE account_id = ${accountId} ORDER BY id DESC OFFSET ${kept})`,
  );

/** Deletes files of all accounts that are older than `hours`, because they contain personal data. */
export const deleteOldUploads = (db: Db, { hours }: { hours: number }): Promise<number> =>
  exec(db, sql`DELETE FROM contact_upload WHERE created_at < now() - make_interval(hours => ${hours})`);

/** A compressed piece of the content of a file, with its number from 0. */
export type Part = { readonly n: number; readonly octets: Buffer };

export const insertPart = (db: Db, { accountId, uploadId, n, octets }: OfUpload & Part): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO contact_upload_part (account_id, upload_id, n, octets)
        VALUES (${accountId}, ${uploadId}, ${n}, ${octets})`,
  );

/** Lists up to `limit` pieces from number `from` on, in order. */
export const listParts = (
  db: Db,
  { accountId, uploadId, from, limit }: OfUpload & { from: number; limit: number },
): Promise<Part[]> =>
  many(
    db,
    sql`SELECT n, octets FROM contact_upload_part
        WHERE account_id = ${accountId} AND upload_id = ${uploadId} AND n >= ${from} ORDER BY n LIMIT ${limit}`,
  );
