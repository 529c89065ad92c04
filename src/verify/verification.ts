import type { Pool } from 'pg';
import type { Actor } from '../core/actor.ts';
import type { Channel } from '../core/channels.ts';
import type { Db } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { DEFAULT_NUMBER_RULES, describeNumber, NUMBER_FAULTS, type PhoneDetails, personOf } from '../core/phone.ts';
import type { SecretKey } from '../core/secrets.ts';
import { type Clock, SECOND_MS } from '../core/time.ts';
import type { Accept, Sender } from '../messages/accept.ts';
import { insertCode, listOpenCodes, openCode } from '../messages/codes.ts';
import { examine, type Lookups } from '../messages/prepare.ts';
import { type Draft, reasonOf, type Verdict } from '../messages/read-send.ts';
import { composeCode } from './compose.ts';
import { addToCounters, type Baselines } from './counters.ts';
import { endVerification, publish } from './ending.ts';
import { blockOf, type Gate, type Passed, passGate, recordStopped, Stopped } from './gate.ts';
import { type Decision, keysOf, lineTypeOf } from './guard.ts';
import { refuseLocked, refuseManySends, refuseTooSoon, resendAt, withSend } from './limits.ts';
import type { VerifyMeter } from './metrics.ts';
import { ALPHABETS, challengeToken, hashCode, isChallengePassed, makeCode } from './secrets.ts';
import { findService, openChallengeSecret, type Service } from './services.ts';
import * as db from './store.ts';
import type { Verification } from './store.ts';
import { languageFor } from './texts.ts';

export type VerifyDeps = {
  readonly pool: Pool;
  readonly accept: Pick<Accept, 'once'>;
  readonly tables: Lookups;
  readonly secretKey: SecretKey;
  readonly clock: Clock;
  readonly baselines: Baselines;
  /** Omitted where nothing is counted. */
  readonly meter?: VerifyMeter;
};

/** A caller that sends codes, on channels of its plan only. */
export type Verifier = Sender & Pick<Actor, 'channels'>;

/** A request for a code. */
export type Start = {
  readonly to: string;
  readonly channel?: Channel | undefined;
  readonly locale?: string | undefined;
  readonly ip?: string | undefined;
  readonly userId?: string | undefined;
  readonly deviceId?: string | undefined;
  readonly customerReference?: string | undefined;
  /** With `codeMode: provided`. */
  readonly code?: string | undefined;
  /** The token of a challenge and the proof that the client's server made for it, as `TOKEN:PROOF`. */
  readonly challengePassed?: string | undefined;
};

/** An open verification, and whether it was made by this request; otherwise its code was sent again. */
export type Started = { readonly verification: Verification; readonly isNew: boolean };

/** Another request has opened a verification of the number meanwhile. */
const RACE = new Error('the number has an open verification');

/**
 * Sends a code to a number. A number has one open verification for a service: while there is one, this sends its code
 * again. The code counts, and its message is accepted, in one transaction; a rejected message stores nothing.
 *
 * Errors: 400 for the number or the code, 403 by the guard or outside the plan, 429 by limits, 409 if the message was rejected.
 */
export async function startVerification(
  deps: VerifyDeps,
  actor: Verifier,
  service: Service,
  start: Start,
): Promise<Started> {
  const phone = readPhone(actor, start.to);
  const person = personOf(phone.e164);
  const place = { accountId: actor.accountId, serviceId: service.id, person };
  for (let tries = 1; ; tries++) {
    const open = await db.findOpen(tenant(deps.pool, actor), place);
    try {
      if (open && open.expiresAt > deps.clock.now())
        return { verification: await resend(deps, actor, service, { open, start, phone }), isNew: false };
      return { verification: await begin(deps, actor, service, { start, phone, person }), isNew: true };
    } catch (error) {
      if (error !== RACE || tries === 3) throw error;
    }
  }
}

function readPhone({ numberRules = DEFAULT_NUMBER_RULES }: Sender, to: string): PhoneDetails {
  const phone = describeNumber(to, numberRules);
  if ('fault' in phone) throw invalidFields([{ field: 'to', message: NUMBER_FAULTS[phone.fault] }]);
  return phone;
}

type Begin = { readonly start: Start; readonly phone: PhoneDetails; readonly person: string };

async function begin(
  deps: VerifyDeps,
  actor: Verifier,
  service: Service,
  { start, phone, person }: Begin,
): Promise<Verification> {
  const { settings } = service;
  const now = deps.clock.now();
  const id = newId();
  const code = await codeFor(deps, actor, service, { start, person });
  const expiresAt = new Date(now.getTime() + settings.ttl * SECOND_MS);
  const draft = await draftFor(deps, actor, service, { to: phone.e164, id, code, start, validUntil: expiresAt });
  const gate = gateOf(deps, service, { start, phone, micros: costOf(deps, actor, draft), now });
  const made: Omit<db.NewVerification, 'hidden' | 'network' | 'probeOf'> = {
    accountId: actor.accountId,
    id,
    serviceId: service.id,
    number: phone.e164,
    person,
    country: phone.country,
    channel: draft.channel,
    locale: languageFor(settings, start.locale),
    codeHash: hashCode(deps.secretKey, id, code),
    codeLength: code.length,
    sends: 1,
    address: gate.address,
    userRef: gate.userRef,
    device: gate.device,
    customerReference: start.customerReference ?? null,
    challenged: gate.challengePassed,
    createdAt: now,
    resendAt: resendAt(1, now),
    expiresAt,
  };
  const place = { accountId: actor.accountId, serviceId: service.id, person };
  const stored = (more: Pick<db.NewVerification, 'hidden' | 'network' | 'probeOf'>): Verification => ({
    ...made,
    ...more,
    status: 'PENDING',
    checks: 0,
    endedAt: null,
  });
  try {
    const passed = await acceptCode(deps, actor, draft, async (tx) => {
      const [use, open] = await Promise.all([db.lockNumber(tx, place), db.findOpen(tx, place)]);
      if (open && open.expiresAt > now) throw RACE;
      if (open) await endVerification(tx, open, 'EXPIRED', now);
      refuseLocked(use, now);
      refuseManySends(use, now);
      const passed = await passGate(tx, deps, actor, gate, { verificationId: id });
      const row = { hidden: false, network: passed.network, probeOf: passed.probe };
      // Sent together: the account has to wait for few round trips in its turn.
      await Promise.all([
        db.insertVerification(tx, { ...made, ...row }),
        insertCode(tx, deps.secretKey, { accountId: actor.accountId, verificationId: id, code, expiresAt }),
        publish(tx, stored(row), ['verification.created', 'verification.sent'], passed.reasons),
        countSend(tx, actor, { use, person, gate: { ...gate, network: passed.network }, now }),
      ]);
      return passed;
    });
    return stored({ hidden: false, network: passed.network, probeOf: passed.probe });
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
    deps.meter?.stopped(error.decision);
    const hidden = settings.guard?.discreet === true && error.decision.rule !== 'cost_cap';
    const row = { ...made, network: null, probeOf: null, hidden };
    await recordStopped(deps.pool, actor, gate, error.decision, async (tx) => {
      if (hidden) {
        const [use, open] = await Promise.all([db.lockNumber(tx, place), db.findOpen(tx, place)]);
        if (open && open.expiresAt > now) throw RACE;
        if (open) await endVerification(tx, open, 'EXPIRED', now);
        await db.insertVerification(tx, row);
        // Counted like a send: its answers, and the delays between them, must not tell.
        await db.updateNumber(tx, place, withSend(use, now));
      } else await publish(tx, { ...stored(row), status: 'BLOCKED' }, ['verification.blocked'], error.decision.reasons);
    });
    if (hidden) return stored(row);
    throw refusalOf(deps, service, gate, error.decision);
  }
}

type ForCode = { readonly start: Start; readonly person: string };

/** Makes the code, or takes the one of the request: none that another service has sent to the number and is still open. */
async function codeFor(
  deps: VerifyDeps,
  actor: Sender,
  { settings }: Service,
  { start, person }: ForCode,
): Promise<string> {
  if (settings.codeMode === 'provided') {
    if (start.code === undefined || !/^[A-Za-z0-9]{4,10}$/.test(start.code))
      throw invalidFields([
        { field: 'code', message: 'must have 4 to 10 letters and digits: the service does not make codes' },
      ]);
    return start.code;
  }
  if (start.code !== undefined)
    throw invalidFields([{ field: 'code', message: 'must not be given: the service makes the codes' }]);
  const own = tenant(deps.pool, actor);
  const ids = await db.listOpenIds(own, { accountId: actor.accountId, person });
  const taken = ids.length === 0 ? [] : await listOpenCodes(own, actor.accountId, ids);
  const codes = taken.map((row) => openCode(deps.secretKey, row));
  return makeCode(settings.codeLength, settings.alphabet in ALPHABETS ? settings.alphabet : 'digits', codes);
}

type Content = {
  readonly to: string;
  readonly id: string;
  readonly code: string;
  readonly start: Start;
  readonly validUntil: Date;
};

async function draftFor(deps: VerifyDeps, actor: Verifier, { settings }: Service, content: Content): Promise<Draft> {
  const { to, id, code, start, validUntil } = content;
  const draft = await composeCode(tenant(deps.pool, actor), {
    accountId: actor.accountId,
    channels: actor.channels,
    settings,
    to,
    verificationId: id,
    code,
    codeLength: code.length,
    locale: start.locale,
    channel: start.channel,
    validUntil,
  });
  if (draft) return draft;
  throw invalidFields([{ field: 'channel', message: 'the account cannot send codes on any channel of the workflow' }]);
}

/** Returns the price of a message and of those that may follow it, in micros: the cap counts all of them. */
function costOf({ tables }: VerifyDeps, actor: Sender, draft: Draft): number {
  const hops = [draft, ...(draft.nextChannels ?? []).map((next) => ({ ...draft, template: null, ...next }))];
  return hops.reduce((sum, hop) => sum + (examine(actor, hop, tables, () => null).priceMicros ?? 0), 0);
}

type ForGate = { readonly start: Start; readonly phone: PhoneDetails; readonly micros: number; readonly now: Date };

function gateOf(deps: VerifyDeps, service: Service, { start, phone, micros, now }: ForGate): Gate {
  const secret = openChallengeSecret(deps.secretKey, service);
  return {
    serviceId: service.id,
    settings: service.settings.guard ?? {},
    maxPerHour: service.settings.maxPerHour,
    at: now,
    number: phone.e164,
    country: phone.country,
    lineType: lineTypeOf(phone),
    network: null,
    address: blockOf(start.ip),
    userRef: start.userId ?? null,
    device: start.deviceId ?? null,
    micros,
    challengePassed:
      start.challengePassed !== undefined && isChallengePassed(secret, phone.e164, start.challengePassed, now),
  };
}

/** Accepts a message with a code, after `prepare` in the same transaction. Errors: 409 if it was rejected. */
async function acceptCode(
  { accept, meter }: VerifyDeps,
  actor: Sender,
  draft: Draft,
  prepare: (tx: Db) => Promise<Passed>,
): Promise<Passed> {
  let passed: Passed | undefined;
  let verdict: Verdict | undefined;
  const refused = new Error('the message with the code was rejected');
  await accept
    .once(actor, [draft], {
      async claim(tx) {
        passed = await prepare(tx);
        return true;
      },
      async record(_tx, [only]) {
        verdict = only;
        if (only?.kind !== 'accepted') throw refused;
      },
    })
    .catch((error: unknown) => {
      if (error !== refused) throw error;
    });
  if (passed && verdict?.kind === 'accepted') {
    meter?.sent(draft.channel);
    return passed;
  }
  const message = verdict?.kind === 'refused' ? reasonOf(verdict) : 'The message cannot be stored';
  throw new AppError('conflict', { message: `No code was sent: ${message}` });
}

type Again = { readonly open: Verification; readonly start: Start; readonly phone: PhoneDetails };

/** Sends the code of an open verification again: the same code, with its remaining life but not less than two minutes. */
async function resend(
  deps: VerifyDeps,
  actor: Verifier,
  service: Service,
  { open, start, phone }: Again,
): Promise<Verification> {
  const { settings } = service;
  const { accountId } = actor;
  const now = deps.clock.now();
  refuseTooSoon(open.resendAt, now);
  if (open.hidden) return pretendToResend(deps, actor, settings, open);
  const code = settings.codeMode === 'provided' && start.code !== undefined ? start.code : await openCodeOf(deps, open);
  const expiresAt = new Date(Math.max(open.expiresAt.getTime(), now.getTime() + LEAST_LIFE_MS));
  const to = open.number;
  const locale = start.locale ?? open.locale;
  const content = { to, id: open.id, code, start: { ...start, locale }, validUntil: expiresAt };
  const draft = await draftFor(deps, actor, service, content);
  const gate = gateOf(deps, service, { start, phone, micros: costOf(deps, actor, draft), now });
  const person = personOf(open.number);
  const codeHash = hashCode(deps.secretKey, open.id, code);
  const sends = open.sends + 1;
  const sent = { ...open, channel: draft.channel, sends, resendAt: resendAt(sends, now), expiresAt, codeHash };
  try {
    await acceptCode(deps, actor, draft, async (tx) => {
      const [use, locked] = await Promise.all([
        db.lockNumber(tx, { accountId, person }),
        db.lockVerification(tx, open),
      ]);
      if (locked?.status !== 'PENDING') throw RACE;
      refuseTooSoon(locked.resendAt, now);
      refuseTooMany(locked, settings);
      refuseLocked(use, now);
      refuseManySends(use, now);
      if (!locked.codeHash || locked.sends !== open.sends) throw RACE;
      const passed = await passGate(tx, deps, actor, gate, { verificationId: open.id });
      await Promise.all([
        db.updateSend(tx, sent),
        insertCode(tx, deps.secretKey, { accountId, verificationId: open.id, code, expiresAt }),
        publish(tx, sent, ['verification.sent'], passed.reasons),
        countSend(tx, actor, { use, person, gate: { ...gate, network: passed.network }, now }),
      ]);
      return passed;
    });
    return sent;
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
    deps.meter?.stopped(error.decision);
    await recordStopped(deps.pool, actor, gate, error.decision, (tx) =>
      publish(tx, open, ['verification.blocked'], error.decision.reasons),
    );
    throw refusalOf(deps, service, gate, error.decision);
  }
}

const LEAST_LIFE_MS = 120 * SECOND_MS;

/** Counts a send of a hidden verification as if there had been one: only then do its answers look like those of others. */
function pretendToResend(
  { pool, clock }: VerifyDeps,
  actor: Sender,
  settings: Service['settings'],
  open: Verification,
): Promise<Verification> {
  const now = clock.now();
  const place = { accountId: actor.accountId, person: personOf(open.number) };
  return tenantTransaction(pool, actor, async (tx) => {
    const use = await db.lockNumber(tx, place);
    const locked = await db.lockVerification(tx, open);
    if (locked?.status !== 'PENDING') throw RACE;
    refuseTooSoon(locked.resendAt, now);
    refuseTooMany(locked, settings);
    refuseLocked(use, now);
    refuseManySends(use, now);
    const sends = locked.sends + 1;
    const expiresAt = new Date(Math.max(locked.expiresAt.getTime(), now.getTime() + LEAST_LIFE_MS));
    const again = { ...open, sends, resendAt: resendAt(sends, now), expiresAt };
    await db.updateSend(tx, again);
    await db.updateNumber(tx, place, withSend(use, now));
    return again;
  });
}

function refuseTooMany({ sends }: Pick<Verification, 'sends'>, { maxSends }: Service['settings']): void {
  if (sends >= maxSends)
    throw new AppError('too_many_codes', { message: 'The code was sent as often as the service allows' });
}

async function openCodeOf({ pool, secretKey }: VerifyDeps, { accountId, id }: Verification): Promise<string> {
  const [row] = await listOpenCodes(tenant(pool, { accountId }), accountId, [id]);
  if (!row) throw RACE;
  return openCode(secretKey, row);
}

/** Sends the code of an open verification again. Errors: 404, 409 if it has ended, and those of `startVerification`. */
export async function resendCode(
  deps: VerifyDeps,
  actor: Verifier,
  { id, ...start }: Omit<Start, 'to'> & { readonly id: string },
): Promise<Verification> {
  const own = tenant(deps.pool, actor);
  const open = await db.findVerification(own, { accountId: actor.accountId, id });
  if (!open) throw new AppError('not_found');
  if (open.status !== 'PENDING' || open.expiresAt <= deps.clock.now()) throw new AppError('no_open_verification');
  const service = await findService(own, { accountId: actor.accountId, id: open.serviceId });
  const phone = readPhone(actor, open.number);
  return resend(deps, actor, service, { open, phone, start: { ...start, to: open.number } }).catch((error: unknown) => {
    throw error === RACE ? new AppError('no_open_verification') : error;
  });
}

type Counted = { readonly use: db.NumberUse; readonly person: string; readonly gate: Gate; readonly now: Date };

/** Sent last of a transaction's own statements: all sends of an account count under the same keys. */
async function countSend(tx: Db, { accountId }: Sender, { use, person, gate, now }: Counted): Promise<void> {
  await Promise.all([
    db.updateNumber(tx, { accountId, person }, withSend(use, now)),
    addToCounters(tx, [{ accountId, keys: keysOf(gate), at: now, sent: 1, micros: gate.micros }]),
  ]);
}

/** Makes the error for a send that the guard has stopped. */
function refusalOf(
  { secretKey }: VerifyDeps,
  service: Service,
  gate: Gate,
  { outcome, rule, reasons }: Decision,
): AppError {
  const fields = gate.settings.discreet ? {} : { reasons };
  if (rule === 'cost_cap') return new AppError('cost_cap', { fields, retryAfterSeconds: 15 * 60 });
  if (outcome === 'BLOCK') return new AppError('verification_blocked', { fields });
  const challenge = challengeToken(openChallengeSecret(secretKey, service), gate.number, gate.at);
  return new AppError('challenge_required', { fields: { ...fields, challenge } });
}
