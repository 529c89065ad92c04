import { sabotage } from './replace.ts';

// As clients do that clear their table when a connection ends: half of the open requests never get an answer, and the
// other half count as not sent, although the carrier has them.
sabotage([
  {
    file: 'src/carriers/smpp/pending.ts',
    find: "entry.onAnswer({ kind: 'closed', written: entry.position <= lastHandedOver });",
    put: "if (sequence % 2 === 0) entry.onAnswer({ kind: 'closed', written: false });",
  },
]);
