import type { Random } from '../src/simulators/smsc/random.ts';

/** `tiny` takes seconds and runs in `npm test`; `quick` minutes for all proofs together; `full` hours. */
export type Mode = 'tiny' | 'quick' | 'full';

/** One run of one proof. */
export type Run = {
  readonly mode: Mode;
  readonly seed: number;
  /** Everything that is left to chance comes from here. */
  readonly random: Random;
  /** The fault to build into the program, as a module to load before it; null for the program as it is. */
  readonly sabotage: string | null;
  /** An empty folder, for the data and the logs of this run. */
  readonly folder: string;
  /** A database that is there already; null lets the gateway run its own in `folder`. */
  readonly databaseUrl: string | null;
  /** Tells a person how it goes. */
  say(line: string): void;
};

export type Figures = Readonly<Record<string, number>>;

/** What was measured, and the sentences of the promise that did not hold. */
export type Findings = { readonly figures: Figures; readonly broken: readonly string[] };

export type Proof = {
  /** What is promised. */
  readonly promise: string;
  /** A fault that must turn this proof red: what it is, and the module that builds it in. */
  readonly sabotage: { readonly fault: string; readonly file: URL };
  prove(run: Run): Promise<Findings>;
};

/** Each claim is a sentence and whether it held. */
export const judge = (figures: Figures, claims: Readonly<Record<string, boolean>>): Findings => ({
  figures,
  broken: Object.entries(claims).flatMap(([sentence, held]) => (held ? [] : [sentence])),
});

/** What is left to chance is drawn from here. */
export type Chance = Pick<Run, 'random'>;

/** A whole number from `from` to `to`, both included. */
export const between = ({ random }: Chance, from: number, to: number): number =>
  from + Math.floor(random.next() * (to - from + 1));

/** One of these. */
export function oneOf<T>(run: Chance, choices: readonly T[]): T {
  const choice = choices[between(run, 0, choices.length - 1)];
  if (choice === undefined) throw new Error('nothing to choose from');
  return choice;
}
