import type { Outcome, Receipt, Submission } from '../../../src/channels/carrier.ts';
import { createSmppCarrier } from '../../../src/channels/smpp/carrier.ts';
import { parseSmppSettings } from '../../../src/channels/smpp/settings.ts';
import { until } from '../until.ts';
import { type Checks, ensure, Skipped } from './checks.ts';
import { COMMAND, type Relay, startRelay } from './relay.ts';

/** A foreign SMSC that listens on this machine. */
export type SmscPeer = {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly systemId: string;
  readonly password: string;
  /** Settings of the connection that this SMSC needs. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Refuses the next submits with ESME_RTHROTTLED, if the SMSC can do so on request. */
  readonly throttle?: (times: number) => void;
  /** Returns the texts of the messages that it took, parts joined, if it can tell. */
  readonly texts?: () => readonly string[];
  /** Reason why it sends no receipts, if it sends none. */
  readonly withoutReceipts?: string;
};

type Link = AsyncDisposable & {
  readonly relay: Relay;
  readonly receipts: readonly Receipt[];
  readonly bindsUp: () => number;
  send(text: string, change?: Partial<Submission>): Promise<Outcome>;
  sendMany(count: number): Promise<Outcome[]>;
  stop(): Promise<void>;
};

const SHORT = 'Hello from the gateway';
const LONG = 'This text is longer than a single part of a message can hold. '.repeat(4).trim();
const UNICODE = 'Olá, São João: 你好, Ω 😀';
const FAST = { reconnectBaseMs: 50, reconnectMaxMs: 500, stableMs: 60_000, faultRetryMs: 500, stuckRetryMs: 500 };

let sent = 0;

/** Connects our own client to the peer, through a relay that sees what passes. */
async function connect(peer: SmscPeer, settings: object = {}): Promise<Link> {
  const relay = await startRelay(peer);
  const { systemId, password } = peer;
  const given = { host: '127.0.0.1', port: relay.port, systemId, submitTimeoutSeconds: 20, throttlePauseMs: 100 };
  const carrier = createSmppCarrier(parseSmppSettings({ ...given, ...peer.settings, ...settings }), { password }, FAST);
  const receipts: Receipt[] = [];
  carrier.start({
    receipt: async (receipt) => void receipts.push(receipt),
    inbound: async () => undefined,
    changed: () => undefined,
    failed: () => undefined,
    log: () => undefined,
  });
  const stop = () => carrier.stop(5000);
  await until(`a bind to ${peer.name}`, () => carrier.state().allLinksUp);
  async function send(body: string, change: Partial<Submission> = {}): Promise<Outcome> {
    await until('room in the window', () => carrier.room() > 0);
    sent += 1;
    const destination = `+3519${String(sent).padStart(8, '0')}`;
    const message = { messageId: `m${sent}`, destination, sender: 'ACME', body, validUntil: null, wantReceipt: true };
    return carrier.submit({ ...message, ...change });
  }
  return {
    relay,
    receipts,
    bindsUp: () => carrier.state().bindsUp,
    send,
    async sendMany(count) {
      const outcomes: Promise<Outcome>[] = [];
      for (let index = 0; index < count; index += 1) {
        await until('room in the window', () => carrier.room() > 0);
        outcomes.push(send(`${SHORT} ${index}`));
      }
      return Promise.all(outcomes);
    },
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
      await relay.close();
    },
  };
}

const idsOf = (outcome: Outcome): readonly string[] => {
  ensure(outcome.kind === 'accepted', `the message was not accepted: ${JSON.stringify(outcome)}`);
  return outcome.carrierIds;
};

/** The checks of our client against a foreign SMSC. */
export const SMSC_CHECKS: Checks<SmscPeer> = {
  'bind kinds': async (peer) => {
    for (const bind of ['trx', 'tx+rx', 'tx', 'rx'] as const) {
      await using link = await connect(peer, { bind });
      if (bind !== 'rx') idsOf(await link.send(SHORT));
    }
    return 'trx, tx+rx, tx and rx';
  },

  submit: async (peer) => {
    await using link = await connect(peer);
    const text = `${SHORT}, € 5 [a] ${Date.now()}`;
    const [id] = idsOf(await link.send(text));
    ensure(id !== undefined && id !== '', 'the response has no message id');
    if (peer.texts) await until('the text', () => peer.texts?.().includes(text));
    return peer.texts ? 'the text arrived as it was' : `id ${id}`;
  },

  receipts: async (peer) => {
    if (peer.withoutReceipts !== undefined) throw new Skipped(peer.withoutReceipts);
    await using link = await connect(peer);
    const [id = ''] = idsOf(await link.send(SHORT));
    await until(`a receipt for ${id}`, () => link.receipts.some((receipt) => matches(receipt, id)));
    await until('its response', () => link.relay.count('client', COMMAND.deliver_sm_resp) > 0);
    return `${link.receipts.find((receipt) => matches(receipt, id))?.state}, acknowledged`;
  },

  'long messages': async (peer) => {
    for (const longMode of ['udh8', 'udh16', 'sar', 'payload'] as const) {
      await using link = await connect(peer, { longMode });
      const text = `${longMode} ${Date.now()} ${LONG}`;
      const ids = idsOf(await link.send(text));
      ensure(ids.length === (longMode === 'payload' ? 1 : 2), `${longMode}: ${ids.length} parts`);
      if (peer.texts) await until(`the text in ${longMode}`, () => peer.texts?.().includes(text));
    }
    return 'UDH with 8 and 16 bits, SAR, message_payload';
  },

  'UCS-2': async (peer) => {
    await using link = await connect(peer);
    const text = `${UNICODE} ${Date.now()}`;
    idsOf(await link.send(text));
    if (peer.texts) await until('the text', () => peer.texts?.().includes(text));
    return peer.texts ? 'the text arrived as it was' : 'accepted';
  },

  window: async (peer) => {
    await using link = await connect(peer, { window: 20 });
    const outcomes = await link.sendMany(500);
    const ids = new Set(outcomes.flatMap(idsOf));
    ensure(ids.size === 500, `${ids.size} different ids for 500 messages`);
    if (peer.withoutReceipts === undefined)
      await until('500 receipts', () => new Set(link.receipts.flatMap(({ carrierIds }) => carrierIds)).size >= 500);
    return '500 messages, 20 at a time, each with its own id';
  },

  throttling: async (peer) => {
    if (!peer.throttle) throw new Skipped('it cannot refuse on request');
    await using link = await connect(peer);
    peer.throttle(3);
    for (let tries = 0; tries < 10; tries += 1) {
      const outcome = await link.send(SHORT);
      if (outcome.kind === 'accepted') return `accepted at try ${tries + 1}`;
      ensure(outcome.kind === 'retry', `throttled is ${JSON.stringify(outcome)}`);
    }
    throw new Error('still refused after 10 tries');
  },

  enquire_link: async (peer) => {
    await using link = await connect(peer, { enquireSeconds: 0.3 });
    await until('responses to enquire_link', () => link.relay.count('server', COMMAND.enquire_link_resp) >= 3);
    ensure(link.bindsUp() === 1, 'the bind was lost');
    idsOf(await link.send(SHORT));
    return 'acknowledged, and the bind stayed';
  },

  reconnect: async (peer) => {
    await using link = await connect(peer);
    idsOf(await link.send(SHORT));
    link.relay.cut();
    await until('the loss', () => link.bindsUp() === 0);
    await until('the next bind', () => link.bindsUp() === 1);
    idsOf(await link.send(SHORT));
    return 'bound again, and sent';
  },

  unbind: async (peer) => {
    await using link = await connect(peer);
    await link.stop();
    ensure(link.relay.count('client', COMMAND.unbind) === 1, 'we sent no unbind');
    await until('unbind_resp', () => link.relay.count('server', COMMAND.unbind_resp) === 1);
    return 'acknowledged with unbind_resp';
  },
};

/** Returns true if a receipt is about the message with this id, in any spelling (SMPP 3.4, 5.2.17). */
const matches = ({ carrierIds }: Receipt, id: string): boolean =>
  carrierIds.some((given) => given === id || sameNumber(given, id));

function sameNumber(one: string, other: string): boolean {
  const readings = (text: string) => [text.replace(/^0+/, '').toLowerCase(), hexAsDecimal(text), decimalAsHex(text)];
  return readings(one).some((reading) => reading !== '' && readings(other).includes(reading));
}
const hexAsDecimal = (text: string): string => (/^[0-9a-f]{1,16}$/i.test(text) ? BigInt(`0x${text}`).toString() : '');
const decimalAsHex = (text: string): string => (/^[0-9]{1,19}$/.test(text) ? BigInt(text).toString(16) : '');
