/** In place of a status: the time of a channel is over, and what it has may still be delivered. */
export const TIME_OVER = -1;
