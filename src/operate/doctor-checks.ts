import { readFile } from 'node:fs/promises';
import type { Pool } from 'pg';
import { listAway } from '../accounts/accounts.ts';
import type { Config } from '../core/config.ts';
import { splitHosts } from '../core/db/database-url.ts';
import { createPool } from '../core/db/pool.ts';
import {
  findReplayLag,
  findSynchronousNames,
  findWritability,
  listStandbys,
  type Standby,
} from '../core/db/reports.ts';
import { explainDatabaseError } from '../core/db/startup-error.ts';
import { silentLog } from '../core/log.ts';
import { INSTALLATION_HEADER, installationOf } from '../core/machine.ts';
import { createGuard, createGuardedFetch, describeFault, isLocalUrl } from '../core/outbound.ts';
import type { SecretKey } from '../core/secrets.ts';
import { countRealConnections, listConnections } from '../routing/connection-store.ts';
import { type ConnectionKind, kindOf } from '../routing/kinds.ts';
import { describeOpen, isInUse, listOpenMessages } from '../sandbox/sandbox-store.ts';

/** Checks in addition to those of connections; the console has a name for each (web/src/operator). */
export const CHECKS = [
  'database',
  'sessions',
  'rights',
  'standbys',
  'archive',
  'sending',
  'clock',
  'disk',
  'files',
  'tls',
  'mail',
  'alerts',
  'secrets',
  'queue',
  'moves',
  'prices',
  'senders',
  'sandbox',
  'address',
  'from outside',
] as const;

/** A check (`check` if they could not even begin), or a connection or a server with its name. */
type Name =
  | (typeof CHECKS)[number]
  | 'check'
  | `${ConnectionKind} ${string}`
  | `notice to ${string}`
  | `reads from ${string}`;

/** The result of one check; `advice` is the remedy for a failed one. */
export type Finding = {
  readonly name: Name;
  readonly ok: boolean;
  readonly detail: string;
  readonly advice?: string;
};

/**
 * Checks that PUBLIC_URL is not an address of this machine alone when carriers post their callbacks to it. Without such
 * a connection it is a trial's, which is not an error. Connections of the sandbox do not count: it runs on this
 * machine.
 */
export async function checkAddress({ publicUrl }: Pick<Config, 'publicUrl'>, pool: Pool): Promise<Finding> {
  if (!isLocalUrl(publicUrl)) return { name: 'address', ok: true, detail: publicUrl };
  const callers = (await listConnections(pool)).filter(
    ({ kind, sandbox, status }) => !sandbox && status === 'active' && kindOf({ kind }).callbacks,
  );
  return {
    name: 'address',
    ok: callers.length === 0,
    detail: `${publicUrl} can be reached only from this machine${callers.length === 0 ? '' : `, and callbacks are expected there: ${callers.map(({ name }) => name).join(', ')}`}`,
    advice: 'Set PUBLIC_URL to the address that carriers and users reach, then enter the callback URLs again.',
  };
}

/** Needs no credentials, and is open at proxies that close /health and /metrics: the console asks it before a sign-in. */
const OPEN_PATH = '/api/partner-gateway/v1/session/options';

type Settings = Pick<Config, 'publicUrl' | 'webhooks'>;

const ADVICE =
  'Check the name, the proxy and the firewall in front of the program. From this machine, PUBLIC_URL must lead to ' +
  'the same place as for other clients; a private address is called when WEBHOOK_ALLOW_CIDRS allows it, and your ' +
  'own certificate is accepted when WEBHOOK_CA_FILE has its authority.';

/**
 * Calls PUBLIC_URL as clients do, by its public name and over HTTPS, and checks that this installation responds there:
 * the program itself, a process of it, or the proxy in front, but nothing else at this address. Private and loopback
 * addresses are denied unless WEBHOOK_ALLOW_CIDRS allows them. Settles within 5 s.
 */
export async function checkFromOutside(config: Settings, key: SecretKey): Promise<Finding> {
  const found = await call(config, installationOf(key));
  return { name: 'from outside', advice: ADVICE, ...found, detail: `${config.publicUrl} ${found.detail}` };
}

type Found = { readonly ok: boolean; readonly detail: string; readonly advice?: string };

async function call({ publicUrl, webhooks }: Settings, installation: string): Promise<Found> {
  const { protocol, port, href } = new URL(`${publicUrl}${OPEN_PATH}`);
  if (protocol !== 'https:')
    return {
      ok: false,
      detail: 'has no HTTPS',
      advice: 'Set PUBLIC_URL to the address that carriers and users reach.',
    };
  const ca = webhooks.caFile === undefined ? undefined : await readFile(webhooks.caFile, 'utf8').catch(() => null);
  if (ca === null)
    return {
      ok: false,
      detail: 'was not called',
      advice: `WEBHOOK_CA_FILE ${webhooks.caFile} cannot be read: correct it.`,
    };
  const guard = createGuard({ allowedBlocks: webhooks.allowedBlocks, ports: [Number(port || 443)] });
  try {
    const answer = await createGuardedFetch({ guard, ca })(href, { method: 'GET', headers: {} });
    return interpret(answer, installation);
  } catch (error) {
    return { ok: false, detail: `cannot be reached: ${describeFault(error)}` };
  }
}

function interpret({ status, headers }: Response, installation: string): Found {
  if (status !== 200) return { ok: false, detail: `returns HTTP status ${status}` };
  const theirs = headers.get(INSTALLATION_HEADER);
  if (theirs === installation) return { ok: true, detail: 'reaches this installation' };
  return {
    ok: false,
    detail: `reaches ${theirs === null ? 'another program' : 'an installation with another SECRET_KEY'}`,
  };
}

/** Checks that no account is held on its way to another cell: meanwhile it cannot be used. */
export async function checkMoves(pool: Pool): Promise<Finding> {
  const held = (await listAway(pool)).filter(({ state }) => state === 'held');
  return {
    name: 'moves',
    ok: held.length === 0,
    detail:
      held
        .map(({ accountId, cell }) => `account ${accountId} is held on its way to cell ${cell}: its requests get 503`)
        .join(', ') || 'none',
    advice:
      'If no command moves it, a worker with CELL_DATABASES and DIRECTORY_URL ends that within seconds, as soon as the other ' +
      'cell responds.',
  };
}

/**
 * Checks that the sandbox, next to real carriers, either runs because the operator wants it, or is retired and has no
 * messages left. Returns nothing if it has nothing to do with real carriers, or is retired completely.
 */
export async function checkSandbox({ sandbox }: Pick<Config, 'sandbox'>, pool: Pool): Promise<Finding[]> {
  if ((await countRealConnections(pool)) === 0) return [];
  if (await isInUse(pool))
    return sandbox === 'on' ? [] : [{ name: 'sandbox', ok: true, detail: 'not retired yet: see `sandbox retire`' }];
  const left = (await listOpenMessages(pool)).filter(({ retired }) => retired);
  if (left.length === 0) return [];
  return [
    {
      name: 'sandbox',
      ok: false,
      detail: `retired, but messages are open there: ${describeOpen(left)}`,
      advice: '`sandbox retire --end-messages` ends them, `sandbox restore` and a restart let the sandbox take them.',
    },
  ];
}

const MAX_LAG_SECONDS = 10;
/**
 * Minimum of synchronous standbys: with one, sending stops when it is away; with two of which any one suffices, it goes
 * on.
 */
const MIN_SYNCHRONOUS = 2;

/**
 * Checks that the database survives the loss of its server: two synchronous standbys, close behind, and no commit that waits
 * for one. They are wanted when DATABASE_URL names several hosts, or when the server has standbys or waits for some.
 */
export async function checkStandbys(pool: Pool, databaseUrl: string | undefined): Promise<Finding> {
  const standbys = await listStandbys(pool);
  const { names } = await findSynchronousNames(pool);
  const { waitingCommits } = await findWritability(pool);
  const isWanted = splitHosts(databaseUrl ?? '').length > 1 || standbys.length > 0 || names !== '';
  if (!isWanted) return { name: 'standbys', ok: true, detail: 'none' };
  const problem = problemOf(standbys, waitingCommits);
  if (problem !== undefined) return { name: 'standbys', ok: false, ...problem };
  return { name: 'standbys', ok: true, detail: standbys.map(describeStandby).join(', ') };
}

type Problem = { readonly detail: string; readonly advice: string };

function problemOf(standbys: readonly Standby[], waitingCommits: number): Problem | undefined {
  if (waitingCommits > 0)
    return {
      detail: `${waitingCommits} commits have waited for a standby for 2 s or more`,
      advice: 'Start a standby again: responses, and messages, are sent only after one has confirmed.',
    };
  if (standbys.some(({ synchronous }) => synchronous === null))
    return {
      detail: `${standbys.length} standbys are connected, but this user lacks the right to see their synchronous state`,
      advice: 'Run as a superuser: GRANT pg_monitor TO the user of DATABASE_URL.',
    };
  const synchronous = standbys.filter((standby) => standby.synchronous);
  if (synchronous.length < MIN_SYNCHRONOUS)
    return {
      detail: `${synchronous.length} of ${standbys.length} connected standbys are synchronous`,
      advice:
        "Run two, with synchronous_standby_names = 'ANY 1 (…)': without one, a failover loses accepted messages; with " +
        'only one, sending stops when it is away.',
    };
  const late = standbys.filter(({ lagSeconds }) => lagSeconds > MAX_LAG_SECONDS);
  if (late.length === 0) return undefined;
  return {
    detail: late.map(describeStandby).join(', '),
    advice: 'A standby that is far behind takes long to be promoted: see its disk, its network and long reads on it.',
  };
}

const describeStandby = ({ name, synchronous, lagSeconds }: Standby): string =>
  `${name} ${synchronous ? 'synchronous' : 'asynchronous'}, ${lagSeconds.toFixed(1)} s behind`;

/** Checks that each server of DATABASE_URL_READ can be read, is a standby, and is close behind. None without that setting. */
export const checkReadStandbys = (standbysUrl: string | undefined): Promise<Finding[]> =>
  Promise.all((standbysUrl === undefined ? [] : splitHosts(standbysUrl)).map(checkReadStandby));

async function checkReadStandby(url: string): Promise<Finding> {
  const name = `reads from ${new URL(url).host}` as const;
  try {
    const pool = createPool(url, { max: 1, applicationName: 'heliograph doctor', log: silentLog });
    const { isStandby, lagSeconds } = await findReplayLag(pool).finally(() => void pool.end());
    return {
      name,
      ok: isStandby && lagSeconds <= MAX_LAG_SECONDS,
      detail: isStandby ? `${lagSeconds.toFixed(1)} s behind` : 'it is not a standby',
      advice:
        'Reports are read from the primary meanwhile: correct DATABASE_URL_READ, or see why the standby is behind.',
    };
  } catch (error) {
    const reason = explainDatabaseError(error, 'DATABASE_URL_READ');
    const detail = reason instanceof Error ? reason.message : String(reason);
    return { name, ok: false, detail, advice: 'Reports are read from the primary meanwhile.' };
  }
}
