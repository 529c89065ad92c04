import type { Random } from '../../src/simulators/smsc/random.ts';

/** `tiny` takes seconds and runs in `npm test`; `quick` takes minutes for all proofs together; `full` takes hours. */
export type Mode = 'tiny' | 'quick' | 'full';

/** One run of one proof. */
export type Run = {
  readonly mode: Mode;
  readonly seed: number;
  /** The source of everything that is left to chance. */
  readonly random: Random;
  /** The path of a module that builds a fault into the program, loaded before it; null to run the program as it is. */
  readonly sabotage: string | null;
  /** An empty folder for the data and logs of this run. */
  readonly folder: string;
  /** The URL of an existing database; null lets the gateway run its own in `folder`. */
  readonly databaseUrl: string | null;
  /** Writes a line about the progress for people to read. */
  log(line: string): void;
};

/** Measured values by name. */
export type Figures = Readonly<Record<string, number>>;

/** The measured values, and the claims that did not hold. */
export type Findings = { readonly figures: Figures; readonly broken: readonly string[] };

export type Proof = {
  /** What the proof shows, as a sentence. */
  readonly promise: string;
  /** A fault that must make this proof fail: its description, and the module that builds it in. */
  readonly sabotage: { readonly fault: string; readonly file: URL };
  prove(run: Run): Promise<Findings>;
};

/** Returns the findings of a run. Each claim is a sentence and whether it held. */
export const judge = (figures: Figures, claims: Readonly<Record<string, boolean>>): Findings => ({
  figures,
  broken: Object.entries(claims).flatMap(([sentence, held]) => (held ? [] : [sentence])),
});

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
