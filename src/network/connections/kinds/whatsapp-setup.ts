import { isAppSubscribed, listPhoneNumbers, registerNumber, subscribeApp } from '../../../carriers/whatsapp/account.ts';
import { createGraphClient, type GraphClient, type GraphFault } from '../../../carriers/whatsapp/client.ts';
import { parseWhatsappSecrets, parseWhatsappSettings } from '../../../carriers/whatsapp/settings.ts';
import type { CarrierSetup, OpenConnection, SetupStep } from './setup.ts';

/** A person waits for the response. */
const TIMEOUT_SECONDS = 10;

/**
 * Set-up at Meta: the app is subscribed to the business account, and its numbers are registered for the Cloud API.
 * Without the subscription Meta posts nothing; without the registration it rejects every message with 133010.
 */
export const whatsappSetup: CarrierSetup = {
  check: (connection) =>
    withClient(connection, async (client) => [
      await checkSubscription(client, connection),
      await checkNumbers(client, connection),
    ]),
  complete: (connection, { pin }) =>
    withClient(connection, async (client) => [
      await subscribe(client, connection),
      await registerNumbers(client, connection, pin),
    ]),
};

async function withClient<T>(
  { settings, secret }: OpenConnection,
  use: (client: GraphClient) => Promise<T>,
): Promise<T> {
  const timeouts = { submitTimeoutSeconds: TIMEOUT_SECONDS, connectTimeoutSeconds: TIMEOUT_SECONDS };
  const secrets = parseWhatsappSecrets(JSON.parse(secret));
  const client = createGraphClient({ ...parseWhatsappSettings(settings), ...timeouts }, secrets);
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

const SUBSCRIBED = 'The app is subscribed to the business account, so that Meta posts its events.';

async function checkSubscription(client: GraphClient, { name }: OpenConnection): Promise<SetupStep> {
  const answer = await isAppSubscribed(client);
  if (!answer.ok) return unknown('subscribe', 'whether the app is subscribed to the business account', answer.fault);
  const missing =
    'The app is not subscribed to the business account: Meta posts no receipts and no messages. ' +
    `Subscribe it: connection subscribe ${name}`;
  return { name: 'subscribe', ok: answer.value, detail: answer.value ? SUBSCRIBED : missing };
}

async function subscribe(client: GraphClient, { name }: OpenConnection): Promise<SetupStep> {
  const answer = await subscribeApp(client);
  if (answer.ok) return { name: 'subscribe', ok: true, detail: SUBSCRIBED };
  const detail =
    `The app could not be subscribed to the business account: ${textOf(answer.fault)}. ` +
    `Without it, Meta posts no receipts and no messages. Try again: connection subscribe ${name}`;
  return { name: 'subscribe', ok: false, detail };
}

async function checkNumbers(client: GraphClient, { name }: OpenConnection): Promise<SetupStep> {
  const answer = await listPhoneNumbers(client);
  if (!answer.ok) return unknown('register', 'which numbers are registered', answer.fault);
  const registered = new Map(answer.value.map((number) => [number.id, number.registered]));
  const { phoneNumberIds } = client.settings;
  const waiting = phoneNumberIds.filter((id) => registered.get(id) === false);
  const foreign = phoneNumberIds.filter((id) => !registered.has(id));
  const faults = [
    ...(waiting.length > 0
      ? [
          `Not registered for the Cloud API: ${waiting.join(', ')}. Meta rejects their messages (133010). ` +
            `Register them: connection register ${name} --pin PIN`,
        ]
      : []),
    ...(foreign.length > 0
      ? [`Not in the business account: ${foreign.join(', ')}. Compare phoneNumberIds with WhatsApp Manager.`]
      : []),
  ];
  return {
    name: 'register',
    ok: faults.length === 0,
    detail: faults.join(' ') || 'All numbers are registered for the Cloud API.',
  };
}

/** Registers the numbers that are not registered yet: Meta allows ten attempts in 72 hours. */
async function registerNumbers(
  client: GraphClient,
  connection: OpenConnection,
  pin: string | null,
): Promise<SetupStep> {
  const answer = await listPhoneNumbers(client);
  if (pin === null || !answer.ok) return checkNumbers(client, connection);
  const ids = client.settings.phoneNumberIds;
  const waiting = answer.value.filter(({ id, registered }) => !registered && ids.includes(id));
  for (const { id } of waiting) {
    const done = await registerNumber(client, { id, pin });
    if (!done.ok)
      return { name: 'register', ok: false, detail: `${id} could not be registered: ${textOf(done.fault)}.` };
  }
  return checkNumbers(client, connection);
}

const unknown = (name: SetupStep['name'], what: string, fault: GraphFault): SetupStep => ({
  name,
  ok: false,
  detail: `Meta did not say ${what}: ${textOf(fault)}.`,
});

const textOf = ({ code, text }: GraphFault): string => `${text.replace(/\.$/, '')} (${code})`;
