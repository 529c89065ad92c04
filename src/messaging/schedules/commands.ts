import type { Command } from 'commander';
import type { Pool } from 'pg';
import { operatorName } from '../../identity/audit/record.ts';
import { type CommandContext, table } from '../../platform/cli.ts';
import { cancelMissed, releaseMissed } from './decide.ts';
import { listMissed } from './sql.ts';

/**
 * Registers `schedule missed`, `release` and `cancel`, for messages that were due an hour ago or more without a worker.
 */
export function registerScheduleCommands(program: Command, context: CommandContext): void {
  const schedule = program.command('schedule').description('scheduled messages whose time was missed');

  schedule
    .command('missed')
    .description('list schedules that were missed by more than an hour and wait for release or cancel')
    .action(async () =>
      context.report(await context.withDatabase(listMissed), (rows) =>
        table(
          ['id', 'account', 'messages', 'due'],
          rows.map((row) => [row.id, row.account, row.messages, row.dueAt.toISOString()]),
        ),
      ),
    );

  schedule
    .command('release')
    .argument('<id...>', 'as shown by missed')
    .description('send the messages now')
    .action(async (ids: string[]) =>
      context.report(await context.withDatabase((pool) => decideEach(pool, ids, release)), (done) =>
        summary(done, 'sent now'),
      ),
    );

  schedule
    .command('cancel')
    .argument('<id...>', 'as shown by missed')
    .description('never send the messages: they end DELETED and their credit is returned')
    .action(async (ids: string[]) =>
      context.report(await context.withDatabase((pool) => decideEach(pool, ids, cancel)), (done) =>
        summary(done, 'cancelled'),
      ),
    );
}

type Decided = { readonly id: number; readonly messages: number };

/** Decides about schedules one after another, each in a separate transaction. */
async function decideEach(pool: Pool, ids: readonly string[], decide: typeof release): Promise<Decided[]> {
  const done: Decided[] = [];
  for (const id of ids) done.push({ id: Number(id), messages: await decide(pool, Number(id)) });
  return done;
}

const summary = (done: readonly Decided[], what: string): string =>
  done.map(({ id, messages }) => `Schedule ${id}: ${messages} messages are ${what}.`).join('\n');

const release = (pool: Pool, id: number): Promise<number> => releaseMissed(pool, { id, by: operatorName() });

const cancel = (pool: Pool, id: number): Promise<number> =>
  cancelMissed(pool, { id, by: operatorName(), now: new Date() });
