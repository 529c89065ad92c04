import { isIPv6, Socket } from 'node:net';

/**
 * Puts a spy on every socket of this process: tells the addresses it dials, and lets it reach this machine only. Before
 * each attempt Node asks the block list of a socket, which is what stands here.
 */
export function spyOnDialling(onDial: (address: string) => void): void {
  const { connect } = Socket.prototype;
  const blockList = {
    check(address: string): boolean {
      onDial(address);
      return !isLoopback(address);
    },
  };
  Socket.prototype.connect = function spied(this: Socket, ...args: unknown[]): Socket {
    Reflect.set(this, 'blockList', blockList);
    return Reflect.apply(connect, this, args);
  };
}

/** Of this machine, also as a listener on 127.0.0.1 is reached by other ways: 0.0.0.0, and mapped. */
const isLoopback = (address: string): boolean =>
  isIPv6(address) ? /^::(1|ffff:(127|0)\..*|ffff:7f.*)?$/i.test(address) : /^(127|0)\./.test(address);
