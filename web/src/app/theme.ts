import { createTheme } from '@mantine/core';
import { COLORS } from './palette.ts';

const SYSTEM_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Open Sans', 'Helvetica Neue', Arial, sans-serif";

/** The Mantine theme. System fonts are used, because the content security policy allows only our own files. */
export const theme = createTheme({
  colors: COLORS,
  primaryColor: 'amber',
  primaryShade: 6,
  black: '#181c24',
  fontFamily: SYSTEM_FONTS,
  headings: { fontFamily: SYSTEM_FONTS, fontWeight: '650', sizes: { h1: { fontSize: '1.5rem', lineHeight: '1.3' } } },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Tooltip: {
      defaultProps: { openDelay: 250, multiline: true, maw: 320, events: { hover: true, focus: true, touch: true } },
    },
    Menu: { defaultProps: { position: 'bottom-end', shadow: 'md' } },
    Badge: { defaultProps: { variant: 'light', radius: 'sm', tt: 'none', fw: 600 } },
    Paper: { defaultProps: { withBorder: true, bg: 'var(--panel)' } },
    Loader: { defaultProps: { type: 'dots' } },
    Anchor: { defaultProps: { underline: 'hover' } },
  },
});
