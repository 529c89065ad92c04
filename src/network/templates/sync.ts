import type { GraphClient, GraphResult } from '../../carriers/whatsapp/client.ts';
import {
  listPhoneNumbers,
  listTemplates,
  type NetworkTemplate,
  type PhoneNumber,
} from '../../carriers/whatsapp/templates.ts';
import { type Connection, findConnection, listConnections } from '../connections/sql.ts';
import { AppError } from '../../platform/errors.ts';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import type { Log } from '../../platform/lib/log.ts';
import { listOwnersOfConnections, moveSenderDetails } from '../senders/sql.ts';
import { ofWhatsapp } from './receive-changes.ts';
import { askNetwork, type ChangeDeps, type OnTemplatesChange } from './network.ts';
import * as db from './sql.ts';
import { variablesFor } from './variables.ts';

/** What the network told; or why it did not. */
export type Synced = { readonly ok: true; readonly templates: number } | { readonly ok: false; readonly why: string };

/**
 * Brings templates, and names and quality of the numbers, into line with what the network has. Templates that were made
 * there are the account's that has the numbers; those that an account is making at this moment are its own.
 */
export async function syncConnection(deps: ChangeDeps, connection: Connection): Promise<Synced> {
  const before = await db.findNow(deps.pool);
  const told = await askNetwork(deps, connection, listAll);
  if (!told.ok) return { ok: false, why: `${told.fault.text} (${told.fault.code})` };
  await transaction(deps.pool, (tx) =>
    storeAll(tx, deps.onTemplatesChange, { connectionId: connection.id, all: told.value, before }),
  );
  return { ok: true, templates: told.value.templates.length };
}

async function storeAll(
  tx: Db,
  onTemplatesChange: OnTemplatesChange,
  { connectionId, all: { templates, numbers }, before }: { connectionId: number; all: All; before: Date },
): Promise<void> {
  await db.claimSync(tx, { connectionId });
  const [owner] = await listOwnersOfConnections(tx, { connectionIds: [connectionId] });
  const seen = templates.map(toSeen);
  const ownerId = owner?.ownerId ?? null;
  const changed = seen.length > 0 ? await db.insertSeenTemplates(tx, { connectionId, ownerId, seen }) : [];
  const gone = await db.moveTemplatesGone(tx, { connectionId, present: templates.map(({ id }) => id), before });
  await onTemplatesChange(tx, [...changed, ...gone].map(ofWhatsapp));
  if (numbers.length > 0) await moveSenderDetails(tx, { connectionId, senders: numbers.map(toDetails) });
}

type All = { readonly templates: readonly NetworkTemplate[]; readonly numbers: readonly PhoneNumber[] };

async function listAll(client: GraphClient): Promise<GraphResult<All>> {
  const [templates, numbers] = [await listTemplates(client), await listPhoneNumbers(client)];
  if (!templates.ok) return templates;
  return numbers.ok ? { ok: true, value: { templates: templates.value, numbers: numbers.value } } : numbers;
}

const toSeen = ({ id, name, language, category, status, ...rest }: NetworkTemplate): db.Seen => {
  const content = rest.components;
  return {
    id,
    name,
    language,
    category,
    content,
    status: status ?? 'UNKNOWN',
    reason: rest.rejectedReason,
    named: rest.parameterFormat === 'NAMED',
    variables: variablesFor({ channel: 'WHATSAPP', content }, undefined),
  };
};

const toDetails = ({ id: identity, verifiedName, displayNumber, quality }: PhoneNumber) => ({
  identity,
  name: verifiedName.slice(0, 200),
  details: { displayNumber, quality },
});

/** Every connection to WhatsApp that is active, one after the other. */
export async function syncTemplates(
  deps: ChangeDeps & { readonly log: Log; readonly sandbox: () => boolean },
): Promise<void> {
  for (const connection of await listConnections(deps.pool)) {
    const { kind, status, sandbox, name } = connection;
    if (kind !== 'whatsapp' || status !== 'active' || (sandbox && !deps.sandbox())) continue;
    const synced = await syncConnection(deps, connection);
    if (!synced.ok) deps.log.warn({ connection: name, reason: synced.why }, 'templates were not brought up to date');
  }
}

/** `syncConnection`, of a connection that somebody names. Errors: 404 when there is none of this name to WhatsApp. */
export async function syncNamed(deps: ChangeDeps, name: string): Promise<Synced> {
  const connection = await findConnection(deps.pool, { name });
  if (connection?.kind !== 'whatsapp')
    throw new AppError('not_found', { message: `There is no connection ${name} to WhatsApp` });
  return syncConnection(deps, connection);
}
