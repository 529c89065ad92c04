import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { mantineStyles } from './mantine-styles.ts';

/** The server puts a fresh nonce in its place with each page (src/platform/http/console.ts). */
const NONCE = 'CSP_NONCE';

/** A group of what the entry itself imports: every page has it. */
const EVERYWHERE = ['$initial' as const];

/**
 * The first load of a page in about twenty files: without these groups, whatever two pages share is a file of its own,
 * often below 1 kB, and a page needs more than a hundred. What every page has comes first, by how seldom it changes: a
 * new version of the console leaves packages in the browser's cache. The groups after it are what pages of one kind
 * need together; each takes what it imports with it, so the smaller ones come first. What is not here is loaded with
 * the pages, dialogs and menus that use it. web/e2e/size.test.ts has the limits.
 */
const GROUPS = [
  { name: 'react', test: /node_modules\/(react|react-dom|scheduler)\// },
  { name: 'tanstack', test: /node_modules\/@tanstack\//, tags: EVERYWHERE },
  { name: 'mantine', test: /node_modules\//, tags: EVERYWHERE },
  { name: 'app', test: /web\/src\/(ui|api|app)\//, tags: EVERYWHERE },
  {
    name: 'values',
    test: oneOf([
      'components/Paper/',
      'hooks/esm/use-(uncontrolled|window-event|local-storage)/',
      'core/esm/core/.*/(use-resolved-styles-api|create-safe-context|get-auto-contrast-value|get-base-value)/',
      'src/ui/values/(date-time|use-now|status-badge|statuses|num)\\.',
      'src/ui/(url-state|section|use-is-phone|table/table-skeleton|actions/guarded-button|dialog/dialog)\\.',
    ]),
  },
  { name: 'fields', test: oneOf(['components/(Input|InputBase|TextInput)/']) },
  { name: 'filters', test: oneOf(['components/(NativeSelect|InlineInput)/', 'src/ui/(filter-bar|saved-views/views)\\.']) },
  { name: 'table', test: oneOf(['src/ui/(table/data-table|dialog/confirm-dialog|actions/add-button)\\.']) },
  { name: 'form', test: oneOf(['node_modules/@mantine/form/', 'src/ui/dialog/dialog-form\\.']) },
  { name: 'icons', test: /node_modules\/lucide-react\//, minShareCount: 6 },
];

function oneOf(paths: readonly string[]): RegExp {
  return new RegExp(paths.join('|'));
}

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
