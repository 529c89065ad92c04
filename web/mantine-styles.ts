import type { Plugin } from 'vite';

/**
 * Styles that belong to no component. The variables of the default theme are not needed: MantineProvider writes all of
 * ours.
 */
export const BASE = ['baseline', 'global'];

/** The class names of a component, or of a part that several share: files whose names end in `.module.mjs`. */
export const CLASS_NAMES = /@mantine\/core\/esm\/.*\/(\w+)\.module\.mjs$/;

const sheet = (name: string): string => `@mantine/core/styles/${name}.layer.css`;

/**
 * Splits Mantine's style sheet, of which a page uses a third: the build loads the styles of a component with its
 * script. They are in a cascade layer, so that our own styles apply whichever arrives first; between components the
 * order is that of their imports, as in the whole sheet. The development server serves the whole sheet.
 */
export const mantineStyles = (): Plugin => ({
  name: 'mantine-styles',
  apply: 'build',
  load: {
    filter: { id: /@mantine\/core\/styles\.layer\.css$/ },
    handler: () => BASE.map((name) => `@import '${sheet(name)}';`).join('\n'),
  },
  transform: {
    filter: { id: CLASS_NAMES },
    handler: (code, id) => ({
      code: `import '${sheet(CLASS_NAMES.exec(id)?.[1] ?? '')}';\n${code}`,
      map: null,
    }),
  },
});
