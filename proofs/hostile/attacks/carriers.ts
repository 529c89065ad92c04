import { type Attack, MEANS } from '../attack.ts';
import type { PeerManner } from '../peers.ts';
import { MS, requestsAt, withKey } from '../requests.ts';

const peer = (name: string, manner: PeerManner, more: Pick<Attack, 'tiny'> = {}): Attack => ({
  name,
  player: 'carrier peer',
  ...more,
  prepare:
    ({ peers, count }) =>
    (over) =>
      peers.turn(manner, over, () => count('sent')),
});

/** The country to which the attacker's messages go over the peer that never responds. */
export const PEER_PREFIX = '351';

/** Attacks by carriers, each over one connection. */
export const CARRIER_ATTACKS: readonly Attack[] = [
  peer('carriers that send random bytes', 'random bytes'),
  peer('carriers that send PDUs of 4 GiB', 'huge lengths'),
  peer('carriers that send one byte at a time', 'drip'),
  peer('carriers that close after the bind', 'close'),
  peer('carriers that send a thousand messages a second', 'messages', { tiny: true }),
  peer('carriers that send a thousand unknown receipts a second', 'receipts', { tiny: true }),
  peer('carriers that send responses without requests', 'answers'),
  {
    name: 'carriers that never respond to a message',
    player: 'carrier peer',
    prepare: requestsAt(
      MEANS.productionPerSecond,
      (ground) => (n) =>
        withKey(ground, 'POST', `${MS}/sms/send`, {
          phoneNumber: `+${PEER_PREFIX}91${String(n % 10_000_000).padStart(7, '0')}`,
          message: 'x',
        }),
    ),
  },
];
