/**
 * The states of an alert: pending until its condition has held long enough, then firing, acknowledged once a person has
 * confirmed it, and resolved when the condition no longer holds. A resolved alert is final: the same condition later is
 * another alert.
 */
export const ALERT_STATES = ['pending', 'firing', 'acknowledged', 'resolved'] as const;
export type AlertState = (typeof ALERT_STATES)[number];

/** Events of an alert that recipients are notified of. */
export const ALERT_EVENTS = ['fired', 'reminder', 'resolved'] as const;
export type AlertEvent = (typeof ALERT_EVENTS)[number];
