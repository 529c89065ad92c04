import { networkOf } from '../../platform/lib/address.ts';

/** Connections that have not bound yet: of one network, and of all. */
const MAX_PER_NETWORK = 20;
const MAX_IN_ALL = 1000;

/** Counts the connections that have not bound. */
export type Strangers = {
  /** Admits a connection; null when there are too many. The function that it returns is called once, when it has bound or ended. */
  admit(address: string): (() => void) | null;
};

/** Creates the count of connections that have not bound. A stranger costs a socket, a little memory and seconds of patience. */
export function createStrangers({ perNetwork = MAX_PER_NETWORK, inAll = MAX_IN_ALL } = {}): Strangers {
  const counts = new Map<string, number>();
  let all = 0;
  return {
    admit(address) {
      const network = networkOf(address);
      const count = counts.get(network) ?? 0;
      if (count >= perNetwork || all >= inAll) return null;
      counts.set(network, count + 1);
      all += 1;
      let left = false;
      return () => {
        if (left) return;
        left = true;
        all -= 1;
        const rest = (counts.get(network) ?? 1) - 1;
        if (rest === 0) counts.delete(network);
        else counts.set(network, rest);
      };
    },
  };
}
