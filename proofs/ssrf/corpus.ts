import { readFileSync } from 'node:fs';
import { Type } from 'typebox';
import { Value } from 'typebox/value';

const Addresses = Type.Array(Type.String());

const Corpus = Type.Object({
  /** Addresses that everybody reaches: these must not be refused. */
  public: Addresses,
  /** URLs to hosts that a stranger must not reach, in many spellings. {port} is where the tripwires listen. */
  urls: Addresses,
  /** What a name server says of a name, with at least one such address among it. */
  answers: Type.Array(Addresses),
  /** The same one after the other: good answers, and then one with such an address. */
  flips: Type.Array(Type.Array(Addresses)),
  /** Status and Location. */
  redirects: Type.Array(Type.Tuple([Type.Integer(), Type.String()])),
});
export type Corpus = Type.Static<typeof Corpus>;

const FILE = new URL('../corpus/ssrf.json', import.meta.url);

/** Every `stride`th target of the published corpus, and all public addresses. */
export function readCorpus(stride: number): Corpus {
  const corpus: unknown = JSON.parse(readFileSync(FILE, 'utf8'));
  Value.Assert(Corpus, corpus);
  const some = <T>(items: readonly T[]): T[] => items.filter((_, n) => n % stride === 0);
  const { urls, answers, flips, redirects } = corpus;
  return { ...corpus, urls: some(urls), answers: some(answers), flips: some(flips), redirects: some(redirects) };
}
