import { between, type Chance, oneOf } from '../proof.ts';
import type { Callback, Network, Sent } from './networks.ts';

/** Something that must not be believed, and what it must be answered. */
export type Hostile = Callback & { readonly name: string; readonly status: number };

/** Stands in every text that must not arrive. */
export const MARK = 'HOSTILE';

type Ground = { readonly ours: Network; readonly neighbour: Network; readonly sent: Sent };
type Make = (ground: Ground, lie: string, run: Chance) => Callback;

const OVERSIZED = 5 * 1024 * 1024;
const OLD_DAYS = 20;

/** Signed by whoever may sign: RBM would send an event that nobody understands again for a week, so it is acknowledged. */
const NONSENSE: Record<Network['channel'], number> = { WHATSAPP: 400, RCS: 200 };

/** By what it is: the answer, and how it is made of a callback that would be right. */
const KINDS: Readonly<Record<string, readonly [status: number | typeof NONSENSE, make: Make]>> = {
  'without a signature': [401, ({ ours }, lie) => ({ ...ours.signed(lie), headers: {} })],
  'with an empty signature': [
    401,
    ({ ours }, lie) => {
      const right = ours.signed(lie);
      return { ...right, headers: Object.fromEntries(Object.keys(right.headers).map((name) => [name, ''])) };
    },
  ],
  'signed by a guess': [401, ({ ours }, lie) => ours.signed(lie, 'secret')],
  'signed by the neighbour': [401, ({ ours, neighbour }, lie) => ours.signed(lie, neighbour.secret)],
  'sent to the neighbour': [401, ({ ours, neighbour }, lie) => ({ ...ours.signed(lie), path: neighbour.path })],
  'signed for another body': [401, ({ ours }, lie) => ({ ...ours.signed('{}'), body: ours.signed(lie).body })],
  'changed on its way': [
    401,
    ({ ours }, lie, run) => {
      const { headers } = ours.signed(lie);
      const at = between(run, 1, lie.length - 2);
      const changed = `${lie.slice(0, at)}${lie[at] === 'x' ? 'y' : 'x'}${lie.slice(at + 1)}`;
      return { ...ours.signed(changed), headers };
    },
  ],
  'for a connection that is not there': [404, ({ ours }, lie) => ({ ...ours.signed(lie), path: `${ours.path}-2` })],
  'for a connection of another kind': [
    404,
    ({ ours }, lie) => {
      const path = ours.path.replace(/whatsapp|rcs/, ours.channel === 'RCS' ? 'whatsapp' : 'rcs');
      return { ...ours.signed(lie), path };
    },
  ],
  oversized: [413, ({ ours }, lie) => ours.signed(`${lie.slice(0, -1)},"more":"${'x'.repeat(OVERSIZED)}"}`)],
  'signed and no callback': [NONSENSE, ({ ours }, lie) => ours.signed(`[${lie}`)],
};

/** Signed by whoever may sign, and yet not to be heard: of another number, or from weeks ago. */
const TRUE_BUT: Readonly<Record<string, (ground: Ground, said: Parameters<Network['message']>[0]) => Callback>> = {
  'about the number of the neighbour': ({ ours, neighbour }, said) =>
    ours.signed(ours.message(said, neighbour.identity)),
  'from weeks ago': ({ ours }, said) =>
    ours.signed(ours.message({ ...said, at: new Date(Date.now() - OLD_DAYS * 86_400_000) })),
};

/** One of each kind, and `more` that are left to chance. */
export function hostiles(run: Chance, pairs: readonly Ground[], more: number): Hostile[] {
  const grounds = (): Ground => oneOf(run, pairs);
  const names = [...Object.keys(KINDS), ...Object.keys(TRUE_BUT)];
  const chosen = [...names, ...Array.from({ length: more }, () => oneOf(run, names))];
  return chosen.map((name, n) => {
    const ground = grounds();
    const { ours, sent } = ground;
    const said = { from: '+393339999999', id: `${MARK}-${n}`, text: `${MARK} ${n}`, at: new Date() };
    const kind = KINDS[name];
    if (!kind) return { name, status: 200, ...(TRUE_BUT[name]?.(ground, said) ?? ours.signed('{}')) };
    const lie = run.random.next() < 0.5 ? ours.message(said) : ours.status(sent, 'failed');
    const [status, make] = kind;
    return { name, status: typeof status === 'number' ? status : status[ours.channel], ...make(ground, lie, run) };
  });
}
