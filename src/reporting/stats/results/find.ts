import type { Db } from '../../../platform/db/query.ts';
import { AppError } from '../../../platform/errors.ts';
import { firstIdAt } from '../../../platform/lib/ids.ts';
import { DAY_MS } from '../../../platform/lib/time.ts';
import { type ResultsOut, toResultsOut } from './schema.ts';
import { countAnswers, countOptOuts, findSpan, listMinutes, listReasons } from './sql.ts';

/** Inbound messages within this time after the start count as replies. */
const ANSWER_DAYS = 7;
const MAX_INBOUND = 100_000;
const MAX_REASONS = 100;

/**
 * Finds the results of a campaign: the reasons of failures, the outcomes over time, and the recipients who replied. It
 * is read from the figures that are added up while messages are settled, and from the inbound messages of seven days:
 * its cost does not grow with the recipients. Errors: 404.
 */
export async function findResults(db: Db, one: { accountId: number; campaignId: number }): Promise<ResultsOut> {
  const span = await findSpan(db, one);
  if (!span) throw new AppError('not_found');
  const { startedAt } = span;
  const figures = {
    startedAt,
    reasons: await listReasons(db, { ...one, limit: MAX_REASONS }),
    minutes: await listMinutes(db, one),
  };
  if (!startedAt) return toResultsOut({ ...figures, replies: 0, repliesAreComplete: true, optOuts: 0 });
  const window = { from: startedAt, to: new Date(startedAt.getTime() + ANSWER_DAYS * DAY_MS) };
  const ids = { firstId: firstIdAt(window.from), endId: firstIdAt(window.to), limit: MAX_INBOUND };
  const answers = await countAnswers(db, { ...one, ...ids });
  const optOuts = await countOptOuts(db, { ...one, ...window });
  return toResultsOut({
    ...figures,
    replies: answers?.people ?? 0,
    repliesAreComplete: (answers?.seen ?? 0) < MAX_INBOUND,
    optOuts: optOuts?.people ?? 0,
  });
}
