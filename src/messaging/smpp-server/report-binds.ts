import type { Pool } from 'pg';
import { startLoop } from '../../platform/lib/background/loop.ts';
import type { Log } from '../../platform/lib/log.ts';
import type { Session } from './session.ts';
import { type BindReport, updateBindReports } from './sql.ts';

type Deps = {
  readonly pool: Pool;
  readonly log: Log;
  sessions(): Iterable<Session>;
  readonly everyMs: number;
};

const SECOND_MS = 1000;

/**
 * Stores the activity of this process's binds at intervals, for the operator's list, in one statement and only where
 * something has changed.
 */
export function reportBinds({ pool, log, sessions, everyMs }: Deps): { stop(): Promise<void> } {
  let last = new Map<number, BindReport>();
  let reportedAt = performance.now();

  async function work(): Promise<number> {
    const now = performance.now();
    const seconds = Math.max(0.001, (now - reportedAt) / SECOND_MS);
    const reports = [...sessions()].flatMap((session) => {
      if (!session.bind) return [];
      const { id } = session.bind;
      const { submits, throttled, unanswered } = session.activity();
      const perSecond = Math.round((submits - (last.get(id)?.submits ?? 0)) / seconds);
      return [{ id, submits, throttled, perSecond, unanswered }];
    });
    const changed = reports.filter((report) => isNews(report, last.get(report.id)));
    if (changed.length > 0) await updateBindReports(pool, { reports: changed });
    last = new Map(reports.map((report) => [report.id, report]));
    reportedAt = now;
    return everyMs;
  }

  return startLoop('SMPP reports', work, log);
}

const NOTHING = { submits: 0, throttled: 0, perSecond: 0, unanswered: 0 };

function isNews(report: BindReport, before: Omit<BindReport, 'id'> = NOTHING): boolean {
  return (['submits', 'throttled', 'perSecond', 'unanswered'] as const).some((name) => report[name] !== before[name]);
}
