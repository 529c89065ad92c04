import './app/trusted-types.ts';
import '@mantine/core/styles.layer.css';
import './app/global.css';
import { createRoot } from 'react-dom/client';
import { applyColorScheme } from './app/color-scheme.ts';
import { startTexts } from './app/i18n.ts';
import { Providers } from './app/providers.tsx';
import { PAGES } from './pages.ts';

applyColorScheme();
const root = document.getElementById('app');
if (root === null) throw new Error('index.html has no element "app"');
createRoot(root).render(<Providers texts={await startTexts()} pages={PAGES} />);
