import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { mantineStyles } from './mantine-styles.ts';

/** The server puts a fresh nonce in its place with each page (src/platform/http/console.ts). */
const NONCE = 'CSP_NONCE';

/**
 * The first load of a page in about twenty files: without these groups, whatever two pages share is a file of its own,
 * often below 1 kB, and a page needs more than a hundred. Packages that change seldom have files of their own: a new
 * version of the console leaves them in the browser's cache. An icon of a single page travels with it.
 */
const GROUPS = [
  { name: 'react', test: /node_modules\/(react|react-dom|scheduler)\// },
  { name: 'tanstack', test: /node_modules\/@tanstack\/(react-router|router-core|history|react-query|query-core)\// },
  {
    name: 'mantine',
    test: /node_modules\/(@mantine\/(core|hooks)|@floating-ui|clsx|react-remove-scroll|i18next|react-i18next)\//,
    minShareCount: 24,
  },
  { name: 'icons', test: /node_modules\/lucide-react\//, minShareCount: 2 },
  { name: 'shared', test: /web\/src\/(ui|api|app)\/.*\.tsx?$/, minShareCount: 6 },
];

export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  plugins: [react(), mantineStyles()],
  html: { cspNonce: NONCE },
  build: {
    outDir: 'dist',
    manifest: true,
    // With `light-dark()`, which would be lowered to something that does not know Mantine's schemes.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // Data URLs would need `data:` in the policy.
    assetsInlineLimit: 0,
    rolldownOptions: { output: { codeSplitting: { groups: GROUPS } } },
  },
  // `npx vite web` while working on pages, beside a program on its usual port.
  server: { proxy: { '/api': 'http://127.0.0.1:8080', '/openapi.json': 'http://127.0.0.1:8080' } },
});
