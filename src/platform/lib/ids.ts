import { randomUUIDv7 } from 'node:crypto';

/** Returns a new id: a UUIDv7, so that ids sort by time to the millisecond. */
export const newId = (): string => randomUUIDv7();

const hex12 = (ms: number): string => ms.toString(16).padStart(12, '0');

/** Returns the smallest id that can be created at this instant: the lower bound of a range of ids. */
export function firstIdAt(at: Date): string {
  const hex = hex12(at.getTime());
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** Returns the time at which an id was created. */
export const timeOfId = (id: string): Date => new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
export const isUuid = (text: string): boolean => UUID.test(text);

/** Returns the lowest and the highest of some ids. Statements on partitioned tables use them to exclude other days. */
export function boundsOf(ids: readonly string[]): [firstId: string, lastId: string] {
  let [first, last] = [ids[0] as string, ids[0] as string];
  for (const id of ids) {
    if (id < first) first = id;
    if (id > last) last = id;
  }
  return [first, last];
}
