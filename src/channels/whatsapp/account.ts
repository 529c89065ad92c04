import { LRUCache } from 'lru-cache';
import { createTokenBucket } from '../../core/limits.ts';
import type { Probed } from '../http-client.ts';
import { getList, getMember, getText } from '../settings.ts';
import { createThrottle, type Pace } from '../throttle.ts';
import {
  callAndRead,
  classOf,
  classOfHttp,
  errorIn,
  explain,
  type GraphAnswer,
  type GraphClient,
  type GraphResult,
} from './client.ts';
import type { WhatsappSettings } from './settings.ts';

export type PhoneNumber = {
  readonly id: string;
  /** The number as displayed, with spaces and dashes. */
  readonly displayNumber: string;
  readonly verifiedName: string;
  /** GREEN, YELLOW, RED or UNKNOWN. */
  readonly quality: string;
  /** True if it is registered for the Cloud API; messages from an unregistered number are rejected (133010). */
  readonly registered: boolean;
  /**
   * The people to whom its portfolio may write first within 24 hours; null: any number; undefined if it is not stated.
   */
  readonly messagingLimit: number | null | undefined;
};

/** Lists the first 100 phone numbers of the account (Cloud API, phone numbers). */
export function listPhoneNumbers(client: GraphClient): Promise<GraphResult<PhoneNumber[]>> {
  const query =
    'fields=id,display_phone_number,verified_name,quality_rating,platform_type,whatsapp_business_manager_messaging_limit&limit=100';
  return callAndRead(client, { method: 'GET', path: `/${client.settings.wabaId}/phone_numbers?${query}` }, (json) =>
    Array.isArray(getMember(json, 'data')) ? getList(json, 'data').flatMap(readNumber) : undefined,
  );
}

/** A number that was added and never registered has the platform NOT_APPLICABLE. */
function readNumber(json: unknown): PhoneNumber[] {
  const id = getText(json, 'id');
  const [displayNumber, verifiedName] = [getText(json, 'display_phone_number'), getText(json, 'verified_name')];
  const quality = getText(json, 'quality_rating') || 'UNKNOWN';
  const registered = getText(json, 'platform_type') !== 'NOT_APPLICABLE';
  const messagingLimit = readMessagingLimit(getMember(json, 'whatsapp_business_manager_messaging_limit'));
  return id === '' ? [] : [{ id, displayNumber, verifiedName, quality, registered, messagingLimit }];
}

/**
 * Reads a messaging limit as Meta writes it: TIER_2K or TIER_UNLIMITED in responses, 2000 or -1 in callbacks
 * (developers.facebook.com/documentation/business-messaging/whatsapp/messaging-limits, and the webhook references
 * business_capability_update and phone_number_quality_update). Undefined for anything else; null: any number.
 */
export function readMessagingLimit(written: unknown): number | null | undefined {
  const text = typeof written === 'number' || typeof written === 'string' ? String(written) : '';
  if (text === '-1' || text === 'TIER_UNLIMITED') return null;
  const [, digits, thousands] = /^(?:TIER_)?([1-9]\d{0,8})(K?)$/.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * (thousands === 'K' ? 1000 : 1);
}

/**
 * Finds the id of the portfolio that owns the account (Graph API, WhatsApp Business Account, `owner_business_info`).
 */
export const findPortfolio = (client: GraphClient): Promise<GraphResult<string>> =>
  callAndRead(
    client,
    { method: 'GET', path: `/${client.settings.wabaId}?fields=owner_business_info` },
    (json) => getText(getMember(json, 'owner_business_info'), 'id') || undefined,
  );

/**
 * Registers a number for the Cloud API with the PIN of its two-step verification, which is set to this PIN if it has
 * none (Cloud API, phone numbers).
 */
export function registerNumber(
  client: GraphClient,
  { id, pin }: { readonly id: string; readonly pin: string },
): Promise<GraphResult<true>> {
  const json = { messaging_product: 'whatsapp', pin };
  return callAndRead(client, { method: 'POST', path: `/${id}/register`, json }, readSuccess);
}

/**
 * Subscribes the app of the token to the account. Without it, Meta posts neither statuses nor messages, although it has
 * verified the callback URL (daveebbelaar/python-whatsapp-bot#24). Subscribing twice is harmless.
 *
 * With `callback`, Meta posts messages and statuses of this account to that URL instead of to the URL of the app. It
 * verifies the URL with the token at once, and it must be HTTPS
 * (developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/override).
 */
export const subscribeApp = (
  client: GraphClient,
  callback: { readonly url: string; readonly verifyToken: string } | null,
): Promise<GraphResult<true>> => {
  const json = callback === null ? {} : { override_callback_uri: callback.url, verify_token: callback.verifyToken };
  return callAndRead(client, { method: 'POST', path: subscriptionPath(client), json }, readSuccess);
};

/** Returns true if the app of the token is subscribed to the account; other apps of the account do not count. */
export async function isAppSubscribed(client: GraphClient): Promise<GraphResult<boolean>> {
  const app = await findAppId(client);
  if (!app.ok) return app;
  return callAndRead(client, { method: 'GET', path: subscriptionPath(client) }, (json) =>
    Array.isArray(getMember(json, 'data'))
      ? getList(json, 'data').some((one) => getText(getMember(one, 'whatsapp_business_api_data'), 'id') === app.value)
      : undefined,
  );
}

/** Finds the app to which the token was issued (developers.facebook.com/docs/graph-api/reference/application). */
const findAppId = (client: GraphClient): Promise<GraphResult<string>> =>
  callAndRead(client, { method: 'GET', path: '/app?fields=id' }, (json) => getText(json, 'id') || undefined);

const subscriptionPath = ({ settings }: GraphClient): string => `/${settings.wabaId}/subscribed_apps`;

/** Reads the response to a change: true, or undefined if it is not a success. */
export const readSuccess = (json: unknown): true | undefined =>
  getMember(json, 'success') === true ? true : undefined;

/** One of our numbers: the network counts and restricts each one separately. */
export type SendingNumber = {
  readonly id: string;
  /** Reserves the next turn within the rate and returns the wait for it, in ms. */
  takeTurn(): number;
  /** Rate at which the network takes messages of this number. */
  readonly pace: Pace;
  /** Returns a ticket for a message that is sent now, to be given back if the network rejects it. */
  begin(): number;
  /**
   * Records that the network rejected a message because there were too many; returns the delay in ms before a repeat.
   */
  tooMany(ticket: number, minPauseMs: number): number;
  /** Pauses this number for at least `minMs`, because the network takes nothing from it. */
  pause(minMs?: number): void;
  /** Returns the remaining time of the pause; 0 if there is none. */
  pauseMs(): number;
  /** Returns the reason why the operator must act (not registered, restricted, not paid for), or null. */
  fault(): string | null;
  /** Records a reason for the operator to act. */
  setFault(text: string): void;
  /** Clears the fault and the backoffs, because the network accepted a message to this person. */
  messageAccepted(person: string, ticket: number): void;
  /** Counts one more message that was too many for this person; returns the wait before the next one, in ms. */
  pairPauseMs(person: string): number;
};

type Numbers = {
  get(id: string): SendingNumber | undefined;
  /** Returns true if no number may send now. */
  allPaused(): boolean;
  /** Returns the number of phone numbers without a fault. */
  countHealthy(): number;
  /** Returns the fault of the first number that has one, or null. */
  firstFault(): string | null;
  stop(): void;
};

/**
 * The wait is 4^X seconds, with X from 0 (Cloud API, rate limits); waiting more than 17 minutes is
 * pointless.
 */
const MAX_PAIR_EXPONENT = 5;
const MAX_PAIRS = 10_000;

/** Creates the numbers of the settings. `changed` is called when a pause ends. */
export function createNumbers(settings: WhatsappSettings, changed: () => void): Numbers {
  const numbers = settings.phoneNumberIds.map((id) => createNumber(id, settings, changed));
  const byId = new Map(numbers.map((number) => [number.id, number]));
  return {
    get: (id) => byId.get(id),
    allPaused: () => numbers.every((number) => number.pauseMs() > 0),
    countHealthy: () => numbers.filter((number) => number.fault() === null).length,
    firstFault: () => numbers.find((number) => number.fault() !== null)?.fault() ?? null,
    stop: () => numbers.forEach((number) => number.stop()),
  };
}

function createNumber(
  id: string,
  { tps, throttlePauseMs }: WhatsappSettings,
  changed: () => void,
): SendingNumber & { stop(): void } {
  const bucket = createTokenBucket(tps);
  const throttle = createThrottle(throttlePauseMs, changed);
  /** Number of consecutive times that each person had too many messages. */
  const pairs = new LRUCache<string, number>({ max: MAX_PAIRS });
  let fault: string | null = null;
  return {
    id,
    takeTurn() {
      const waitMs = bucket.waitMs();
      bucket.take(1);
      return waitMs;
    },
    pace: throttle,
    begin: throttle.begin,
    tooMany(ticket, minPauseMs) {
      throttle.refused(ticket, minPauseMs);
      return throttle.retryMs();
    },
    pause: throttle.pause,
    pauseMs: throttle.pauseMs,
    fault: () => fault,
    setFault(text) {
      fault = text;
    },
    messageAccepted(person, ticket) {
      throttle.accepted(ticket);
      fault = null;
      if (pairs.size > 0) pairs.delete(person);
    },
    pairPauseMs(person) {
      const times = pairs.get(person) ?? 0;
      pairs.set(person, times + 1);
      return 4 ** Math.min(times, MAX_PAIR_EXPONENT) * 1000;
    },
    stop: throttle.stop,
  };
}

/** Checks that the API is reachable and accepts our token, by a request that sends nothing. Never rejects. */
export async function probeApi(client: GraphClient): Promise<Probed> {
  const { wabaId } = client.settings;
  return stateOf(await client.call({ method: 'GET', path: `/${wabaId}/phone_numbers?fields=id&limit=1` }));
}

/**
 * Interprets the response to a probe. Any API response except one about the token is good enough: a token may be
 * allowed to send but not to read the account.
 */
function stateOf(answer: GraphAnswer): Probed {
  if (answer.kind === 'failed') return { state: 'unreachable', text: answer.reason };
  const error = errorIn(answer.json);
  const text = error ? explain(error) : `The API returned ${answer.status}`;
  if (answer.status === 200) return { state: 'available', text };
  const { act } = error ? classOf(error, answer.status) : classOfHttp(answer.status);
  if (act === 'token') return { state: 'refused', text };
  return { state: error ? 'available' : 'unreachable', text };
}
