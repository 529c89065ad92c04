import type { Pool } from 'pg';
import type { Reports } from '../../../src/core/db/reports.ts';
import { tenant } from '../../../src/core/db/transaction.ts';

/** Reports as if they came from a standby that is a quarter of a second behind. */
export const standbyReports = (pool: () => Pool): Reports => ({
  read: async (reader, work) => ({ value: await work(tenant(pool(), reader)), ageMs: 250 }),
  close: () => Promise.resolve(),
});
