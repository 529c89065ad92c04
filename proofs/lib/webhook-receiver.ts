import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '../../test/support/client.ts';
import { TEST_CERT } from '../../test/support/http/certificate.ts';
import { startReceiver } from '../../test/support/http/receiver.ts';
import { pollUntilDone } from './poll.ts';
import type { Run } from './proof.ts';

const WEBHOOK = '/api/partner-gateway/v1/webhooks/delivery-status';

/** A receiver of webhooks that accepts every event. */
export type WebhookReceiver = AsyncDisposable & {
  /** Environment variables with which the gateway can reach it. */
  readonly environment: Readonly<Record<string, string>>;
  /** The ids of the messages that were reported as delivered. */
  readonly delivered: ReadonlySet<string>;
  /** All requests, repeated ones included. */
  requests(): number;
  /** Waits until all these messages were reported as delivered, or until nothing has come for `stallTimeoutMs`. */
  untilDelivered(ids: readonly string[], stallTimeoutMs: number): Promise<boolean>;
  /** Makes it the receiver of an account. */
  register(client: Client): Promise<void>;
};

const DELIVERED = 3;
const POLL_MS = 300;

export async function startWebhookReceiver({ folder }: Pick<Run, 'folder'>): Promise<WebhookReceiver> {
  const receiver = await startReceiver({ records: false });
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, TEST_CERT);
  const delivered = new Set<string>();
  let requests = 0;
  receiver.answer(({ body }) => {
    requests++;
    const { messageId, statusCode } = JSON.parse(body) as { messageId: string; statusCode?: number };
    if (statusCode === DELIVERED) delivered.add(messageId);
    return {};
  });
  return {
    environment: {
      WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8,::1/128',
      WEBHOOK_PORTS: String(receiver.port),
      WEBHOOK_CA_FILE: caFile,
    },
    delivered,
    requests: () => requests,
    untilDelivered: (ids, stallTimeoutMs) =>
      pollUntilDone(() => ({ done: ids.every((id) => delivered.has(id)), progress: requests }), {
        stallTimeoutMs,
        pollMs: POLL_MS,
      }),
    async register(client) {
      const { status, body } = await client.request('POST', WEBHOOK, { body: { callbackUrl: `${receiver.url}/all` } });
      if (status !== 201) throw new Error(`the webhook got ${status}: ${JSON.stringify(body)}`);
    },
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  };
}
