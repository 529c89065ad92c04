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

export type PhoneNumber = {
  readonly id: string;
  /** With the plus, and as people see it. */
  readonly displayNumber: string;
  readonly verifiedName: string;
};

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

export type MessageDesk = {
  /** Takes or refuses a message, or marks one of a person as read. */
  post(number: PhoneNumber, body: unknown): SandboxAnswer | Promise<SandboxAnswer>;
};

/** Of the sandbox, the newest destinations that were refused for a number of times. */
const MAX_REFUSALS = 10_000;

type Accepted = { readonly to: string; readonly category: string };

/** Takes messages as the network does (protocol sheet whatsapp, sections 2 and 10). */
export function createMessageDesk(deps: MessageDeps): MessageDesk {
  const { script, ledger, random, limits, windows, templates, statuses, hasMedia } = deps;
  const refusals = createRecentMap<number>(() => MAX_REFUSALS);

  function post(number: PhoneNumber, body: unknown): SandboxAnswer | Promise<SandboxAnswer> {
    if (getMember(body, 'status') !== undefined) return markRead(body);
    const judged = judge(number, body);
    if ('code' in judged) return refuse(number, body, judged);
    const entry = take(number, body, judged);
    if (script.silent || random.chance(script.dropAnswerShare)) return 'silent';
    if (script.answerDelayMs === 0) return answer(judged, body, entry);
    return new Promise((resolve) => {
      setTimeout(() => resolve(answer(judged, body, entry)), script.answerDelayMs);
    });
  }

  /** As a request is judged there: its form, the template, the rates, and then what the script wants. */
  function judge(number: PhoneNumber, body: unknown): Accepted | Fault {
    const frame = frameFault(body);
    if (frame) return frame;
    const recipient = recipientOf(body);
    if ('code' in recipient) return recipient;
    const category = categoryOf(body, recipient);
    if (typeof category !== 'string') return category;
    if (recipient.to === number.displayNumber.replaceAll(/\D/g, '')) return { code: 131021, details: 'to' };
    const fault = scripted(outcomeFor(script, recipient.to), recipient.to) ?? limits.take(number.id, recipient.to);
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

  function scripted({ refuse: code, refuseTimes }: Outcome, to: string): Fault | null {
    if (script.refuse !== null) return { code: script.refuse, details: 'The script says so.' };
    if (code === undefined) return null;
    const times = (refusals.get(to) ?? 0) + 1;
    refusals.set(to, times);
    if (refuseTimes === undefined || times <= refuseTimes) return { code, details: 'The script says so.' };
    refusals.set(to, 0);
    return null;
  }

  function refuse(number: PhoneNumber, body: unknown, fault: Fault): SandboxAnswer {
    ledger.recordMessage(noteOf(number, body, getText(body, 'to'), null, fault.code));
    return faultAnswer(fault);
  }

  function take(number: PhoneNumber, body: unknown, { to, category }: Accepted): MessageEntry | Taken {
    const id = newWamid();
    const note = noteOf(number, body, to, id, 0);
    const entry = ledger.recordMessage(note);
    const outOfWindow = category === 'service' && !windows.isOpen(number.id, to);
    statuses.plan({ id, phoneNumberId: number.id, to, opaque: note.opaque, category, outOfWindow });
    return entry ?? { id };
  }

  function answer({ to }: Accepted, body: unknown, entry: MessageEntry | Taken): SandboxAnswer {
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

type Taken = { readonly id: string };

const personOf = (to: string, payload: GraphScript['payload']): object =>
  payload === 'bsuid' ? { user_id: userIdOf(to) } : { wa_id: to };

function markRead(body: unknown): SandboxAnswer {
  const fault = frameFault(body);
  if (fault) return faultAnswer(fault);
  if (getMember(body, 'status') !== 'read') return faultAnswer({ code: 131009, details: 'status' });
  if (!getText(body, 'message_id').startsWith('wamid.')) return faultAnswer({ code: 131009, details: 'message_id' });
  return ok({ success: true });
}

function noteOf(
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

/** As long as those of the network. */
export const newWamid = (): string => `wamid.HBgM${randomBytes(30).toString('base64')}`;
