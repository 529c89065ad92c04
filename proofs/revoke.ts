import { createClient } from '../test/support/client.ts';
import { type Findings, judge, type Mode, oneOf, type Proof, type Run } from './lib/proof.ts';
import type { Process } from './lib/processes.ts';
import { type Account, openStage, type Stage } from './lib/stage.ts';

type Size = { readonly rounds: number; readonly callsPerRound: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { rounds: 4, callsPerRound: 200 },
  quick: { rounds: 10, callsPerRound: 500 },
  full: { rounds: 100, callsPerRound: 2000 },
};
const PROCESSES = 4;
const CALLERS = 16;
const KEYS = '/api/partner-gateway/v1/authentication';

export const revoke: Proof = {
  promise: 'A revoked or rotated key is refused from the next request on, by every process.',
  sabotage: {
    fault: 'each process caches keys for a minute',
    file: new URL('./sabotage/revoke.ts', import.meta.url),
    breaks: ['no call that began after the answer to the revocation was accepted'],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const { rounds, callsPerRound: callsARound } = SIZES[run.mode];
  await using stage = await openStage(run, { gateway: 'api' });
  const account = await stage.newAccount({ plan: 'unlimited' });
  const processes = [stage.gateway, ...(await startOthers(stage))];
  const total = { calls: 0, acceptedBefore: 0, acceptedAfter: 0, refusedAfter: 0, other: 0 };
  for (let round = 0; round < rounds; round++) {
    const end = round % 2 === 0 ? 'DELETE' : 'POST';
    const counts = await runRound(run, { account, processes, calls: callsARound, end });
    for (const [name, count] of Object.entries(counts)) total[name as keyof typeof total] += count;
  }
  return judge(
    { rounds, processes: processes.length, ...total },
    {
      'no call that began after the answer to the revocation was accepted': total.acceptedAfter === 0,
      'every call that began after it was refused with 401 or 429': total.other === 0 && total.refusedAfter > 0,
      'calls before the revocation were accepted': total.acceptedBefore > 0,
    },
  );
}

const startOthers = (stage: Stage): Promise<Process[]> =>
  Promise.all(Array.from({ length: PROCESSES - 1 }, () => stage.startApi()));

type Round = {
  readonly account: Account;
  readonly processes: readonly Process[];
  readonly calls: number;
  /** DELETE deletes the key, POST rotates it without a grace period. */
  readonly end: 'DELETE' | 'POST';
};

/** Calls all processes with one key without a pause; after half of the calls, one of the processes ends the key. */
async function runRound(run: Run, { account, processes, calls, end }: Round) {
  const counts = { calls, acceptedBefore: 0, acceptedAfter: 0, refusedAfter: 0, other: 0 };
  const clients = (key: string) =>
    processes.map((process) => createClient(() => String(process.ready['address']), key));
  const made = await account.client.request('POST', KEYS, { body: { operations: ['keys'] } });
  const { id, apiKey } = made.body as { id: number; apiKey: string };
  const callers = clients(apiKey);
  const owners = clients(account.apiKey);
  // Relative to the revocation: before its request, while it is under way, or after its answer.
  let phase: 'before' | 'during' | 'after' = 'before';
  let begun = 0;

  const endKey = async (): Promise<void> => {
    phase = 'during';
    const path = end === 'DELETE' ? `${KEYS}/${id}` : `${KEYS}/${id}/rotate`;
    const { status } = await oneOf(run, owners).request(end, path);
    if (status >= 300) throw new Error(`the key could not be ended: ${status}`);
    phase = 'after';
  };
  const caller = async (): Promise<void> => {
    while (begun < calls) {
      if (++begun === Math.floor(calls / 2)) await endKey();
      const when = phase;
      const { status } = await oneOf(run, callers).request('GET', `${KEYS}?limit=1`);
      countAnswer(counts, when, status);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return counts;
}

type Counts = Record<'acceptedBefore' | 'acceptedAfter' | 'refusedAfter' | 'other', number>;

/** Counts an answer. A call that began while the revocation was under way may be accepted or refused. */
function countAnswer(counts: Counts, when: 'before' | 'during' | 'after', status: number): void {
  // After many failures from one address, 401 becomes 429.
  const refused = status === 401 || status === 429;
  if (!refused && status !== 200) counts.other++;
  else if (when === 'after') counts[refused ? 'refusedAfter' : 'acceptedAfter']++;
  else if (when === 'before' && !refused) counts.acceptedBefore++;
}
