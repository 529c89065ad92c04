import { loadConfig } from '../../src/core/config.ts';
import { transaction } from '../../src/core/db/transaction.ts';
import { loadSecretKey } from '../../src/core/secrets.ts';
import { createAccount } from '../../src/operate/account-commands.ts';
import { notifyRoutingChange } from '../../src/routing/connection-store.ts';
import { createConnection } from '../../src/routing/connections.ts';
import { addService } from '../../src/routing/number-lookups.ts';
import { insertConditionalRoute, insertRoute } from '../../src/routing/routes.ts';
import { until } from '../../test/support/until.ts';
import type { Stage } from '../lib/stage.ts';
import type { Attack, CallbackEnd, Tenant } from './attack.ts';
import { PEER_PREFIX } from './attacks/carriers.ts';
import { LOOKED_UP_PREFIX } from './attacks/outside.ts';
import { openNetworks } from './callback-networks.ts';
import type { GroundFacts } from './process.ts';

const CREDIT_MICROS = 1_000_000_000_000;
const VICTIM_ADDRESS = '127.0.0.1';
/** Before the route to all other numbers. */
const PRIORITY = 1;

/** An attack with what it may use. */
export type Planned = { readonly attack: Attack; readonly ground: GroundFacts };

type Setup = {
  readonly attacks: readonly Attack[];
  readonly victimName: string;
  readonly peerPorts: Readonly<Record<string, number>>;
  readonly lookUpUrl: string;
};

/**
 * Gives each attack an account with the limits of its plan and its own address, and connects the attacker's
 * carriers and networks.
 */
export async function planAttacks(
  stage: Stage,
  { attacks, victimName, peerPorts, lookUpUrl }: Setup,
): Promise<Planned[]> {
  await connectPeers(stage, peerPorts);
  await connectLookUps(stage, lookUpUrl);
  // One after the other: more than a hundred would not all find a place at the gate of the password hash.
  const tenants: Tenant[][] = [];
  for (const attack of attacks) tenants.push(await newTenants(stage, attack));
  const owner = tenants[attacks.findIndex(({ ownsNetworks }) => ownsNetworks)]?.[0] ?? (await newTenant(stage, NOBODY));
  const callbacks = await connectNetworks(stage, owner);
  const origin = String(stage.gateway.ready['address']);
  const [port, smppPort] = [Number(new URL(origin).port), Number(stage.environment['SMPP_PORT'])];
  const shared = { origin, port, smppPort, victimAddress: VICTIM_ADDRESS, victimName, callbacks };
  return attacks.flatMap((attack, i) => {
    const [tenant, ...others] = tenants[i] ?? [];
    return tenant ? [{ attack, ground: { ...shared, address: `127.66.1.${i + 1}`, tenant, others } }] : [];
  });
}

/** Owns the networks when no attack does. */
const NOBODY = { name: 'networks', player: 'production tenant' } as const;

async function newTenants(stage: Stage, attack: Attack): Promise<Tenant[]> {
  const made: Tenant[] = [];
  while (made.length < (attack.accounts ?? 1)) made.push(await newTenant(stage, attack));
  return made;
}

/** An account with the plan's own limit, unlike those of `stage.newAccount`. */
async function newTenant({ pool }: Stage, { name, player }: Pick<Attack, 'name' | 'player'>): Promise<Tenant> {
  const plan = player === 'trial tenant' ? 'trial' : 'production';
  return createAccount(pool, { name: `Hostile: ${name}`, plan, creditMicros: CREDIT_MICROS });
}

async function connectPeers({ pool, environment }: Stage, ports: Setup['peerPorts']): Promise<void> {
  const key = await loadSecretKey(loadConfig(environment));
  for (const [manner, port] of Object.entries(ports)) {
    const { id } = await createConnection(pool, key, {
      name: `hostile-${manner.replaceAll(' ', '-')}`,
      kind: 'smpp',
      settings: { host: '127.0.0.1', port, systemId: 'hostile' },
      secret: { password: 'secret' },
      sandbox: false,
    });
    const route = { channel: 'SMS', prefix: PEER_PREFIX, connectionId: id, priority: PRIORITY } as const;
    if (manner === 'mute') await insertRoute(pool, route);
  }
  await notifyRoutingChange(pool);
  await until('a bind at each carrier', async () => {
    const { rows } = await pool.query('SELECT count(*)::int AS bound FROM connection_status WHERE binds_up > 0');
    return rows[0].bound > Object.keys(ports).length;
  });
}

/** Adds the look-up service, and a route that numbers of one country take by their network. */
async function connectLookUps({ pool, environment }: Stage, url: string): Promise<void> {
  const key = await loadSecretKey(loadConfig(environment));
  const settings = { preset: 'twilio', account: 'AC1', baseUrl: url, concurrency: 50 };
  await transaction(pool, (tx) => addService(tx, key, { name: 'hostile', apiKey: 'secret', by: 'proof', settings }));
  const { rows } = await pool.query("SELECT id FROM connection WHERE name = 'hostile-mute'");
  await insertConditionalRoute(pool, {
    channel: 'SMS',
    prefix: LOOKED_UP_PREFIX,
    connectionId: rows[0].id,
    priority: PRIORITY,
    network: '27077',
    accountId: null,
    sender: null,
    hours: null,
    purpose: null,
  });
  await notifyRoutingChange(pool);
}

/** Opens a WhatsApp and an RCS connection with a number and an agent of this account. */
async function connectNetworks(
  stage: Stage,
  { accountId }: Pick<Tenant, 'accountId'>,
): Promise<{ whatsapp: CallbackEnd; rcs: CallbackEnd }> {
  const [whatsapp, rcs] = await openNetworks(stage, { accountId, token: 'hostile' });
  if (!whatsapp || !rcs) throw new Error('expected two networks');
  return { whatsapp: endOf(whatsapp), rcs: endOf(rcs) };
}

const endOf = ({ path, secret, identity }: CallbackEnd): CallbackEnd => ({ path, secret, identity });
