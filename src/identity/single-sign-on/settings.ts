import type { Role } from '../../platform/lib/scope.ts';

/** Role that the members of a group get. */
export type GroupRole = { readonly group: string; readonly role: Role };

/** Reasons why a person was not signed in. The console has a sentence for each. */
export const PROBLEMS = ['expired', 'cancelled', 'unavailable', 'untrusted', 'not_allowed'] as const;
export type Problem = (typeof PROBLEMS)[number];

/** The result of a trial: the outcome that a sign-in with the same response of the provider would have had. */
export type Trial = {
  readonly at: string;
  /** Version of the settings that were tried. */
  readonly version: number;
  /** Null: the person would have been signed in. */
  readonly problem: Problem | null;
  /** More about the problem, for the admin who runs the trial. */
  readonly detail: string | null;
  readonly email: string | null;
  readonly groups: readonly string[];
  readonly role: Role | null;
};

/** A sign-in that failed. The message is for admins who try their settings; it contains no secret and no address. */
export class SignOnFailure extends Error {
  readonly problem: Problem;

  constructor(problem: Problem, message: string, options?: { cause: unknown }) {
    super(message, options);
    this.problem = problem;
  }
}

/** Claims of the provider about a person, after all checks of its response. */
export type Claims = {
  readonly subject: string;
  /** In lower case; null unless the provider states that it is verified. */
  readonly email: string | null;
  readonly groups: readonly string[];
  /** Time of the person's last sign-in at the provider; null if not stated. */
  readonly authenticatedAt: Date | null;
};

/** Rules of an account for admitting people. */
export type Rules = {
  readonly groupRoles: readonly GroupRole[];
  readonly defaultRole: Role | null;
  readonly emailDomains: readonly string[];
  readonly provenDomains: readonly string[];
};

/**
 * Returns the role that a person gets: that of the first mapping with one of their groups, else the default, which only
 * people of a proven domain get. Throws a SignOnFailure for people whom the settings do not allow.
 */
export function roleOf(rules: Rules, { email, groups }: Claims): Role {
  const { groupRoles, defaultRole, emailDomains, provenDomains } = rules;
  if (emailDomains.length > 0) {
    if (email === null) throw new SignOnFailure('not_allowed', 'the provider confirms no email address');
    if (!emailDomains.includes(domainOf(email)))
      throw new SignOnFailure('not_allowed', 'the email address is in none of the allowed domains');
  }
  const ofGroup = groupRoles.find(({ group }) => groups.includes(group))?.role;
  if (ofGroup !== undefined) return ofGroup;
  if (defaultRole === null) throw new SignOnFailure('not_allowed', 'the person is in no group with a role');
  if (email === null || !provenDomains.includes(domainOf(email)))
    throw new SignOnFailure('not_allowed', 'the person is in no group with a role, and the mail domain is not proven');
  return defaultRole;
}

/** Returns the domain of an email address. */
export const domainOf = (email: string): string => email.slice(email.lastIndexOf('@') + 1);
