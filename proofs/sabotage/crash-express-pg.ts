import { sabotage } from './replace.ts';

// PostgreSQL answers a commit before it is on disk: it may forget a single send that a client has an answer for.
sabotage([
  {
    file: 'src/core/db/embedded-settings.ts',
    find: 'synchronous_commit: durable',
    put: "synchronous_commit: 'off'",
  },
]);
