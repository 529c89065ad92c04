import type { Carrier, CarrierHost, CarrierState, Submission } from '../carrier.ts';
import { createGate } from '../http/gate.ts';
import type { Outcome } from '../outcome.ts';
import { createGraphClient } from './client.ts';
import { createLink } from './link.ts';
import { createNumbers, type SendingNumber } from './numbers.ts';
import type { WhatsappSecrets, WhatsappSettings } from './settings.ts';
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
 * A carrier that is reached by the WhatsApp Cloud API (protocol sheet whatsapp). A submission's sender is the id of one
 * of the numbers in the settings. Receipts and inbound messages come as callbacks (`callbacks.ts`), not through here.
 *
 * What was accepted bears the network's id; what was written and not answered bears ours, which the network repeats in
 * every status. `timing` is for tests.
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
  const gate = createGate({ places: settings.concurrency, throttlePauseMs: settings.throttlePauseMs }, changed);
  const numbers = createNumbers(settings, changed);
  const failed = (reason: string): void => host?.failed(reason);
  const link = createLink(client, times, heard, failed);

  function heard(open: boolean, fault: string | null): void {
    gate.setOpen(open);
    if (fault !== null) host?.log('error', 'The access token was refused', { reason: fault });
    // A fault changes nothing of a room that was 0 already, but somebody waits to see it.
    changed();
  }

  function alert(number: SendingNumber, code: string, text: string): void {
    const news = number.fault() === null;
    number.setFault(`${number.id}: ${code} ${text}`);
    if (news) host?.log('error', 'The network refuses this number', { phoneNumberId: number.id, code, text });
  }

  function linkInDoubt(reason: string): void {
    if (gate.isOpen()) {
      host?.log('warn', 'The API did not answer', { reason });
      failed(reason);
    }
    link.doubt();
  }

  const deps = { client, gate, timing: times, tokenRefused: link.refuse, linkInDoubt, alert };

  function start(to: CarrierHost): void {
    host = to;
    link.start();
  }

  function submit(submission: Submission): Promise<Outcome> {
    const number = numbers.get(submission.sender);
    if (!number) return Promise.resolve(notSendable(`This connection does not have the number ${submission.sender}`));
    if (submission.content && submission.content.channel !== 'WHATSAPP') {
      return Promise.resolve(notSendable('The content is not of this channel'));
    }
    return gate.pass(submission, async (next) => {
      const outcome = await sendMessage(deps, number, next);
      if (outcome.kind === 'accepted') link.flowing();
      return outcome;
    });
  }

  function state(): CarrierState {
    const up = gate.isOpen();
    const fault = link.fault() ?? numbers.firstFault();
    const bindsWanted = settings.phoneNumberIds.length;
    return { up, bindsUp: up ? numbers.countGood() : 0, bindsWanted, whole: up, inFlight: gate.inFlight(), fault };
  }

  async function stop(deadlineMs: number): Promise<void> {
    link.stop();
    await gate.drain(deadlineMs);
    numbers.stop();
    await client.close();
  }

  const room = (): number => (numbers.allPause() ? 0 : gate.room());
  return { channels: ['WHATSAPP'], start, room, submit, state, stop };
}
