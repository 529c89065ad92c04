import { between, type RandomSource, oneOf } from '../lib/proof.ts';
import type { Callback, Network, SentMessage } from './networks.ts';

/** A callback that must not be accepted, and the status that must answer it. */
export type Hostile = Callback & { readonly name: string; readonly status: number };

/** Part of every text that must not arrive. */
export const MARK = 'HOSTILE';

type Targets = { readonly ours: Network; readonly neighbour: Network; readonly sent: SentMessage };
type MakeCallback = (targets: Targets, lie: string, run: RandomSource) => Callback;

const OVERSIZED = 5 * 1024 * 1024;
const OLD_DAYS = 20;

/**
 * The answers to nonsense with a valid signature. RBM would resend an event that nobody understands for a week, so it
 * is acknowledged.
 */
const NONSENSE_STATUS: Record<Network['channel'], number> = { WHATSAPP: 400, RCS: 200 };

/** By description: the expected answer, and how to make the hostile callback from a valid one. */
const INVALID: Readonly<Record<string, readonly [status: number | typeof NONSENSE_STATUS, make: MakeCallback]>> = {
  'without a signature': [401, ({ ours }, lie) => ({ ...ours.signed(lie), headers: {} })],
  'with an empty signature': [
    401,
    ({ ours }, lie) => {
      const right = ours.signed(lie);
      return { ...right, headers: Object.fromEntries(Object.keys(right.headers).map((name) => [name, ''])) };
    },
  ],
  'signed with a guessed secret': [401, ({ ours }, lie) => ours.signed(lie, 'secret')],
  "signed with another account's secret": [401, ({ ours, neighbour }, lie) => ours.signed(lie, neighbour.secret)],
  "sent to another account's connection": [
    401,
    ({ ours, neighbour }, lie) => ({ ...ours.signed(lie), path: neighbour.path }),
  ],
  'signed for another body': [401, ({ ours }, lie) => ({ ...ours.signed('{}'), body: ours.signed(lie).body })],
  'changed in transit': [
    401,
    ({ ours }, lie, run) => {
      const { headers } = ours.signed(lie);
      const at = between(run, 1, lie.length - 2);
      const changed = `${lie.slice(0, at)}${lie[at] === 'x' ? 'y' : 'x'}${lie.slice(at + 1)}`;
      return { ...ours.signed(changed), headers };
    },
  ],
  'for a connection that does not exist': [404, ({ ours }, lie) => ({ ...ours.signed(lie), path: `${ours.path}-2` })],
  'for a connection of another kind': [
    404,
    ({ ours }, lie) => {
      const path = ours.path.replace(/whatsapp|rcs/, ours.channel === 'RCS' ? 'whatsapp' : 'rcs');
      return { ...ours.signed(lie), path };
    },
  ],
  oversized: [413, ({ ours }, lie) => ours.signed(`${lie.slice(0, -1)},"more":"${'x'.repeat(OVERSIZED)}"}`)],
  'signed, but not a callback': [NONSENSE_STATUS, ({ ours }, lie) => ours.signed(`[${lie}`)],
};

/** Callbacks with a valid signature that must still be ignored: for another number, or from weeks ago. */
const VALID_BUT_IGNORED: Readonly<
  Record<string, (targets: Targets, said: Parameters<Network['message']>[0]) => Callback>
> = {
  "for another account's number": ({ ours, neighbour }, said) => ours.signed(ours.message(said, neighbour.identity)),
  'from weeks ago': ({ ours }, said) =>
    ours.signed(ours.message({ ...said, at: new Date(Date.now() - OLD_DAYS * 86_400_000) })),
};

/** Returns one callback of each kind, and `more` of random kinds. */
export function hostileCallbacks(run: RandomSource, pairs: readonly Targets[], more: number): Hostile[] {
  const anyTargets = (): Targets => oneOf(run, pairs);
  const names = [...Object.keys(INVALID), ...Object.keys(VALID_BUT_IGNORED)];
  const chosen = [...names, ...Array.from({ length: more }, () => oneOf(run, names))];
  return chosen.map((name, n) => {
    const targets = anyTargets();
    const { ours, sent } = targets;
    const said = { from: '+393339999999', id: `${MARK}-${n}`, text: `${MARK} ${n}`, at: new Date() };
    const kind = INVALID[name];
    if (!kind) return { name, status: 200, ...(VALID_BUT_IGNORED[name]?.(targets, said) ?? ours.signed('{}')) };
    const lie = run.random.next() < 0.5 ? ours.message(said) : ours.status(sent, 'failed');
    const [status, make] = kind;
    return { name, status: typeof status === 'number' ? status : status[ours.channel], ...make(targets, lie, run) };
  });
}
