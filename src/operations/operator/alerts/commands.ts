import type { Command } from 'commander';
import { operatorName } from '../../../identity/audit/record.ts';
import { type CommandContext, table } from '../../../platform/cli.ts';
import type { Db } from '../../../platform/db/query.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import { createOutbound } from '../../../platform/outbound/outbound.ts';
import { loadSecretKey } from '../../../platform/secret-key.ts';
import { acknowledgeAlert } from './change.ts';
import { sentenceOf } from './notices/texts.ts';
import { type Alert, listAlerts } from './sql.ts';
import { listTargets } from './targets/sql.ts';
import { testTarget } from './test-target.ts';

const MAX_LISTED = 1000;

/** `alerts list`, `ack` and `test`. */
export function registerAlertCommands(program: Command, context: CommandContext): void {
  const alerts = program.command('alerts').description('open alerts and their recipients');

  alerts
    .command('list')
    .option('--all', 'resolved ones too')
    .description('list the open alerts; the exit code is 1 if a problem is unacknowledged')
    .action(async ({ all }: { all?: true }) => {
      const listed = await context.withDatabase((pool) => listSome(pool, all === true));
      const isFine = !listed.some(({ state, severity }) => state === 'firing' && severity === 'error');
      context.report(listed, showAlerts, isFine);
    });

  alerts
    .command('ack')
    .argument('<id>', 'id of the alert', Number)
    .description('acknowledge an alert, which stops its reminders')
    .action(async (id: number) => {
      const acknowledge = { id, by: operatorName() };
      await context.withDatabase((pool) => transaction(pool, (tx) => acknowledgeAlert(tx, acknowledge)));
      context.report({ id, acknowledged: true }, () => `Alert ${id} is acknowledged.`);
    });

  alerts
    .command('test')
    .description('send a test to all recipients of alerts, and show the results')
    .action(async () => {
      const config = context.config();
      const deps = { config, secretKey: await loadSecretKey(config), outbound: await createOutbound(config) };
      const tried = await context.withDatabase(async (pool) => {
        const targets = await listTargets(pool);
        return Promise.all(
          targets.map(async ({ id, kind, address }) => ({
            id,
            kind,
            address,
            ...(await testTarget({ ...deps, pool }, { id })),
          })),
        );
      });
      await deps.outbound.poster.close();
      context.report(
        tried,
        showTried,
        tried.every(({ ok }) => ok),
      );
    });
}

type Listed = Alert & { readonly title: string };

async function listSome(db: Db, all: boolean): Promise<Listed[]> {
  const states = all ? (['firing', 'acknowledged', 'resolved'] as const) : (['firing', 'acknowledged'] as const);
  const alerts = await listAlerts(db, { states, limit: MAX_LISTED, offset: 0 });
  return alerts.map((alert) => ({ ...alert, title: sentenceOf('en', alert.kind, alert) }));
}

const showAlerts = (alerts: readonly Listed[]): string =>
  alerts.length === 0
    ? 'No open alerts.'
    : table(
        ['id', 'state', 'severity', 'since', 'what', 'detail'],
        alerts.map(({ id, state, severity, since, title, detail }) => [
          id,
          state,
          severity,
          since.toISOString(),
          title,
          detail ?? '',
        ]),
      );

type Tried = { readonly kind: string; readonly address: string; readonly ok: boolean; readonly detail: string | null };

const showTried = (tried: readonly Tried[]): string =>
  tried.length === 0
    ? 'No one is notified: add recipients on the page Alerts of the console.'
    : tried
        .map(({ kind, address, ok, detail }) => `${ok ? 'ok  ' : 'BAD '} ${kind} ${address}${ok ? '' : `: ${detail}`}`)
        .join('\n');
