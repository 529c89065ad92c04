import { signatureOf as signRcs } from '../../../src/channels/rcs/callbacks.ts';
import { signatureOf as signWhatsapp } from '../../../src/channels/whatsapp/client.ts';
import { type Attack, type CallbackEnd, type Ground, MEANS, withinLine } from '../attack.ts';
import { requestsAt, type Wire } from '../requests.ts';

const BODY_BYTES = 48_000;
const FLOOD = MEANS.unauthenticatedPerSecond;
/** The messages that a network may deliver to one gateway in a second, for one hostile customer. */
const GENUINE_PER_SECOND = 50;
const PERSON = '393331234567';

const post = (path: string, body: string, headers: Readonly<Record<string, string>>): Wire => ({
  method: 'POST',
  path,
  headers: { 'content-type': 'application/json', ...headers },
  body,
});

const signed = ({ path, secret }: CallbackEnd, body: string): Wire =>
  post(path, body, { 'x-hub-signature-256': signWhatsapp(body, secret) });

/** A callback of WhatsApp with these messages to the attacker's number. */
function inbound({ identity }: CallbackEnd, texts: readonly string[], id: number): string {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const messages = texts.map((body, i) => ({
    from: PERSON,
    id: `wamid.${id}.${i}`,
    type: 'text',
    text: { body },
    timestamp,
  }));
  const contacts = [{ profile: { name: 'Somebody' }, wa_id: PERSON }];
  const value = { messaging_product: 'whatsapp', metadata: { phone_number_id: identity }, contacts, messages };
  return JSON.stringify({
    object: 'whatsapp_business_account',
    entry: [{ id: `77${identity.slice(2)}`, changes: [{ field: 'messages', value }] }],
  });
}

const network = (
  name: string,
  perSecond: number,
  make: (ground: Ground) => (n: number) => Wire,
  more: Pick<Attack, 'tiny'> = {},
): Attack => ({ name, player: 'callback sender', ...more, prepare: requestsAt(perSecond, make) });

/** Callbacks: forged ones of unauthenticated clients, and genuine ones of a network that serves a hostile customer. */
export const CALLBACK_ATTACKS: readonly Attack[] = [
  network(
    'callbacks with wrong signatures',
    withinLine(FLOOD, BODY_BYTES),
    ({ callbacks: { whatsapp } }) => {
      const body = inbound(whatsapp, ['x'.repeat(BODY_BYTES)], 1);
      return () => post(whatsapp.path, body, { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` });
    },
    { tiny: true },
  ),
  network('callbacks without a signature', withinLine(FLOOD, BODY_BYTES), ({ callbacks: { rcs } }) => {
    const body = JSON.stringify({ message: { data: 'x'.repeat(BODY_BYTES), messageId: '1' } });
    return () => post(rcs.path, body, {});
  }),
  network('callbacks to unknown connections', withinLine(FLOOD, BODY_BYTES), () => {
    const body = JSON.stringify({ entry: 'x'.repeat(BODY_BYTES) });
    return (n) => post(`/api/callbacks/${n % 2 ? 'rcs' : 'whatsapp'}/nobody-${n}`, body, {});
  }),
  network(
    'genuine inbound messages',
    GENUINE_PER_SECOND,
    ({ callbacks: { whatsapp } }) =>
      (n) =>
        signed(whatsapp, inbound(whatsapp, ['Hello', 'STOP', 'START', 'x'.repeat(4000)], n)),
    { tiny: true },
  ),
  network('genuine callbacks of two thousand messages', 2, ({ callbacks: { whatsapp } }) => {
    const texts = Array<string>(2000).fill('x'.repeat(50));
    return (n) => signed(whatsapp, inbound(whatsapp, texts, n));
  }),
  network('genuine callbacks of nonsense', GENUINE_PER_SECOND / 5, ({ callbacks: { whatsapp } }) => {
    const body = `{"object":"whatsapp_business_account","entry":${'['.repeat(400_000)}${']'.repeat(400_000)}}`;
    const wire = signed(whatsapp, body);
    return () => wire;
  }),
  network('genuine RCS events of 40,000 keys', 3, ({ callbacks: { rcs } }) => {
    const data = Buffer.from(`{${Array.from({ length: 40_000 }, (_, i) => `"k${i}":${i}`).join()}}`);
    const body = JSON.stringify({ message: { data: data.toString('base64'), messageId: '1' } });
    const wire = post(rcs.path, body, { 'x-goog-signature': signRcs(data, rcs.secret) });
    return () => wire;
  }),
];
