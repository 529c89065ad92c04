import { type Process, startProcess } from '../lib/processes.ts';
import type { Run } from '../lib/proof.ts';
import type { Answers } from './attack.ts';
import type { GroundFacts } from './process.ts';

/** The niceness of the attacker: in reality it would not share the gateway's CPU. */
const NICENESS = 10;

/** The process that plays the attacks, with its carriers, webhook receivers and slow mail server. */
export type Attacker = {
  /** The port of each carrier, by its manner. */
  readonly peerPorts: Readonly<Record<string, number>>;
  /** The port of each webhook receiver, by its manner. */
  readonly receiverPorts: Readonly<Record<string, number>>;
  /** The mail server, which takes a second for each mail. */
  readonly smtpUrl: string;
  /** The look-up service. */
  readonly lookUpUrl: string;
  /** Makes everything that the attack needs. Throws when that fails. */
  prepare(attack: string, ground: GroundFacts): Promise<void>;
  /** Plays the attack that was prepared for this time. */
  play(ms: number): Promise<Answers>;
  /** Waits for a mail to this address; returns whether it came, and the most mails that one mailbox has got. */
  mailTo(to: string): Promise<Answers>;
  stop(): Promise<unknown>;
};

export async function startAttacker(run: Run): Promise<Attacker> {
  const file = new URL('./process.ts', import.meta.url);
  const attacker = await startProcess(run, { file, args: [String(NICENESS)] });
  return {
    peerPorts: portsIn(attacker, 'peerPorts'),
    receiverPorts: portsIn(attacker, 'receiverPorts'),
    smtpUrl: String(attacker.ready['smtpUrl']),
    lookUpUrl: String(attacker.ready['lookUpUrl']),
    prepare: async (attack, ground) => void (await ask(attacker, { do: 'prepare', attack, ground })),
    async play(ms) {
      const { answers } = await ask(attacker, { do: 'play', ms });
      return numbersIn(answers);
    },
    async mailTo(to) {
      const { answers } = await ask(attacker, { do: 'mail', to });
      return numbersIn(answers);
    },
    stop: () => attacker.stop(),
  };
}

async function ask(attacker: Process, command: object): Promise<Record<string, unknown>> {
  attacker.send(command);
  const answer = await attacker.nextLine();
  if (answer['ok'] !== true)
    throw new Error(`the attacker could not ${JSON.stringify(command)}: ${String(answer['error'])}`);
  return answer;
}

const portsIn = ({ ready }: Process, name: string): Record<string, number> => numbersIn(ready[name]);

const numbersIn = (value: unknown): Record<string, number> =>
  Object.fromEntries(Object.entries(value ?? {}).map(([key, each]) => [key, Number(each)]));
