import { setTimeout as delay } from 'node:timers/promises';
import { SEND } from '../../test/support/client.ts';
import type { Run } from '../lib/proof.ts';
import type { Account } from '../lib/stage.ts';
import { AGENT, type Whatsapp } from './networks.ts';
import { LATER, type Planned } from './traffic.ts';

const RETRY_MS = 100;
/** A request without a response after so many tries, which take longer than PostgreSQL's restart, counts as rejected. */
const MAX_TRIES = 1000;
/** Requests under way at a time, and messages of each request for SMS to many. */
const CLIENTS = 12;
const BULK_SIZE = 10;
/** One of so many SMS is sent alone. */
const SINGLE_SHARE = 0.2;
export const MESSAGES = '/api/partner-gateway/v1/messages';

/** The messages by client id that were accepted, and how many requests and messages were not. */
type Sent = { readonly ids: Map<string, string>; rejected: number; repeated: number };

type Request = { readonly messages: readonly Planned[]; readonly send: () => Promise<readonly (string | null)[]> };

/** Sends all messages, each request until it gets a response; a repeat has the same ids. */
export async function sendAll(
  run: Run,
  plan: readonly Planned[],
  accounts: readonly Account[],
  numbers: readonly Whatsapp[],
): Promise<Sent> {
  const sent: Sent = { ids: new Map(), rejected: 0, repeated: 0 };
  const requests = toRequests(run, plan, accounts, numbers);
  let next = 0;
  async function runClient(): Promise<void> {
    for (let request = requests[next++]; request; request = requests[next++]) {
      const ids = await untilAnswered(request);
      for (const [n, { clientId }] of request.messages.entries()) {
        const id = ids?.[n];
        if (id) sent.ids.set(clientId, id);
        else sent.rejected++;
      }
    }
  }
  async function untilAnswered({ send }: Request): Promise<readonly (string | null)[] | undefined> {
    for (let tries = 1; ; tries++) {
      const ids = await send().catch(() => undefined);
      if (ids !== undefined || tries === MAX_TRIES) return ids;
      sent.repeated++;
      await delay(RETRY_MS);
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, runClient));
  return sent;
}

/** Makes requests in the order of the plan; SMS of an account wait until there are enough for a request to many. */
function toRequests(
  run: Run,
  plan: readonly Planned[],
  accounts: readonly Account[],
  numbers: readonly Whatsapp[],
): Request[] {
  const requests: Request[] = [];
  const gathered: [Planned[], Planned[]] = [[], []];
  const flush = (account: 0 | 1): void => {
    const messages = gathered[account];
    gathered[account] = [];
    if (messages.length > 0) requests.push({ messages, send: () => sendMany(accountOf(account), messages) });
  };
  const accountOf = (n: number): Account => accounts[n] as Account;
  for (const message of plan) {
    const { channel, account, isLater } = message;
    if (channel === 'SMS' && !isLater && !run.random.chance(SINGLE_SHARE)) {
      if (gathered[account].push(message) === BULK_SIZE) flush(account);
    } else {
      const identity = numbers[account]?.phoneNumberId ?? '';
      const send = async () => [await sendOne(run, accountOf(account), message, identity)];
      requests.push({ messages: [message], send });
    }
  }
  flush(0);
  flush(1);
  return requests;
}

async function sendMany({ client }: Account, messages: readonly Planned[]): Promise<(string | null)[]> {
  const { results } = await client.bulk({
    messages: messages.map(({ destination, clientId, content }) => {
      return { destinations: [destination], ids: [clientId], sender: 'Acme', body: content };
    }),
  });
  return results.map(({ id }) => id);
}

const PATHS = {
  SMS: SEND,
  RCS: '/api/message-server/rcs/send',
  WHATSAPP: '/api/message-server/whatsapp/send',
} as const;

async function sendOne(run: Run, { client }: Account, message: Planned, phoneNumberId: string): Promise<string | null> {
  const { channel, destination, content, clientId: customerMessageId, isLater } = message;
  const more = { customerMessageId, ...(isLater && { scheduledDate: LATER.toISOString() }) };
  const bodies = {
    SMS: { phoneNumber: destination, message: content, senderName: 'Acme', ...more },
    RCS: { agentId: AGENT, destination, ...more, ...(typeof content === 'object' && content) },
    WHATSAPP: { phoneNumberId, destination, ...more, ...(typeof content === 'object' && content) },
  };
  const { status, body } = await client.request('POST', PATHS[channel], { body: bodies[channel] });
  if (status >= 500 || status === 429) throw new Error(`a send returned ${status}`);
  const { messageId = null } = body as { messageId?: string | null };
  if (messageId === null) run.log(`${channel} to ${destination} was rejected: ${JSON.stringify(body)}`);
  return messageId;
}

/** Cancels what is scheduled for later. */
export async function cancelLater(
  plan: readonly Planned[],
  { ids }: Sent,
  accounts: readonly Account[],
): Promise<void> {
  for (const { clientId, account } of plan.filter(({ isLater }) => isLater)) {
    const answer = await accounts[account]?.client.request('DELETE', `${MESSAGES}/${ids.get(clientId)}`);
    if (answer?.status !== 204)
      throw new Error(`a scheduled message was not cancelled: ${JSON.stringify(answer?.body)}`);
  }
}
