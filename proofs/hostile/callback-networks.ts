import { generateKeyPairSync } from 'node:crypto';
import { signatureOf as signRcs } from '../../src/channels/rcs/callbacks.ts';
import { signatureOf as signWhatsapp } from '../../src/channels/whatsapp/client.ts';
import { loadConfig } from '../../src/core/config.ts';
import { loadSecretKey } from '../../src/core/secrets.ts';
import { notifyRoutingChange } from '../../src/routing/connection-store.ts';
import { createConnection } from '../../src/routing/connections.ts';
import { assignSender } from '../../src/templates/assignments.ts';
import type { Stage } from '../lib/stage.ts';

/** A callback request as a network sends it. */
export type Callback = {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** A message as its network names it, for status callbacks. */
export type SentMessage = { readonly name: string; readonly destination: string };
export type State = 'delivered' | 'read' | 'failed';

/** One connection of an account, and how its network talks to us. */
export type Network = {
  readonly channel: 'WHATSAPP' | 'RCS';
  readonly connectionId: number;
  /** The path of our callback endpoint. */
  readonly path: string;
  /** Returns an inbound message to our number or agent, or to the given one. */
  message(said: { from: string; id: string; text: string; at: Date }, identity?: string): string;
  status(sent: SentMessage, state: State): string;
  /** Returns the callback with a signature of this body, made with the network's secret or the given one. */
  signed(body: string, secret?: string): Callback;
  readonly identity: string;
  readonly secret: string;
};

type Owner = { readonly accountId: number; readonly token: string };

const digits = (number: string): string => number.replace('+', '');

/** Opens a WhatsApp and an RCS connection of an account. The networks only post callbacks, so no server plays them. */
export async function openNetworks(stage: Stage, owner: Owner): Promise<Network[]> {
  const key = await loadSecretKey(loadConfig(stage.environment));
  const networks = await Promise.all([openWhatsapp(stage, owner, key), openRcs(stage, owner, key)]);
  for (const { channel, identity, connectionId } of networks)
    await assignSender(stage.pool, { channel, identity, connectionId, ownerId: owner.accountId, name: owner.token });
  await notifyRoutingChange(stage.pool);
  return networks;
}

type Key = Awaited<ReturnType<typeof loadSecretKey>>;

async function openWhatsapp({ pool }: Stage, { token, accountId }: Owner, key: Key): Promise<Network> {
  const secret = `app-secret-of-${token}`;
  const [wabaId, identity] = [`77${accountId}`, `88${accountId}`];
  const { id: connectionId } = await createConnection(pool, key, {
    name: `${token}-meta`,
    kind: 'whatsapp',
    sandbox: false,
    settings: { baseUrl: 'http://127.0.0.1:9', wabaId, phoneNumberIds: [identity] },
    secret: { accessToken: 'token', appSecret: secret, verifyToken: token },
  });
  const path = `/api/callbacks/whatsapp/${token}-meta`;
  const change = (value: object, number: string): string =>
    JSON.stringify({
      object: 'whatsapp_business_account',
      entry: [
        {
          id: wabaId,
          changes: [
            {
              field: 'messages',
              value: { messaging_product: 'whatsapp', metadata: { phone_number_id: number }, ...value },
            },
          ],
        },
      ],
    });
  return {
    channel: 'WHATSAPP',
    connectionId,
    path,
    identity,
    secret,
    message: ({ from, id, text, at }, number = identity) =>
      change(
        {
          contacts: [{ profile: { name: 'Somebody' }, wa_id: digits(from) }],
          messages: [
            {
              from: digits(from),
              id,
              type: 'text',
              text: { body: text },
              timestamp: String(Math.floor(at.getTime() / 1000)),
            },
          ],
        },
        number,
      ),
    status: ({ name: id, destination }, status) =>
      change(
        {
          statuses: [
            {
              id,
              status,
              timestamp: String(Math.floor(Date.now() / 1000)),
              recipient_id: digits(destination),
              ...(status === 'failed' && { errors: [{ code: 131026, title: 'Message undeliverable' }] }),
            },
          ],
        },
        identity,
      ),
    signed: (body, by = secret) => ({ path, body, headers: { 'x-hub-signature-256': signWhatsapp(body, by) } }),
  };
}

async function openRcs({ pool }: Stage, { token }: Owner, key: Key): Promise<Network> {
  const secret = `client-token-of-${token}`;
  const identity = `${token}-agent`;
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const { id: connectionId } = await createConnection(pool, key, {
    name: `${token}-google`,
    kind: 'rcs',
    sandbox: false,
    settings: {},
    secret: { clientEmail: `${token}@example.com`, privateKey, clientToken: secret },
  });
  const path = `/api/callbacks/rcs/${token}-google`;
  const EVENTS = { delivered: 'DELIVERED', read: 'READ', failed: 'TTL_EXPIRATION_REVOKED' } as const;
  return {
    channel: 'RCS',
    connectionId,
    path,
    identity,
    secret,
    message: ({ from, id, text, at }, agentId = identity) =>
      JSON.stringify({ senderPhoneNumber: from, messageId: id, agentId, text, sendTime: at.toISOString() }),
    status: ({ name: messageId, destination }, state) =>
      JSON.stringify({
        senderPhoneNumber: destination,
        eventType: EVENTS[state],
        eventId: `${messageId}-${state}`,
        messageId,
        agentId: identity,
        sendTime: new Date().toISOString(),
      }),
    signed(event, by = secret) {
      const data = Buffer.from(event);
      const body = JSON.stringify({ message: { data: data.toString('base64'), messageId: '1' } });
      return { path, body, headers: { 'x-goog-signature': signRcs(data, by) } };
    },
  };
}
