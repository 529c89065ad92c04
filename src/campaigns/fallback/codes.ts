/** In place of a status: the time of a channel is over, and what it has may still be delivered. */
export const TIME_OVER = -1;

/** Error codes of messages that their campaign has ended for another channel. */
export const REVOKED = 'REVOKED';
export const TIMED_OUT = 'TIMED_OUT';
