export const PLANS = ['production', 'trial', 'unlimited'] as const;

/** The plan of an account, which determines the type of its traffic and its limits. */
export type Plan = (typeof PLANS)[number];

/** Maximum use that an account may make of the operator's installation in a day; null: unlimited. */
type DailyBudget = {
  /** Mails, of all kinds except links for new passwords. */
  readonly mails: number | null;
  /** Paid lookups of the networks of numbers. */
  readonly lookups: number | null;
};

export const DAILY_BUDGETS: Readonly<Record<Plan, DailyBudget>> = {
  production: { mails: 1000, lookups: 100_000 },
  trial: { mails: 20, lookups: 1000 },
  unlimited: { mails: null, lookups: null },
};
