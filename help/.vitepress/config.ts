import { defineConfig, type MarkdownOptions } from 'vitepress';
import { decisionsNav, groupsNav } from '../navigation.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { slugOf } from '../markdown.ts';
import { addressOf } from '../plan.ts';

const decisions = await decisionsNav();

/** The menu of versions: what this one is, and the addresses of others, which scripts/build-docs.ts is given. */
const versions = [
  { text: 'Changes', link: `/${addressOf('CHANGELOG.md')}` },
  { text: 'What versions promise', link: `/${addressOf('RELEASING.md')}` },
  ...JSON.parse(process.env['OTHER_VERSIONS'] ?? '[]'),
];

/** Pages become Vue templates, where two braces begin an expression. Ours are those of message templates. */
const keepBraces: MarkdownOptions['config'] = ({ renderer: { rules } }) => {
  for (const kind of ['text', 'code_inline'] as const) {
    const render = rules[kind];
    if (render !== undefined) rules[kind] = (...given) => render(...given).replaceAll('{{', '&#123;&#123;');
  }
};

/**
 * The site of the documentation. scripts/build-docs.ts copies the pages into `.pages` first. A link to a page that does
 * not exist fails the build. Nothing is fetched from elsewhere: no fonts, no search service, no analytics.
 */
export default defineConfig({
  title: 'Heliograph',
  description: 'Documentation of Heliograph, a self-hosted gateway for SMS, WhatsApp and RCS',
  lang: 'en',
  base: '/help/',
  srcDir: '.pages',
  outDir: 'dist',
  cacheDir: '.cache',
  ignoreDeadLinks: false,
  // Switching would add a style element, which the policy forbids.
  appearance: { disableTransition: false },
  markdown: { html: false, anchor: { slugify: slugOf }, config: keepBraces },
  themeConfig: {
    logo: '/icon.svg',
    nav: [{ text: `Version ${packageJson.version}`, items: versions }],
    sidebar: [...groupsNav(), decisions],
    outline: [2, 3],
    search: { provider: 'local' },
    externalLinkIcon: true,
    docFooter: { prev: 'Previous', next: 'Next' },
  },
});
