import {
  type CSSVariablesResolver,
  createTheme,
  localStorageColorSchemeManager,
  type MantineColorsTuple,
} from '@mantine/core';

/** The accent colour. Shade 6 of every colour has a contrast of at least 4.5:1 with white text. */
const amber: MantineColorsTuple = [
  '#fffbeb',
  '#fef3c7',
  '#fde68a',
  '#fcd34d',
  '#fbbf24',
  '#d97706',
  '#b45309',
  '#9a4a0b',
  '#7c3a0c',
  '#5f2d0c',
];
const gray: MantineColorsTuple = [
  '#f8f9fa',
  '#f1f3f5',
  '#e4e7eb',
  '#d3d8de',
  '#aab2bd',
  '#667080',
  '#535c6b',
  '#414957',
  '#2b313c',
  '#181c24',
];
const dark: MantineColorsTuple = [
  '#e3e6ea',
  '#c6ccd4',
  '#a4acb8',
  '#7f8896',
  '#434b58',
  '#333a46',
  '#262c36',
  '#1a1f27',
  '#141820',
  '#0e1117',
];
const red: MantineColorsTuple = [
  '#fef2f2',
  '#fee2e2',
  '#fecaca',
  '#fca5a5',
  '#f87171',
  '#ef4444',
  '#dc2626',
  '#b91c1c',
  '#991b1b',
  '#7f1d1d',
];
const green: MantineColorsTuple = [
  '#f0fdf4',
  '#dcfce7',
  '#bbf7d0',
  '#86efac',
  '#4ade80',
  '#22c55e',
  '#15803d',
  '#166534',
  '#14532d',
  '#0f3f22',
];
const blue: MantineColorsTuple = [
  '#eff6ff',
  '#dbeafe',
  '#bfdbfe',
  '#93c5fd',
  '#60a5fa',
  '#3b82f6',
  '#2563eb',
  '#1d4ed8',
  '#1e40af',
  '#1e3a8a',
];
const teal: MantineColorsTuple = [
  '#f0fdfa',
  '#ccfbf1',
  '#99f6e4',
  '#5eead4',
  '#2dd4bf',
  '#14b8a6',
  '#0f766e',
  '#115e59',
  '#134e4a',
  '#0f3d3a',
];
const violet: MantineColorsTuple = [
  '#f5f3ff',
  '#ede9fe',
  '#ddd6fe',
  '#c4b5fd',
  '#a78bfa',
  '#8b5cf6',
  '#7c3aed',
  '#6d28d9',
  '#5b21b6',
  '#4c1d95',
];

/** Eight colours in ten shades each. Mantine itself refers to `yellow` and `orange`, so both are aliases of amber. */
const COLORS = { amber, gray, dark, red, green, blue, teal, violet, yellow: amber, orange: amber };

/**
 * Mantine's own variables give light badges, dimmed texts and errors too little contrast for WCAG AA. Here each pair
 * of text and background has at least 4.5:1 in both schemes (web/e2e checks every page with axe).
 */
export const contrastVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-body': '#fbfbfa',
    '--mantine-color-dimmed': 'var(--mantine-color-gray-6)',
    '--mantine-color-placeholder': 'var(--mantine-color-gray-5)',
    '--mantine-color-error': 'var(--mantine-color-red-7)',
    '--mantine-color-anchor': 'var(--mantine-color-text)',
    '--mantine-color-default-border': 'var(--mantine-color-gray-3)',
    '--panel': '#ffffff',
    '--panel-border': 'var(--mantine-color-gray-2)',
    ...tints((name) => ({
      light: `var(--mantine-color-${name}-1)`,
      'light-hover': `var(--mantine-color-${name}-2)`,
      'light-color': `var(--mantine-color-${name}-8)`,
      outline: `var(--mantine-color-${name}-7)`,
      text: `var(--mantine-color-${name}-7)`,
    })),
  },
  dark: {
    '--mantine-color-body': 'var(--mantine-color-dark-8)',
    '--mantine-color-dimmed': 'var(--mantine-color-dark-2)',
    '--mantine-color-placeholder': 'var(--mantine-color-dark-3)',
    '--mantine-color-error': 'var(--mantine-color-red-3)',
    '--mantine-color-anchor': 'var(--mantine-color-text)',
    '--mantine-color-default': 'var(--mantine-color-dark-7)',
    '--mantine-color-default-hover': 'var(--mantine-color-dark-6)',
    '--panel': 'var(--mantine-color-dark-7)',
    '--panel-border': 'var(--mantine-color-dark-5)',
    ...tints((name) => ({
      light: `color-mix(in srgb, var(--mantine-color-${name}-4) 16%, transparent)`,
      'light-hover': `color-mix(in srgb, var(--mantine-color-${name}-4) 24%, transparent)`,
      'light-color': `var(--mantine-color-${name}-2)`,
      outline: `var(--mantine-color-${name}-3)`,
      text: `var(--mantine-color-${name}-3)`,
    })),
  },
});

const tints = (of: (name: string) => Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.keys(COLORS).flatMap((name) =>
      Object.entries(of(name)).map(([use, value]) => [`--mantine-color-${name}-${use}`, value]),
    ),
  );

const SYSTEM_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Open Sans', 'Helvetica Neue', Arial, sans-serif";

/** The Mantine theme. System fonts are used, because the content security policy allows only our own files. */
export const theme = createTheme({
  colors: COLORS,
  primaryColor: 'amber',
  primaryShade: 6,
  black: '#181c24',
  fontFamily: SYSTEM_FONTS,
  headings: { fontFamily: SYSTEM_FONTS, fontWeight: '600', sizes: { h1: { fontSize: '1.5rem', lineHeight: '1.3' } } },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Tooltip: {
      defaultProps: { openDelay: 250, multiline: true, maw: 320, events: { hover: true, focus: true, touch: true } },
    },
    Menu: { defaultProps: { position: 'bottom-end', shadow: 'md' } },
    Badge: { defaultProps: { variant: 'light', radius: 'sm', tt: 'none', fw: 500 } },
    Button: { defaultProps: { fw: 500 } },
    SegmentedControl: { styles: { label: { fontWeight: 400 } } },
    Paper: { defaultProps: { withBorder: true, bg: 'var(--panel)' } },
    Loader: { defaultProps: { type: 'dots' } },
    Anchor: { defaultProps: { underline: 'always' } },
  },
});

/**
 * The content security policy (src/core/http/pages.ts) forbids scripts to write plain strings to `innerHTML`
 * and the like. In our code only Mantine does so, for its style sheets. This policy therefore lets strings without an
 * angle bracket pass and rejects markup from any source.
 */
type Factory = { createPolicy(name: string, rules: { createHTML(text: string): string }): unknown };

function refuseMarkup(text: string): string {
  if (text.includes('<')) throw new TypeError('Markup is refused: texts are shown as texts');
  return text;
}

const factory = (globalThis as { trustedTypes?: Factory }).trustedTypes;
factory?.createPolicy('default', { createHTML: refuseMarkup });

/** The chosen color scheme (light, dark or the system's), stored in this browser. */
export const colorSchemeManager = localStorageColorSchemeManager({ key: 'heliograph-color-scheme' });

/**
 * Applies the color scheme before the first render, to avoid a white flash in dark mode. The content security policy
 * allows no inline script.
 */
export function applyColorScheme(): void {
  const chosen = colorSchemeManager.get('auto');
  const prefersDark = matchMedia('(prefers-color-scheme: dark)').matches;
  const scheme = chosen === 'dark' || (chosen === 'auto' && prefersDark) ? 'dark' : 'light';
  document.documentElement.setAttribute('data-mantine-color-scheme', scheme);
}
