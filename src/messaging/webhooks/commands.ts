import { enableEndpoint } from './endpoint.ts';
import type { Command } from 'commander';
import { findAccount } from '../../identity/accounts/find.ts';
import { operatorAuthor } from '../../identity/audit/record.ts';
import { type CommandContext, table } from '../../platform/cli.ts';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { listEventCounts } from './delivery-log/sql.ts';
import { type EndpointOverview, listAllEndpoints } from './sql.ts';

/** `webhook list` and `webhook enable`. */
export function registerWebhookCommands(program: Command, context: CommandContext): void {
  const webhook = program.command('webhook').description('webhooks of the accounts');

  webhook
    .command('list')
    .description('list all webhooks with their state and the number of pending and dead events')
    .action(async () => context.report(await context.withDatabase(listWebhooks), showWebhooks));

  webhook
    .command('enable')
    .argument('<account>', 'name or id of the account')
    .description('enable a disabled webhook')
    .action(async (reference: string) => {
      const { id } = await context.withDatabase((pool) => transaction(pool, (tx) => enable(tx, reference)));
      context.report({ accountId: id, enabled: true }, () => `The webhook of account ${id} is active.`);
    });
}

type Overview = EndpointOverview & { readonly pending: number; readonly dead: number };

async function listWebhooks(db: Db): Promise<Overview[]> {
  const [endpoints, counts] = [await listAllEndpoints(db), await listEventCounts(db)];
  const countsOf = new Map(counts.map(({ accountId, ...count }) => [accountId, count]));
  return endpoints.map((endpoint) => {
    const { pending, dead } = countsOf.get(endpoint.accountId) ?? { pending: 0, dead: 0 };
    return { ...endpoint, url: withoutQuery(endpoint.url), pending, dead };
  });
}

const showWebhooks = (webhooks: readonly Overview[]): string =>
  table(
    ['account', 'name', 'status', 'failing since', 'pending', 'dead', 'url', 'reason'],
    webhooks.map((w) => [
      w.accountId,
      w.account,
      w.status,
      w.failingSince?.toISOString() ?? '',
      w.pending,
      w.dead,
      w.url,
      w.disabledReason ?? '',
    ]),
  );

/** Removes the query of a URL, which often contains a token. */
const withoutQuery = (url: string): string => url.replace(/\?.*/, '?…');

async function enable(tx: Db, reference: string): Promise<{ id: number }> {
  const account = await findAccount(tx, { reference });
  await enableEndpoint(tx, operatorAuthor(account.id));
  return account;
}
