import { sabotage } from './replace.ts';

// As many servers are configured: they believe the left-most address, which the client wrote.
sabotage([
  {
    file: 'src/platform/http/server.ts',
    find: 'trustProxy: config.trustProxy.length > 0 ? (address: string) => isTrusted(address) : false,',
    put: 'trustProxy: true,',
  },
]);
