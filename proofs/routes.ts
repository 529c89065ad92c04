import { buildApi } from '../src/api.ts';
import { apiDeps } from '../src/testing/api.ts';

/** JSON Schema, as far as the proofs read it. */
export type Schema = { readonly [keyword: string]: unknown };

/** A route as the router knows it. */
export type Route = {
  readonly method: string;
  /** With `:name` for each path parameter. */
  readonly url: string;
  /** `GET /path/:id`: what cases are found by. */
  readonly name: string;
  readonly params: Schema | undefined;
  readonly query: Schema | undefined;
  readonly body: Schema | undefined;
  /** The schemas of its answers. */
  readonly answers: readonly Schema[];
  /** It asks for credentials. */
  readonly closed: boolean;
};

/** Every route of the program, from its router: none can be forgotten here. HEAD, which goes with each GET, is left out. */
export async function listRoutes(): Promise<Route[]> {
  const routes: Route[] = [];
  const deps = apiDeps();
  const app = buildApi(deps);
  app.addHook('onRoute', ({ method, url, schema }) => {
    for (const each of [method].flat()) {
      if (each === 'HEAD') continue;
      const { params, querystring: query, body } = partsOf(schema);
      const closed = schema !== undefined && schema.hide !== true && schema.security?.length !== 0;
      const answers = isSchema(schema?.response) ? Object.values(schema.response).filter(isSchema) : [];
      routes.push({ method: each, url, name: `${each} ${url}`, params, query, body, answers, closed });
    }
  });
  await app.ready();
  await app.close();
  await deps.pool.end();
  return routes;
}

/** A multipart body, which no schema describes, has none. */
function partsOf(schema: unknown): { [part: string]: Schema | undefined } {
  if (!isSchema(schema)) return {};
  return Object.fromEntries(
    ['params', 'querystring', 'body'].map((part) => [part, isSchema(schema[part]) ? schema[part] : undefined]),
  );
}

export const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
