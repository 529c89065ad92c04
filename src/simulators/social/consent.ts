import type { Platform } from '../../platform/lib/social-platform.ts';
import type { Choice } from './script.ts';

const LABELS: Readonly<Record<Platform, string>> = {
  facebook: 'Facebook',
  instagram: 'Instagram',
  linkedin: 'LinkedIn',
  google: 'Google',
  tiktok: 'TikTok',
};
/** Kind of object linked to a profile of a network; the other networks have none. */
const LINKED: Readonly<Partial<Record<Platform, string>>> = {
  facebook: 'Pages',
  linkedin: 'Organisations',
  google: 'Locations',
};
const MAX_LINKED = 2000;
const DAY_SECONDS = 86_400;
const LIFETIMES = [
  [60 * DAY_SECONDS, '60 days'],
  [DAY_SECONDS, 'a day'],
  [120, 'two minutes'],
] as const;

/** Prefix of the parameters that the page adds to those of the program. */
const PREFIX = 'sandbox_';

/** Reads the choice from the parameters of the page; null before the person has chosen. */
export function readChoice(platform: Platform, query: URLSearchParams, asked: readonly string[]): Choice | null {
  const decision = query.get(`${PREFIX}decision`);
  if (decision !== 'grant' && decision !== 'refuse' && decision !== 'unapproved') return null;
  const selected = query.getAll(`${PREFIX}scope`);
  const numberOf = (name: string, max: number): number =>
    Math.max(0, Math.min(max, Math.trunc(Number(query.get(`${PREFIX}${name}`))) || 0));
  return {
    decision,
    // LinkedIn grants all scopes or none (Microsoft Learn, "Authorization Code Flow").
    scopes: platform === 'linkedin' ? asked : asked.filter((scope) => selected.includes(scope)),
    linked: numberOf('linked', MAX_LINKED),
    lifetimeSeconds: numberOf('lifetime', 3650 * DAY_SECONDS),
    renewable: query.has(`${PREFIX}renewable`),
  };
}

/** Writes a choice as the page would, for programs that play the person. */
export function writeChoice(query: URLSearchParams, { decision, scopes, ...choice }: Choice): void {
  query.set(`${PREFIX}decision`, decision);
  for (const scope of scopes) query.append(`${PREFIX}scope`, scope);
  query.set(`${PREFIX}linked`, String(choice.linked));
  query.set(`${PREFIX}lifetime`, String(choice.lifetimeSeconds));
  if (choice.renewable) query.set(`${PREFIX}renewable`, 'yes');
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const STYLE = `:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:2rem auto;padding:0 1rem}
fieldset{border:1px solid #8888;border-radius:8px;margin:1rem 0}
label{display:block;margin:.4rem 0}
.note{border-left:4px solid #b26a00;padding:.25rem .75rem}
button{font:inherit;padding:.5rem 1rem;margin:0 .5rem .5rem 0;cursor:pointer}
code{overflow-wrap:anywhere}`;

/**
 * Makes the consent page, which stands for that of the network and states so. A person grants all or a part of what is
 * requested, or denies it; or has the network reject the app. Facebook renews no access. The page has no scripts.
 */
export function consentPage(platform: Platform, query: URLSearchParams, asked: readonly string[]): string {
  const label = LABELS[platform];
  const fixed = platform === 'linkedin';
  const kept = [...query].map(([name, value]) => hidden(name, value)).join('\n');
  const scopes = asked.map((scope) => checkbox('scope', scope, `<code>${escaped(scope)}</code>`, fixed)).join('\n');
  const linked = LINKED[platform];
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sandbox: ${label}</title>
<style>${STYLE}</style>
<main>
<h1>${label} (sandbox)</h1>
<p class="note">This is not ${label}. It is the sandbox of Heliograph, which stands in for ${label} as long as no app is
set up there. Nothing leaves this server.</p>
<form method="get">
${kept}
<fieldset><legend>Heliograph asks for</legend>
${scopes}
${fixed ? `<p>${label} grants all of them or none.</p>` : ''}
</fieldset>
<fieldset><legend>What the network answers</legend>
${linked === undefined ? hidden(`${PREFIX}linked`, '0') : select('linked', linked, LINKED_COUNTS)}
${select('lifetime', 'Access lasts', LIFETIMES)}
${platform === 'facebook' ? '' : checkbox('renewable', 'yes', 'Access can be renewed', false)}
</fieldset>
<p>
<button name="${PREFIX}decision" value="grant">Grant access</button>
<button name="${PREFIX}decision" value="refuse">Refuse</button>
<button name="${PREFIX}decision" value="unapproved">Refuse the app</button>
</p>
</form>
</main>
</html>
`;
}

const LINKED_COUNTS = [
  [3, '3'],
  [1, '1'],
  [0, 'none'],
  [150, '150'],
] as const;

const hidden = (name: string, value: string): string =>
  `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`;

const checkbox = (name: string, value: string, content: string, disabled: boolean): string =>
  `<label><input type="checkbox" name="${PREFIX}${name}" value="${escaped(value)}" checked${disabled ? ' disabled' : ''}> ${content}</label>`;

const select = (name: string, content: string, options: readonly (readonly [number, string])[]): string =>
  `<label>${content} <select name="${PREFIX}${name}">${options
    .map(([value, text]) => `<option value="${value}">${text}</option>`)
    .join('')}</select></label>`;
