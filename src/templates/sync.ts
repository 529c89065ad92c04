import { buffer } from 'node:stream/consumers';
import type { Pool } from 'pg';
import { getMember, getText } from '../channels/settings.ts';
import { findPortfolio, listPhoneNumbers, type PhoneNumber } from '../channels/whatsapp/account.ts';
import type { GraphClient, GraphResult } from '../channels/whatsapp/client.ts';
import { listTemplates, type NetworkTemplate, uploadSample } from '../channels/whatsapp/templates.ts';
import { every, type Task } from '../core/background.ts';
import type { RichChannel } from '../core/channels.ts';
import type { Db } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { SecretKey } from '../core/secrets.ts';
import type { Storage } from '../core/storage.ts';
import { MINUTE_MS } from '../core/time.ts';
import { findUpload } from '../media/store.ts';
import { type Connection, findConnection, listConnections } from '../routing/connection-store.ts';
import { secretOf } from '../routing/connections.ts';
import { kindOf } from '../routing/kinds.ts';
import { updateMessagingLimit } from '../routing/messaging-limits.ts';
import { listOwnersOfConnections, updateSenderDetails } from '../routing/senders.ts';
import { variablesFor } from './content.ts';
import * as db from './store.ts';
import { moveTemplateStatuses } from './store.ts';

/** The result of a sync: the number of templates at the network, or the reason why it could not be reached. */
type Synced = { readonly ok: true; readonly templates: number } | { readonly ok: false; readonly why: string };

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
  { connectionId, all: { templates, numbers, portfolio }, before }: { connectionId: number; all: All; before: Date },
): Promise<void> {
  await db.claimTemplateSync(tx, { connectionId });
  const [owner] = await listOwnersOfConnections(tx, { connectionIds: [connectionId] });
  const seen = templates.map(toSeen);
  const ownerId = owner?.ownerId ?? null;
  const changed = seen.length > 0 ? await db.insertSyncedTemplates(tx, { connectionId, ownerId, seen }) : [];
  const gone = await db.moveTemplatesToDeleted(tx, { connectionId, present: templates.map(({ id }) => id), before });
  await onTemplatesChange(tx, [...changed, ...gone].map(whatsappKey));
  const people = numbers.map(({ messagingLimit }) => messagingLimit).find((limit) => limit !== undefined);
  if (people !== undefined) await updateMessagingLimit(tx, { connectionId, portfolio, people });
  if (numbers.length > 0) await updateSenderDetails(tx, { connectionId, senders: numbers.map(toDetails) });
}

type All = {
  readonly templates: readonly NetworkTemplate[];
  readonly numbers: readonly PhoneNumber[];
  /** The id of the business portfolio; that of the account if the token may not read it. */
  readonly portfolio: string;
};

async function listAll(client: GraphClient): Promise<GraphResult<All>> {
  const [templates, numbers] = [await listTemplates(client), await listPhoneNumbers(client)];
  if (!templates.ok) return templates;
  if (!numbers.ok) return numbers;
  const owner = await findPortfolio(client);
  const portfolio = owner.ok ? owner.value : client.settings.wabaId;
  return { ok: true, value: { templates: templates.value, numbers: numbers.value, portfolio } };
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

type NetworkDeps = { readonly pool: Pool; readonly secretKey: SecretKey };

/** The key of a template: its channel and its id. */
export type TemplateKey = { readonly channel: RichChannel; readonly id: string };

/**
 * Called inside the transaction that changes or removes templates, with the keys of all of them. The application passes
 * it in, so that campaigns which send one of them can react.
 */
export type OnTemplatesChange = (tx: Db, templates: readonly TemplateKey[]) => Promise<void>;

export type ChangeDeps = NetworkDeps & { readonly onTemplatesChange: OnTemplatesChange };

/** A client waits for the response, with a transaction open. */
const TIMEOUT_SECONDS = 10;

async function callNetwork<T>(
  { secretKey }: Pick<NetworkDeps, 'secretKey'>,
  connection: Connection,
  call: (client: GraphClient) => Promise<GraphResult<T>>,
): Promise<GraphResult<T>> {
  const client = kindOf(connection).createTemplateClient?.(
    connection.settings,
    secretOf(connection, secretKey),
    TIMEOUT_SECONDS,
  );
  if (!client) throw new Error(`connection ${connection.name} has no templates`);
  try {
    return await call(client);
  } finally {
    await client.close();
  }
}

/**
 * Runs `callNetwork` for a request of a client. Errors: 400 with the network's own text when it rejects the request,
 * 502 when it cannot be reached.
 */
export async function callNetworkOrThrow<T>(
  deps: NetworkDeps,
  connectionId: number,
  call: (client: GraphClient) => Promise<GraphResult<T>>,
): Promise<T> {
  const connection = (await listConnections(deps.pool)).find(({ id }) => id === connectionId);
  if (!connection) throw new AppError('unavailable', { message: 'The connection of this template is gone' });
  const result = await callNetwork(deps, connection, call);
  if (result.ok) return result.value;
  const { retry, status, code, text } = result.fault;
  const refused = !retry && status !== null && status >= 400 && status < 500 && status !== 401;
  if (refused) throw invalidFields([{ field: 'template', message: `the network rejects it: ${text} (${code})` }]);
  throw new AppError('bad_gateway', { message: `WhatsApp cannot be reached now: ${text}` });
}

/** A callback's report about a template; null where it has not changed. */
type TemplateStatusChange = {
  readonly id: string;
  readonly status: string | null;
  readonly reason: string | null;
  readonly quality: string | null;
};

/**
 * Stores the statuses and qualities that a network's callback reports; of several for one template, the last one.
 * Campaigns that may no longer send their template are paused.
 */
export async function receiveTemplateChanges(
  { pool, onTemplatesChange }: Pick<ChangeDeps, 'pool' | 'onTemplatesChange'>,
  connectionId: number,
  changes: readonly TemplateStatusChange[],
): Promise<void> {
  const last = new Map<string, TemplateStatusChange>();
  for (const change of changes) last.set(change.id, merge(last.get(change.id), change));
  if (last.size === 0) return;
  await transaction(pool, async (tx) => {
    const ids = await moveTemplateStatuses(tx, { connectionId, changes: [...last.values()] });
    await onTemplatesChange(tx, ids.map(whatsappKey));
  });
}

const merge = (before: TemplateStatusChange | undefined, after: TemplateStatusChange): TemplateStatusChange => ({
  id: after.id,
  ...(after.status === null && before ? { status: before.status, reason: before.reason } : after),
  quality: after.quality ?? before?.quality ?? null,
});

/** Returns the key of a template that a network reports: always WhatsApp, because RCS has no network templates. */
const whatsappKey = (id: string): TemplateKey => ({ channel: 'WHATSAPP', id });

export type SampleDeps = NetworkDeps & { readonly storage: Pick<Storage, 'get'> };

type Wanted = {
  readonly accountId: number;
  readonly connectionId: number;
  readonly components: readonly object[];
  /** One of the account's files, 16 MB at most. */
  readonly mediaId: number | undefined;
};

const FILE_FORMATS: readonly string[] = ['IMAGE', 'VIDEO', 'DOCUMENT'];
const fault = (message: string) => invalidFields([{ field: 'headerMediaId', message }]);

/**
 * Returns the components with a sample of their header's file: uploaded to the network when the account names one of
 * its files, unchanged otherwise. Errors: 400 naming headerMediaId, or with the network's own text; 502.
 */
export async function withSample(deps: SampleDeps, db: Db, wanted: Wanted): Promise<readonly object[]> {
  const { accountId, connectionId, components, mediaId } = wanted;
  if (mediaId === undefined) return components;
  const header = components.find((one) => FILE_FORMATS.includes(getText(one, 'format').toUpperCase()));
  if (!header) throw fault('the template has no header with a file');
  const media = await findUpload(db, { accountId, id: mediaId });
  if (!media) throw fault('there is no such file');
  const bytes = await buffer(await deps.storage.get(media.fileKey));
  const file = { bytes, mimeType: media.mimeType, fileName: media.name };
  const handle = await callNetworkOrThrow(deps, connectionId, (client) => uploadSample(client, file));
  const example = { ...objectOf(getMember(header, 'example')), header_handle: [handle] };
  return components.map((one) => (one === header ? { ...header, example } : one));
}

const objectOf = (json: unknown): object => (typeof json === 'object' && json !== null ? json : {});

type TemplateTaskDeps = ChangeDeps & { readonly log: Log; readonly sandbox: () => boolean };

/** Syncs WhatsApp templates and numbers from their networks. */
export const templateTasks = (deps: TemplateTaskDeps): Task[] => [
  { name: 'templates', work: every(10 * MINUTE_MS, () => syncTemplates(deps)) },
];
