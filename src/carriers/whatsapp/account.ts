import { getList, getMember, getText } from '../json.ts';
import { callAndRead, type GraphClient, type GraphResult } from './client.ts';

/** A phone number of the account. */
export type PhoneNumber = {
  readonly id: string;
  /** The number as displayed, with spaces and dashes. */
  readonly displayNumber: string;
  readonly verifiedName: string;
  /** GREEN, YELLOW, RED or UNKNOWN. */
  readonly quality: string;
  /** True if it is registered for the Cloud API; messages from an unregistered number are rejected (133010). */
  readonly registered: boolean;
};

/** Lists the first 100 phone numbers of the account (Cloud API, phone numbers). */
export function listPhoneNumbers(client: GraphClient): Promise<GraphResult<PhoneNumber[]>> {
  const query = 'fields=id,display_phone_number,verified_name,quality_rating,platform_type&limit=100';
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
  return id === '' ? [] : [{ id, displayNumber, verifiedName, quality, registered }];
}

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
 */
export const subscribeApp = (client: GraphClient): Promise<GraphResult<true>> =>
  callAndRead(client, { method: 'POST', path: subscriptionPath(client), json: {} }, readSuccess);

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
