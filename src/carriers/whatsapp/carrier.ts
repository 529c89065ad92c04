import type { Carrier, CarrierHost, CarrierState, Submission } from '../carrier.ts';
import { createGate } from '../http/gate.ts';
import { createLink } from '../http/link.ts';
import type { Outcome } from '../outcome.ts';
import { createGraphClient } from './client.ts';
import { createCopies, sendWithCopy } from './copies.ts';
import { createNumbers, type SendingNumber } from './numbers.ts';
import { probeApi } from './probe.ts';
import type { WhatsappSecrets, WhatsappSettings } from './settings.ts';
import { NO_LIMIT, type Pace } from '../throttle.ts';
import { notSendable, sendMessage, type Timing } from './submit.ts';

const TIMING: Timing = {
  repeatMs: [1000, 4000],
  laterMs: 5000,
  holdMs: 30_000,
  probeBaseMs: 500,
  probeMaxMs: 30_000,
  tokenRetryMs: 30_000,
};

/**
 * Creates a carrier that is reached over the WhatsApp Cloud API (developers.facebook.com/docs/whatsapp/cloud-api). A
 * submission's sender is the id of one of the numbers in the settings. Receipts and inbound messages arrive as
 * callbacks (`callbacks.ts`), not through this carrier.
 *
 * An accepted message has the network's id. A message that was written without a response has our own id, which the
 * network repeats in every status. `timing` is for tests.
 */
export function createWhatsappCarrier(
  settings: WhatsappSettings,
  secrets: WhatsappSecrets,
  timing: Partial<Timing> = {},
): Carrier {
  const times = { ...TIMING, ...timing };
  let host: CarrierHost | null = null;
  const changed = (): void => host?.changed();
  const client = createGraphClient(settings, secrets);
  const gate = createGate({ slots: settings.concurrency, throttlePauseMs: settings.throttlePauseMs }, changed);
  const numbers = createNumbers(settings, changed);
  const copies = createCopies(client, (level, message, fields) => host?.log(level, message, fields));
  const failed = (reason: string): void => host?.failed(reason);
  const linkTiming = { ...times, refusedMs: times.tokenRetryMs };
  const link = createLink(() => probeApi(client), linkTiming, updateState, failed);

  function updateState(open: boolean, fault: string | null): void {
    gate.setOpen(open);
    if (fault !== null) host?.log('error', 'The access token was refused', { reason: fault });
    // The room was 0 already, but the fault must become visible.
    changed();
  }

  function alert(number: SendingNumber, code: string, text: string): void {
    const isNew = number.fault() === null;
    number.setFault(`${number.id}: ${code} ${text}`);
    if (isNew) host?.log('error', 'The network refuses this number', { phoneNumberId: number.id, code, text });
  }

  function verifyLink(reason: string): void {
    if (gate.isOpen()) {
      host?.log('warn', 'The API did not answer', { reason });
      failed(reason);
    }
    link.verify();
  }

  const { refused: tokenRefused, messageAccepted } = link;
  const deps = { client, gate, timing: times, tokenRefused, messageAccepted, verifyLink, alert };

  function start(newHost: CarrierHost): void {
    host = newHost;
    link.start();
  }

  function submit(submission: Submission): Promise<Outcome> {
    const number = numbers.get(submission.sender);
    if (!number) return Promise.resolve(notSendable(`This connection does not have the number ${submission.sender}`));
    if (submission.content && submission.content.channel !== 'WHATSAPP') {
      return Promise.resolve(notSendable('The content does not belong to this channel'));
    }
    return gate.pass(submission, (next) =>
      sendWithCopy(copies, number.id, next, (message) => sendMessage(deps, number, message)),
    );
  }

  function state(): CarrierState {
    const up = gate.isOpen();
    const fault = link.fault() ?? numbers.firstFault();
    const bindsWanted = settings.phoneNumberIds.length;
    return {
      up,
      bindsUp: up ? numbers.countHealthy() : 0,
      bindsWanted,
      allLinksUp: up,
      inFlight: gate.inFlight(),
      fault,
    };
  }

  async function stop(deadlineMs: number): Promise<void> {
    link.stop();
    await gate.drain(deadlineMs);
    numbers.stop();
    await client.close();
  }

  const room = (): number => (numbers.allPaused() ? 0 : gate.room());
  const paceOf = (sender: string): Pace => numbers.get(sender)?.pace ?? NO_LIMIT;
  return { channels: ['WHATSAPP'], start, room, paceOf, submit, state, stop };
}
