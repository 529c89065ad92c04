import type { PduOf } from '../../carriers/smpp/pdu.ts';
import { STATUS, statusName } from '../../carriers/smpp/status.ts';
import { concatOf, textOf, userData } from '../../carriers/smpp/text.ts';
import type { SubmitEntry } from './ledger-entries.ts';
import type { LedgerWriter } from './ledger.ts';
import type { MessageId } from './message-ids.ts';
import type { Random } from './random.ts';
import type { ReceiptPlanner } from './receipts.ts';
import { createRecentMap } from './recent-map.ts';
import { type Outcome, outcomeFor, type SandboxScript } from './script.ts';
import type { Session } from './session.ts';
import { ENROUTE, type MessageStore } from './stored.ts';
import { createTimeline } from './timeline.ts';
import { submitStatus } from './validate.ts';

type Submit = PduOf<'submit_sm'>;
type Answer = {
  readonly session: Session;
  readonly sequence: number;
  readonly messageId: string;
  readonly entry: SubmitEntry | null;
  readonly status: number;
};

/** The handler of submits. */
export type SubmitDesk = {
  submit(session: Session, pdu: Submit): void;
  stop(): void;
};

type SubmitDeps = {
  readonly script: SandboxScript;
  readonly ledger: LedgerWriter;
  readonly random: Random;
  readonly store: MessageStore;
  readonly receipts: ReceiptPlanner;
  nextId(): MessageId;
};

/** The delay of a response whose first receipt was sent early. */
const EARLY_GAP_MS = 30;
const MAX_DESTINATIONS = 10_000;

/**
 * Creates the handler that accepts or rejects submits, records them, responds as the script defines, and schedules
 * receipts.
 */
export function createSubmitDesk({ script, ledger, random, store, receipts, nextId }: SubmitDeps): SubmitDesk {
  const late = createTimeline<Answer>(({ session, sequence, status, messageId, entry }) =>
    session.answer(sequence, status, messageId, entry),
  );
  const isRefused = createRefusalCounter();

  function submit(session: Session, pdu: Submit): void {
    const outcome = outcomeFor(script, pdu.destination);
    const status = statusOf(session, pdu, outcome);
    if (status === STATUS.ESME_ROK) accept(session, pdu, outcome);
    else
      answer({ session, sequence: pdu.sequence, status, messageId: '', entry: record(session, pdu, status, null) }, 0);
  }

  function statusOf(session: Session, pdu: Submit, outcome: Outcome): number {
    if (!session.canSubmit()) return STATUS.ESME_RINVBNDSTS;
    if (script.window > 0 && session.unanswered > script.window) return STATUS[script.windowStatus];
    if (session.account?.takeToken() === false || random.chance(script.throttleShare)) return STATUS.ESME_RTHROTTLED;
    const status = submitStatus(pdu, script);
    if (status !== STATUS.ESME_ROK || !outcome.refuse) return status;
    const refused = outcome.refuseTimes === undefined || isRefused(pdu.destination, outcome.refuseTimes);
    return refused ? STATUS[outcome.refuse] : STATUS.ESME_ROK;
  }

  function accept(session: Session, pdu: Submit, outcome: Outcome): void {
    const id = nextId();
    const entry = record(session, pdu, STATUS.ESME_ROK, id.text);
    const acceptedAt = Date.now();
    const systemId = session.account?.systemId ?? '';
    const stored = { systemId, id, message: pdu, outcome, acceptedAt, current: ENROUTE, doneAt: acceptedAt };
    store.add(stored);
    session.taken++;
    const early = receipts.plan(stored);
    if (script.cutAfter > 0 && session.taken >= script.cutAfter) session.destroy();
    else if (random.chance(script.dropResponseShare)) session.forget();
    else {
      const accepted = { session, sequence: pdu.sequence, status: STATUS.ESME_ROK, messageId: id.text, entry };
      answer(accepted, early ? EARLY_GAP_MS : 0);
    }
  }

  function answer(ready: Answer, extraMs: number): void {
    const reorderMs = random.chance(script.reorderResponseShare) ? script.reorderMs : 0;
    const delayMs = script.responseDelayMs + reorderMs + extraMs;
    if (delayMs > 0) late.after(delayMs, ready);
    else ready.session.answer(ready.sequence, ready.status, ready.messageId, ready.entry);
  }

  function record(session: Session, pdu: Submit, status: number, id: string | null): SubmitEntry | null {
    return ledger.recordSubmit(statusName(status), () => ({
      session: session.id,
      systemId: session.account?.systemId ?? '',
      sequence: pdu.sequence,
      source: pdu.source,
      destination: pdu.destination,
      text: textOf(pdu, 'gsm'),
      esmClass: pdu.esmClass,
      dataCoding: pdu.dataCoding,
      octets: Buffer.from(userData(pdu)).toString('hex'),
      concat: concatOf(pdu),
      id,
    }));
  }

  return { submit, stop: () => late.stop() };
}

/** Creates a function that returns true for the first `times` submits to a destination, then false once, and so on. */
function createRefusalCounter(): (destination: string, times: number) => boolean {
  const counts = createRecentMap<number>(() => MAX_DESTINATIONS);
  return (destination, times) => {
    const count = counts.get(destination) ?? 0;
    counts.set(destination, count < times ? count + 1 : 0);
    return count < times;
  };
}
