import type { GraphClient, GraphResult } from '../../carriers/whatsapp/client.ts';
import { listPhoneNumbers, type PhoneNumber } from '../../carriers/whatsapp/account.ts';
import { listTemplates, type NetworkTemplate } from '../../carriers/whatsapp/templates.ts';
import { kindOf } from '../connections/kinds/kinds.ts';
import { type Connection, findConnection, listConnections } from '../connections/sql.ts';
import { AppError } from '../../platform/errors.ts';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import type { Log } from '../../platform/lib/log.ts';
import { listOwnersOfConnections, updateSenderDetails } from '../senders/sql.ts';
import { whatsappKey } from './receive-changes.ts';
import { callNetwork, type ChangeDeps, type OnTemplatesChange } from './network.ts';
import * as db from './sql.ts';
import { variablesFor } from './variables.ts';

/** The result of a sync: the number of templates at the network, or the reason why it could not be reached. */
export type Synced = { readonly ok: true; readonly templates: number } | { readonly ok: false; readonly why: string };

/**
 * Syncs the templates of a connection, and names and quality of its numbers, from the network. A template that was made
 * there belongs to the account that has the numbers; one that an account is making right now belongs to that account.
 */
export async function syncConnection(deps: ChangeDeps, connection: Connection): Promise<Synced> {
  const before = await db.findDatabaseTime(deps.pool);
  const answer = await callNetwork(deps, connection, listAll);
  if (!answer.ok) return { ok: false, why: `${answer.fault.text} (${answer.fault.code})` };
  await transaction(deps.pool, (tx) =>
    storeAll(tx, deps.onTemplatesChange, { connectionId: connection.id, all: answer.value, before }),
  );
  return { ok: true, templates: answer.value.templates.length };
}

async function storeAll(
  tx: Db,
  onTemplatesChange: OnTemplatesChange,
  { connectionId, all: { templates, numbers }, before }: { connectionId: number; all: All; before: Date },
): Promise<void> {
  await db.claimTemplateSync(tx, { connectionId });
  const [owner] = await listOwnersOfConnections(tx, { connectionIds: [connectionId] });
  const seen = templates.map(toSeen);
  const ownerId = owner?.ownerId ?? null;
  const changed = seen.length > 0 ? await db.insertSyncedTemplates(tx, { connectionId, ownerId, seen }) : [];
  const gone = await db.moveTemplatesToDeleted(tx, { connectionId, present: templates.map(({ id }) => id), before });
  await onTemplatesChange(tx, [...changed, ...gone].map(whatsappKey));
  if (numbers.length > 0) await updateSenderDetails(tx, { connectionId, senders: numbers.map(toDetails) });
}

type All = { readonly templates: readonly NetworkTemplate[]; readonly numbers: readonly PhoneNumber[] };

async function listAll(client: GraphClient): Promise<GraphResult<All>> {
  const [templates, numbers] = [await listTemplates(client), await listPhoneNumbers(client)];
  if (!templates.ok) return templates;
  return numbers.ok ? { ok: true, value: { templates: templates.value, numbers: numbers.value } } : numbers;
}

const toSeen = ({ id, name, language, category, status, ...rest }: NetworkTemplate): db.SyncedTemplate => {
  const content = rest.components;
  return {
    id,
    name,
    language,
    category,
    content,
    status: status ?? 'UNKNOWN',
    reason: rest.rejectedReason,
    quality: rest.quality,
    named: rest.parameterFormat === 'NAMED',
    variables: variablesFor({ channel: 'WHATSAPP', content }, undefined),
  };
};

const toDetails = ({ id: identity, verifiedName, displayNumber, quality }: PhoneNumber) => ({
  identity,
  name: verifiedName.slice(0, 200),
  details: { displayNumber, quality },
});

/** True if the carrier of a connection has templates. */
const hasTemplates = (connection: Connection): boolean => kindOf(connection).createTemplateClient !== null;

/** Syncs every active connection whose carrier has templates, one after the other. */
export async function syncTemplates(
  deps: ChangeDeps & { readonly log: Log; readonly sandbox: () => boolean },
): Promise<void> {
  for (const connection of await listConnections(deps.pool)) {
    const { status, sandbox, name } = connection;
    if (!hasTemplates(connection) || status !== 'active' || (sandbox && !deps.sandbox())) continue;
    const synced = await syncConnection(deps, connection);
    if (synced.ok) continue;
    // The sandbox is this program itself, which may be too busy to respond during its start: no reason for a warning.
    const level = sandbox ? 'debug' : 'warn';
    deps.log[level]({ connection: name, reason: synced.why }, 'templates could not be synced');
  }
}

/** `syncConnection` for the connection with this name. Errors: 404 when it does not exist or has no templates. */
export async function syncNamed(deps: ChangeDeps, name: string): Promise<Synced> {
  const connection = await findConnection(deps.pool, { name });
  if (!connection || !hasTemplates(connection))
    throw new AppError('not_found', { message: `There is no connection ${name} with templates` });
  return syncConnection(deps, connection);
}
