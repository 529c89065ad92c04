import { userInfo } from 'node:os';
import type { Command } from 'commander';
import type { Pool } from 'pg';
import { type CommandContext, table } from '../cli.ts';
import { transaction } from '../db/transaction.ts';
import { WAKE_CHANNEL } from '../dispatch/wake.ts';
import { AppError } from '../errors.ts';
import { cancelMessages } from '../messages/cancel.ts';
import { claimMissed, listMissed, moveMissedToQueue } from './sql.ts';

/** `schedule missed`, `release` and `cancel`: what was to be sent while the program was down, an hour ago or more. */
export function registerScheduleCommands(program: Command, context: CommandContext): void {
  const schedule = program.command('schedule').description('scheduled messages whose time was missed');

  schedule
    .command('missed')
    .description('schedules missed by more than an hour: they wait for release or cancel')
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
    .argument('<id>')
    .description('send them now')
    .action(async (id: string) => {
      await context.withDatabase((pool) => release(pool, Number(id)));
      context.report({ id: Number(id) }, () => `Schedule ${id} is sent now.`);
    });

  schedule
    .command('cancel')
    .argument('<id>')
    .description('send them never: they end DELETED and their credit returns')
    .action(async (id: string) => {
      const messages = await context.withDatabase((pool) => cancel(pool, Number(id)));
      context.report({ id: Number(id), messages }, () => `${messages} messages of schedule ${id} were cancelled.`);
    });
}

const unknownSchedule = (id: number): AppError =>
  new AppError('not_found', { message: `There is no missed schedule ${id}` });

async function release(pool: Pool, id: number): Promise<void> {
  const released = Number.isSafeInteger(id) ? await moveMissedToQueue(pool, { id }) : undefined;
  if (!released) throw unknownSchedule(id);
  await pool.query('SELECT pg_notify($1, $2)', [WAKE_CHANNEL, String(released.connectionId)]);
}

function cancel(pool: Pool, id: number): Promise<number> {
  return transaction(pool, async (tx) => {
    const missed = Number.isSafeInteger(id) ? await claimMissed(tx, { id }) : undefined;
    if (!missed) throw unknownSchedule(id);
    const keys = missed.ids.map((messageId) => ({ accountId: missed.accountId, id: messageId }));
    return (await cancelMessages(tx, keys, { by: `the operator ${userInfo().username}`, now: new Date() })).size;
  });
}
