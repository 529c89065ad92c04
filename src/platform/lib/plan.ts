export const PLANS = ['production', 'trial', 'unlimited'] as const;

/** The plan of an account: it decides the type of its traffic and its limits. */
export type Plan = (typeof PLANS)[number];
