import { newId } from '../../platform/lib/ids.ts';
import type { Random } from '../smsc/random.ts';
import { createRecentMap } from '../smsc/recent-map.ts';
import { createTimeline } from '../smsc/timeline.ts';
import type { OutgoingEvent } from './callbacks.ts';
import type { LedgerWriter, MessageEntry } from './ledger.ts';
import { DELIVERED, type EventStep, type Outcome, type RbmScript } from './script.ts';

export type Taken = {
  readonly agentId: string;
  /** E.164 with the plus. */
  readonly phone: string;
  readonly messageId: string;
  /** Requests with its id, the first one included. */
  requests: number;
  delivered: boolean;
  revoked: boolean;
  /** Null when no entry is kept. */
  readonly entry: MessageEntry | null;
};

export type Messages = {
  find(agentId: string, messageId: string): Taken | undefined;
  /** Takes a message, and plans what becomes of it. Resolves once its early event, if it has one, was told. */
  take(
    message: Omit<Taken, 'requests' | 'delivered' | 'revoked'>,
    outcome: Outcome,
    lifeMs: number | null,
  ): Promise<void>;
  /** Whether it was taken back: false when it was delivered, or is not known (any more). */
  revoke(agentId: string, phone: string, messageId: string): boolean;
  /** Events whose time has not come. */
  scheduled(): number;
  stop(): void;
};

export type MessagesOptions = {
  readonly script: RbmScript;
  readonly ledger: LedgerWriter;
  readonly random: Random;
  readonly tell: (telling: OutgoingEvent) => Promise<boolean>;
};

type Planned = { readonly message: Taken; readonly step: EventStep; readonly untold?: boolean };

/** What reaches a handset, or says that it will not any more: not when the message was taken back before. */
const OF_DELIVERY: ReadonlySet<EventStep['event']> = new Set(['DELIVERED', 'READ']);

/** The messages that the network has taken, the newest `keepMessages` of them, and what becomes of each. */
export function createMessages({ script, ledger, random, tell }: MessagesOptions): Messages {
  const taken = createRecentMap<Taken>(() => script.keepMessages);
  const plan = createTimeline<Planned>((planned) => void applyStep(planned));
  const keyOf = (agentId: string, messageId: string): string => `${agentId} ${messageId}`;

  async function take(
    { agentId, phone, messageId, entry }: Parameters<Messages['take']>[0],
    outcome: Outcome,
    lifeMs: number | null,
  ): Promise<void> {
    const message: Taken = { agentId, phone, messageId, entry, requests: 1, delivered: false, revoked: false };
    taken.set(keyOf(agentId, messageId), message);
    const steps = (outcome.steps ?? DELIVERED).map((step) => withinTtl(step, lifeMs));
    const [first, ...rest] = outcome.doubled ? steps.flatMap((step) => [step, step]) : steps;
    const untold = outcome.unreported ?? false;
    for (const step of rest) schedule({ message, step, untold });
    if (!first) return;
    if (outcome.early) await applyStep({ message, step: first });
    else schedule({ message, step: first, untold });
  }

  function schedule(planned: Planned): void {
    const untold = planned.untold || random.chance(script.missingEventShare);
    const lateMs = random.chance(script.reorderEventShare) ? script.reorderMs : 0;
    plan.after(planned.step.afterMs + lateMs, { ...planned, untold });
    if (untold) return;
    if (random.chance(script.doubleEventShare)) plan.after(planned.step.afterMs, planned);
  }

  async function applyStep({ message, step: { event }, untold }: Planned): Promise<void> {
    if (message.revoked && event !== 'UNSUBSCRIBE') return;
    if (OF_DELIVERY.has(event)) deliver(message);
    else if (event === 'TTL_EXPIRATION_REVOKED' && !message.delivered) markRevoked(message);
    if (untold) return;
    if (random.chance(script.foreignEventShare)) void tell(outgoingEvent({ ...message, messageId: newId() }, event));
    await tell(outgoingEvent(message, event));
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

/** The end of a message's life is when the message says so, unless the script is faster. */
function withinTtl(step: EventStep, lifeMs: number | null): EventStep {
  if (lifeMs === null || lifeMs >= step.afterMs || !step.event.startsWith('TTL_')) return step;
  return { ...step, afterMs: lifeMs };
}

/** Events of the network name the phone; events of a person name the sender, and are of no message when it is typing. */
function outgoingEvent({ agentId, phone, messageId }: Taken, what: EventStep['event']): OutgoingEvent {
  const common = { eventType: what, eventId: newId(), sendTime: new Date().toISOString(), agentId };
  const whose = what.startsWith('TTL_') ? { phoneNumber: phone } : { senderPhoneNumber: phone };
  const event = { ...whose, ...(what !== 'UNSUBSCRIBE' && { messageId }), ...common };
  return { kind: 'event', id: messageId, what, agentId, event };
}
