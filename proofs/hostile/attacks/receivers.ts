import { type Attack, MEANS } from '../attack.ts';
import { PG, requestsAt, withKey } from '../requests.ts';
import { registerWebhook } from './work.ts';

/** The bad manners of the receivers; see test/support/http/receiver.ts. A redirect leads to the receiver itself. */
export const MANNERS = ['silent', 'drip', 'endless', 'header bomb', 'gzip bomb', 'redirect'] as const;

const EVENTS_PER_REQUEST = 20;

/** Sends simulated messages, whose reports the gateway then posts to the receiver of this manner. */
const receiver = (name: string, manner: (typeof MANNERS)[number], more: Pick<Attack, 'tiny'> = {}): Attack => ({
  name,
  player: 'webhook receiver',
  ...more,
  prepare: requestsAt(MEANS.productionPerSecond / 6, async (ground) => {
    await registerWebhook(ground, manner);
    const destinations = Array.from({ length: EVENTS_PER_REQUEST }, (_, i) => `+3936${String(i).padStart(8, '0')}`);
    const body = { simulation: true, messages: [{ destinations, sender: 'Acme', body: 'x' }] };
    const test = withKey(ground, 'POST', `${PG}/webhooks/delivery-status/test`);
    return (n) => (n % 2 ? test : withKey(ground, 'POST', '/services/sms/send', body));
  }),
});

/** Webhook receivers with bad manners. */
export const RECEIVER_ATTACKS: readonly Attack[] = [
  receiver('receivers that do not respond', 'silent'),
  receiver('receivers that drip', 'drip'),
  receiver('receivers that do not end', 'endless', { tiny: true }),
  receiver('receivers that send endless headers', 'header bomb'),
  receiver('receivers that send packed bombs', 'gzip bomb'),
  receiver('receivers that redirect to themselves', 'redirect'),
];
