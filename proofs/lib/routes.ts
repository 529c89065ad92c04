import { buildApi } from '../../src/api.ts';
import type { App } from '../../src/core/http/app.ts';
import { apiDeps } from '../../test/support/http/api.ts';

/** A JSON Schema, as far as the proofs read it. */
export type Schema = { readonly [keyword: string]: unknown };

/** A route as the router knows it. */
export type Route = {
  readonly method: string;
  /** The path, with `:name` for each path parameter. */
  readonly url: string;
  /** Method and URL, such as `GET /path/:id`: the key of its case in the proofs. */
  readonly name: string;
  readonly params: Schema | undefined;
  readonly query: Schema | undefined;
  /** The schema of a JSON body, or of the fields of a form. */
  readonly body: Schema | undefined;
  /** The schemas of its responses. */
  readonly answers: readonly Schema[];
  /** True if the route requires credentials: a request without any gets a 401. */
  readonly needsCredentials: boolean;
};

/**
 * Lists every route of the program, from its router, so that none can be forgotten. HEAD routes, one for each GET, are
 * left out.
 */
export async function listRoutes(): Promise<Route[]> {
  const routes: Omit<Route, 'needsCredentials'>[] = [];
  const deps = apiDeps();
  const app = buildApi(deps);
  app.addHook('onRoute', ({ method, url, schema, config }) => {
    const { params, querystring: query, body: json, response } = isSchema(schema) ? schema : {};
    const form: unknown = isSchema(config) ? config['form'] : undefined;
    const parts = { params: schemaOf(params), query: schemaOf(query), body: schemaOf(json) ?? schemaOf(form) };
    const answers = Object.values(schemaOf(response) ?? {}).filter(isSchema);
    for (const each of [method].flat())
      if (each !== 'HEAD') routes.push({ method: each, url, name: `${each} ${url}`, ...parts, answers });
  });
  await app.ready();
  const asked: Route[] = [];
  for (const route of routes) asked.push({ ...route, needsCredentials: await asksForCredentials(app, route) });
  await app.close();
  await deps.pool.end();
  return asked;
}

async function asksForCredentials(app: App, { method, url }: Pick<Route, 'method' | 'url'>): Promise<boolean> {
  const { statusCode } = await app.inject({ method: method as 'GET', url: url.replace(/:\w+/g, '1') });
  return statusCode === 401;
}

const schemaOf = (value: unknown): Schema | undefined => (isSchema(value) ? value : undefined);

export const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
