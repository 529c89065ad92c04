import { randomBytes } from 'node:crypto';
import { getMember, getText } from '../../carriers/json.ts';
import type { SandboxAnswer } from '../http/server.ts';
import type { Random } from '../smsc/random.ts';
import { createRecentMap } from '../smsc/recent-map.ts';
import { type Fault, faultAnswer, ok } from './answer.ts';
import type { LedgerWriter, MessageEntry } from './ledger.ts';
import type { Limits, Windows } from './limits.ts';
import { type GraphScript, type Outcome, outcomeFor } from './script.ts';
import { type StatusPlanner, userIdOf } from './statuses.ts';
import type { Templates } from './templates.ts';
import { contentFault, frameFault, type Recipient, recipientOf } from './validate.ts';

/** A phone number of the business account. */
export type PhoneNumber = {
  readonly id: string;
  /** The number as people see it, with the plus sign. */
  readonly displayNumber: string;
  readonly verifiedName: string;
  /** False for a number that has to be registered before it can send; default true. */
  readonly registered?: boolean;
  /** The PIN of the two-step verification; without one, registering accepts any PIN. */
  readonly pin?: string;
};

/** Dependencies of the message endpoint. */
export type MessageDeps = {
  readonly script: GraphScript;
  readonly ledger: LedgerWriter;
  readonly random: Random;
  readonly limits: Limits;
  readonly windows: Windows;
  readonly templates: Templates;
  readonly statuses: StatusPlanner;
  readonly hasMedia: (id: string) => boolean;
};

/** The endpoint for messages. */
export type MessageDesk = {
  /** Accepts or rejects a message, or marks an inbound message as read. */
  post(number: PhoneNumber, body: unknown): SandboxAnswer | Promise<SandboxAnswer>;
};

/** Maximum number of destinations whose rejections are counted; the newest are kept. */
const MAX_REFUSALS = 10_000;

const SCRIPTED = 'Rejected by the script of the simulator.';

type Accepted = { readonly to: string; readonly category: string };

/** Creates the endpoint for messages, with the rules of the network (Cloud API, messages and error codes). */
export function createMessageDesk(deps: MessageDeps): MessageDesk {
  const { script, ledger, random, limits, windows, templates, statuses, hasMedia } = deps;
  const refusals = createRecentMap<number>(() => MAX_REFUSALS);

  function post(number: PhoneNumber, body: unknown): SandboxAnswer | Promise<SandboxAnswer> {
    if (getMember(body, 'status') !== undefined) return markRead(body);
    const checked = validate(number, body);
    if ('code' in checked) return refuse(number, body, checked);
    const entry = accept(number, body, checked);
    if (script.silent || random.chance(script.dropAnswerShare)) return 'silent';
    if (script.answerDelayMs === 0) return answer(checked, body, entry);
    return new Promise((resolve) => {
      setTimeout(() => resolve(answer(checked, body, entry)), script.answerDelayMs);
    });
  }

  /** Validates a request in the network's order: format, template, the script's rejections, then the rates. */
  function validate(number: PhoneNumber, body: unknown): Accepted | Fault {
    const frame = frameFault(body);
    if (frame) return frame;
    const recipient = recipientOf(body);
    if ('code' in recipient) return recipient;
    const category = categoryOf(body, recipient);
    if (typeof category !== 'string') return category;
    if (recipient.to === number.displayNumber.replaceAll(/\D/g, '')) return { code: 131021, details: 'to' };
    const fault =
      scriptedRefusal(outcomeFor(script, recipient.to), recipient.to) ?? limits.take(number.id, recipient.to);
    return fault ?? { to: recipient.to, category };
  }

  function categoryOf(body: unknown, recipient: Recipient): string | Fault {
    const type = getText(body, 'type') || 'text';
    const content = getMember(body, type);
    if (type !== 'template') return contentFault(type, content, hasMedia) ?? 'service';
    const checked = templates.check(content);
    if ('code' in checked) return checked;
    if (checked.category === 'authentication' && recipient.kind === 'user')
      return { code: 131062, details: 'recipient' };
    return checked.category;
  }

  function scriptedRefusal({ refuse: code, refuseTimes }: Outcome, to: string): Fault | null {
    if (script.refuse !== null) return { code: script.refuse, details: SCRIPTED };
    if (code === undefined) return null;
    const times = (refusals.get(to) ?? 0) + 1;
    refusals.set(to, times);
    if (refuseTimes === undefined || times <= refuseTimes) return { code, details: SCRIPTED };
    refusals.set(to, 0);
    return null;
  }

  function refuse(number: PhoneNumber, body: unknown, fault: Fault): SandboxAnswer {
    ledger.recordMessage(describe(number, body, getText(body, 'to'), null, fault.code));
    return faultAnswer(fault);
  }

  function accept(number: PhoneNumber, body: unknown, { to, category }: Accepted): MessageEntry | Unrecorded {
    const id = newWamid();
    const description = describe(number, body, to, id, 0);
    const entry = ledger.recordMessage(description);
    const outOfWindow = category === 'service' && !windows.isOpen(number.id, to);
    statuses.plan({ id, phoneNumberId: number.id, to, opaque: description.opaque, category, outOfWindow });
    return entry ?? { id };
  }

  function answer({ to }: Accepted, body: unknown, entry: MessageEntry | Unrecorded): SandboxAnswer {
    if ('answered' in entry) entry.answered = true;
    const held = outcomeFor(script, to).held === true;
    return ok({
      messaging_product: 'whatsapp',
      contacts: [{ input: getText(body, 'to') || to, ...personOf(to, script.payload) }],
      messages: [{ id: entry.id, message_status: held ? 'held_for_quality_assessment' : 'accepted' }],
    });
  }

  return { post };
}

/** An accepted message of which no entry is kept. */
type Unrecorded = { readonly id: string };

const personOf = (to: string, payload: GraphScript['payload']): object =>
  payload === 'bsuid' ? { user_id: userIdOf(to) } : { wa_id: to };

function markRead(body: unknown): SandboxAnswer {
  const fault = frameFault(body);
  if (fault) return faultAnswer(fault);
  if (getMember(body, 'status') !== 'read') return faultAnswer({ code: 131009, details: 'status' });
  if (!getText(body, 'message_id').startsWith('wamid.')) return faultAnswer({ code: 131009, details: 'message_id' });
  return ok({ success: true });
}

function describe(
  { id: phoneNumberId }: PhoneNumber,
  body: unknown,
  to: string,
  id: string | null,
  code: number,
): Omit<MessageEntry, 'kind' | 'n' | 'at' | 'answered'> {
  const type = getText(body, 'type') || 'text';
  const opaque = getText(body, 'biz_opaque_callback_data') || null;
  return { phoneNumberId, to: to.replace('+', ''), type, content: getMember(body, type), opaque, id, code };
}

/** Returns a new message id of the same length as the network's. */
export const newWamid = (): string => `wamid.HBgM${randomBytes(30).toString('base64')}`;
