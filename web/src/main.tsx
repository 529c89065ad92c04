import './app/global.css';
import { startTexts } from './app/i18n.ts';
import { applyColorScheme } from './app/palette.ts';
import { Providers } from './app/router.tsx';
import { PAGES } from './pages.ts';
import '@mantine/core/styles.layer.css';
import { createRoot } from 'react-dom/client';

applyColorScheme();
const root = document.getElementById('app');
if (root === null) throw new Error('index.html has no element "app"');
createRoot(root).render(<Providers texts={await startTexts()} pages={PAGES} />);
