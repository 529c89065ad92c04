import { firstIdAt, newId } from '../../src/platform/lib/ids.ts';

export const MINUTE = 60_000;

/** Noon of this day: its partition is there. */
const NOON = new Date(Math.floor(Date.now() / 86_400_000) * 86_400_000 + 43_200_000);

/** So many minutes after noon, or before it. */
export const at = (minute: number): Date => new Date(NOON.getTime() + minute * MINUTE);

/** Of the program's clock, so that what is stored lies in the past. */
export const NOW = at(600);

/** An id of this minute that no other call gives. */
export const idAt = (minute: number): string => firstIdAt(at(minute)).slice(0, 14) + newId().slice(14);
