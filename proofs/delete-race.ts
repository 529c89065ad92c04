import { setTimeout as delay } from 'node:timers/promises';
import { CAMPAIGNS } from '../test/support/campaigns/campaign.ts';
import { mobileOf, sendCampaign } from './lib/campaigns.ts';
import { takenByDestination } from './lib/carrier.ts';
import { untilIdle } from './lib/messages.ts';
import { between, type Findings, judge, type Mode, type Proof, type Run } from './lib/proof.ts';
import { openStage, type Stage } from './lib/stage.ts';

/** The number of campaigns, run one after the other. */
const SIZES: Readonly<Record<Mode, number>> = { tiny: 20, quick: 200, full: 10_000 };
/**
 * A campaign is scheduled at least this far ahead, and at least LEAD_FACTOR times as long as the last one took to
 * create.
 */
const MIN_LEAD_MS = 5000;
const LEAD_FACTOR = 20;
/** Deletes are sent within this time before or after the scheduled time. */
const SPREAD_MS = 50;
const STALL_TIMEOUT_MS = 20_000;

export const deleteRace: Proof = {
  promise: 'A campaign is either deleted or sent: never both, never neither.',
  sabotage: {
    fault: 'a campaign is deleted whether it has begun or not',
    file: new URL('./sabotage/delete-race.ts', import.meta.url),
    breaks: ['no deleted campaign is sent'],
    mode: 'tiny',
  },
  prove,
};

type DeleteResult = { readonly number: string; readonly status: number };

async function prove(run: Run): Promise<Findings> {
  await using stage = await openStage(run, { gateway: 'serve', settings: { window: 100 } });
  const account = await stage.newAccount({ plan: 'production', creditMicros: 1_000_000_000 });
  const deleted = await race(run, account.client, SIZES[run.mode]);
  await untilIdle(stage, STALL_TIMEOUT_MS);
  const taken = takenByDestination(await stage.carrier.ledger());
  const gone = deleted.filter(({ status }) => status === 204);
  const begun = deleted.filter(({ status }) => status === 404);
  const figures = {
    deletes: deleted.length,
    deleted: gone.length,
    begun: begun.length,
    deletedAndSent: gone.filter(({ number }) => taken.has(number)).length,
    neither: begun.filter(({ number }) => taken.get(number)?.length !== 1).length,
    frozenMicros: await readFrozenMicros(stage, account.accountId),
  };
  return judge(figures, {
    'each delete is answered 204 or 404': gone.length + begun.length === deleted.length,
    'no deleted campaign is sent': figures.deletedAndSent === 0,
    'every other campaign is sent, once': figures.neither === 0,
    'no credit stays reserved': figures.frozenMicros === 0,
    'some were deleted and some were sent': gone.length > 0 && begun.length > 0,
  });
}

type Client = Stage['client'];

/** Creates campaigns to one number each, as fast as possible, and deletes each at about its scheduled time. */
async function race(run: Run, client: Client, count: number): Promise<DeleteResult[]> {
  const deletes: Promise<DeleteResult>[] = [];
  let tookMs = 0;
  for (let n = 0; n < count; n++) {
    const number = mobileOf(n);
    const began = Date.now();
    const at = began + Math.max(MIN_LEAD_MS, LEAD_FACTOR * tookMs);
    const id = await sendCampaign(client, [number], { scheduledDate: new Date(at).toISOString() });
    tookMs = Date.now() - began;
    const waitMs = at + between(run, -SPREAD_MS, SPREAD_MS) - Date.now();
    deletes.push(deleteAfter(client, { id, number }, Math.max(0, waitMs)));
  }
  return Promise.all(deletes);
}

async function deleteAfter(client: Client, { id, number }: { id: number; number: string }, waitMs: number) {
  await delay(waitMs);
  return { number, status: (await client.request('DELETE', `${CAMPAIGNS}/${id}`)).status };
}

/**
 * The credit that is still reserved once receipts have settled the messages; after some ten seconds, whatever it is
 * then.
 */
async function readFrozenMicros({ pool }: Stage, accountId: number): Promise<number> {
  for (let looks = 0; ; looks++) {
    const { rows } = await pool.query<{ micros: number }>(
      'SELECT coalesce(sum(micros), 0)::bigint AS micros FROM credit_frozen WHERE account_id = $1',
      [accountId],
    );
    const micros = rows[0]?.micros ?? 0;
    if (micros === 0 || looks > 100) return micros;
    await delay(100);
  }
}
