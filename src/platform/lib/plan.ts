export const PLANS = ['production', 'trial', 'unlimited'] as const;

/** The plan of an account: what its traffic counts as and which limits it has. */
export type Plan = (typeof PLANS)[number];
