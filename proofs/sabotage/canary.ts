import { sabotage } from './replace.ts';

// Convenient for finding faults, and full of keys.
sabotage([
  {
    file: 'src/platform/http/request-log.ts',
    find: 'method: request.method,\n  route,',
    put: 'method: request.method,\n  headers: request.headers,\n  route,',
  },
  {
    file: 'src/platform/log.ts',
    find: 'requestId clientRequestId method',
    put: 'headers requestId clientRequestId method',
  },
]);
