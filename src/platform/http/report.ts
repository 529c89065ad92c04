import type { FastifyReply } from 'fastify';
import type { Db } from '../db/query.ts';
import type { Reports } from '../db/reports.ts';

type Caller = {
  readonly reports: Reports;
  readonly actor: { readonly accountId: number };
  readonly reply: FastifyReply;
};

/** Description shared by every route that uses `readReport`. */
export const AGE_OF_REPORT =
  'If `DATABASE_URL_READ` is set, this may be read from a standby; the header `X-Data-Age` then states how many seconds ' +
  'old it is at most.';

/** Reads a report (see `Reports`) for a request, and states its maximum age in `X-Data-Age` if it is not up to date. */
export async function readReport<T>({ reports, actor, reply }: Caller, work: (db: Db) => Promise<T>): Promise<T> {
  const { value, ageMs } = await reports.read(actor, work);
  if (ageMs !== undefined) reply.header('x-data-age', (ageMs / 1000).toFixed(3));
  return value;
}
