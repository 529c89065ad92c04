import type { Command } from 'commander';
import { operatorName } from '../../identity/audit/record.ts';
import {
  findGuardStatus,
  type GuardStatus,
  listUnsent,
  listUnsentCampaigns,
  type Unsent,
  type UnsentCampaign,
} from '../../messaging/restore-guard/sql.ts';
import { type CommandContext, table } from '../../platform/cli.ts';
import { confirmQueued, discardQueued } from './decide.ts';

/** `fence show`, `confirm` and `discard`: decide if a restored or copied database may send its queued messages. */
export function registerRestoreGuardCommands(program: Command, context: CommandContext): void {
  const fence = program.command('fence').description('protects against sending from a restored or copied database');

  fence
    .command('show')
    .description('show the pause of sending, its reason, and the queued messages')
    .action(async () =>
      context.report(
        await context.withDatabase(async (pool) => ({
          ...(await findGuardStatus(pool)),
          unsent: await listUnsent(pool),
          campaigns: await listUnsentCampaigns(pool),
        })),
        show,
      ),
    );

  fence
    .command('confirm')
    .description('resume sending, including all queued messages')
    .action(async () => {
      await context.withDatabase((pool) => confirmQueued(pool, { by: operatorName() }));
      context.report({ confirmed: true }, () => 'Confirmed: the workers now send the queued messages.');
    });

  fence
    .command('discard')
    .description(
      'withdraw the messages queued before the pause (DELETED, credit returned) and end their campaigns, then resume sending',
    )
    .action(async () => {
      const discarded = await context.withDatabase((pool) =>
        discardQueued(pool, { by: operatorName(), now: new Date() }),
      );
      context.report({ discarded }, () => `${discarded} messages were withdrawn; the workers now send later messages.`);
    });
}

type Shown = GuardStatus & { readonly unsent: readonly Unsent[]; readonly campaigns: readonly UnsentCampaign[] };

const show = ({ state, reason, since, decidedBy, unsent, campaigns }: Shown): string =>
  [
    state === 'paused' ? `Sending has been PAUSED since ${since.toISOString()}: ${reason}.` : 'Sending is not paused.',
    ...(decidedBy === null ? [] : [`Last decision by ${decidedBy}.`]),
    table(
      ['account', 'queued', 'scheduled', 'oldest'],
      unsent.map((row) => [row.account, row.messages, row.scheduled, row.oldest.toISOString()]),
    ),
    ...(campaigns.length === 0 ? [] : [showCampaigns(campaigns)]),
    ...(state === 'paused'
      ? ['`fence confirm` sends them; `fence discard` withdraws those from before the pause.']
      : []),
  ].join('\n');

const showCampaigns = (campaigns: readonly UnsentCampaign[]): string =>
  table(
    ['campaign', 'name', 'recipients', 'scheduled'],
    campaigns.map((row) => [row.id, row.name, row.recipients, row.scheduledAt?.toISOString() ?? 'now']),
  );
