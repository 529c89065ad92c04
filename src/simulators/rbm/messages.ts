import { newId } from '../../platform/lib/ids.ts';
import type { Random } from '../smsc/random.ts';
import { createRecentMap } from '../smsc/recent-map.ts';
import { createTimeline } from '../smsc/timeline.ts';
import type { OutgoingEvent } from './callbacks.ts';
import type { LedgerWriter, MessageEntry } from './ledger.ts';
import { DELIVERED, type EventStep, type Outcome, type RbmScript } from './script.ts';

/** A message that the simulator has accepted. */
export type Taken = {
  readonly agentId: string;
  /** E.164 with the plus sign. */
  readonly phone: string;
  readonly messageId: string;
  /** Requests with this id, including the first one. */
  requests: number;
  delivered: boolean;
  revoked: boolean;
  /** Null when no entries are kept. */
  readonly entry: MessageEntry | null;
};

/** The accepted messages and their events; see `createMessages`. */
export type Messages = {
  find(agentId: string, messageId: string): Taken | undefined;
  /** Accepts a message and schedules its events. Resolves once its early event, if it has one, was sent. */
  take(
    message: Omit<Taken, 'requests' | 'delivered' | 'revoked'>,
    outcome: Outcome,
    ttlMs: number | null,
  ): Promise<void>;
  /** Revokes a message; returns false when it was delivered, or is not known (any more). */
  revoke(agentId: string, phone: string, messageId: string): boolean;
  /** Returns the number of events that are not due yet. */
  scheduled(): number;
  stop(): void;
};

/** Dependencies of the messages. */
export type MessagesOptions = {
  readonly script: RbmScript;
  readonly ledger: LedgerWriter;
  readonly random: Random;
  readonly send: (event: OutgoingEvent) => Promise<boolean>;
};

type Planned = { readonly message: Taken; readonly step: EventStep; readonly unreported?: boolean };

/** The events that show that a message reached the handset. */
const OF_DELIVERY: ReadonlySet<EventStep['event']> = new Set(['DELIVERED', 'READ']);

/** Creates the store of the newest `keepMessages` accepted messages, which also produces their events. */
export function createMessages({ script, ledger, random, send }: MessagesOptions): Messages {
  const taken = createRecentMap<Taken>(() => script.keepMessages);
  const plan = createTimeline<Planned>((planned) => void applyStep(planned));
  const keyOf = (agentId: string, messageId: string): string => `${agentId} ${messageId}`;

  async function take(
    { agentId, phone, messageId, entry }: Parameters<Messages['take']>[0],
    outcome: Outcome,
    ttlMs: number | null,
  ): Promise<void> {
    const message: Taken = { agentId, phone, messageId, entry, requests: 1, delivered: false, revoked: false };
    taken.set(keyOf(agentId, messageId), message);
    const steps = (outcome.steps ?? DELIVERED).map((step) => withinTtl(step, ttlMs));
    const [first, ...rest] = outcome.doubled ? steps.flatMap((step) => [step, step]) : steps;
    const unreported = outcome.unreported ?? false;
    for (const step of rest) schedule({ message, step, unreported });
    if (!first) return;
    if (outcome.early) await applyStep({ message, step: first });
    else schedule({ message, step: first, unreported });
  }

  function schedule(planned: Planned): void {
    const unreported = planned.unreported || random.chance(script.missingEventShare);
    const lateMs = random.chance(script.reorderEventShare) ? script.reorderMs : 0;
    plan.after(planned.step.afterMs + lateMs, { ...planned, unreported });
    if (unreported) return;
    if (random.chance(script.doubleEventShare)) plan.after(planned.step.afterMs, planned);
  }

  async function applyStep({ message, step: { event }, unreported }: Planned): Promise<void> {
    if (message.revoked && event !== 'UNSUBSCRIBE') return;
    if (OF_DELIVERY.has(event)) deliver(message);
    else if (event === 'TTL_EXPIRATION_REVOKED' && !message.delivered) markRevoked(message);
    if (unreported) return;
    if (random.chance(script.foreignEventShare)) void send(outgoingEvent({ ...message, messageId: newId() }, event));
    await send(outgoingEvent(message, event));
  }

  function deliver(message: Taken): void {
    message.delivered = true;
    if (message.entry) message.entry.delivered = true;
  }

  function markRevoked(message: Taken): void {
    message.revoked = true;
    if (message.entry) message.entry.revoked = true;
  }

  function revoke(agentId: string, phone: string, messageId: string): boolean {
    const message = taken.get(keyOf(agentId, messageId));
    const known = message !== undefined && message.phone === phone && !(message.revoked && script.forgetsRevoked);
    const revoked = known && !message.delivered;
    ledger.count(revoked ? 'revoked' : 'revokesRefused');
    if (!revoked) return false;
    if (random.chance(script.deliverRevokedShare)) return true;
    markRevoked(message);
    return true;
  }

  return {
    find: (agentId, messageId) => taken.get(keyOf(agentId, messageId)),
    take,
    revoke,
    scheduled: plan.size,
    stop: plan.stop,
  };
}

/** A message expires after its own TTL, unless the script is faster. */
function withinTtl(step: EventStep, ttlMs: number | null): EventStep {
  if (ttlMs === null || ttlMs >= step.afterMs || !step.event.startsWith('TTL_')) return step;
  return { ...step, afterMs: ttlMs };
}

/**
 * Events of the network have `phoneNumber`; events of a person have `senderPhoneNumber`. UNSUBSCRIBE concerns no
 * message.
 */
function outgoingEvent({ agentId, phone, messageId }: Taken, what: EventStep['event']): OutgoingEvent {
  const common = { eventType: what, eventId: newId(), sendTime: new Date().toISOString(), agentId };
  const person = what.startsWith('TTL_') ? { phoneNumber: phone } : { senderPhoneNumber: phone };
  const event = { ...person, ...(what !== 'UNSUBSCRIBE' && { messageId }), ...common };
  return { kind: 'event', id: messageId, what, agentId, event };
}
