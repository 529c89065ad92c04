import { sabotage } from './replace.ts';

// PostgreSQL answers a commit before it is on disk: it may forget an intent to send that the carrier has seen.
sabotage([
  {
    file: 'src/core/db/embedded-settings.ts',
    find: 'synchronous_commit: durable',
    put: "synchronous_commit: 'off'",
  },
]);
