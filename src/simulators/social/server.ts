import { randomBytes } from 'node:crypto';
import type { SocialApp } from '../../platform/config.ts';
import { PLATFORMS, type Platform } from '../../platform/lib/social-platform.ts';
import { type SandboxAnswer, type SandboxRequest, startServer } from '../http/server.ts';
import { targetOf } from './addresses.ts';
import { clientIdOf, createNetworks, secretOf } from './networks.ts';
import type { Reply, SocialRequest } from './reply.ts';
import { DEFAULT_SCRIPT, type SocialScript } from './script.ts';

/** The simulated social networks. */
export type SandboxSocial = {
  /** `https://host/path` is served as `<url>/host/path`. */
  readonly url: string;
  /** The credentials of our app at each network. */
  readonly clients: Readonly<Record<Platform, Pick<SocialApp, 'clientId' | 'clientSecret'>>>;
  readonly script: SocialScript;
  /** Everything secret that was issued: codes and tokens. */
  readonly secrets: ReadonlySet<string>;
  /** Serves one of the pages that people see, `host/path`; for other servers that embed them. */
  page(address: string, query: URLSearchParams): SandboxAnswer;
  /** The tokens that are valid now. */
  validTokens(platform: Platform): string[];
  /** Revokes the person's grant, as in the settings of the network. */
  revoke(platform: Platform): void;
  close(): Promise<void>;
};

const MAX_BYTES = 64 * 1024;

/** The policy of the pages: they load nothing and run nothing. A form may lead back to the program. */
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";

/**
 * Starts the five networks on one loopback port.
 *
 * @param options.publicUrl the PUBLIC_URL of the program, to which they send people back
 * @param options.key signs the tokens; with the same key, those of an earlier run stay valid
 */
export async function startSandboxSocial(options: {
  readonly publicUrl: () => string;
  readonly key?: Buffer;
}): Promise<SandboxSocial> {
  const { publicUrl, key = randomBytes(32) } = options;
  const script = { ...DEFAULT_SCRIPT };
  const networks = createNetworks({ script, key, publicUrl });
  const server = await startServer({
    maxBytes: MAX_BYTES,
    handle: (request) => answerOf(networks.answer(request.path.slice(1), readRequest(request))),
  });
  const clients = Object.fromEntries(
    PLATFORMS.map((platform) => [platform, { clientId: clientIdOf(platform), clientSecret: secretOf(platform) }]),
  ) as SandboxSocial['clients'];
  return {
    url: server.url,
    clients,
    script,
    secrets: networks.secrets,
    page(address, query) {
      if (targetOf(address)?.purpose !== 'authorize') return { status: 404, body: 'There is no such page.' };
      return answerOf(
        networks.answer(address, { method: 'GET', query, given: query, bearer: '', linkedinVersion: '' }),
      );
    },
    validTokens: networks.live,
    revoke: networks.takeBack,
    close: server.close,
  };
}

function readRequest({ method, query, headers, body }: SandboxRequest): SocialRequest {
  const given = new URLSearchParams(query);
  for (const [name, value] of new URLSearchParams(body.toString())) given.append(name, value);
  const bearer = (headers.authorization ?? '').replace('Bearer ', '') || (given.get('access_token') ?? '');
  return { method, query, given, bearer, linkedinVersion: String(headers['linkedin-version'] ?? '') };
}

function answerOf({ status: given, json, html, location, png }: Reply): SandboxAnswer {
  const status = given ?? 200;
  if (location !== undefined) return { status, headers: { location }, body: '' };
  if (png !== undefined) return { status, headers: { 'content-type': 'image/png' }, body: png };
  if (html !== undefined)
    return {
      status,
      headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': PAGE_POLICY },
      body: html,
    };
  return { status, headers: { 'content-type': 'application/json' }, body: json === undefined ? '' : stringify(json) };
}

/** Instagram writes its ids as numbers that are too large for a JavaScript number. */
const stringify = (json: unknown): string => JSON.stringify(json).replace(/"bignumber:(\d+)"/g, '$1');
