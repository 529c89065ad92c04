import { sabotage } from './replace.ts';

// Convenient for finding faults, and full of keys.
sabotage([
  {
    file: 'src/platform/http/request-id.ts',
    find: 'method: request.method,',
    put: 'method: request.method,\n  headers: request.headers,',
  },
  {
    file: 'src/platform/log.ts',
    find: 'requestId clientRequestId traceId',
    put: 'headers requestId clientRequestId traceId',
  },
]);
