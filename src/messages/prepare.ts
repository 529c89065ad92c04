import { type Actor, NO_SENDING_RULES, type SendingRules } from '../core/actor.ts';
import { mapInSlices } from '../core/background.ts';
import { isRich, isRoutedBySender, isSmsSender, type Purpose } from '../core/channels.ts';
import type { Db } from '../core/db/query.ts';
import { newId, newSingleId } from '../core/ids.ts';
import { DEFAULT_NUMBER_RULES, type NumberRules } from '../core/phone.ts';
import type { OnUnknown } from '../dispatch/store.ts';
import { findBalance } from '../money/credit.ts';
import type { FindPrice } from '../money/pricing.ts';
import { faultOf } from '../routing/choice.ts';
import type { DltTemplates } from '../routing/dlt-templates.ts';
import { type NetworkFinder, type NetworkOf, NO_NETWORK } from '../routing/number-lookups.ts';
import type { FindRoute, MaySend } from '../routing/router.ts';
import type { Traffic } from '../routing/routes.ts';
import type { TlvTags } from '../routing/account-tlvs.ts';
import { type FindSticky, NO_STICKY, poolNameOf, type SenderRules } from '../routing/sender-rules.ts';
import { countParts, fitOneMessage, roomBeside } from '../smpp/text.ts';
import { decodeTlvs, encodeTlvs } from '../smpp/wire.ts';
import { isStorable } from '../templates/content.ts';
import { billingOf, type FreePrice, freePriceOf, NO_WINDOWS, purposeOfContent, type WindowsOf } from './billing.ts';
import { type Hold, holdOf, isUnderLaws, type Limits, placeOf } from './calendar.ts';
import { codeIn, countedText } from './codes.ts';
import { type FindConsentFault, readDestination } from './consent.ts';
import type { HashOfPerson } from './erased.ts';
import type { NewMessage } from './new-messages.ts';
import { asksOptOut, type OptOutLinks, withOptOut } from './opt-out-links.ts';
import { type Draft, REFUSALS, type Refusal, withValues } from './read-send.ts';
import { maySmart, type Replaced, smartText, strictFault } from './smart-encoding.ts';

/** Maximum parts per SMS. */
export const MAX_PARTS = 10;

/** Routes, prices and senders in memory, for the steps to look up. */
export type Lookups = OptOutLinks & {
  readonly findRoute: FindRoute;
  readonly findPrice: FindPrice;
  /** Returns true if any price depends on a window; omitted: none does. */
  readonly dependsOnWindow?: () => boolean;
  /** Service messages of a WhatsApp number in a month that Meta does not charge; omitted: none. */
  readonly freeMessages?: number;
  readonly maySend: MaySend;
  readonly senderRules: SenderRules;
  readonly networks: NetworkFinder;
  readonly tlvTags: TlvTags;
  readonly dltTemplates: DltTemplates;
  /** Returns true if the account takes events that messages were accepted; omitted: none does. */
  readonly takesAccepted?: (accountId: number) => boolean;
  /** Hashes persons as those who are erased are kept; omitted: nobody is erased. */
  readonly hashOfPerson?: HashOfPerson;
  /** The clock of the calendar; omitted: that of the machine. */
  readonly now?: () => Date;
};

/** A message that may be stored, with the additional data for the queue and the response. */
export type Prepared = {
  readonly kind: 'prepared';
  readonly draft: Draft;
  readonly message: NewMessage;
  readonly unicode: boolean;
  /** The connections of its route, best first; none for a simulation. */
  readonly connectionIds: readonly number[];
  /** Action when it never gets a response. */
  readonly onUnknown: OnUnknown;
  /** Set for a marketing message if the account limits them for each person. */
  readonly weeklyCap?: number;
  /** True if the calendar was asked. */
  readonly asksCalendar?: true;
  /** Set if it waits because of the calendar. */
  readonly hold?: Hold;
  readonly free?: FreePrice;
};

const LAWS_ONLY: Limits = { laws: true, quietHours: null };

type Filling<T> = { -readonly [Key in keyof T]: T[Key] };

/** A message on its way through the steps; each step fills in its results. */
type Work = Omit<Filling<Prepared>, 'message'> & {
  readonly message: Filling<NewMessage>;
  readonly tables: Lookups;
  readonly findConsentFault: FindConsentFault;
  readonly findSticky: FindSticky;
  readonly networkOf: NetworkOf;
  readonly windowsOf: WindowsOf;
  readonly numberRules: NumberRules;
  readonly rules: SendingRules;
  unitMicros: number;
  /** Explains a rejection beyond its reason. */
  hint?: string;
  /** The characters that `smart` replaced in the text. */
  replaced?: readonly Replaced[];
};

/** A step returns the reason for a rejection, or fills in the work and returns null. */
type Step = (work: Work) => Refusal | null;

/** True if a request may name this as the sender of an SMS: a valid sender, or a pool of numbers (`pool:NAME`). */
export const isSender = (sender: string): boolean => isSmsSender(sender) || poolNameOf(sender) !== null;

const STEPS: readonly (readonly [name: string, step: Step])[] = [
  [
    'destination',
    (work) => {
      const read = readDestination(work.draft, work.numberRules);
      if ('fault' in read) return read.fault;
      work.message.destination = read.e164;
      return null;
    },
  ],
  [
    'calendar',
    (work) => {
      const { draft, message } = work;
      const isAsked = draft.respectCalendar || (work.rules.respectsCalendar && message.purpose === 'marketing');
      if (!isAsked || !isUnderLaws(message.purpose) || message.destination === '') return null;
      work.asksCalendar = true;
      const at = message.scheduledAt ?? work.tables.now?.() ?? new Date();
      const hold = holdOf(placeOf(message.destination), LAWS_ONLY, at);
      if (hold === null) return null;
      const byMs = hold.until.getTime() - at.getTime();
      message.scheduledAt = hold.until;
      message.validUntil &&= new Date(message.validUntil.getTime() + byMs);
      work.hold = hold;
      return null;
    },
  ],
  [
    'sender',
    (work) => {
      const { draft, message, tables } = work;
      const { accountId, destination, sender } = message;
      if (isRoutedBySender(draft.channel))
        return tables.maySend(accountId, draft.channel, sender) ? null : 'foreign_sender';
      if (sender !== '' && !isSender(sender)) return 'bad_sender';
      // Without a valid number, as in a preview, no rule of a country applies.
      if (destination === '') return null;
      const chosen = tables.senderRules.choose({ accountId, destination, sender }, work.findSticky);
      if ('fault' in chosen) return chosen.fault;
      if (chosen.sender !== sender) message.askedSender = sender;
      message.sender = chosen.sender;
      return null;
    },
  ],
  [
    'parts',
    (work) => {
      const { channel, binary } = work.draft;
      if (isRich(channel)) return contentFault(work.draft);
      if (binary) return fitOneMessage(binary) ? null : 'binary_too_long';
      return fillText(work);
    },
  ],
  [
    'parameters',
    ({ draft, message, tables }) => {
      // Those of an SMPP customer were checked where they arrived.
      if (!draft.tlvs || message.smppCredentialId !== null) return null;
      const allowed = tables.tlvTags.of(message.accountId);
      return decodeTlvs(draft.tlvs)
        .keys()
        .every((tag) => allowed.has(tag))
        ? null
        : 'tlv_not_allowed';
    },
  ],
  [
    'template',
    (work) => {
      const { message, draft, tables } = work;
      if (isRoutedBySender(draft.channel) || draft.binary || message.destination === '') return null;
      const found = tables.dltTemplates.match(message);
      if (found === null) return null;
      if ('fault' in found) {
        work.hint = found.fault;
        return 'no_dlt_template';
      }
      const own = message.tlvs === null ? [] : decodeTlvs(message.tlvs);
      message.tlvs = encodeTlvs(new Map([...found.tlvs, ...own]));
      return null;
    },
  ],
  [
    'consent',
    (work) => {
      const { rules, draft, message } = work;
      const { channel, destination, purpose } = message;
      // What follows on another channel is the same message.
      if (purpose === 'marketing' && rules.weeklyCap !== null && !draft.isFollowing && !draft.simulation)
        work.weeklyCap = rules.weeklyCap;
      return draft.answersConsent ? null : work.findConsentFault(channel, destination, message);
    },
  ],
  [
    'route',
    (work) => {
      const { draft, message } = work;
      if (draft.simulation) return null;
      const chosen = work.tables.findRoute(draft.channel, message.destination, trafficOf(work));
      const { connectionIds, onUnknown, reason } = chosen;
      work.connectionIds = connectionIds;
      // Bulk is never sent twice: an offer that arrives twice annoys, a code that never arrives locks a user out.
      if (draft.priority <= 0) work.onUnknown = onUnknown;
      message.connectionId = connectionIds[0] ?? null;
      message.routeReason = reason;
      return connectionIds.length === 0 ? faultOf(chosen) : null;
    },
  ],
  [
    'price',
    (work) => {
      const { draft, message } = work;
      if (message.simulation) return null;
      const query = billingOf(message, draft.template ?? null, work.windowsOf(message));
      const price = work.tables.findPrice(query);
      if (price === null) return 'no_price';
      const { findPrice, freeMessages: perNumber } = work.tables;
      const free = perNumber ? freePriceOf(findPrice, query) : null;
      if (perNumber && free && free.priceMicros !== price.priceMicros) work.free = { price: free, perNumber };
      work.unitMicros = price.unitMicros;
      message.priceMicros = price.priceMicros;
      message.refundUndelivered = price.refundUndelivered;
      message.priceCategory = price.category;
      return null;
    },
  ],
];

/**
 * Returns the properties of a message on which routes depend. Messages with a user data header are parts of a longer
 * text, which must arrive as from one sender, so all to a person go the same way.
 */
const trafficOf = ({
  draft,
  message: { accountId, id, destination, sender, scheduledAt, purpose },
  networkOf,
}: Work): Traffic => ({
  accountId,
  sender,
  network: networkOf(destination),
  purpose,
  at: scheduledAt,
  key: id === '' || draft.udh || draft.binary ? destination : id,
  salt: 0,
});

/**
 * Puts the recipient's link in the place of `{{optout}}`, then the values in that of other placeholders, and checks the
 * text. What an SMPP customer submits is sent as it is.
 */
function fillPlaces({ draft, message, tables }: Work): Refusal | null {
  if (message.smppCredentialId === null && asksOptOut(message.body)) {
    if (!tables.optOutLink) return 'no_public_url';
    message.body = withOptOut(message.body, tables.optOutLink({ ...message, phoneNumber: message.destination }));
  }
  message.body = withValues(message.body, draft);
  if (message.body === '') return 'empty_body';
  return message.body.includes('\0') ? 'bad_body' : null;
}

function fillText(work: Work): Refusal | null {
  const { draft, message } = work;
  const { encoding, gsmOnly, udh, maxParts = MAX_PARTS } = draft;
  const refusal = fillPlaces(work);
  if (refusal !== null) return refusal;
  if (encoding === 'smart' && maySmart(message.destination, message.purpose)) {
    const smart = smartText(message.body);
    message.body = smart.text;
    work.replaced = smart.replaced;
  }
  const { parts, alphabet, units } = countParts(countedText(message.body, draft));
  message.parts = parts;
  work.unicode = alphabet === 'ucs2';
  if (work.unicode && encoding === 'strict') work.hint = strictFault(message.body) ?? REFUSALS.body_not_gsm;
  if (work.unicode && (gsmOnly || encoding === 'strict')) return 'body_not_gsm';
  if (udh) return units > roomBeside(udh, alphabet) ? 'text_too_long_for_header' : null;
  return parts > maxParts ? 'body_too_long' : null;
}

/** Checks the content of a message on RCS or WhatsApp, where a message has one part however long it is. */
function contentFault({ channel, content, body }: Draft): Refusal | null {
  if (!content || content.channel !== channel) return 'no_content';
  return body.includes('\0') || !isStorable(content) ? 'bad_body' : null;
}

/**
 * The account that sends with the rules for its numbers, and the API key, the person or the SMPP credential that
 * requested it.
 */
export type Requester = Pick<Actor, 'accountId' | 'keyId' | 'userId'> &
  Partial<Pick<Actor, 'numberRules' | 'sendingRules'>> & { readonly smppCredentialId?: number };

/** Findings about the recipients of drafts. */
type Known = Pick<Work, 'findSticky' | 'networkOf' | 'windowsOf'>;

/**
 * Runs a draft through the steps and writes nothing. The first failing step gives the reason. `findConsentFault` and
 * `findSticky` must have been made for the draft (src/messages/consent.ts, src/routing/sender-rules.ts).
 */
export function prepare(
  by: Requester,
  draft: Draft,
  tables: Lookups,
  findConsentFault: FindConsentFault,
  { findSticky = NO_STICKY, networkOf = NO_NETWORK, windowsOf = NO_WINDOWS }: Partial<Known> = {},
): Prepared | { kind: 'refused'; refusal: Refusal; hint?: string } {
  const work = begin(by, draft, tables, { id: idFor(draft), findConsentFault, findSticky, networkOf, windowsOf });
  for (const [, step] of STEPS) {
    const refusal = step(work);
    if (refusal !== null) return { kind: 'refused', refusal, ...(work.hint !== undefined && { hint: work.hint }) };
  }
  return work;
}

/** A message that would be accepted if it had a route. */
type Routable = Pick<NewMessage, 'destination' | 'priceMicros'>;

/**
 * Runs a draft through all steps but that of its route, which may need the network of the number; null if one fails.
 */
function routable(
  by: Examiner,
  draft: Draft,
  tables: Lookups,
  { findConsentFault, findSticky }: Pick<Work, 'findConsentFault' | 'findSticky'>,
): Routable | null {
  const work = begin(by, draft, tables, { id: '', findConsentFault, findSticky, ...UNKNOWN });
  return STEPS.some(([name, step]) => name !== 'route' && step(work) !== null) ? null : work.message;
}

const idFor = ({ priority, smpp, caller }: Draft): string =>
  priority <= 0 ? newSingleId(smpp ? 'smpp' : caller?.mark) : newId();

type Examiner = Pick<Requester, 'accountId'> & Partial<Requester>;

type Found = Known & Pick<Work, 'findConsentFault'> & { readonly id: string };

const UNKNOWN = { networkOf: NO_NETWORK, windowsOf: NO_WINDOWS };

const begin = (by: Examiner, draft: Draft, tables: Lookups, { id, ...found }: Found): Work => ({
  kind: 'prepared',
  draft,
  message: toMessage(by, draft, id),
  unicode: false,
  connectionIds: [],
  onUnknown: 'hold',
  numberRules: by.numberRules ?? DEFAULT_NUMBER_RULES,
  rules: by.sendingRules ?? NO_SENDING_RULES,
  tables,
  ...found,
  unitMicros: 0,
});

/** Combined findings of all steps about a draft: all of its errors, and its price. */
export type Examined = {
  readonly refusals: readonly Refusal[];
  /** The number in E.164; null when the draft has no valid one. */
  readonly destination: string | null;
  readonly parts: number;
  /** The text as it would be sent. */
  readonly body: string;
  /** The characters that `smart` replaced in it. */
  readonly replaced: readonly Replaced[];
  /** Explains a rejection beyond its reason. */
  readonly hint: string | null;
  /** The rule of the calendar for which it would wait; null: it would be sent at its time. */
  readonly hold: Hold | null;
  /** The price of the whole message; null when none is known. */
  readonly priceMicros: number | null;
  /** The price of a part on SMS, or of the message elsewhere; null when none is known. */
  readonly unitMicros: number | null;
};

/** The steps that need a valid number. */
const ABOUT_NUMBER: ReadonlySet<string> = new Set(['consent', 'route', 'price']);

/** Runs a draft through the steps of `prepare` without stopping at the first rejection, for previews. */
export function examine(
  by: Examiner,
  draft: Draft,
  tables: Lookups,
  findConsentFault: FindConsentFault,
  windowsOf: WindowsOf = NO_WINDOWS,
): Examined {
  const found = { findConsentFault, findSticky: NO_STICKY, networkOf: NO_NETWORK, windowsOf };
  const work = begin(by, draft, tables, { id: '', ...found });
  const refusals = STEPS.flatMap(([name, step]) => {
    if (ABOUT_NUMBER.has(name) && work.message.destination === '') return [];
    return step(work) ?? [];
  });
  const { destination, parts, priceMicros } = work.message;
  const priced = destination !== '' && !refusals.includes('no_price');
  return {
    refusals,
    destination: destination || null,
    parts,
    body: work.message.body,
    replaced: work.replaced ?? [],
    hint: work.hint ?? null,
    hold: work.hold ?? null,
    priceMicros: priced ? priceMicros : null,
    unitMicros: priced ? work.unitMicros : null,
  };
}

const purposeOf = ({ sendingRules }: Examiner, { purpose, content, template }: Draft): Purpose | null =>
  purpose ?? purposeOfContent(content, template) ?? sendingRules?.purpose ?? null;

/**
 * Makes the row of a message before the steps. Every field is written out, so that a field added to messages does not
 * compile until it is taken from the draft.
 *
 * @param id empty for a preview
 */
const toMessage = (by: Examiner, draft: Draft, id: string): NewMessage => ({
  accountId: by.accountId,
  id,
  clientId: draft.clientId,
  channel: draft.channel,
  source: draft.source,
  simulation: draft.simulation,
  connectionId: null,
  routeReason: null,
  sender: draft.sender,
  askedSender: null,
  destination: '',
  body: draft.body,
  content: draft.content ?? null,
  udh: draft.binary?.udh ?? draft.udh ?? null,
  binaryBody: draft.binary?.data ?? null,
  dataCoding: draft.binary?.dataCoding ?? draft.dataCoding ?? null,
  tlvs: draft.tlvs ?? null,
  parts: 1,
  wantReceipt: draft.wantReceipt,
  validUntil: draft.validUntil,
  scheduledAt: draft.scheduledAt,
  priceMicros: 0,
  refundUndelivered: false,
  priceCategory: null,
  purpose: purposeOf(by, draft),
  clientData: draft.clientData,
  apiKeyId: by.keyId ?? null,
  userId: by.keyId === null ? (by.userId ?? null) : null,
  smppCredentialId: by.smppCredentialId ?? null,
  campaignId: null,
  keepsReserve: false,
  ...codeIn(draft),
});

type Deps = { readonly pool: Db; readonly tables: Lookups };

/**
 * Finds the networks of SMS destinations where a route or a cost depends on them. Waits for unknown ones, but no longer
 * than the time-out of the look-up service. Look-ups are paid, so only numbers are looked up whose messages would be
 * accepted if they had a route, and which the credit of the account covers.
 */
export async function findNetworks(
  { pool, tables }: Deps,
  actor: Pick<Requester, 'accountId' | 'numberRules'>,
  drafts: readonly Draft[],
  known: Parameters<typeof routable>[3],
): Promise<NetworkOf> {
  const { networks } = tables;
  if (!networks.isNeeded()) return NO_NETWORK;
  const examined = await mapInSlices(drafts, (draft) =>
    !isRoutedBySender(draft.channel) && !draft.simulation ? routable(actor, draft, tables, known) : null,
  );
  const messages = examined.filter((each) => each !== null);
  const { accountId } = actor;
  return networks.find(
    messages.map(({ destination }) => destination),
    {
      accountId,
      wait: true,
      async pickWorthy(numbers) {
        const covered = await coveredBy(pool, accountId, messages);
        return numbers.filter((number) => covered.has(number));
      },
    },
  );
}

/**
 * Returns the numbers of the messages that the available credit covers, one by one in order. It may be spent meanwhile.
 */
async function coveredBy(db: Db, accountId: number, messages: readonly Routable[]): Promise<ReadonlySet<string>> {
  const balance = await findBalance(db, { accountId });
  let left = balance?.unlimited ? Number.POSITIVE_INFINITY : (balance?.availableMicros ?? 0);
  const covered = new Set<string>();
  for (const { destination, priceMicros } of messages) {
    if (priceMicros > left) continue;
    left -= priceMicros;
    covered.add(destination);
  }
  return covered;
}
