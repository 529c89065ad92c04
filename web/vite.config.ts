import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { mantineStyles } from './mantine-styles.ts';

/** The server puts a fresh nonce in its place with each page (src/core/http/pages.ts). */
const NONCE = 'CSP_NONCE';

/** A group of what the entry itself imports: every page has it. */
const EVERYWHERE = ['$initial' as const];

/**
 * The first load of a page in at most thirty files: without these groups, whatever two pages share is a file of its
 * own, often below 1 kB, and a page needs more than fifty. What every page has comes first, by how seldom it changes: a
 * new version of the console leaves packages in the browser's cache. The groups after it are what pages of one kind
 * need together. Each takes what it imports with it, unless a group before it has that: hence the order, and the small
 * `basics`, without which a page would load all fields for a hook that they share. What is in no group is loaded with
 * the pages, dialogs and menus that use it. web/e2e/size.test.ts has the limits.
 */
const GROUPS = [
  { name: 'react', test: /node_modules\/(react|react-dom|scheduler)\/|rolldown.runtime/ },
  { name: 'tanstack', test: /node_modules\/@tanstack\//, tags: EVERYWHERE },
  { name: 'mantine', test: /node_modules\//, tags: EVERYWHERE },
  { name: 'app', test: /web\/src\/(ui|api|app)\//, tags: EVERYWHERE },
  {
    name: 'basics',
    test: /@mantine\/(hooks\/esm\/(?!use-pagination)|core\/esm\/core\/)|components\/Paper\/|lucide-react\/|web\/src\/ui\/(?!filter-bar|saved-views|data-table|small-table|form-dialog)/,
    minShareCount: 20,
  },
  { name: 'figures', test: /components\/(Progress|SimpleGrid)\// },
  { name: 'fields', test: /components\/(Input|InputBase|TextInput)\// },
  { name: 'filters', test: /components\/NativeSelect\/|src\/ui\/filter-bar/ },
  { name: 'table', test: /src\/ui\/data-table/ },
  { name: 'form', test: /node_modules\/@mantine\/form\/|src\/ui\/form-dialog/ },
  { name: 'inbox', test: /src\/inbox\/(use-keys|conversation|drafts|inbox)\./ },
  { name: 'icons', test: /node_modules\/lucide-react\//, minShareCount: 6 },
];

export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  plugins: [react(), mantineStyles()],
  html: { cspNonce: NONCE },
  build: {
    outDir: 'dist',
    manifest: true,
    // All browsers that know `light-dark()` know it, too.
    modulePreload: { polyfill: false },
    // With `light-dark()`, which would be lowered to something that does not know Mantine's schemes.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // Data URLs would need `data:` in the policy.
    assetsInlineLimit: 0,
    rolldownOptions: { output: { codeSplitting: { groups: GROUPS } } },
  },
  // `npx vite web` while working on pages, beside a program on its usual port.
  server: { proxy: { '/api': 'http://127.0.0.1:8080', '/openapi.json': 'http://127.0.0.1:8080' } },
});
