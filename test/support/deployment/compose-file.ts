import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

export const ROOT = join(import.meta.dirname, '..', '..', '..');

/** Settings that the comments at the top of the files ask for. */
export const ENVIRONMENT: Readonly<Record<string, string>> = {
  POSTGRES_PASSWORD: 'secret08',
  REPLICATION_PASSWORD: 'secret09',
  SECRET_KEY: '5e'.repeat(32),
  PUBLIC_URL: 'https://gateway.example.com',
};

export type Service = {
  readonly image?: string;
  readonly build?: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>;
  readonly networks?: Readonly<Record<string, { readonly ipv4_address: string }>> | readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly stop_grace_period?: string;
};
export type Project = {
  readonly name?: string;
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
};

/** Reads a file as Compose does: with its variables replaced. Throws for one that nothing sets. */
export function loadComposeFile(file: string): Project {
  const text = readFileSync(join(ROOT, file), 'utf8').replace(/\$\{(\w+)(?::\?[^}]*)?\}/g, (_, name: string) => {
    const value = ENVIRONMENT[name];
    if (value === undefined) throw new Error(`${file} needs ${name}`);
    return value;
  });
  return parse(text, { merge: true });
}
