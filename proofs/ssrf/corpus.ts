import { readFileSync } from 'node:fs';
import { Type } from 'typebox';
import { Value } from 'typebox/value';

const Addresses = Type.Array(Type.String());

const Corpus = Type.Object({
  /** Public addresses, which must not be refused. */
  public: Addresses,
  /** URLs to hosts that a tenant must not reach, in many spellings. {port} is the port of the tripwires. */
  urls: Addresses,
  /** Responses of a name server, each with at least one such address. */
  answers: Type.Array(Addresses),
  /** Sequences of responses for one name: good ones, and then one with such an address. */
  flips: Type.Array(Type.Array(Addresses)),
  /** Redirects: status and Location. */
  redirects: Type.Array(Type.Tuple([Type.Integer(), Type.String()])),
});
export type Corpus = Type.Static<typeof Corpus>;

const FILE = new URL('./corpus.json', import.meta.url);

/** Reads every `stride`th target of the published corpus, and all public addresses. */
export function readCorpus(stride: number): Corpus {
  const corpus: unknown = JSON.parse(readFileSync(FILE, 'utf8'));
  Value.Assert(Corpus, corpus);
  const some = <T>(items: readonly T[]): T[] => items.filter((_, n) => n % stride === 0);
  const { urls, answers, flips, redirects } = corpus;
  return { ...corpus, urls: some(urls), answers: some(answers), flips: some(flips), redirects: some(redirects) };
}
