import helmet from '@fastify/helmet';
import Fastify, { type FastifyReply } from 'fastify';
import type { App } from './app.ts';

/** The reference page. Its script stands in files of ours, since the policy below runs nothing that stands in a page. */
const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Heliograph API reference</title>
  </head>
  <body>
    <div id="app"></div>
    <script src="/docs/scalar.js"></script>
    <script src="/docs/init.js"></script>
  </body>
</html>
`;

/** Scalar as it comes fetches fonts, sends telemetry and offers services of its maker: all off. */
const SETTINGS = {
  url: '/openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  showDeveloperTools: 'never',
  hideClientButton: true,
  agent: { disabled: true },
  mcp: { disabled: true },
};
/** With the address that the reader knows us by, so that the examples can be run as they stand. */
const INIT = `Scalar.createApiReference('#app', { ...${JSON.stringify(SETTINGS)}, servers: [{ url: location.origin }] });\n`;

/** Nothing from elsewhere, no script in the page. Scalar writes its styles into the page, hence `unsafe-inline`. */
const POLICY = {
  defaultSrc: ["'self'"],
  styleSrc: ["'self'", "'unsafe-inline'"],
  imgSrc: ["'self'", 'data:'],
  objectSrc: ["'none'"],
  frameAncestors: ["'none'"],
  baseUri: ["'none'"],
};

/** GET /openapi.json (the description) and /docs (a page to read it); no credentials. */
export function docsRoutes(app: App): void {
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger());
  app.register(async (scope) => {
    await scope.register(helmet, { contentSecurityPolicy: { useDefaults: false, directives: POLICY }, hsts: false });
    scope.get('/docs', { schema: { hide: true } }, (_request, reply) => file(reply, 'text/html', PAGE));
    scope.get('/docs/init.js', { schema: { hide: true } }, (_request, reply) => file(reply, 'text/javascript', INIT));
    scope.get('/docs/scalar.js', { schema: { hide: true } }, async (_request, reply) =>
      file(reply, 'text/javascript', await scalarScript()),
    );
  });
}

const file = (reply: FastifyReply, type: string, content: string) =>
  reply.type(`${type}; charset=utf-8`).header('cache-control', 'no-cache').send(content);

let script: Promise<string> | undefined;

/**
 * Scalar's script, 4 MB in one module that takes 43 MB of memory: loaded when somebody first opens the page. It can be
 * had from its Fastify plugin alone, whose own page does not work under our policy.
 */
function scalarScript(): Promise<string> {
  script ??= import('@scalar/fastify-api-reference').then(async ({ default: scalar }) => {
    const app = Fastify();
    await app.register(scalar, { routePrefix: '/scalar', configuration: { url: SETTINGS.url } });
    const { payload } = await app.inject('/scalar/js/scalar.js');
    await app.close();
    return payload;
  });
  return script;
}
