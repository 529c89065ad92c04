import type { Random } from '../../src/sandbox/smsc-script.ts';

/** `tiny` takes seconds and runs in the tests; `quick` up to some minutes; `full` up to hours. */
export type Mode = 'tiny' | 'quick' | 'full';

/** One run of one proof. */
export type Run = {
  readonly mode: Mode;
  readonly seed: number;
  /** The source of everything that is left to chance. */
  readonly random: Random;
  /** The fault that the program runs with; null to run it as it is. */
  readonly sabotage: Fault | null;
  /** A part of the names of the attacks that are played, for `hostile`; null to play all of this size. */
  readonly attack: string | null;
  /** An empty folder for the data and logs of this run. */
  readonly folder: string;
  /** The URL of an existing database; null lets the gateway run its own in `folder`. */
  readonly databaseUrl: string | null;
  /** Writes a line about the progress for people to read. */
  log(line: string): void;
};

/** Measured values by name. */
export type Figures = Readonly<Record<string, number>>;

/** The measured values, the claims that did not hold, and those that did. */
export type Findings = {
  readonly figures: Figures;
  readonly broken: readonly string[];
  readonly held: readonly string[];
};

/** A fault as it is built into the program. */
export type Fault = {
  /** A module that puts it in at fault points of the program, loaded before it. */
  readonly module?: URL;
  /** Statements that put it into the database, before the program starts. */
  readonly sql?: string;
};

/** The flags of Node with which a process of the program has the fault of a run. */
export const faultFlags = ({ sabotage }: Pick<Run, 'sabotage'>): string[] =>
  sabotage?.module === undefined ? [] : ['--import', sabotage.module.href];

/** A fault that must make a proof fail, and the reason for which it must. */
export type Sabotage = Fault & {
  /** The defect that is built into the program, as a sentence. */
  readonly fault: string;
  /** The claims that the fault breaks, each time. A run that fails without breaking all of them has missed the fault. */
  readonly breaks: readonly [string, ...string[]];
  /** The smallest size in which the fault shows each time. */
  readonly mode: Exclude<Mode, 'full'>;
};

export type Proof = {
  /** The statement that the proof shows, as a sentence. */
  readonly promise: string;
  readonly sabotage: Sabotage;
  /** Claims that the program does not keep yet, each with the reason: they are measured, but do not fail a run. */
  readonly notYet?: Readonly<Record<string, string>>;
  /** Set for another fault of a proof: it is run by its name and by `teeth` only. */
  readonly isVariant?: true;
  /** Set if the verdict depends on times: `teeth` then runs nothing at the same time. */
  readonly timed?: true;
  prove(run: Run): Promise<Findings>;
};

/** Returns the findings of a run. Each claim is a sentence and whether it held. */
export function judge(figures: Figures, claims: Readonly<Record<string, boolean>>): Findings {
  const sentences = Object.keys(claims);
  return {
    figures,
    broken: sentences.filter((sentence) => claims[sentence] !== true),
    held: sentences.filter((sentence) => claims[sentence] === true),
  };
}

/** The part of a run that random choices need. */
export type RandomSource = Pick<Run, 'random'>;

/** Returns a random integer from `from` to `to`, both included. */
export const between = ({ random }: RandomSource, from: number, to: number): number =>
  from + Math.floor(random.next() * (to - from + 1));

/** Returns a random element. Throws for an empty list. */
export function oneOf<T>(run: RandomSource, choices: readonly T[]): T {
  const choice = choices[between(run, 0, choices.length - 1)];
  if (choice === undefined) throw new Error('nothing to choose from');
  return choice;
}
