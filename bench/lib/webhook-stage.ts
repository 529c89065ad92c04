import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TEST_CERT } from '../../test/support/http/certificate.ts';
import { openStage, type Stage } from './stage.ts';
import { type ReceiverProcess, startReceiver } from './webhook-receiver.ts';

export type WebhookStage = AsyncDisposable & { readonly stage: Stage; readonly receiver: ReceiverProcess };

/** Starts a receiver of webhooks with TLS in a separate process, and a stage that may post to it and trusts its certificate. */
export async function openWebhookStage(): Promise<WebhookStage> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'heliograph-bench-ca-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, TEST_CERT);
  const receiver = await startReceiver();
  opened.defer(() => receiver.stop());
  const stage = opened.use(
    await openStage({
      WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8,::1/128',
      WEBHOOK_PORTS: String(receiver.port),
      WEBHOOK_CA_FILE: caFile,
    }),
  );
  const all = opened.move();
  return { stage, receiver, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
