// Plays attacks, in a separate process so that its CPU time is not counted against the gateway:
// `node proofs/hostile/process.ts <niceness>`. Its first line names the ports of its carriers and webhook receivers.
// Then each line of stdin is a command: `{ "do": "prepare", "attack": …, "ground": … }`, acknowledged when the attack is
// ready, and `{ "do": "play", "ms": … }`, acknowledged when it is over with its results: counts by status or `Outcome`.
// `{ "do": "mail", "to": … }` gets a response when its mail server has a mail to this address, or after a minute, with whether
// it has, and the most mails that it has to one mailbox.
import { setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { startReceiver } from '../../test/support/http/receiver.ts';
import { startMailServer } from '../../test/support/mail-server.ts';
import type { Ground, Strike } from './attack.ts';
import { MANNERS } from './attacks/receivers.ts';
import { ATTACKS } from './attacks.ts';
import { startLookUps } from './look-ups.ts';
import { startPeers } from './peers.ts';

/** Surroundings of an attack that can be sent to its process as JSON. */
export type GroundFacts = Omit<Ground, 'peers' | 'count' | 'receiverPorts' | 'onLookUp'>;

type Command =
  | { readonly do: 'prepare'; readonly attack: string; readonly ground: GroundFacts }
  | { readonly do: 'play'; readonly ms: number }
  | { readonly do: 'mail'; readonly to: string };

const MAIL_MS = 1000;
const MAIL_WITHIN_MS = 60_000;

setPriority(Number(process.argv[2] ?? 0));
const { ports: peerPorts, ...peers } = await startPeers();
const receiver = await startReceiver({ ports: MANNERS.length });
const receiverPorts = Object.fromEntries(MANNERS.map((manner, i) => [manner, receiver.ports[i] ?? 0]));
receiver.answer(({ path }) => {
  const manner = MANNERS.find((each) => path === `/${encodeURIComponent(each)}`);
  return manner === undefined || manner === 'redirect' ? { status: 307, headers: { location: path } } : { manner };
});

const lookUps = await startLookUps();
const relay = await startMailServer();
relay.pace = () => delay(MAIL_MS);

async function waitForMail(to: string): Promise<object> {
  await Promise.race([relay.mailTo(to), delay(MAIL_WITHIN_MS)]);
  const mailboxes = relay.mails.flatMap((mail) => mail.to.map((each) => each.toLowerCase().replace(/\+\d+@/, '@')));
  const most = Math.max(
    0,
    ...Map.groupBy(mailboxes, (each) => each)
      .values()
      .map(({ length }) => length),
  );
  return { ok: true, answers: { came: Number(mailboxes.includes(to)), most } };
}

let strike: Strike | null = null;
let answers: Record<string, number> = {};
const count: Ground['count'] = (outcome, times = 1) => void (answers[outcome] = (answers[outcome] ?? 0) + times);

async function execute(command: Command): Promise<object> {
  if (command.do === 'prepare') {
    const attack = ATTACKS.find(({ name }) => name === command.attack);
    if (!attack) throw new Error(`no attack ${command.attack}`);
    strike = await attack.prepare({ ...command.ground, peers, receiverPorts, count, onLookUp: lookUps.follow });
    return { ok: true };
  }
  if (command.do === 'mail') return waitForMail(command.to);
  answers = {};
  await strike?.(AbortSignal.timeout(command.ms));
  strike = null;
  return { ok: true, answers };
}

createInterface({ input: process.stdin }).on('line', (line) => {
  void execute(JSON.parse(line)).then(
    (answer) => console.log(JSON.stringify(answer)),
    (error: unknown) => console.log(JSON.stringify({ ok: false, error: String(error) })),
  );
});
process.once('SIGTERM', () => process.exit(0));
console.log(JSON.stringify({ peerPorts, receiverPorts, smtpUrl: relay.url, lookUpUrl: lookUps.url }));
