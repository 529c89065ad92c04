/**
 * Purpose of a message, as the network classifies each one (`messageTrafficType`). Agents with several uses must state
 * it for every message; for the others, the network derives it from the use of the agent
 * (developers.google.com/business-communications/rcs-business-messaging/guides/build/messages/send).
 */
export const TRAFFIC_TYPES = [
  'AUTHENTICATION',
  'TRANSACTION',
  'PROMOTION',
  'SERVICEREQUEST',
  'ACKNOWLEDGEMENT',
] as const;

export type TrafficType = (typeof TRAFFIC_TYPES)[number];
