import { sabotage } from './replace.ts';

// Refused messages wait for their next turn; the others are sent as if nothing had been refused.
sabotage([{ file: 'src/carriers/throttle.ts', find: 'if (ticket < firstTicket) return;', put: 'return;' }]);
