import { setTimeout as delay } from 'node:timers/promises';
import { startSandboxRbm, type SandboxRbm } from '../src/carriers/sandbox/rbm/server.ts';
import type { Outcome } from '../src/carriers/sandbox/rbm/script.ts';
import { loadConfig } from '../src/config.ts';
import { createConnection } from '../src/connections/save.ts';
import { notifyRoutes } from '../src/routing/sql.ts';
import { RCS_TEMPLATES } from '../src/sandbox/templates.ts';
import { loadSecretKey } from '../src/secret-key.ts';
import { assignSender } from '../src/senders/assign.ts';
import { insertTemplate } from '../src/templates/sql.ts';
import { listMessages, lookAtCampaign, mobileOf, sendCampaign } from './campaigns.ts';
import { takenByDestination } from './carrier.ts';
import { startCrew } from './kills.ts';
import { listInDoubt, untilQuiet } from './messages.ts';
import { between, type Findings, judge, type Mode, type Proof, type Run } from './proof.ts';
import { openStage, type Stage } from './stage.ts';

type Size = { readonly recipients: number; readonly kills: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { recipients: 200, kills: 1 },
  quick: { recipients: 3000, kills: 4 },
  full: { recipients: 100_000, kills: 40 },
};
const NAME = 'rcs';
const AGENT = 'acme';
const WORKERS = 2;
/** In place of the least that a client may ask for. */
const AFTER_SECONDS = 3;
const AFTER_MS = AFTER_SECONDS * 1000;
const PATIENCE_MS = 30_000;
const LOOK_MS = 300;
/** Asked of a network and not yet recorded when a worker is killed: nobody knows then what it said. */
const REVOKES_AT_ONCE = 20;

const after = (afterMs: number): Outcome => ({ steps: [{ event: 'DELIVERED', afterMs }] });
/** What the network does with messages, by the last digit of the number. */
const OUTCOMES: readonly Outcome[] = [
  after(300),
  after(1000),
  { doubled: true, early: true },
  { steps: [] },
  after(3 * AFTER_MS),
  after(AFTER_MS + 100),
  { refuse: 'NOT_FOUND' },
  { ...after(500), silentTimes: 1000 },
  {
    steps: [
      { event: 'TTL_EXPIRATION_REVOKE_FAILED', afterMs: 1000 },
      { event: 'DELIVERED', afterMs: 1500 },
    ],
  },
  after(AFTER_MS + 1500),
];
const ENDINGS = Array.from({ length: 9000 }, (_, n) => String(n).padStart(4, '0'));

export const fallback: Proof = {
  promise: 'Whoever is not reached on one channel is tried on the next, and nobody ever gets two copies.',
  sabotage: {
    fault: 'when its time is over the next channel is tried, without taking back what the first one has',
    file: new URL('./sabotage/fallback.ts', import.meta.url),
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  await using stage = await openStage(run, {
    gateway: 'api',
    script: { receiptDelayMs: 50 },
    settings: { window: 100 },
  });
  const rbm = await openNetwork(run, stage);
  try {
    return await race(run, stage, rbm, size);
  } finally {
    await rbm.close();
  }
}

async function race(run: Run, stage: Stage, rbm: SandboxRbm, size: Size): Promise<Findings> {
  const destinations = Array.from({ length: size.recipients }, (_, n) => mobileOf(n));
  const rcs = { rcsAgentId: AGENT, rcsTemplateId: RCS_TEMPLATES[0]?.id };
  const id = await sendCampaign(stage.client, destinations, { sendingMode: 'RCS_SMS', ...rcs });
  const settings = JSON.stringify({ after: { RCS: AFTER_SECONDS } });
  await stage.pool.query('UPDATE campaign SET fallback = $1 WHERE id = $2', [settings, id]);
  const crew = await startCrew(run, stage, WORKERS);
  for (let kill = 0; kill < size.kills; kill++) {
    await delay(between(run, 0, 2 * AFTER_MS));
    await crew.killOne();
  }
  await crew.settled();
  const ended = await untilDecided(stage, id);
  await untilQuiet(stage, PATIENCE_MS);
  const made = new Set((await listMessages(stage, id)).map(({ destination }) => destination));
  const figures = {
    ...{ recipients: destinations.length, forgotten: destinations.filter((to) => !made.has(to)).length },
    ...(await copiesOf(stage, rbm, id, destinations)),
    ...{ revoked: rbm.ledger.counts().revoked, revokesRefused: rbm.ledger.counts().revokesRefused, kills: crew.kills },
  };
  return judge(figures, {
    'nobody gets two copies': figures.twoCopies === 0,
    'nobody is forgotten': figures.forgotten === 0,
    'whoever got nothing is in doubt, or was when a worker was killed': figures.nothing <= crew.kills * REVOKES_AT_ONCE,
    'all is decided': ended,
    'some were reached by each way': figures.byRcs > 0 && figures.bySms > 0 && figures.inDoubt > 0,
    'some were taken back and some could not be': figures.revoked > 0 && figures.revokesRefused > 0,
  });
}

/** An RCS network with late, lost, doubled, contradictory and missing words, and the gateway's connection to it. */
async function openNetwork(run: Run, { pool, gateway, environment }: Stage): Promise<SandboxRbm> {
  const rbm = await startSandboxRbm({
    agents: [AGENT],
    script: {
      ...{ seed: run.seed, missingEventShare: 0.1, doubleEventShare: 0.1, reorderEventShare: 0.2, reorderMs: 1500 },
      ...{ dropAnswerShare: 0.01, cutShare: 0.01, keepMessages: 200_000 },
      outcomes: Object.fromEntries(ENDINGS.map((ending, n) => [ending, OUTCOMES[n % OUTCOMES.length] ?? {}])),
    },
  });
  const key = await loadSecretKey(loadConfig(environment));
  const settings = { baseUrl: rbm.baseUrl, concurrency: 200, requestTimeoutSeconds: 2, resends: 1 };
  const link = { name: NAME, kind: 'rcs', settings, secret: rbm.secrets, sandbox: false } as const;
  const { id: connectionId } = await createConnection(pool, key, link);
  await assignSender(pool, { channel: 'RCS', identity: AGENT, connectionId, ownerId: null, name: 'Acme' });
  const common = { ownerId: null, status: 'APPROVED', headerLink: null, connectionId: null, language: '' } as const;
  for (const template of RCS_TEMPLATES)
    await insertTemplate(pool, { ...template, ...common, channel: 'RCS', category: '', named: true });
  await notifyRoutes(pool);
  if (!(await rbm.setCallback(`${String(gateway.ready['address'])}/api/callbacks/rcs/${NAME}`)))
    throw new Error('the gateway does not take the callbacks of the network');
  return rbm;
}

/** Waits until nothing follows any more, whatever comes; false when that does not come. */
async function untilDecided(stage: Stage, id: number): Promise<boolean> {
  const query = `SELECT (SELECT count(*) FROM campaign_batch WHERE campaign_id = $1 AND due_at IS NOT NULL)
    + (SELECT count(*) FROM campaign_outcome) + (SELECT count(*) FROM dispatch_chunk)
    + (SELECT count(*) FROM campaign_lane WHERE campaign_id = $1 AND NOT done) AS open`;
  let [seen, at] = ['', performance.now()];
  while (performance.now() - at < PATIENCE_MS) {
    const { rows } = await stage.pool.query<{ open: number }>(query, [id]);
    const campaign = await lookAtCampaign(stage, id);
    if (rows[0]?.open === 0 && campaign && campaign.messages > 0) return true;
    const now = JSON.stringify([rows, campaign]);
    if (now !== seen) [seen, at] = [now, performance.now()];
    await delay(LOOK_MS);
  }
  return false;
}

/** What people have on their handsets, by the ledgers of both networks. */
async function copiesOf(stage: Stage, rbm: SandboxRbm, id: number, destinations: readonly string[]) {
  const shown = rbm.ledger.messages().filter(({ delivered }) => delivered);
  const rcs = new Map([...Map.groupBy(shown, ({ destination }) => destination)].map(([to, own]) => [to, own.length]));
  const taken = takenByDestination(await stage.carrier.ledger());
  const doubted = await listInDoubt(stage);
  const messages = await listMessages(stage, id);
  const inDoubt = new Set(messages.filter((message) => doubted.has(message.id)).map(({ destination }) => destination));
  const copies = (to: string): number => (rcs.get(to) ?? 0) + (taken.get(to)?.length ?? 0);
  return {
    ...{ byRcs: rcs.size, bySms: taken.size, inDoubt: inDoubt.size },
    twoCopies: destinations.filter((to) => copies(to) > 1).length,
    nothing: destinations.filter((to) => copies(to) === 0 && !inDoubt.has(to)).length,
  };
}
