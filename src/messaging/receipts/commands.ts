import type { Command } from 'commander';
import { type CommandContext, table } from '../../platform/cli.ts';
import { invalidFields } from '../../platform/errors.ts';
import { parseScheduledDate } from '../../platform/lib/scheduled-date.ts';
import { type NamedHour, reconcileNamed } from './reconcile.ts';
import { DAY_MS } from '../../platform/lib/time.ts';

type Flags = { readonly from?: string; readonly to?: string; readonly connection?: string };

/** Registers `receipts reconcile`. */
export function registerReceiptCommands(program: Command, context: CommandContext): void {
  program
    .command('receipts')
    .description('delivery receipts')
    .command('reconcile')
    .description('compare, per connection and hour: submitted = final + open + unmatched, counted in parts')
    .option('--from <time>', 'for example 2027-01-31 or 2027-01-31T09:00Z; default: a day before --to')
    .option('--to <time>', 'exclusive end; default: now')
    .option('--connection <name>', 'only this connection')
    .action(async (flags: Flags) => context.report(await reconcile(context, flags), showHours));
}

function reconcile(context: CommandContext, flags: Flags): Promise<NamedHour[]> {
  const to = readTime('--to', flags.to) ?? new Date();
  const from = readTime('--from', flags.from) ?? new Date(to.getTime() - DAY_MS);
  if (from >= to) throw invalidFields([{ field: '--from', message: 'must be before --to' }]);
  return context.withDatabase((pool) => reconcileNamed(pool, { from, to, connection: flags.connection }));
}

/** An instant with its offset, or a day, which begins at midnight UTC. */
function readTime(field: string, text: string | undefined): Date | null {
  if (text === undefined) return null;
  const time = parseScheduledDate(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00Z` : text);
  if (!time) throw invalidFields([{ field, message: 'must be a day, or a time with its offset' }]);
  return time;
}

const showHours = (hours: readonly NamedHour[]): string =>
  table(
    ['hour', 'connection', 'submitted', 'final', 'open', 'unmatched', '% final', 'oldest open'],
    hours.map((h) => [
      h.hour.toISOString(),
      h.connection,
      h.submitted,
      h.final,
      h.open,
      h.unmatched,
      h.finalPercent.toFixed(1),
      h.oldestOpen?.toISOString() ?? '',
    ]),
  );
