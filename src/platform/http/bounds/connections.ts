import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Config } from '../../config.ts';
import { networkOf } from '../../lib/address.ts';
import { createFairBudget } from '../../lib/limits/fair-budget.ts';
import type { Floods } from './pipelining.ts';
import type { Refusal } from './refusals.ts';

type Options = {
  readonly bounds: Config['bounds'];
  /** Returns true if an address belongs to TRUST_PROXY. */
  readonly isTrusted: (address: string | undefined) => boolean;
  readonly count: (bound: Refusal) => void;
  readonly floods: Pick<Floods, 'accept'>;
};

/**
 * Closes connections as they are accepted: those of an address that holds too many or has flooded others, and, when all
 * are taken, one of the address that holds the most. A limit on their number alone would then keep out everyone else.
 * Each connection of a trusted proxy counts for itself, because it carries the requests of many clients.
 */
export function boundConnections(server: Server, { bounds, isTrusted, count, floods }: Options): void {
  const budget = createFairBudget({ all: bounds.connections, perCaller: bounds.connectionsPerAddress });
  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket;
    const caller = isTrusted(remoteAddress) ? socket : networkOf(remoteAddress);
    const close = (bound: Refusal): true => {
      count(bound);
      socket.destroy();
      return true;
    };
    if (!floods.accept(socket)) return void close('pipelining');
    const taken = budget.take(caller, 1, () => close('connections'));
    if (typeof taken === 'string') close(taken === 'all' ? 'connections' : 'connections_of_address');
    else socket.once('close', taken);
  });
}
