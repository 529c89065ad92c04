import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '../../test/support/client.ts';
import { limitsOf, takenByDestination } from '../lib/carrier.ts';
import { type Crew, killPoints, killPostgres, NEXT_SUBMIT_MS, startProcesses, untilSubmits } from '../lib/kills.ts';
import { untilIdle } from '../lib/messages.ts';
import { type Findings, judge, type Mode, oneOf, type Proof, type Run } from '../lib/proof.ts';
import { type Account, openStage, type Stage } from '../lib/stage.ts';
import { untilSettled } from '../money.ts';
import { APPROVED_STAYS_OPEN } from '../sabotage/in-database.ts';

const WINDOW = 10;
const PROCESSES = 2;
const CLIENTS = 8;
const PAUSE_MS = 100;
/** Long enough for codes to be at the carrier whenever a process is killed. */
const RESPONSE_DELAY_MS = 100;
const STALL_TIMEOUT_MS = 20_000;
/** Time after which a person who has got no code asks for it again. */
const PATIENCE_MS = 15_000;
/** One person in this many requests the code again, even if it has arrived. */
const RESEND_EVERY = 3;
const PRICE = { channel: 'SMS', prefix: '39333', unitMicros: 50_000, refundUndelivered: false } as const;
const CREDIT_MICROS = 100_000_000_000;
const GATEWAY = '/api/partner-gateway/v1';

type Size = { readonly people: number; readonly kills: number; readonly postgresKills: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { people: 90, kills: 2, postgresKills: 1 },
  quick: { people: 1500, kills: 8, postgresKills: 3 },
  full: { people: 20_000, kills: 200, postgresKills: 20 },
};

export const crashVerify: Proof = {
  promise:
    'A crash of processes or PostgreSQL while numbers are verified loses no code, sends none twice, and approves each once.',
  sabotage: {
    fault: 'an approved verification stays open',
    sql: APPROVED_STAYS_OPEN,
    breaks: ['each code is approved once'],
    mode: 'tiny',
  },
  prove,
};

/** People who ask for a code, some of them twice, and enter it, while processes and PostgreSQL are killed. */
async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  await using stage = await openStage(run, {
    gateway: 'api',
    script: { responseDelayMs: RESPONSE_DELAY_MS, receiptDelayMs: 50 },
    settings: limitsOf('smpp', { window: WINDOW }),
    prices: [PRICE],
  });
  const account = await stage.newAccount({ plan: 'production', creditMicros: CREDIT_MICROS });
  const service = { name: 'Proof', brand: 'Acme', guard: { mode: 'monitor' } };
  const made = await account.client.request('POST', `${GATEWAY}/verify/services`, { body: service });
  const { id: serviceId } = made.body as { readonly id: string };
  const crew = await startProcesses(run, PROCESSES, stage.startServe);

  const verifying = verifyAll(run, stage, { crew, apiKey: account.apiKey, serviceId, people: size.people });
  const killPostgresAt = new Set(killPoints(run, size.postgresKills, size.people));
  const points = [...killPoints(run, size.kills, size.people), ...killPostgresAt].sort((a, b) => a - b);
  for (const point of points) {
    if (!(await untilSubmits(stage, point, NEXT_SUBMIT_MS))) break;
    if (killPostgresAt.delete(point)) await killPostgres(run, stage, crew);
    else await crew.killOne();
    run.log(`a kill at ${point} submits`);
  }
  const { valid, failedRequests } = await verifying;
  await crew.allStarted();
  await untilIdle(stage, STALL_TIMEOUT_MS);

  const figures = {
    people: size.people,
    failedRequests,
    approvedTwice: [...valid.values()].filter((times) => times > 1).length,
    ...(await compare(stage)),
    ...(await readMoney(stage, account)),
    kills: crew.kills,
    postgresKills: size.postgresKills - killPostgresAt.size,
  };
  return judge(figures, {
    'each person has one verification': figures.verifications === size.people,
    'each code is approved once': figures.approvedTwice === 0 && figures.approved === size.people,
    'all sends of a verification carry one code': figures.twoCodes === 0,
    'nothing is sent more often than it is counted': figures.sentTwice === 0,
    'each send is one message, and counts once': figures.notCounted === 0,
    'each send is paid once': figures.paidMicros === figures.dueMicros && figures.countedMicros === figures.dueMicros,
    'no code is left': figures.codesLeft === 0,
    'some codes were sent again': figures.sends > size.people,
    'all kills took place': crew.kills === size.kills && figures.postgresKills === size.postgresKills,
  });
}

type Verifying = {
  readonly crew: Crew;
  readonly apiKey: string;
  readonly serviceId: string;
  readonly people: number;
};

const numberOf = (n: number): string => `+39333${String(n).padStart(5, '0')}55`;
const codeIn = (text: string): string => /\d{6}/.exec(text)?.[0] ?? '';

/** Verifies all numbers; each request is repeated until it gets a response. Returns how often each code was valid. */
async function verifyAll(run: Run, stage: Stage, { crew, apiKey, serviceId, people }: Verifying) {
  const valid = new Map<string, number>();
  let failedRequests = 0;
  let texts: ReadonlyMap<string, string> = new Map();
  let reading = true;
  const handsets = (async () => {
    for (; reading; await delay(5 * PAUSE_MS)) {
      const taken = takenByDestination(await stage.carrier.ledger());
      texts = new Map([...taken].map(([number, submits]) => [number, submits[0]?.text ?? '']));
    }
  })();

  /** Posts until the status is one of `final`; another one means that the request has to wait. */
  async function post(path: string, body: object, final: readonly number[]): Promise<{ readonly valid?: boolean }> {
    for (;;) {
      const address = crew.ready.size > 0 ? String(oneOf(run, [...crew.ready]).ready['address']) : null;
      const client = address === null ? null : createClient(() => address, apiKey);
      const response = await client?.request('POST', `${GATEWAY}${path}`, { body }).catch(() => null);
      if (response && final.includes(response.status)) return response.body as { readonly valid?: boolean };
      failedRequests++;
      await delay(PAUSE_MS);
    }
  }

  /** Lets the time pass that lies between two sends, and asks for the code again. */
  async function askAgain(to: string): Promise<void> {
    const passing = `UPDATE verification SET resend_at = now() - interval '1 second' WHERE number = $1`;
    while (!(await stage.pool.query(passing, [to]).then(Boolean, () => false))) await delay(PAUSE_MS);
    await post('/verifications', { serviceId, to }, [200, 429]);
  }

  async function untilRead(to: string): Promise<string> {
    for (let asked = performance.now(); !texts.has(to); await delay(PAUSE_MS)) {
      if (performance.now() - asked < PATIENCE_MS) continue;
      await askAgain(to);
      asked = performance.now();
    }
    return codeIn(texts.get(to) ?? '');
  }

  async function verify(n: number): Promise<void> {
    const to = numberOf(n);
    await post('/verifications', { serviceId, to }, [200, 201, 429]);
    if (n % RESEND_EVERY === 0) await askAgain(to);
    const code = await untilRead(to);
    const wrong = String((Number(code) + 1) % 1_000_000).padStart(6, '0');
    await post('/verifications/check', { serviceId, to, code: wrong }, [200]);
    const check = async (): Promise<void> => {
      const answer = await post('/verifications/check', { serviceId, to, code }, [200, 404]);
      if (answer.valid) valid.set(to, (valid.get(to) ?? 0) + 1);
    };
    await Promise.all([check(), check()]);
  }

  let next = 0;
  async function client(): Promise<void> {
    for (let n = next++; n < people; n = next++) await verify(n);
  }
  await Promise.all(Array.from({ length: CLIENTS }, client));
  reading = false;
  await handsets;
  return { valid, failedRequests };
}

type Row = { readonly number: string; readonly status: string; readonly sends: number; readonly messages: number };

/** Compares the verifications with the ledger of the carrier. */
async function compare({ pool, carrier }: Stage) {
  const { rows } = await pool.query<Row>(
    `SELECT v.number, v.status, v.sends::int, (SELECT count(*)::int FROM verification_message m
       WHERE m.account_id = v.account_id AND m.verification_id = v.id) AS messages FROM verification v`,
  );
  const { rows: left } = await pool.query('SELECT FROM verification_code');
  const taken = takenByDestination(await carrier.ledger());
  const submitsOf = ({ number }: Row) => taken.get(number) ?? [];
  return {
    verifications: rows.length,
    approved: rows.filter(({ status }) => status === 'APPROVED').length,
    sends: rows.reduce((sum, { sends }) => sum + sends, 0),
    twoCodes: rows.filter((row) => new Set(submitsOf(row).map(({ text }) => codeIn(text))).size > 1).length,
    sentTwice: rows.filter((row) => submitsOf(row).length > row.sends).length,
    notCounted: rows.filter(({ sends, messages }) => sends !== messages).length,
    codesLeft: left.length,
  };
}

/** Compares what the account has paid, and what the counters of the guard say, with the sends. */
async function readMoney(stage: Stage, account: Account) {
  const { availableMicros } = await untilSettled(stage, account);
  const { rows } = await stage.pool.query<{ sends: number; micros: number }>(
    `SELECT (SELECT sum(sends)::int FROM verification) AS sends,
            (SELECT sum(micros)::bigint FROM verify_counter WHERE kind = 'account' AND minutes = 60) AS micros`,
  );
  return {
    paidMicros: CREDIT_MICROS - availableMicros,
    countedMicros: rows[0]?.micros ?? 0,
    dueMicros: (rows[0]?.sends ?? 0) * PRICE.unitMicros,
  };
}
