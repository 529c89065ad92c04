import { nonGsmCharacters, countParts, lastPartRoom } from '../../../carriers/smpp/text.ts';
import { createConsentCheck } from '../../consent/check.ts';
import { findBalance } from '../../../money/credit/sql.ts';
import type { Db } from '../../../platform/db/query.ts';
import { AppError, type FieldError } from '../../../platform/errors.ts';
import type { Actor } from '../../../platform/lib/actor.ts';
import { amountFor } from '../../../platform/lib/amounts.ts';
import { parsePhone } from '../../../platform/lib/phone/phone-details.ts';
import { countryOfUserId } from '../../../platform/lib/phone/user-id.ts';
import { bareAgentId } from '../../../carriers/rcs/agent-id.ts';
import { findBodyErrors as faultsOfRcsBody } from '../../../network/templates/rcs-body.ts';
import { type Draft, newDraft, type Refusal, REFUSALS } from '../draft.ts';
import { type Examined, examine, type Lookups } from '../prepare.ts';
import { type CheckedContent, checkRcs, checkWhatsapp } from '../rich/content.ts';
import { faultsOfBody } from '../rich/whatsapp-body.ts';
import type { PreviewIn, PreviewOut } from './schema.ts';

type Sender = Pick<Actor, 'accountId' | 'hasOptOuts' | 'operations' | 'numberRules'>;

/**
 * Previews a send: its text, its price and the reasons for a rejection, found by the same steps as in a send. Nothing
 * is stored. Omitted fields have no problems.
 */
export async function previewMessage(
  { db, tables }: { readonly db: Db; readonly tables: Lookups },
  actor: Sender,
  input: PreviewIn,
): Promise<PreviewOut> {
  const { composed, faults } = await contentOf(db, actor, input);
  const draft = draftOf(input, composed);
  const isOptedOut = await createConsentCheck(db)(actor, [draft]);
  const found = examine(actor, draft, tables, isOptedOut);
  const balance = await findBalance(db, actor);
  const short = balance && !balance.unlimited && (found.priceMicros ?? 0) > balance.availableMicros;
  const refusals: readonly Refusal[] = short ? [...found.refusals, 'no_credit'] : found.refusals;
  const problems = [...faults, ...problemsOf(input, refusals)];
  return {
    channel: input.channel,
    text: draft.body,
    ...measure(draft, found),
    country: found.destination === null ? null : countryOf(found.destination),
    ...priceOf(found, actor),
    currency: balance?.currency ?? 'EUR',
    valid: problems.length === 0,
    problems,
  };
}

const countryOf = (destination: string): string | null =>
  countryOfUserId(destination) ?? parsePhone(destination)?.country ?? null;

type Content = { readonly composed: CheckedContent['composed'] | null; readonly faults: readonly FieldError[] };
const NOTHING: Content = { composed: null, faults: [] };

/** Composes the content of the message; the 400 errors of a send become its faults. */
async function contentOf(db: Db, actor: Sender, input: PreviewIn): Promise<Content> {
  try {
    return await readContent(db, actor, input);
  } catch (error) {
    if (!(error instanceof AppError) || !error.details) throw error;
    return { composed: null, faults: error.details.map(ofPreview) };
  }
}

const ofPreview = ({ field, message }: FieldError): FieldError => ({
  field: field === 'phoneNumberId' ? 'sender' : field,
  message,
});

async function readContent(db: Db, actor: Sender, input: PreviewIn): Promise<Content> {
  if (input.channel === 'SMS') return NOTHING;
  if (input.channel === 'RCS') {
    const { templateId, body } = input;
    if (templateId === undefined && body === undefined) return NOTHING;
    const { composed, faults } = await checkRcs(db, actor, input);
    return { composed, faults: [...(body ? faultsOfRcsBody(body) : []), ...faults] };
  }
  const { template, body, sender: phoneNumberId = '' } = input;
  // The phone number decides in which business account a template is searched for.
  if (!body && (!template || phoneNumberId === '')) return NOTHING;
  const { composed, faults } = await checkWhatsapp(db, actor, { template, body, phoneNumberId });
  return { composed, faults: [...(body ? faultsOfBody(body) : []), ...faults] };
}

const draftOf = (input: PreviewIn, composed: Content['composed']): Draft =>
  newDraft({
    channel: input.channel,
    source: 'API',
    destination: input.destination ?? '',
    sender: input.channel === 'RCS' ? bareAgentId(input.sender ?? '') : (input.sender ?? ''),
    body: input.channel === 'SMS' ? (input.text ?? '') : (composed?.body ?? ''),
    content: composed?.content ?? null,
  });

/** The field that a rejection refers to. A rejection is not reported when its field is omitted. */
const ABOUT: Readonly<Record<Refusal, 'destination' | 'sender' | 'text' | 'credit'>> = {
  not_a_number: 'destination',
  no_country_code: 'destination',
  unknown_country_code: 'destination',
  impossible_length: 'destination',
  bad_sender: 'sender',
  foreign_sender: 'sender',
  sender_not_allowed: 'sender',
  no_pool: 'sender',
  empty_body: 'text',
  bad_body: 'text',
  no_content: 'text',
  body_too_long: 'text',
  body_not_gsm: 'text',
  binary_too_long: 'text',
  text_too_long_for_header: 'text',
  no_route: 'destination',
  no_price: 'destination',
  no_credit: 'credit',
  opted_out: 'destination',
};

/**
 * Rejections already reported by other means: on RCS and WhatsApp the sender is the route, and the errors of the
 * content have been reported.
 */
const REPORTED_BEFORE: ReadonlySet<Refusal> = new Set(['no_content', 'no_route']);

function problemsOf(input: PreviewIn, refusals: readonly Refusal[]): FieldError[] {
  const isSms = input.channel === 'SMS';
  const { destination, sender } = input;
  const given = { destination, sender, text: isSms ? input.text : '', credit: '' };
  return refusals
    .filter((refusal) => given[ABOUT[refusal]] !== undefined && (isSms || !REPORTED_BEFORE.has(refusal)))
    .map((refusal) => {
      const field = ABOUT[refusal];
      return { field: field === 'text' && !isSms ? 'body' : field, message: REFUSALS[refusal] };
    });
}

const MAX_UNSUPPORTED = 50;

function measure({ channel, body }: Draft, { parts }: Examined) {
  if (channel !== 'SMS')
    return { encoding: null, characters: body.length, parts, perPart: null, remaining: null, unsupported: [] };
  const { alphabet, units, parts: needed } = countParts(body);
  const encoding = alphabet === 'gsm7' ? ('GSM-7' as const) : ('UCS-2' as const);
  const unsupported = nonGsmCharacters(body).slice(0, MAX_UNSUPPORTED);
  return { encoding, characters: units, parts: needed, ...lastPartRoom(body), unsupported };
}

const priceOf = ({ priceMicros, unitMicros }: Examined, sender: Sender) => ({
  unitPrice: unitMicros === null ? null : amountFor(sender, unitMicros),
  price: priceMicros === null ? null : amountFor(sender, priceMicros),
});
