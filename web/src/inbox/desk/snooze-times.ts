export type SnoozeTime = { readonly name: 'later' | 'tomorrow' | 'week'; readonly until: Date };

const HOUR_MS = 3_600_000;
const MORNING = 9;

/** The times offered for snoozing, in the user's own time zone: in three hours, tomorrow and next Monday at nine. */
export function snoozeTimes(now: Date): readonly SnoozeTime[] {
  const daysToMonday = (8 - now.getDay()) % 7 || 7;
  return [
    { name: 'later', until: new Date(now.getTime() + 3 * HOUR_MS) },
    { name: 'tomorrow', until: morningIn(now, 1) },
    { name: 'week', until: morningIn(now, daysToMonday) },
  ];
}

function morningIn(now: Date, days: number): Date {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, MORNING);
}
