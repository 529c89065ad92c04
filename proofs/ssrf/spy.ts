import { isIPv6, Socket } from 'node:net';

/**
 * Intercepts every socket of this process: reports the addresses that it dials, and lets it reach only this machine.
 * Before each attempt Node checks the block list of a socket, which is replaced here.
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

/**
 * Returns true if an address is on this machine. A listener on 127.0.0.1 is also reached through 0.0.0.0 and mapped
 * addresses.
 */
const isLoopback = (address: string): boolean =>
  isIPv6(address) ? /^::(1|ffff:(127|0)\..*|ffff:7f.*)?$/i.test(address) : /^(127|0)\./.test(address);
