import { firstIdAt, newId } from '../../src/core/ids.ts';

export const MINUTE = 60_000;

/** Noon of this day in UTC; its partition exists. */
const NOON = new Date(Math.floor(Date.now() / 86_400_000) * 86_400_000 + 43_200_000);

/** Returns the time this many minutes after noon; negative for before. */
export const at = (minute: number): Date => new Date(NOON.getTime() + minute * MINUTE);

/** The program's clock, so that everything stored is in the past. */
export const NOW = at(600);

/** Returns an id with the timestamp of this minute, different for each call. */
export const idAt = (minute: number): string => firstIdAt(at(minute)).slice(0, 14) + newId().slice(14);
